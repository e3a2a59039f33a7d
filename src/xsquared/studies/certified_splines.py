"""Certified lower bounds of the errors of splines, and the best splines found.

Chapters read the bounds from committed rows: to compute others python-flint is needed.
"""

from collections.abc import Sequence
from decimal import ROUND_FLOOR, Context
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from xsquared.functions import PAPER_TARGET, Target
from xsquared.networks_1d.solver import SplineSearch
from xsquared.quadrature import on_cells
from xsquared.splines.free_knots import FreeKnotSpline, fit_free_knots
from xsquared.splines.optimal_knots import optimal_knots
from xsquared.studies.experiment import make_trial, target_of, unit_of
from xsquared.studies.sweep import Study, Trial
from xsquared.units import PAPER_UNITS, parameter_count, space

#: Whose best splines are certified, for each number of neurons.
CERTIFIED = ("exp(2*x)", "sin(4*x)", str(PAPER_TARGET.expression))
_NEURONS = (2, 5, 10)
#: The widest network of the paper's line figures: pieces are bounded up to its cells.
_WIDEST = 50
#: Digits that committed rows keep.
_DIGITS = Context(prec=6, rounding=ROUND_FLOOR)
#: Cells of the best spline with one knot less that are parted in turn, those of the
#: largest error: other cells hardly need another knot.
_PARTED = 4


@cache
def best_spline(target: Target, unit: str, cells: int) -> FreeKnotSpline:
    """Find the best spline of so many cells for a unit's order and continuity.

    Three kinds of starts compete: the solver's spline; Newton's knots, which come from
    the target's derivative and are free of rounding where errors are small; and the
    best spline of a cell less, with a knot put into the middle of a cell.
    """
    shape = space(unit)
    newton = optimal_knots(target, shape.degree + 1, cells, shape.smoothness)
    candidates = [
        SplineSearch().best_spline(target, shape, cells),
        fit_free_knots(target, shape, newton.knots),
    ]
    if cells > 1:
        fewer = best_spline(target, unit, cells - 1)
        points, weights = on_cells(fewer.knots)
        errors = np.sum(weights * (fewer(points) - target(points)) ** 2, axis=1)
        for cell in np.argsort(errors)[-_PARTED:]:
            middle = fewer.knots[cell : cell + 2].mean()
            knots = np.insert(fewer.knots, cell + 1, middle)
            candidates.append(fit_free_knots(target, shape, knots))
    return min(candidates, key=lambda spline: spline.rmse)


def certified_trials(neurons: Sequence[int] = _NEURONS) -> list[Trial]:
    """List every target, unit and number of neurons, which make one piece more."""
    same: Any = {"domain": ((-1, 1),), "split": "paper"}
    return [
        make_trial(text, unit, n, "search", "certified", **same)
        for text in CERTIFIED
        for unit in PAPER_UNITS
        for n in neurons
    ]


def piece_trials(target: Target = PAPER_TARGET, most: int = _WIDEST) -> list[Trial]:
    """List the paper's units: a trial's rows are of 1 to ``most`` neurons, at least 50.

    The grid of wide networks serves narrow ones, too, and rows of 50 are committed.
    """
    most = max(most, _WIDEST)
    text = str(target.expression)
    same: Any = {"domain": target.domain, "split": "paper"}
    return [
        make_trial(text, unit, most, "bound", "pieces", **same) for unit in PAPER_UNITS
    ]


def _run_certified(trial: Trial) -> dict[str, Any]:
    """Bound what n + 1 pieces reach; where they meet, search for the best as well."""
    # Loaded here, as python-flint is needed for new rows alone.
    from xsquared.splines.bounds import lower_bounds
    from xsquared.splines.potentials import meeting_lower_bound

    f, unit, n = target_of(trial), unit_of(trial), trial["n"]
    if trial["protocol"] == "pieces":
        neurons = list(range(1, n + 1))
        return {
            "n": neurons,
            "parameters": [parameter_count(unit, 1, count) for count in neurons],
            "bound": [_rounded_down(b) for b in lower_bounds(f, unit.order, n + 1)[1:]],
        }
    spline = best_spline(f, unit.name, n + 1)
    return {
        "parameters": parameter_count(unit, 1, n),
        "train_rmse": spline.rmse,
        "test_rmse": spline.rmse,
        "bound": _rounded_down(meeting_lower_bound(f, unit.order, spline)),
    }


def _rounded_down(bound: float) -> float:
    """Round to the digits of a row, so that what is written is a lower bound, too."""
    return float(_DIGITS.create_decimal_from_float(bound))


def _what_is_missing() -> str:
    """Say what must be installed for new rows, if anything."""
    if find_spec("flint"):
        return ""
    return "certified bounds need python-flint: pip install 'xsquared[proofs]'"


CERTIFIED_SPLINES = Study(
    "Errors that no spline is below, and the least ones found",
    {
        "certified": "the best spline found for the unit's order and continuity, of "
        "n + 1 pieces, and a lower bound for all of them, wherever their knots are",
        "pieces": "a lower bound for n + 1 polynomials of the unit's order, wherever "
        "they break, that need not meet",
    },
    _run_certified,
    lambda: [*certified_trials(), *piece_trials()],
    lambda: [*certified_trials(_NEURONS[:1]), *piece_trials()],
    _what_is_missing,
)
