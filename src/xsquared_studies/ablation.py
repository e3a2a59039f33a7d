"""What each part of a trainer is worth: one part at a time is switched off or halved.

Protocol. A part is a setting of a solver, or a constant of its module.
Counts and shares are halved, or set to none where the solver works without; tolerances are raised a
hundredfold; only a default that is off already has no trial. Everything else stays at its default,
seeds included, so that a case is the same with and without the part.

Cases on the line: three units of 3, 8 and 20 neurons (growth: 8; Newton's method: 3 and 8), on
every tenth target of the study of quality and on four that no trainer was made with (growth and
Newton's method: these four). Cases of several variables, for variable projection from two seeds and
growth from one: the planar sine and the three Friedman problems, 400 training points, 16 neurons.
Newton's method takes at most 10 sweeps a stage, as more would take most of the study's time.

Judged is error over default error of the same case, by the median and the 90th percentile over
cases, in three families: on the line up to 3 neurons, on the line with more, of several variables;
and the ratio of seconds. A part whose change moves no median by one per cent is a constant, or
goes. The error is that of the integral for free knots, else that on the training points; for growth
that on held-out points as well.

Parts, families and the two statistics were fixed before the first run. The cases were cut while it
ran, for want of time: every fifth target became every tenth, growth and Newton's method got fewer.
That a 90th percentile counts from a tenth on was added before a row was read.

A trial names its part in its settings. A part whose name of a value has a dot is a constant of a
module of :mod:`xsquared.training`; it is replaced while the trial runs.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from xsquared.levenberg_marquardt import DAMPING
from xsquared.training import Growth, fit, solver_from
from xsquared_studies.experiment import dataset, values_of
from xsquared_studies.trial import Scalar, Trial

#: Targets of one variable that no trainer of this package was made with.
NEW_TARGETS = (
    "log(1.2 + x)*cos(3*x)",
    "atan(12*(x - 0.37)) + 0.3*x**3",
    "sqrt(1.05 + x)*sin(7*x + 1)",
    "abs(x - 0.2171)**1.4 + 0.5*sin(5*x)",
)
#: By protocol, what is trained and judged.
ABLATION_PROTOCOLS = MappingProxyType(
    {
        "line": "400 equidistant points, free knots the integral; errors on what is minimised",
        "several": "400 training points; test_rmse on fresh ones",
    }
)
#: By solver, neurons on the line and seeds in several variables.
_CASES = {
    "free_knots": ((3, 8, 20), 0),
    "varpro": ((3, 8, 20), 2),
    "newton": ((3, 8), 0),
    "growth": ((8,), 1),
}
_PROBLEMS = ("sine", "friedman1", "friedman2", "friedman3")


@dataclass(frozen=True)
class Part:
    """A part of a solver and what becomes of it.

    Attributes:
        solver: its name.
        name: of the setting, or what the constant is.
        change: ``"none"``, ``"halved"``, ``"x 100"`` or what takes its place.
        values: settings, or constants as ``"module.NAME"``, by what replaces them.
    """

    solver: str
    name: str
    change: str
    values: Mapping[str, Any] = field(hash=False)


def _parts() -> Iterator[Part]:
    value: Any

    def knots(name: str, change: str, value: Any, constant: str = "") -> Part:
        return Part("free_knots", name, change, {constant or name: value})

    yield knots("max_iterations", "halved", 150)
    yield knots("start", "equidistant", "equidistant")
    yield knots("starts", "halved", 1)
    yield knots("moves", "none", 0)
    yield knots("directions", "none", 0)
    yield knots("directions", "halved", 2)
    yield knots("trial_iterations", "halved", 12)
    yield knots("jitter", "halved", 0.2, "spline_network._JITTER")
    yield knots("narrow", "none", 0, "spline_network._NARROW")
    yield knots("random_knots", "none", 0, "spline_network._RANDOM_KNOTS")
    yield knots("first_rounds", "none", (), "spline_network._FIRST_ROUNDS")
    yield knots("ahead", "halved", 2, "spline_network._AHEAD")
    yield knots("few", "none", 0, "spline_network._FEW")
    yield knots("merged", "none", 0.0, "spline_network._MERGED")
    yield knots("drawn_rows", "none", 0, "spline_network.DRAWN_ROWS")
    yield knots("exchanges", "halved", 2, "exchanged_knots._FITTED")
    yield knots("damping", "of the other solvers", DAMPING, "spline_network.DAMPING")
    for name, change, value in (
        ("max_iterations", "halved", 100),
        ("starts", "none", 1),
        ("trial_iterations", "halved", 7),
    ):
        yield Part("varpro", name, change, {name: value})
    for name, change, value in (
        ("damping", "start halved", replace(DAMPING, start=5e-3)),
        ("damping", "lowered halved", replace(DAMPING, lowered=2.0)),
        ("damping", "stall x 100", replace(DAMPING, stall=1e-6)),
    ):
        yield Part("varpro", name, change, {"variable_projection.DAMPING": value})
    yield Part("varpro", "least_damping", "none", {"variable_projection._LEAST_DAMPING": 0.0})
    for name, change, value in (
        ("max_iterations", "halved", 5),
        ("joint", "none", False),
        ("stall", "x 100", 1e-5),
        ("patience", "none", 1),
        ("singular", "x 100", 1e-11),
        ("rcond", "x 100", 1e-11),
        ("armijo", "x 100", 1e-2),
        ("halvings", "halved", 15),
        ("elements", "halved", 200_000),
    ):
        constant = f"newton._{name.upper()}"
        of_its_own = name in ("max_iterations", "joint")
        yield Part("newton", name, change, {name if of_its_own else constant: value})
    grown = Growth()
    for name, change, value in (
        ("candidates", "halved", 256),
        ("few", "none", grown.candidates),
        ("share", "halved", 0.1),
        ("share", "all at once", 1.0),
        ("iterations", "halved", 7),
        ("exchanges", "none", 0),
        ("exchanges", "halved", 16),
        ("exchanged", "halved", 0.1),
        ("max_iterations", "halved", 60),
        ("ridges", "the last alone", grown.ridges[-1:]),
    ):
        yield Part("growth", name, change, {name: value})
    yield Part("growth", "moved", "halved", {"growth.MOVED": 0.01})


#: Every part by solver, name and change.
PARTS = {(part.solver, part.name, part.change): part for part in _parts()}
#: What a solver's default is in this study.
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {"newton": {"max_iterations": 10}}


def ablation_trials(targets: tuple[tuple[str, tuple[float, float]], ...]) -> tuple[Trial, ...]:
    """Every part on every case of its solver, the defaults of a solver first.

    Args:
        targets: expressions of one variable and their domains, beside the new ones.
    """
    new = tuple((text, (-1.0, 1.0)) for text in NEW_TARGETS)
    cases: dict[str, list[Trial]] = {}
    for solver, (widths, seeds) in _CASES.items():
        cases[solver] = [
            Trial(
                unit,
                n,
                expression=text,
                domain=(domain,),
                solver=solver,
                split="paper",
                points=400,
                protocol="line",
            )
            for text, domain in (new if solver in ("growth", "newton") else (*targets, *new))
            for unit in ("mlp", "glu", "gqu")
            for n in widths
        ] + [
            Trial(unit, 16, name, solver=solver, points=400, seed=seed, protocol="several")
            for name in _PROBLEMS
            for unit in ("mlp", "glu", "gqu")
            for seed in range(seeds)
        ]
    settings: dict[str, list[tuple[tuple[str, str], ...]]] = {solver: [()] for solver in cases}
    for solver, name, change in PARTS:
        settings[solver].append((("change", change), ("part", name)))
    # Case by case, so that a busy machine slows all trials of a case alike.
    return tuple(
        replace(trial, settings=named)
        for solver, known in cases.items()
        for trial in known
        for named in settings[solver]
    )


def run_ablation(trial: Trial) -> dict[str, Scalar]:
    """Train one network without a part of its solver.

    Raises:
        MemoryError: there is not enough memory.
    """
    data, named, values = dataset(trial), dict(trial.settings), dict[str, Any]()
    if named:
        values = dict(PARTS[trial.solver, str(named["part"]), str(named["change"])].values)
    constants = {name: values.pop(name) for name in list(values) if "." in name}
    solver = solver_from(trial.solver, {**_DEFAULTS.get(trial.solver, {}), **values})
    with _replaced(constants):
        made = fit(data, trial.record, trial.n_hidden, solver=solver, seed=trial.seed)
    return values_of(trial, data, made)


@contextmanager
def _replaced(constants: Mapping[str, Any]) -> Iterator[None]:
    """Constants of modules of the trainers, each ``"module.NAME"``, replaced for a while."""
    places = {
        name: (importlib.import_module(f"xsquared.training.{module}"), constant)
        for name in constants
        for module, constant in [name.split(".")]
    }
    before = {name: getattr(*place) for name, place in places.items()}
    try:
        for name, place in places.items():
            setattr(*place, constants[name])
        yield
    finally:
        for name, place in places.items():
            setattr(*place, before[name])


def worth(frame: pd.DataFrame) -> pd.DataFrame:
    """What changing each part does to the errors of the study's rows.

    Returns:
        A row a part, by solver, part and change. For the families narrow and wide (on the line) and
        several (variables), and held out (growth's test points), the median of error over default
        error and, with ``90%``, its 90th percentile; the median ratio of seconds. Cases that the
        default solves to rounding are left out.
    """
    case = ["solver", "problem", "unit", "n", "seed"]
    table = frame.assign(
        **pd.json_normalize(frame["settings"].map(json.loads).tolist()).reindex(
            columns=["part", "change"]
        )
    )
    table["error"] = table["integral_rmse"].where(table["solver"] == "free_knots")
    table["error"] = table["error"].fillna(table["train_rmse"]).fillna(np.inf)
    line = np.where(table["n"] > 3, "wide", "narrow")
    table["family"] = np.where(table["protocol"] == "several", "several", line)
    default = table[table["part"].isna()].set_index(case)[["error", "test_rmse", "seconds"]]
    default = default.add_suffix("_before")
    solved = 1e-9 * table.groupby("problem")["error"].transform(lambda e: e[e < np.inf].max())
    both = table[table["part"].notna()].join(default, on=case)
    both = both[both["error_before"] > solved[both.index]]
    grown = both[(both["solver"] == "growth") & (both["family"] == "several")]
    ratios = pd.concat(
        [
            both.assign(ratio=both["error"] / both["error_before"]),
            grown.assign(ratio=grown["test_rmse"] / grown["test_rmse_before"], family="held out"),
        ]
    )
    keys = ["solver", "part", "change"]
    made = ratios.groupby([*keys, "family"])["ratio"].quantile([0.5, 0.9]).unstack([-2, -1])
    made.columns = [f"{family}{' 90%' * (share > 0.5)}" for family, share in made.columns]
    times = both.groupby(keys)[["seconds", "seconds_before"]].sum()
    return made.assign(seconds=times["seconds"] / times["seconds_before"])
