"""Table 1: errors against parameters, by problem, unit and protocol.

A trial grows one unit on one problem from one seed through all widths. A held-out trial
of a synthetic problem fits the very points of the paper's split; tables of real data
need a trial for each.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from xsquared.data.dataset import DEFAULT_POINTS, Dataset
from xsquared.data.problems import PROBLEMS
from xsquared.slopes import fit_slope
from xsquared.studies.evidence import Effect, effect
from xsquared.studies.experiment import data_of, make_trial, unit_of, values_of
from xsquared.studies.sweep import Study, Trial
from xsquared.training import grow
from xsquared.units import PAPER_UNITS, find_unit

#: The problems of the gated-units paper's Figs. 6 and 7.
SYNTHETIC = ("sine", "friedman1", "friedman2", "friedman3")
PAPER_PROBLEMS = (*SYNTHETIC, "airfoil", "housing")
#: Problems of ours: Runge's, which is no short sum of ridges, and idle inputs.
OTHERS = ("runge", "friedman1_10")
#: Seeds of data and starts for the paper's problems.
_SEEDS = 5
#: The same for other problems.
FEWER_SEEDS = 3
_WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_GROWN = (
    "grown until converged; "
    "train_rmse is of the best fit, test_rmse of the validation's choice"
)
#: What the protocols do, each named after its split.
_SCALING_PROTOCOLS = {"held-out": _GROWN, "paper": f"{_GROWN}, on the paper's rows"}


@dataclass(frozen=True, eq=False)
class Scaling:
    """Widths (m,), their parameters (m,), and errors (seeds, m).

    Errors are over the target's deviation.
    """

    widths: np.ndarray
    parameters: np.ndarray
    errors: np.ndarray

    @property
    def median(self) -> np.ndarray:
        """Take the median error over seeds, (m,)."""
        return np.median(self.errors, axis=0)

    @property
    def upper_slope(self) -> float:
        """Fit the slope of the median error over the upper half of the widths."""
        upper = slice(len(self.widths) // 2, None)
        return fit_slope(self.widths[upper], self.median[upper]).value


def _scaling_trials(
    problems: Sequence[str],
    widths: Sequence[int],
    seeds: int,
    protocol: str,
    units: Sequence[str],
) -> list[Trial]:
    """List trials of a protocol, seed after seed."""
    trials: list[Trial] = []
    for seed in range(seeds):
        for name in problems:
            points = DEFAULT_POINTS if name == "housing" else None
            trials += [
                make_trial(
                    name,
                    unit,
                    max(widths),
                    "growth",
                    protocol,
                    settings={"widths": list(widths)},
                    split=protocol,
                    points=points,
                    seed=seed,
                )
                for unit in units
            ]
    return trials


def run_scaling(trial: Trial, data: Dataset | None = None) -> dict[str, Any]:
    """Grow one network for each of the trial's widths; give lists over widths by name.

    Args:
        trial: its settings are the widths.
        data: what to train on; the trial's own points where None.
    """
    widths = trial["settings"]["widths"]
    unit = unit_of(trial)
    data = data or data_of(trial)
    results = grow(data, unit, widths, seed=trial["seed"])
    networks = [
        {"n": n, **values_of(unit, n, data, result)}
        for n, result in zip(widths, results, strict=True)
    ]
    return {name: [network[name] for network in networks] for name in networks[0]}


def scalings(networks: pd.DataFrame) -> dict[tuple[str, str, str], Scaling]:
    """Collect errors by problem, unit and the points that judge.

    Those are ``"training"`` and ``"held-out"``.

    Args:
        networks: rows of :func:`table1_trials`, one a network; those of the paper's
            split are left out.
    """
    by_points = {}
    held_out = networks[networks["protocol"] == "held-out"]
    for (problem, unit), rows in held_out.groupby(["problem", "unit"]):
        parameters = rows.groupby("n")["parameters"].first().to_numpy(int)
        for points, column in (("training", "train_rmse"), ("held-out", "test_rmse")):
            table = rows.pivot(index="seed", columns="n", values=column)
            by_points[problem, unit, points] = Scaling(
                table.columns.to_numpy(), parameters, table.to_numpy(float)
            )
    return by_points


def error_ratio(over: Scaling, under: Scaling, parameters: int, shared: bool) -> Effect:
    """Divide errors of two units at equal numbers of parameters, seed by seed.

    Between the widths of the study errors are interpolated, logarithms against
    logarithms; ``shared``: as :func:`~xsquared.studies.evidence.effect` has it, where
    seeds are splits.
    """
    over_logs = _log_errors_at(over, parameters)
    return effect(over_logs - _log_errors_at(under, parameters), shared)


def _log_errors_at(scaling: Scaling, parameters: int) -> np.ndarray:
    """Interpolate logarithms of errors (seeds,) at a number of parameters."""
    known = np.log(scaling.parameters)
    at = math.log(parameters)
    return np.array([np.interp(at, known, logs) for logs in np.log(scaling.errors)])


def table1_trials(
    problems: Sequence[str] = PAPER_PROBLEMS,
    widths: Sequence[int] = _WIDTHS,
    seeds: int = _SEEDS,
) -> list[Trial]:
    """List the trials behind Table 1, seed after seed.

    Units of two factors end at 32 neurons, where a GQU has about the parameters of a
    GLU of 46. Of tables there are trials by the paper's split as well: the chapter
    counts them among the networks that were grown, and the study's sample repeats
    some, as nothing is chosen on validation points there. No error of theirs is shown.
    """
    tables = [name for name in problems if PROBLEMS[name].kind == "table"]
    trials: list[Trial] = []
    for protocol, names in (("held-out", problems), ("paper", tables)):
        for unit in PAPER_UNITS:
            most = 32 if len(find_unit(unit).factors) == 2 else max(widths)
            trained = [n for n in widths if n <= most]
            if trained:
                trials += _scaling_trials(names, trained, seeds, protocol, (unit,))
    return sorted(trials, key=lambda trial: trial["seed"])


def _quick_table1_trials(seeds: int) -> list[Trial]:
    """List runs that end early: each of a width that stops no growth."""
    trials = table1_trials(widths=(2,), seeds=seeds)
    return [trial for trial in trials if trial["unit"] == "glu"]


def _all_table1_trials() -> list[Trial]:
    return [
        *_quick_table1_trials(2),
        *table1_trials(),
        *table1_trials(OTHERS, seeds=FEWER_SEEDS),
    ]


def _table1_sample() -> list[Trial]:
    """Take the quick runs of the paper's split, in which nothing is chosen."""
    trials = _quick_table1_trials(1)
    return [trial for trial in trials if trial["protocol"] == "paper"]


TABLE1 = Study(
    "MLP, GLU and GQU on problems of two to eight inputs",
    _SCALING_PROTOCOLS,
    run_scaling,
    _all_table1_trials,
    _table1_sample,
)
