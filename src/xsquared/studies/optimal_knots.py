"""Knots of the best splines found: what a reader's own knots are compared with."""

from functools import cache
from typing import Any

import numpy as np

from xsquared.functions import PAPER_TARGET, Target, interval_of, target
from xsquared.quadrature import on_cells
from xsquared.splines.free_knots import FreeKnotSpline, fit_free_knots
from xsquared.splines.optimal_knots import optimal_knots
from xsquared.studies.experiment import make_trial, target_of
from xsquared.studies.sweep import Study, Trial
from xsquared.training import FreeKnots
from xsquared.units import PAPER_UNITS, parameter_count, space

#: What a reader can choose to fit, by name.
TARGETS: dict[str, Target] = {
    PAPER_TARGET.name: PAPER_TARGET,
    "1/(1+9x²)": target("1/(1 + 9*x**2)", (-1.0, 1.0)),
    "exp(2x)": target("exp(2*x)", (-1.0, 1.0)),
}
#: The most cells, and the share of the interval in which knots are kept: an error moves
#: by less than 1e-6 of itself.
WIDEST, STEP = 50, 1e-6


def spline(made: Target, unit: str, places: list[int]) -> FreeKnotSpline:
    """Fit the best spline for inner knots at so many steps from the interval's left
    end.
    """
    a, b = interval_of(made)
    knots = np.array([a, *(a + (b - a) * STEP * np.array(places)), b])
    return fit_free_knots(made, space(unit), knots, max_iterations=0)


@cache
def best(made: Target, unit: str, cells: int) -> FreeKnotSpline:
    """Find the best spline: by the solver, from Newton's knots, from a cell fewer with
    one parted.

    Where errors are small, only Newton's knots, from the target's derivative, are free
    of rounding.
    """
    shape = space(unit)
    newton = optimal_knots(made, shape.degree + 1, cells, shape.smoothness).knots
    found = [FreeKnots().spline(made, unit, cells), fit_free_knots(made, shape, newton)]
    if cells > 1:
        fewer = best(made, unit, cells - 1)
        x, weights = on_cells(fewer.knots)
        errors = np.sum(weights * (fewer(x) - made(x)) ** 2, axis=1)
        for worst in np.argsort(errors)[-4:]:
            parted = np.insert(
                fewer.knots, worst + 1, fewer.knots[worst : worst + 2].mean()
            )
            found.append(fit_free_knots(made, shape, parted))
    return min(found, key=lambda one: one.rmse)


def knot_trials() -> list[Trial]:
    """List every target, unit and number of cells."""
    same: Any = {"solver": "free_knots", "protocol": "knots", "split": "paper"}
    return [
        make_trial(str(made.expression), unit, cells, domain=made.domain, **same)
        for made in TARGETS.values()
        for unit in PAPER_UNITS
        for cells in range(1, WIDEST + 1)
    ]


def run_knots(trial: Trial) -> dict[str, Any]:
    """Find the best spline of n cells: places of its inner knots, in steps, and its
    RMSE there.
    """
    made, unit, n = target_of(trial), trial["unit"], trial["n"]
    a, b = interval_of(made)
    places = (
        np.rint((best(made, unit, n).knots[1:-1] - a) / (b - a) / STEP)
        .astype(int)
        .tolist()
    )
    error, parameters = spline(made, unit, places).rmse, parameter_count(unit, 1, n)
    both = {"train_rmse": error, "test_rmse": error}
    return {"parameters": parameters, **both, "knots": " ".join(map(str, places))}


OPTIMAL_KNOTS = Study(
    "Knots of the best splines found, in millionths of the interval, and their RMSE",
    {"knots": "the best spline of n cells for the unit's order and continuity"},
    run_knots,
    knot_trials,
    lambda: [
        t for t in knot_trials() if t["n"] == {"mlp": 3, "glu": 6, "gqu": 9}[t["unit"]]
    ],
)
