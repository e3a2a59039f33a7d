"""Table 1: errors against parameters, by problem, unit and protocol, a trial for all widths.

A trial trains one unit on one problem from one seed at every width, narrow networks first: grown,
or each for itself as the paper's author does where gates stay as drawn. A held-out trial of a
synthetic problem fits the very points of the paper's split, so its training error is that split's
error too; the tables of real data are cut differently and need a trial for each.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from scipy.special import stdtrit

from xsquared.checks import check_choice, check_integer, check_integers
from xsquared.data.dataset import DEFAULT_POINTS, Dataset, Split
from xsquared.data.problems import find_problem
from xsquared.errors import rmse
from xsquared.slopes import Slope, fit_slope_over_seeds
from xsquared.training import Fit, Growth, fit, grow, solver_from
from xsquared.training.result import Gates
from xsquared.units import PAPER_UNITS, find_unit
from xsquared_studies.experiment import dataset, values_of
from xsquared_studies.trial import Result, Scalar, Setting, Trial

#: Of the committed study.
WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_GROWN = (
    "grown from width to width until twice the iterations lower the error by less than 2 per cent; "
    "train_N is the error on the training points of the network of N neurons that fits them best"
)
_HELD_OUT = (
    f"{_GROWN}, test_N that on fresh points of the one chosen on validation points, grid_N that of "
    "the former on the author's 44 x 44 points of a planar target"
)
_PAPER = (
    f"{_GROWN}: all rows of the airfoils, the first 2,000 of California Housing, as the paper's"
)
_AUTHOR = (
    "gates as drawn, the other weights by one sweep of Newton's method: a reconstruction of the "
    "author's code, which does not record what Figs. 6 and 7 used"
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
) -> list[Trial]:
    """Trials of a protocol, seed after seed.

    Args:
        problems: names of :data:`xsquared.data.problems.PROBLEMS`.
        widths: neurons, ascending.
        seeds: of data and starts, from 0.
        protocol: a name of :data:`SCALING_PROTOCOLS`.
        units: their names.
        activation: the gate's name; the units' own where empty.

    Raises:
        ValueError: an unknown problem, unit or protocol, a width below 1, or fewer than two seeds.
    """
    known = SCALING_PROTOCOLS[check_choice("protocol", protocol, SCALING_PROTOCOLS)]
    solver, gates, split, settings, _ = known
    checked = tuple(check_integers("widths", widths, 1))
    return [
        Trial(
            unit,
            max(checked),
            name,
            activation=activation,
            solver=solver,
            settings=(*settings, ("widths", checked)),
            gates=gates,
            split=split,
            points=DEFAULT_POINTS if name == "housing" else None,
            seed=seed,
            protocol=protocol,
        )
        for seed in range(check_integer("seeds", seeds, 2, 1000))
        for name in problems
        for unit in units
    ]


def run_scaling(trial: Trial) -> dict[str, Scalar]:
    """Train one network for each of the trial's widths.

    Returns:
        What a trial of the widest network alone would; and ``train_N``, ``test_N`` for each width
        N, ``grid_N`` where the target is planar, and the widths that did not converge, as text.

    Raises:
        MemoryError: there is not enough memory.
        ValueError: a trial without widths, or what the solver does not know or implement.
    """
    settings = dict(trial.settings)
    if not isinstance(widths := settings.pop("widths", None), tuple):
        raise ValueError(f"expected a trial of scaling_trials, got {trial}")
    data, solver = dataset(trial), solver_from(trial.solver, settings)
    sizes = check_integers("widths", widths, 1)
    if isinstance(solver, Growth):
        made = grow(data, trial.record, sizes, solver=solver, gates=trial.gates, seed=trial.seed)
    else:
        made = [
            fit(data, trial.record, n, solver=solver, gates=trial.gates, seed=trial.seed)
            for n in sizes
        ]
    values = values_of(trial, data, made[-1])
    for n, one in zip(sizes, made, strict=False):
        values |= {f"train_{n}": one.train_rmse, f"test_{n}": one.test_rmse}
        if find_problem(trial.problem).kind == "planar" and one.closest is not None:
            values[f"grid_{n}"] = _on_the_grid(data, one)
    early = [str(n) for n, one in zip(sizes, made, strict=False) if one.status.word != "converged"]
    return values | {"unconverged": " ".join(early)}


def scalings(results: Iterable[Result]) -> dict[tuple[str, str, str], Scaling]:
    """Errors and slopes of :func:`scaling_trials`, by problem, unit and what they are errors of.

    That is ``"training"``, ``"held-out"`` and ``"grid"`` of held-out trials, ``"paper"`` of the
    paper's rows, which for synthetic problems are the training points, and ``"author"``: training
    points again, or those of the grid.

    Raises:
        ValueError: a trial that did not complete, or a problem whose seeds have other widths.
    """
    errors: dict[tuple[str, str, str], list[dict[int, float]]] = defaultdict(list)
    for result in results:
        trial = result.trial
        if not result.completed:
            raise ValueError(f"no errors of {trial}: {result.status}, {result.message}")
        train, test, grid = (_by_width(result, part) for part in ("train", "test", "grid"))
        of = {trial.protocol: grid or train}
        if trial.protocol == "held-out":
            of = {"training": train, "held-out": test} | ({"grid": grid} if grid else {})
            if find_problem(trial.problem).kind != "table":
                of["paper"] = train
        elif trial.protocol == "paper":
            of = {"paper": train}
        for word, found in of.items():
            errors[trial.problem, trial.unit, word].append(found)
    return {key: _scaling(*key[:2], found) for key, found in errors.items()}


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


def _by_width(result: Result, part: str) -> dict[int, float]:
    """The errors of one part by width."""
    rows = result.values.items()
    named = {name.removeprefix(f"{part}_"): value for name, value in rows if f"{part}_" in name}
    return {int(n): float(value) for n, value in named.items() if n.isdigit()}  # type: ignore[arg-type]


def _scaling(problem: str, unit: str, found: list[dict[int, float]]) -> Scaling:
    widths = sorted(found[0])
    if any(sorted(row) != widths for row in found):
        raise ValueError(f"{problem}, {unit}: expected the same widths of every seed")
    table = np.array([[row[n] for n in widths] for row in found])
    record, dim = find_unit(unit), find_problem(problem).dim
    parameters = np.array([record.parameter_count(dim, n) for n in widths])
    return Scaling(np.array(widths), parameters, table, fit_slope_over_seeds(parameters, table))
