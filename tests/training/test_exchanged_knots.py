"""Exchanged knots against a search through all exchanges, and an optimum that they leave."""

import itertools

import numpy as np
import pytest

from xsquared.functions import target
from xsquared.splines.free_knots import fit_free_knots
from xsquared.training.exchanged_knots import exchanged, with_a_knot_moved
from xsquared.units import space


@pytest.mark.parametrize("unit", ["mlp", "glu", "gqu"])
def test_an_exchange_is_nearly_as_good_as_the_best_of_all(unit: str) -> None:
    f, knots = target("atan(8*(x - 0.4))"), np.array([-1.0, -0.6, -0.3, 0.0, 1.0])
    spline = fit_free_knots(f, space(unit), knots, 0)
    places = np.linspace(-1, 1, 81)[1:-1]
    errors = [
        fit_free_knots(f, space(unit), np.sort(np.append(np.delete(knots, j), x)), 0).rmse
        for j, x in itertools.product(range(1, 4), places)
        if np.abs(np.delete(knots, j) - x).min() > 1e-9
    ]
    assert exchanged(f, space(unit), spline).rmse < 1.02 * min(errors) < 0.8 * spline.rmse


def test_an_exchange_leaves_a_local_optimum_and_turns_a_gate() -> None:
    """The middle hinge stands left of a small kink; the better place is on the other side."""
    f = target(
        "0.014*abs(x - 0.176) + 0.766*abs(x + 0.73) - 0.689*abs(x - 0.838) + 0.007*sin(4.61*x)"
    )
    start, gates = np.array([-1.0, -0.729, -0.177, 0.837, 1.0]), np.array([1, -1, 1])
    stuck = fit_free_knots(f, space("glu"), start, 300, gates)
    assert stuck.status == "converged"
    moved = exchanged(f, space("glu"), stuck)
    assert moved.directions is not None
    assert moved.directions.shape == (3,)
    freed = fit_free_knots(f, space("glu"), moved.knots, 300, moved.directions)
    assert freed.rmse < 0.8 * stuck.rmse


def test_the_knot_that_is_least_useful_moves_into_the_worst_cell() -> None:
    knots = np.array([-1.0, -0.99, -0.98, 0.0, 0.5, 1.0])
    spline = fit_free_knots(target("exp(3*x)"), space("mlp"), knots, max_iterations=0)
    moved = with_a_knot_moved(target("exp(3*x)"), spline)
    np.testing.assert_allclose(moved, [-1.0, -0.98, 0.0, 0.5, 0.75, 1.0])
