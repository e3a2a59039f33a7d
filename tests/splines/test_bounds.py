"""Lower bounds and allocations of cells against searches, and against fitted splines."""

import math

import numpy as np
import pytest

from xsquared.functions import target
from xsquared.splines.bounds import (
    bounds_with_breaks,
    least_errors,
    lower_bounds,
    sign_intervals,
)
from xsquared.splines.constants import least_squares_spline_rmse
from xsquared.splines.enclosures import enclosed
from xsquared.splines.optimal_knots import optimal_knots


def test_segments_find_zeros_inside_and_at_the_ends() -> None:
    cut = sign_intervals(target("sin(pi*x)", (0.0, 2.5)), 2)
    np.testing.assert_allclose(cut.edges, [0, 1, 2, 2.5], atol=1e-9)
    assert cut.zeros == 2
    assert cut.zero_at_end == (True, False)
    assert cut.masses[0] == pytest.approx(cut.masses[1], rel=1e-5)
    assert cut.masses[2] == pytest.approx(cut.masses[1] / 2, rel=1e-5)


def test_cells_are_allocated_as_a_search_over_all_choices_does() -> None:
    cut = sign_intervals(target("sin(3*x)", (-0.4, 1.9)), 2)
    extra = np.full(len(cut.masses), 0.5)
    halves = np.ones(len(cut.masses))
    halves[[0, -1]] = 0.5
    total = 9
    choices = (
        np.array([i, j, total - cut.zeros - i - j]) + halves
        for i in range(total)
        for j in range(total - cut.zeros - i + 1)
    )
    assert cut.zeros == 2
    best = min(choices, key=lambda m: float(np.sum(cut.masses**5 * (m + extra) ** -4.0)))
    found = cut.allocate(2, total, extra)
    np.testing.assert_array_equal(found, best)
    near = cut.neighbouring_allocations(2, found, extra, 3)
    costs = [cut.predicted_squared_error(2, cells, extra) for cells in (found, *near)]
    assert costs == sorted(costs)
    assert all(cells.sum() == found.sum() and np.abs(cells - found).sum() == 2 for cells in near)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_one_polynomials_error_is_bounded_closely(order: int) -> None:
    f, grid = target("exp(2*x)"), np.linspace(-1, 1, 31)
    values, _ = enclosed(f, grid, order + 3)
    bounds = least_errors(values, order, grid, 30)
    error = 2 * least_squares_spline_rmse(f, order, 1) ** 2
    assert bounds[0, -1] == pytest.approx(error, rel=1e-4)
    assert bounds[0, -1] <= error * (1 + 1e-12)
    halved = least_errors(values, order, grid, 15)
    assert 0 < halved[0, -1] < bounds[0, -1]
    assert (bounds[np.tril_indices(31)] == 0).all()


@pytest.mark.parametrize("text", ["exp(2*x)", "sin(4*x)"])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_bounds_are_close_below_the_best_pieces_found(text: str, order: int) -> None:
    bounds, breaks = bounds_with_breaks(target(text), order, 12)
    assert (np.diff(bounds) < 0).all()
    for n in (1, 2, 3, 6, 12):
        starts = breaks[n - 1], None
        found = min(optimal_knots(target(text), order, n, start=start).rmse for start in starts)
        assert bounds[n - 1] <= found < 1.7 * bounds[n - 1]


def test_bounds_hold_for_waves_within_the_grid_near_poles_and_for_any_size() -> None:
    # Twelve pieces cannot see the waves: their error is the target's own size, to four digits.
    assert 0.2 < lower_bounds(target("sin(1000*x)"), 3, 12)[-1] < math.sqrt(0.5)
    pole = target("1/(1/1000 + x**2)")
    bounds, breaks = bounds_with_breaks(pole, 2, 6)
    assert bounds[-1] < optimal_knots(pole, 2, 6, 0, breaks[-1]).rmse < 2 * bounds[-1]
    large, small = (lower_bounds(target(f"{size}*sin(3*x)"), 2, 6) for size in ("1e160", "1"))
    np.testing.assert_allclose(large / 1e160, small, rtol=1e-6)
    # A parabola has no error as one: what is left is less than rounding.
    assert (least_errors(np.ones((40, 6)), 3, np.linspace(0.1, 1.1, 41), 40) == 0).all()
