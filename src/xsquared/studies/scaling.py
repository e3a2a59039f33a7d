"""Table 1: errors against parameters, by problem, unit and protocol, a trial for all widths.

A trial trains one unit on one problem from one seed at every width: grown, or each for itself where
gates stay as drawn. A held-out trial of a synthetic problem fits the very points of the paper's
split; tables of real data need a trial for each.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from xsquared.data.dataset import DEFAULT_POINTS, Dataset, Points
from xsquared.data.problems import PROBLEMS
from xsquared.errors import rmse
from xsquared.slopes import Slope, fit_slope_over_seeds
from xsquared.studies.evidence import Effect, effect
from xsquared.studies.experiment import dataset, make_trial, unit_of, values_of
from xsquared.studies.sweep import Study, Trial
from xsquared.training import Growth, fit, grow, solver_from
from xsquared.units import PAPER_UNITS, find_unit

#: The problems of the gated-units paper's Figs. 6 and 7.
SYNTHETIC = ("sine", "friedman1", "friedman2", "friedman3")
PAPER_PROBLEMS = (*SYNTHETIC, "airfoil", "housing")
#: Problems of ours: Runge's, no short sum of ridge functions, and Friedman 1 with idle inputs.
OTHERS = ("runge", "friedman1_10")
#: Seeds of data and starts: for the paper's problems; for others; of gates as drawn; and widths.
SEEDS, FEWER_SEEDS, DRAWS = 5, 3, 10
WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_GROWN = (
    "grown until converged; train_rmse is of the best fit, test_rmse of the validation's choice"
)
#: By the protocol's name: solver, gates, split and settings of its trials, and what they do.
SCALING_PROTOCOLS: Mapping[str, tuple[str, str, str, Mapping[str, Any], str]] = {
    "held-out": ("growth", "trained", "held-out", {}, _GROWN),
    "paper": ("growth", "trained", "paper", {}, f"{_GROWN}, on the paper's rows"),
    "author": ("newton", "frozen", "paper", {"max_iterations": 1}, "the author's gates, as drawn"),
    "as-drawn": ("varpro", "frozen", "paper", {}, "gates as drawn, the rest by least squares"),
}


@dataclass(frozen=True, eq=False)
class Scaling:
    """Widths (m,), their parameters, errors (seeds, m) over the target's deviation, and slope."""

    widths: np.ndarray
    parameters: np.ndarray
    errors: np.ndarray
    slope: Slope

    @property
    def median(self) -> np.ndarray:
        """Take the median error over seeds, (m,)."""
        return np.median(self.errors, axis=0)


def scaling_trials(
    problems: Sequence[str],
    widths: Sequence[int],
    seeds: int,
    protocol: str = "held-out",
    units: Sequence[str] = PAPER_UNITS,
    points: int | None = None,
) -> list[Trial]:
    """List trials of a protocol, seed after seed; points are the problem's own where None."""
    solver, gates, split, settings, _ = SCALING_PROTOCOLS[protocol]
    same: Any = {"gates": gates, "split": split, "settings": {**settings, "widths": list(widths)}}
    own = {name: DEFAULT_POINTS if name == "housing" else None for name in problems}
    return [
        make_trial(
            name, unit, max(widths), solver, protocol, seed=seed, points=points or own[name], **same
        )
        for seed in range(seeds)
        for name in problems
        for unit in units
    ]


def run_scaling(trial: Trial, data: Dataset | None = None) -> dict[str, Any]:
    """Train one network for each of the trial's widths; give lists over widths by name.

    ``author_rmse`` is on the 44 x 44 points of a planar target, else on the training points.
    """
    settings = dict(trial["settings"])
    sizes, unit = settings.pop("widths"), unit_of(trial)
    data, solver = data or dataset(trial), solver_from(trial["solver"], settings)
    same: Any = {"solver": solver, "gates": trial["gates"], "seed": trial["seed"]}
    if isinstance(solver, Growth):
        made = grow(data, unit, sizes, **same)
    else:
        made = [fit(data, unit, n, **same) for n in sizes]
    judged = _grid(data) if PROBLEMS[trial["problem"]].kind == "planar" else data.train
    networks = []
    for n, one in zip(sizes, made, strict=True):
        least = one.training_minimiser
        author = rmse(least, judged.x, judged.y) if least else math.nan
        networks.append({"n": n, **values_of(unit, n, data, one), "author_rmse": author})
    return {name: [network[name] for network in networks] for name in networks[0]}


def _grid(data: Dataset) -> Points:
    assert data.target is not None
    ends = [np.linspace(*interval, 44) for interval in data.target.domain]
    x = np.stack(np.meshgrid(*ends), axis=-1).reshape(-1, data.dim)
    y = (data.target(*x.T) - data.target_mean) / data.target_scale
    return Points((x - data.feature_mean) / data.feature_scale, y)


def scalings(rows: pd.DataFrame) -> dict[tuple[str, str, str], Scaling]:
    """Collect errors by problem, unit and word: ``"training"``, ``"held-out"``, ...

    Of the paper's own rows, ``"paper"``, synthetic problems have the training points; ``"author"``
    are training points again, or those of the grid.
    """
    found = {}
    for (problem, unit, protocol), part in rows.groupby(["problem", "unit", "protocol"]):
        words = {
            protocol: {"author": "author_rmse", "paper": "train_rmse"}.get(protocol, "test_rmse")
        }
        if protocol == "held-out":
            words["training"] = "train_rmse"
            if PROBLEMS[problem].kind != "table":
                words["paper"] = "train_rmse"
        for word, column in words.items():
            table = part.pivot(index="seed", columns="n", values=column)
            parameters = part.groupby("n")["parameters"].first().to_numpy(int)
            errors = table.to_numpy(float)
            slope = fit_slope_over_seeds(parameters, errors)
            found[problem, unit, word] = Scaling(
                table.columns.to_numpy(), parameters, errors, slope
            )
    return found


def error_ratio(over: Scaling, under: Scaling, parameters: int, shared: bool = False) -> Effect:
    """Divide errors of two units at equal numbers of parameters, seed by seed.

    Between the widths of the study errors are interpolated, logarithms against logarithms;
    ``shared``: as :func:`~xsquared.studies.evidence.effect` has it, where seeds are splits.
    """
    at = math.log(parameters)
    logs = [
        np.array([np.interp(at, np.log(one.parameters), row) for row in np.log(one.errors)])
        for one in (over, under)
    ]
    return effect(logs[0] - logs[1], shared)


def table1_trials(
    problems: Sequence[str] = PAPER_PROBLEMS, widths: Sequence[int] = WIDTHS, seeds: int = SEEDS
) -> list[Trial]:
    """List the trials behind Table 1, seed after seed; of tables by the paper's split as well.

    Units of two factors end at 32 neurons, where a GQU has about the parameters of a GLU of 46.
    """
    tables = [name for name in problems if PROBLEMS[name].kind == "table"]
    theirs = [name for name in problems if name not in OTHERS]
    trials = [
        trial
        for protocol, names in (("held-out", problems), ("paper", tables), ("author", theirs))
        for unit in PAPER_UNITS
        if (sizes := [n for n in widths if n <= 32 or len(find_unit(unit).factors) < 2])
        for trial in scaling_trials(names, sizes, seeds, protocol, (unit,))
    ]
    return sorted(trials, key=lambda trial: trial["seed"])


def curve_trials(seeds: int = FEWER_SEEDS) -> list[Trial]:
    """List MLPs and GLUs of up to 32 neurons on parts of the tables' training rows."""
    counts = [("airfoil", n) for n in (120, 240, 480)] + [("housing", n) for n in (250, 500, 1000)]
    widths, units = (1, 2, 4, 8, 16, 32), PAPER_UNITS[:2]
    return [
        trial
        for name, points in counts
        for trial in scaling_trials([name], widths, seeds, units=units, points=points)
    ]


#: By problem: widths of the paper's points, MLP's and GLU's, that go into the slope it prints.
DRAWN_WIDTHS: Mapping[str, tuple[Sequence[int], Sequence[int]]] = {
    "sine": (range(20, 100), range(10, 81)),
    "friedman1": ((10, 22, 46, 94, 200, 425, 899), (10, 16, 28, 46, 73, 121, 199)),
    "friedman2": ((10, 22, 46, 94, 199, 423, 897), (10, 19, 31, 55, 97, 169, 298)),
    "friedman3": ((10, 22, 46, 94, 199, 423, 897), (10, 19, 31, 55, 97, 169, 298)),
    "airfoil": ((10, 19, 37, 70, 136, 257, 495), (10, 16, 22, 31, 46, 67, 100)),
    "housing": ((10, 19, 31, 61, 100, 199, 299), (10, 19, 31, 61, 100, 187)),
}


def drawn_trials(seeds: int = DRAWS) -> list[Trial]:
    """List gates as drawn for every cell of Table 1; California Housing by all and by few rows."""
    return [
        trial
        for problem, both in DRAWN_WIDTHS.items()
        for unit, widths in zip(PAPER_UNITS[:2], both, strict=True)
        for points in ((20_640, 2_000) if problem == "housing" else (None,))
        for trial in scaling_trials([problem], widths, seeds, "as-drawn", (unit,), points=points)
    ]


def _quick_table1_trials(seeds: int = 1) -> list[Trial]:
    """List runs that end early, for the sample: each of a width that stops no growth."""
    return [t for t in table1_trials(widths=(2,), seeds=seeds) if t["unit"] == "glu"]


TABLE1 = Study(
    "MLP, GLU and GQU on problems of two to eight inputs",
    {name: SCALING_PROTOCOLS[name][-1] for name in ("held-out", "paper", "author")},
    run_scaling,
    lambda: [
        *_quick_table1_trials(2),
        *table1_trials(),
        *table1_trials(OTHERS, seeds=FEWER_SEEDS),
        *curve_trials(),
    ],
    lambda: [t for t in _quick_table1_trials() if t["protocol"] != "held-out"],  # no choices
)
AS_DRAWN = Study(
    "Table 1 with gates as drawn, at widths of the paper's points",
    {"as-drawn": SCALING_PROTOCOLS["as-drawn"][-1]},
    run_scaling,
    drawn_trials,
    lambda: [t for t in drawn_trials(1) if t["problem"] in ("sine", "airfoil")][1:],
)
