"""Table 1: errors against parameters, by problem, unit and protocol, a trial for all widths.

A trial trains one unit on one problem from one seed at every width, narrow networks first: grown,
or each for itself as the paper's author does where gates stay as drawn. A held-out trial of a
synthetic problem fits the very points of the paper's split, so its training error is that split's
error too; the tables of real data are cut differently and need a trial for each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from xsquared.checks import check_integer
from xsquared.data.dataset import DEFAULT_POINTS, Dataset, Split
from xsquared.data.problems import PROBLEMS
from xsquared.errors import rmse
from xsquared.slopes import Slope, fit_slope_over_seeds
from xsquared.training import Fit, Growth, fit, grow, solver_from
from xsquared.training.result import Gates
from xsquared.units import PAPER_UNITS
from xsquared_studies.experiment import dataset, values_of
from xsquared_studies.trial import Scalar, Setting, Trial

#: Of the committed study.
WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_GROWN = (
    "grown from width to width until twice the iterations lower the error by less than 2 per cent; "
    "train_rmse is the error on the training points of the network of n neurons that fits them best"
)
_HELD_OUT = (
    f"{_GROWN}, test_rmse that on fresh points of the one chosen on validation points, author_rmse "
    "that of the former on the author's 44 x 44 points of a planar target"
)
_PAPER = (
    f"{_GROWN}: all rows of the airfoils, the first 2,000 of California Housing, as the paper's"
)
_AUTHOR = (
    "gates as drawn, the other weights by one sweep of Newton's method: a reconstruction of the "
    "author's code, which does not record what Figs. 6 and 7 used"
)
_DRAWN = (
    "gates as drawn, hinges among the data, the other weights by least squares; the rows and some "
    "of the widths of the paper's points that have the slope it prints"
)
_SWEEP: tuple[tuple[str, Setting], ...] = (("max_iterations", 1),)
#: By the protocol's name: solver, gates, split and settings of its trials, and what they do.
SCALING_PROTOCOLS = MappingProxyType[
    str, tuple[str, Gates, Split, tuple[tuple[str, Setting], ...], str]
](
    {
        "held-out": ("growth", "trained", "held-out", (), _HELD_OUT),
        "paper": ("growth", "trained", "paper", (), _PAPER),
        "author": ("newton", "frozen", "paper", _SWEEP, _AUTHOR),
        "as-drawn": ("varpro", "frozen", "paper", (), _DRAWN),
    }
)
#: Points a side of the author's test points of a planar target.
_GRID = 44


@dataclass(frozen=True, eq=False)
class Scaling:
    """Errors of one unit on one problem by one protocol.

    Attributes:
        widths: (m,) neurons.
        parameters: (m,) of the network.
        errors: (seeds, m) root mean square errors, in units of the target's deviation.
        slope: of the seeds' errors against parameters, with a 95% interval over seeds.
    """

    widths: np.ndarray
    parameters: np.ndarray
    errors: np.ndarray
    slope: Slope

    @property
    def median(self) -> np.ndarray:
        """(m,) median error over seeds."""
        return np.median(self.errors, axis=0)


def scaling_trials(
    problems: Sequence[str],
    widths: Sequence[int],
    seeds: int,
    protocol: str = "held-out",
    units: Sequence[str] = PAPER_UNITS,
    activation: str = "",
    points: int | None = None,
    ridge: float | None = None,
) -> list[Trial]:
    """Trials of a protocol, seed after seed.

    Args:
        problems: names of :data:`xsquared.data.problems.PROBLEMS`.
        widths: neurons, ascending.
        seeds: of data and starts, from 0.
        protocol: a name of :data:`SCALING_PROTOCOLS`.
        units: their names.
        activation: the gate's name; the units' own where empty.
        points: training points; 2,000, or all rows of the airfoils, where None.
        ridge: of training, after growth's own for points not seen; growth's where None.
    """
    solver, gates, split, settings, _ = SCALING_PROTOCOLS[protocol]
    if ridge is not None:
        settings = (*settings, ("ridges", (*Growth().ridges[:-1], ridge)))
    return [
        Trial(
            unit,
            max(widths),
            name,
            activation=activation,
            solver=solver,
            settings=(*settings, ("widths", tuple(widths))),
            gates=gates,
            split=split,
            points=DEFAULT_POINTS if name == "housing" and points is None else points,
            seed=seed,
            protocol=protocol,
        )
        for seed in range(seeds)
        for name in problems
        for unit in units
    ]


def run_scaling(trial: Trial, data: Dataset | None = None) -> dict[str, Scalar]:
    """Train one network for each of the trial's widths.

    Args:
        trial: of :func:`scaling_trials`.
        data: other points than the trial names.

    Returns:
        For each width what a trial of that network alone would, by names as ``test_rmse[n=4]``; and
        ``author_rmse``, the error where the author's code measures it: on the 44 x 44 points of a
        planar target, else on the training points.
    """
    settings = dict(trial.settings)
    sizes: Any = settings.pop("widths")
    data, solver = data or dataset(trial), solver_from(trial.solver, settings)
    if isinstance(solver, Growth):
        made = grow(data, trial.record, sizes, solver=solver, gates=trial.gates, seed=trial.seed)
    else:
        made = [
            fit(data, trial.record, n, solver=solver, gates=trial.gates, seed=trial.seed)
            for n in sizes
        ]
    values: dict[str, Scalar] = {"points": len(data.train.y)}
    for n, one in zip(sizes, made, strict=False):
        found = values_of(replace(trial, n_hidden=n), data, one)
        on_grid = PROBLEMS[trial.problem].kind == "planar" and one.closest is not None
        found["author_rmse"] = _on_the_grid(data, one) if on_grid else one.train_rmse
        values |= {f"{name}[n={n}]": value for name, value in found.items() if name != "points"}
    return values


def scalings(rows: pd.DataFrame) -> dict[tuple[str, str, str], Scaling]:
    """Errors and slopes of :func:`scaling_trials`, by problem, unit and what they are errors of.

    That is ``"training"``, ``"held-out"`` and ``"grid"`` of held-out trials, ``"paper"`` of the
    paper's rows, which for synthetic problems are the training points, and ``"author"``: training
    points again, or those of the grid.

    Raises:
        ValueError: a network that was not trained, or a problem whose seeds have other widths.
    """
    found = {}
    for (problem, unit, protocol), part in rows.groupby(["problem", "unit", "protocol"]):
        kind, of = PROBLEMS[problem].kind, {"author": "author_rmse", "paper": "train_rmse"}
        words = {protocol: of.get(protocol, "test_rmse")}
        if protocol == "held-out":
            words["training"] = "train_rmse"
            words |= {"grid": "author_rmse"} if kind == "planar" else {}
            words |= {"paper": "train_rmse"} if kind != "table" else {}
        for word, column in words.items():
            table = part.pivot(index="seed", columns="n", values=column)
            if table.isna().to_numpy().any():
                raise ValueError(f"{problem}, {unit}: expected the error of every seed and width")
            parameters = part.groupby("n")["parameters"].first().to_numpy(int)
            errors = table.to_numpy(float)
            slope = fit_slope_over_seeds(parameters, errors)
            found[problem, unit, word] = Scaling(
                table.columns.to_numpy(), parameters, errors, slope
            )
    return found


def error_ratio(over: Scaling, under: Scaling, parameters: int) -> tuple[float, float, float]:
    """How many times the error of one unit is that of another at equal numbers of parameters.

    Between the widths of the study errors are interpolated, logarithms against logarithms, and the
    units are compared seed by seed, as a seed's data are the same for both.

    Returns:
        The geometric mean over seeds and the ends of its 95% interval, Student's.

    Raises:
        ValueError: a number of parameters beyond either unit's, or other numbers of seeds.
    """
    if len(over.errors) != len(under.errors):
        raise ValueError(
            f"expected as many seeds of both, got {len(over.errors)} and {len(under.errors)}"
        )
    least = max(one.parameters[0] for one in (over, under))
    most = min(one.parameters[-1] for one in (over, under))
    at = math.log(check_integer("parameters", parameters, int(least), int(most)))
    logs = [
        np.array([np.interp(at, np.log(one.parameters), row) for row in np.log(one.errors)])
        for one in (over, under)
    ]
    gaps = logs[0] - logs[1]
    half = stdtrit(len(gaps) - 1, 0.975) * gaps.std(ddof=1) / math.sqrt(len(gaps))
    low, middle, high = np.exp(gaps.mean() + half * np.array([-1, 0, 1]))
    return float(middle), float(low), float(high)


def _on_the_grid(data: Dataset, made: Fit) -> float:
    assert data.target is not None
    assert made.closest is not None
    ends = [np.linspace(*interval, _GRID) for interval in data.target.domain]
    x = np.stack(np.meshgrid(*ends), axis=-1).reshape(-1, data.dim)
    y = (data.target(*x.T) - data.target_mean) / data.target_scale
    return rmse(made.closest, (x - data.feature_mean) / data.feature_scale, y)
