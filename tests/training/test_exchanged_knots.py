"""Exchanged knots against a search through all exchanges, and an optimum that they leave."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from xsquared.functions import target
from xsquared.splines.free_knots import LEAST_WIDTH, FreeKnotSpline, fit_free_knots
from xsquared.training import exchanged_knots
from xsquared.training.exchanged_knots import exchanged, with_a_knot_moved
from xsquared.units import space


def fits(text: str, unit: str) -> Callable[..., FreeKnotSpline]:
    """A fit from knots with gates in these directions, of so many iterations."""
    f = target(text)
    return lambda knots, gates, limit: fit_free_knots(f, space(unit), knots, limit, gates)


@pytest.mark.parametrize(("unit", "factor"), [("mlp", 1.001), ("glu", 1.5), ("gqu", 1.001)])
def test_an_exchange_is_nearly_as_good_as_the_best_of_all(unit: str, factor: float) -> None:
    """Each of 237 exchanges is fitted for as many steps as those that are chosen."""
    text, knots = "atan(8*(x - 0.4))", np.array([-1.0, -0.6, -0.3, 0.0, 1.0])
    fit = fits(text, unit)
    spline = fit(knots, None, 0)
    errors = [
        fit(np.sort(np.append(np.delete(knots, j), x)), None, exchanged_knots._STEPS).rmse
        for j, x in itertools.product(range(1, 4), np.linspace(-1, 1, 81)[1:-1])
        if np.abs(np.delete(knots, j) - x).min() > 1e-9
    ]
    made = exchanged(target(text), space(unit), spline, fit)
    assert made.rmse < factor * min(errors) < 0.2 * spline.rmse
    assert made.iterations > exchanged_knots._STEPS


def test_an_exchange_leaves_a_local_optimum() -> None:
    """The middle hinge stands left of a small kink; the better place is on the other side."""
    text = "0.014*abs(x - 0.176) + 0.766*abs(x + 0.73) - 0.689*abs(x - 0.838) + 0.007*sin(4.61*x)"
    start, gates = np.array([-1.0, -0.729, -0.177, 0.837, 1.0]), np.array([1, -1, 1])
    fit = fits(text, "glu")
    stuck = fit(start, gates, 300)
    assert stuck.status == "converged"
    moved = exchanged(target(text), space("glu"), stuck, fit)
    assert fit(moved.knots, moved.directions, 300).rmse < 0.8 * stuck.rmse


def test_an_exchange_turns_a_gate() -> None:
    """Where both open to the left, one has to open to the right: knots alone do not help so far."""
    text, gates = "abs(x - 0.22) + 0.3*sin(3*x)", np.array([-1, -1])
    fit = fits(text, "mlp")
    stuck = fit(np.array([-1.0, -0.826, -0.414, 1.0]), gates, 300)
    moved = exchanged(target(text), space("mlp"), stuck, fit)
    assert moved.directions is not None
    assert sorted(moved.directions) == [-1, 1]
    freed = fit(moved.knots, moved.directions, 300).rmse
    assert freed < 0.8 * fit(moved.knots, gates, 300).rmse < 0.8 * stuck.rmse


def test_no_knot_goes_where_cells_have_all_but_merged() -> None:
    """At a jump, places in the narrowest cells would be rounding."""
    text, knots = "(x - 0.4)/abs(x - 0.4)", np.array([-1.0, 0.3999999995, 0.4000000005, 1.0])
    fit = fits(text, "glu")
    made = exchanged(target(text), space("glu"), fit(knots, None, 0), fit)
    assert np.diff(made.knots).min() >= LEAST_WIDTH


def test_the_knot_that_is_least_useful_moves_into_the_worst_cell() -> None:
    knots = np.array([-1.0, -0.99, -0.98, 0.0, 0.5, 1.0])
    spline = fit_free_knots(target("exp(3*x)"), space("mlp"), knots, max_iterations=0)
    moved = with_a_knot_moved(target("exp(3*x)"), spline)
    np.testing.assert_allclose(moved, [-1.0, -0.98, 0.0, 0.5, 0.75, 1.0])
