"""What a sweep is made of: a trial, and the row that comes of it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, get_args

from xsquared.checks import check_choice, check_integer, quoted
from xsquared.data.dataset import Split
from xsquared.data.problems import PROBLEMS
from xsquared.functions import Target, target
from xsquared.training.result import Gates
from xsquared.units import Unit, find_unit

#: What a field of a result may hold.
Scalar = str | int | float | bool | None
#: What a solver's setting may be.
Setting = Scalar | tuple[Scalar, ...]

_TEXTS = ("problem", "expression", "sha256", "y", "activation", "protocol")
#: How a trial ends that ended well: by itself, or as :class:`xsquared.training.result.Status` says.
COMPLETED = ("completed", "converged", "iterations", "stalled")
#: The trial raised. It would again, so it is not repeated while the sources stay the same.
FAILED = "failed"
#: The trial's process died, or had no memory left. The next sweep tries again.
LOST = "lost"
#: How torch, which has no error of its own for it, numpy, C++, CUDA's libraries and the system say
#: that memory ran out.
NO_MEMORY = re.compile(
    "not enough memory|out of memory|(can't|cannot|unable to) allocate|bad_alloc|ALLOC_FAILED|"
    "can't start new thread",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Trial:
    """One training run, fully described, on a problem, an expression or a table of one's own.

    Attributes:
        unit: name of the unit.
        n_hidden: width.
        problem: a name of :data:`xsquared.data.problems.PROBLEMS`.
        expression: a target as text.
        domain: one interval per variable of the expression.
        data: path of a csv or parquet file; where it lies is no part of what the trial is.
        sha256: of that file; found where empty.
        y: the file's column to predict.
        activation: name of the gate; the unit's own where empty.
        solver: name of the solver; what a trainer of one's own knows is no matter of the trial.
        settings: the solver's, as pairs of name and value, kept sorted.
        gates: ``"trained"`` or ``"frozen"``.
        split: how points are split, one of :data:`xsquared.data.dataset.Split`.
        points: training points; the split's own number where None.
        seed: of the data and the start.
        protocol: the name that a study gives to what is trained and judged where.

    Raises:
        ValueError: a field that no trial can have, named with what was expected.
        OSError: data that cannot be read.
    """

    unit: str
    n_hidden: int
    problem: str = ""
    expression: str = ""
    domain: tuple[tuple[float, float], ...] = ()
    data: str = field(default="", compare=False)
    sha256: str = ""
    y: str = ""
    activation: str = ""
    solver: str = "varpro"
    settings: tuple[tuple[str, Setting], ...] = ()
    gates: Gates = "trained"
    split: Split = "held-out"
    points: int | None = None
    seed: int = 0
    protocol: str = ""

    def __post_init__(self) -> None:
        for name in ("unit", *_TEXTS, "data"):
            text = getattr(self, name)
            if not isinstance(text, str):
                raise TypeError(f"{name}: expected text, got {quoted(text)}")
            if name in _TEXTS and printable(text) != text:
                raise ValueError(f"{name}: expected text that a table has, got {quoted(text)}")
        _ = self.record
        for name, least in (("n_hidden", 1), ("seed", 0), ("points", 1)):
            if name != "points" or self.points is not None:
                object.__setattr__(self, name, check_integer(name, getattr(self, name), least))
        check_choice("gates", self.gates, get_args(Gates))
        check_choice("split", self.split, get_args(Split))
        if not isinstance(self.solver, str) or not self.solver:
            raise ValueError(f"solver: expected a name, got {quoted(self.solver)}")
        given = [text for text in (self.problem, self.expression, self.data) if text]
        if len(given) != 1:
            found = " and ".join(map(quoted, given)) or "none"
            raise ValueError(f"expected a problem, an expression or data, got {found}")
        if self.problem:
            check_choice("problem", self.problem, PROBLEMS)
        if self.domain and not self.expression:
            raise ValueError(f"{given[0]}: expected no domain beside its own, got {self.domain}")
        # Lists, as they come from JSON, and tuples are one trial.
        box = tuple((float(a), float(b)) for a, b in self.domain)
        object.__setattr__(self, "domain", box)
        if self.expression:
            _ = self.target
        if bool(self.y) != bool(self.data) or (self.sha256 and not self.data):
            found = f"{quoted(self.y)} for {given[0]}"
            raise ValueError(f"expected data and the column y to predict together, got {found}")
        if self.data and not self.sha256:
            object.__setattr__(self, "sha256", file_sum(self.data))
        pairs = self.settings if isinstance(self.settings, list | tuple) else [self.settings]
        if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
            found = quoted(self.settings)
            raise TypeError(f"settings: expected pairs of name and value, got {found}")
        settings = {str(name): _setting(name, value) for name, value in pairs}
        if len(settings) != len(pairs):
            raise ValueError(f"expected every setting once, got {self.settings}")
        object.__setattr__(self, "settings", tuple(sorted(settings.items())))

    @property
    def record(self) -> Unit:
        """The unit's record, with the gate that the trial names."""
        return find_unit(self.unit, self.activation or None)

    @property
    def target(self) -> Target:
        """The expression as a function."""
        return _target(self.expression, self.domain)

    @property
    def subject(self) -> str:
        """What is learned: the problem's name, the expression, or the file's name."""
        return self.problem or self.expression or printable(Path(self.data).name)

    @property
    def key(self) -> str:
        """What tells this trial from every other, the same in every process and version."""
        described = {name: value for name, value in asdict(self).items() if name != "data"}
        text = json.dumps(described, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def __str__(self) -> str:
        parts = [
            f"{self.subject}: {self.unit}, n = {self.n_hidden}",
            f"{self.solver}, gates {self.gates}, {self.split}, seed {self.seed}",
            *([f"{self.points} points"] if self.points is not None else []),
            *([self.activation] if self.activation else []),
            *(f"{name} = {value}" for name, value in self.settings),
            *([self.protocol] if self.protocol else []),
        ]
        return ", ".join(parts)


@dataclass(frozen=True)
class Result:
    """What came of a trial: one row of the store.

    Attributes:
        trial: what was run.
        fingerprint: of the sources and versions that ran it.
        status: how training ended, :data:`FAILED` or :data:`LOST`.
        message: why, where the trial did not complete.
        seconds: processor time that it took.
        finished: when it ended, in UTC.
        versions: of Python and of the packages that computed.
        values: what was measured, by name.
    """

    trial: Trial
    fingerprint: str
    status: str
    message: str
    seconds: float
    finished: str
    versions: str
    values: Mapping[str, Scalar]

    @property
    def completed(self) -> bool:
        """Whether training ended well."""
        return self.status in COMPLETED

    def to_json(self) -> str:
        """The row as one line of JSON, without its end."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Result:
        """The result that :meth:`to_json` wrote."""
        given = {field.name: row[field.name] for field in fields(cls)}
        described = dict(row["trial"])
        described["settings"] = tuple((name, value) for name, value in described["settings"])
        return cls(**given | {"trial": Trial(**described)})


def printable(text: str) -> str:
    """A text that any file can hold: what is no UTF-8, as in a file's name, as escapes.

    So is a carriage return, which a csv's readers take for the end of a row.
    """
    return text.encode(errors="backslashreplace").decode().replace("\r", "\\r")


def file_sum(path: Path | str) -> str:
    """The SHA-256 of a file."""
    try:
        if Path(path).exists() and not Path(path).is_file():  # a device or a pipe may have no end
            raise ValueError("it is no file")
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError) as error:
        raise OSError(f"cannot read {path}: {getattr(error, 'strerror', error)}") from error


def checked_values(returned: object) -> dict[str, Scalar]:
    """What ``run_trial`` returned as plain numbers and strings by name.

    Numpy's and torch's scalars become Python's.
    """
    if not isinstance(returned, Mapping) or not all(isinstance(name, str) for name in returned):
        raise TypeError(f"expected values by name from a trial, got {quoted(returned)}")
    taken = {f.name for f in (*fields(Trial), *fields(Result))} | {"key", "n", "gate"}
    taken -= {"status", "message", "points"}
    # An indexed value such as ``rmse[n=4]`` fills a row's column as well.
    if clash := [n for n in returned if n.partition("[")[0] in taken]:
        raise ValueError(f"expected names that a row has not, got {quoted(clash[0])}")
    return {name: _scalar(name, value) for name, value in returned.items()}


def _setting(name: str, value: Any) -> Setting:
    if isinstance(value, list | tuple):
        return tuple(_scalar(name, one) for one in value)
    return _scalar(name, value)


def _scalar(name: str, value: Any) -> Scalar:
    if not isinstance(value, str | int | float | bool | None) and hasattr(value, "item"):
        with suppress(RuntimeError, ValueError):  # an array of several values: refused below
            value = value.item()
    fits = not isinstance(value, int) or value.bit_length() < 64  # as a table has it
    if not isinstance(value, str | int | float | bool | None) or not fits:
        raise TypeError(f"{name}: expected a number or a string, got {quoted(value)}")
    if isinstance(value, str):
        return printable(value)
    # numpy's float64 is a float, but one that prints and pickles as numpy's.
    return float(value) if isinstance(value, float) else value


@cache
def _target(expression: str, domain: tuple[tuple[float, float], ...]) -> Target:
    """Cached: a sweep repeats a few targets many times."""
    return target(expression, domain)
