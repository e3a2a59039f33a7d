"""Bounds for splines that meet: below every spline, whatever the potentials, and close."""

import numpy as np
import pytest

from xsquared.functions import target
from xsquared.splines.bounds import lower_bounds
from xsquared.splines.constants import least_squares_spline_rmse
from xsquared.splines.free_knots import fit_free_knots
from xsquared.splines.optimal_knots import optimal_knots
from xsquared.splines.pieces import Pairs, best_on_knots
from xsquared.splines.potentials import (
    CONTINUITY,
    _costs,
    _potential,
    _shortest,
    meeting_lower_bound,
)
from xsquared.units import space

F = target("sin(4*x)")


@pytest.mark.parametrize(
    ("order", "unit", "close", "gain"), [(2, "mlp", 1.05, 0.98), (3, "glu", 1.25, 1.2)]
)
def test_the_bound_is_close_to_the_best_spline_and_above_that_of_pieces(
    order: int, unit: str, close: float, gain: float
) -> None:
    start = optimal_knots(F, order, 4, CONTINUITY[order]).knots
    spline = fit_free_knots(F, space(unit), start)
    found, bound = spline.rmse, meeting_lower_bound(F, order, spline)
    assert bound < found < close * bound
    assert bound > gain * lower_bounds(F, order, 4)[-1]
    draw = np.random.default_rng(0)
    for _ in range(20):
        knots = np.concatenate([[-1], np.sort(draw.uniform(-1, 1, 3)), [1]])
        assert fit_free_knots(F, space(unit), knots, max_iterations=0).rmse > bound


@pytest.mark.parametrize("order", [2, 3, 4])
def test_whatever_the_potentials_no_spline_is_below_the_bound(order: int) -> None:
    draw, continuity = np.random.default_rng(order), CONTINUITY[order]
    pairs = Pairs(F, order, np.linspace(-1, 1, 121))
    best = 2 * least_squares_spline_rmse(F, order, 4, continuity) ** 2
    knots = np.linspace(-1, 1, 5)
    jets, multipliers = best_on_knots(F, order, continuity, knots)
    for _ in range(6):
        wild = multipliers * draw.normal(size=multipliers.shape)
        off = jets * draw.uniform(0.5, 1.5, size=jets.shape)
        potential = _potential(pairs, knots, off, wild, draw.uniform(0.01, 0.2))
        costs = _costs(pairs, potential)
        assert _shortest(costs, 4, draw.uniform(0, 1) * best / 4) < best


@pytest.mark.parametrize("order", [2, 3, 4])
def test_jets_and_multipliers_are_those_of_the_best_spline(order: int) -> None:
    continuity, knots = CONTINUITY[order], np.array([-1, -0.4, 0.1, 0.5, 1])
    jets, multipliers = best_on_knots(F, order, continuity, knots)
    free = continuity + 1
    np.testing.assert_allclose(jets[:, 0, :free], jets[:, 1, :free], atol=1e-9)
    assert np.abs(jets[:, 0, free] - jets[:, 1, free]).min() > 1e-4
    assert multipliers.shape == (3, free)
