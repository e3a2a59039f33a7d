"""What a sweep is made of: a trial, and the row that comes of it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import Any

from xsquared.data.problems import PROTOCOLS, find_problem
from xsquared.functions import Target, target
from xsquared.units import ACTIVATIONS, unit_class

#: What a field of a result may hold.
Scalar = str | int | float | bool | None

#: The trial ran to its end.
COMPLETED = "completed"
#: The trial raised. It would again, so it is not repeated while the sources stay the same.
FAILED = "failed"
#: The trial's process died, or had no memory left. The next sweep tries again.
LOST = "lost"


@dataclass(frozen=True)
class Trial:
    """One training run, fully described.

    Attributes:
        unit: ``"mlp"``, ``"glu"`` or ``"gqu"``.
        n_hidden: width.
        optimizer: how to train; names belong to the function that runs the trial.
        protocol: how points are split: for a problem, one of
            :data:`xsquared.data.problems.PROTOCOLS`.
        points: training points; the protocol's own number where None.
        seed: of the data and the start.
        problem: a name of :data:`xsquared.data.problems.PROBLEMS`; empty if there is an expression.
        expression: a target as text; empty if there is a problem.
        domain: one interval per variable of the expression.
        activation: of the gate.
        options: what else the optimizer takes, as pairs of name and value, kept sorted.

    Raises:
        ValueError: a field that no trial can have, named with what was expected.
    """

    unit: str
    n_hidden: int
    optimizer: str
    protocol: str
    points: int | None = None
    seed: int = 0
    problem: str = ""
    expression: str = ""
    domain: tuple[tuple[float, float], ...] = ()
    activation: str = "relu"
    options: tuple[tuple[str, Scalar], ...] = ()

    def __post_init__(self) -> None:
        unit_class(self.unit)
        if self.activation not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise ValueError(f"unknown activation {self.activation!r}; known are {known}")
        _check_integer("n_hidden", self.n_hidden, 1)
        _check_integer("seed", self.seed, 0)
        if self.points is not None:
            _check_integer("points", self.points, 1)
        for name in ("optimizer", "protocol"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise ValueError(f"{name} must be a name, got {getattr(self, name)!r}")
        if bool(self.problem) == bool(self.expression):
            raise ValueError(
                "expected a problem or an expression, got "
                + (f"both: {self.problem!r} and {self.expression!r}" if self.problem else "neither")
            )
        # Lists, as they come from JSON, and tuples are one trial.
        domain = tuple((float(a), float(b)) for a, b in self.domain)
        object.__setattr__(self, "domain", domain)
        if self.problem:
            find_problem(self.problem)
            if self.protocol not in PROTOCOLS:
                known = ", ".join(PROTOCOLS)
                raise ValueError(f"unknown protocol {self.protocol!r}; known are {known}")
            if domain:
                raise ValueError(f"{self.problem} has its own domain, got {domain}")
        else:
            _target(self.expression, domain)
        options = {name: _scalar(name, value) for name, value in self.options}
        if len(options) != len(self.options):
            raise ValueError(f"expected every option once, got {self.options}")
        object.__setattr__(self, "options", tuple(sorted(options.items())))

    @property
    def target(self) -> Target:
        """The expression as a function.

        Raises:
            ValueError: the trial names a problem.
        """
        if self.problem:
            raise ValueError(f"this trial names the problem {self.problem}, no expression")
        return _target(self.expression, self.domain)

    @property
    def key(self) -> str:
        """What tells this trial from every other, the same in every process and version."""
        text = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def __str__(self) -> str:
        parts = [
            f"{self.problem or self.expression}: {self.unit}, n = {self.n_hidden}",
            f"{self.optimizer}, {self.protocol}, seed {self.seed}",
            *([f"{self.points} points"] if self.points is not None else []),
            *([self.activation] if self.activation != "relu" else []),
            *(f"{name} = {value}" for name, value in self.options),
        ]
        return ", ".join(parts)


@dataclass(frozen=True)
class Result:
    """What came of a trial: one row of the store.

    Attributes:
        trial: what was run.
        fingerprint: of the sources that ran it.
        status: :data:`COMPLETED`, :data:`FAILED`, :data:`LOST`, or what the trainer said.
        message: why, where the trial did not complete.
        wall_s: seconds it took.
        finished: when it ended, in UTC.
        versions: of Python and of the packages that computed.
        values: what was measured, by name.
    """

    trial: Trial
    fingerprint: str
    status: str
    message: str
    wall_s: float
    finished: str
    versions: str
    values: Mapping[str, Scalar]

    def to_json(self) -> str:
        """The row as one line of JSON, without its end."""
        row = {"key": self.trial.key} | asdict(self)
        return json.dumps(row, sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Result:
        """The result that :meth:`to_json` wrote.

        Raises:
            ValueError: a row whose trial this version does not know.
        """
        given = {field.name: row[field.name] for field in fields(cls)}
        described = dict(row["trial"])
        described["options"] = tuple((name, value) for name, value in described["options"])
        return cls(**given | {"trial": Trial(**described)})


def checked_values(returned: object) -> dict[str, Scalar]:
    """What ``run_trial`` returned as plain numbers and strings by name.

    Numpy's and torch's scalars become Python's.

    Raises:
        TypeError: anything but a mapping from names to scalars.
        ValueError: a name that a trial or a row already has.
    """
    if not isinstance(returned, Mapping):
        raise TypeError(f"a trial must return a mapping, got {type(returned).__name__}")
    taken = {f.name for f in (*fields(Trial), *fields(Result))} - {"status", "message"} | {"key"}
    if clash := sorted(taken & set(returned)):
        raise ValueError(f"the name {clash[0]!r} of a returned value is taken by the row")
    return {str(name): _scalar(str(name), value) for name, value in returned.items()}


def _scalar(name: str, value: Any) -> Scalar:
    if not isinstance(value, str | int | float | bool | None) and hasattr(value, "item"):
        with suppress(RuntimeError, ValueError):  # an array of several values: refused below
            value = value.item()
    if not isinstance(value, str | int | float | bool | None):
        raise TypeError(f"{name} must be a number or a string, got {type(value).__name__}")
    # numpy's float64 is a float, but one that prints and pickles as numpy's.
    return float(value) if isinstance(value, float) else value


def _check_integer(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")


@cache
def _target(expression: str, domain: tuple[tuple[float, float], ...]) -> Target:
    """Cached: a sweep repeats a few targets many times."""
    if not domain or not all(math.isfinite(end) for interval in domain for end in interval):
        raise ValueError(f"the expression {expression!r} needs its domain, got {domain}")
    return target(expression, domain)
