"""Table 1: slopes of error against parameters, by problem, unit and split.

One sweep trains every unit at every width with every seed. A held-out trial of a synthetic problem
fits the very points of the paper's split, so its training error is that split's error and one trial
serves both; the tables of real data are cut differently, so they need a trial for each. In one
dimension the solver minimises the integral of the squared error, and both splits are one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from xsquared.checks import check_integer, check_integers
from xsquared.data.dataset import DEFAULT_POINTS, SPLITS, Split
from xsquared.data.problems import find_problem
from xsquared.functions import PAPER_TARGET
from xsquared.slopes import Slope, fit_slope_over_seeds
from xsquared.studies.trial import Result, Trial
from xsquared.units import PAPER_UNITS, parameter_count

#: How the paper's target in one dimension is called among the problems.
LINE = "line"


@dataclass(frozen=True, eq=False)
class Scaling:
    """Errors of one unit on one problem by one split.

    Attributes:
        widths: (m,) neurons.
        parameters: (m,) of the network.
        errors: (seeds, m) root mean square errors, in units of the target's deviation.
        slope: of the median error over seeds against parameters, with a 95% interval from
            resampling seeds.
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
    problems: Sequence[str], widths: Sequence[int], seeds: int, points: int | None = None
) -> list[Trial]:
    """The trials behind Table 1, narrow networks first.

    Args:
        problems: names of :data:`xsquared.data.problems.PROBLEMS`, or :data:`LINE`.
        widths: neurons.
        seeds: of data and starts, from 0.
        points: training points of synthetic problems and of California Housing; 2,000 where None.
            The airfoils, which are fewer, give all.

    Raises:
        ValueError: an unknown problem, a width below 1, or fewer than two seeds.
    """
    check_integer("seeds", seeds, 2, 1000)
    return [
        _trial(name, split, unit, n, seed, points)
        for n in check_integers("widths", widths, 1)
        for name in problems
        for split in (SPLITS if _is_table(name) else ("held-out",))
        for unit in PAPER_UNITS
        for seed in range(seeds)
    ]


def scalings(results: Iterable[Result]) -> dict[tuple[str, str, str], Scaling]:
    """Slopes from the results of :func:`scaling_trials`, by problem, unit and split.

    Raises:
        ValueError: a trial that did not complete, or a width without some seed.
    """
    errors: dict[tuple[str, str, str], dict[tuple[int, int], float]] = defaultdict(dict)
    for result in results:
        trial = result.trial
        name = trial.problem or LINE
        if "train_rmse" not in result.values:
            raise ValueError(f"no errors of {trial}: {result.status}, {result.message}")
        for split, key in (("paper", "train_rmse"), ("held-out", "test_rmse")):
            # A table's trial has one split; a synthetic problem's has the errors of both.
            if trial.split == split or not _is_table(name):
                value = float(result.values[key])  # type: ignore[arg-type]
                errors[name, trial.unit, split][trial.seed, trial.n_hidden] = value
    return {key: _scaling(*key[:2], cells) for key, cells in errors.items()}


def _is_table(name: str) -> bool:
    return name != LINE and find_problem(name).kind == "table"


def _trial(name: str, split: Split, unit: str, n: int, seed: int, points: int | None) -> Trial:
    if name == LINE:
        return Trial(
            unit,
            n,
            expression=str(PAPER_TARGET.expression),
            domain=PAPER_TARGET.domain,
            solver="free_knots",
            split="paper",
            seed=seed,
            protocol="integral",
        )
    if name == "housing" and points is None:
        points = DEFAULT_POINTS
    # Rows not seen are all that counts where the training points are not the paper's.
    judged = (("to_the_end", False),) if _is_table(name) and split == "held-out" else ()
    return Trial(
        unit,
        n,
        name,
        solver="ridge_path",
        settings=judged,
        split=split,
        points=None if name == "airfoil" else points,
        seed=seed,
        protocol="points",
    )


def _scaling(problem: str, unit: str, cells: dict[tuple[int, int], float]) -> Scaling:
    seeds, widths = (sorted({key[i] for key in cells}) for i in (0, 1))
    if missing := [(seed, n) for seed in seeds for n in widths if (seed, n) not in cells]:
        raise ValueError(f"{problem}, {unit}: no result for seed and width {missing[0]}")
    table = np.array([[cells[seed, n] for n in widths] for seed in seeds])
    dim = 1 if problem == LINE else find_problem(problem).dim
    parameters = np.array([parameter_count(unit, dim, n) for n in widths])
    return Scaling(np.array(widths), parameters, table, fit_slope_over_seeds(parameters, table))
