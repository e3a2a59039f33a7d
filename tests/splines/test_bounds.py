"""Lower bounds and allocations of cells against searches, and against fitted splines."""

import math
from itertools import pairwise

import numpy as np
import pytest

from xsquared.functions import target
from xsquared.splines.bounds import (
    bounds_with_breaks,
    certified_lower_bounds,
    least_errors,
    lower_bounds,
    segments,
)
from xsquared.splines.constants import least_squares_spline_rmse
from xsquared.splines.density import equidistributed_knots
from xsquared.splines.enclosures import enclosed
from xsquared.splines.free_knots import fit_free_knots
from xsquared.units import space


def test_a_derivative_that_vanishes_has_no_segments() -> None:
    assert segments(target("x"), 1).zeros == 0
    with pytest.raises(ValueError, match="does not vanish"):
        segments(target("x"), 2)


def test_segments_find_zeros_inside_and_at_the_ends() -> None:
    cut = segments(target("sin(pi*x)", (0.0, 2.5)), 2)
    np.testing.assert_allclose(cut.edges, [0, 1, 2, 2.5], atol=1e-9)
    assert cut.zeros == 2
    assert cut.zero_at_end == (True, False)
    assert cut.masses[0] == pytest.approx(cut.masses[1], rel=1e-5)
    assert cut.masses[2] == pytest.approx(cut.masses[1] / 2, rel=1e-5)


def test_zeros_of_small_derivatives_and_on_the_grids_midpoints_are_seen() -> None:
    assert segments(target("sin(x/1e60)", (-4e60, 4e60)), 3).zeros == 2
    assert segments(target("(x - 100000.5)**3/1e15", (0.0, 2e5)), 2).zeros == 1


def test_cells_are_allocated_as_a_search_over_all_choices_does() -> None:
    cut = segments(target("sin(3*x)", (-0.4, 1.9)), 2)
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
    assert cut.allocate(2, 1, extra) is None
    rivals = cut.rivals(2, found, extra, 3)
    costs = [cut.squares(2, cells, extra) for cells in (found, *rivals)]
    assert costs == sorted(costs)
    assert all(cells.sum() == found.sum() and np.abs(cells - found).sum() == 2 for cells in rivals)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_one_polynomials_error_is_bounded_closely(order: int) -> None:
    f, grid = target("exp(2*x)"), np.linspace(-1, 1, 31)
    values, _ = enclosed(f, grid, order + 3)
    bounds = least_errors(values, order, grid, 30)
    error = 2 * least_squares_spline_rmse(f, order, 1) ** 2
    assert bounds[0, -1] == pytest.approx(error, rel=1e-4)
    assert bounds[0, -1] <= error * (1 + 1e-12)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    projections = np.polynomial.legendre.legvander(nodes, order + 3).T @ (weights * f(nodes))
    parts = (np.arange(order + 4) + 0.5) * projections**2
    assert bounds[0, -1] == pytest.approx(parts[order:].sum(), rel=1e-8)
    halved = least_errors(values, order, grid, 15)
    assert 0 < halved[0, -1] < bounds[0, -1]
    assert (bounds[np.tril_indices(31)] == 0).all()


@pytest.mark.parametrize("order", [2, 3])
def test_lower_bounds_lie_below_every_choice_of_breaks(order: int) -> None:
    f, grid, draw = target("sin(4*x)"), np.linspace(-1, 1, 121), np.random.default_rng(0)
    values, _ = enclosed(f, grid, order + 3)
    squares, skipped = certified_lower_bounds(least_errors(values, order, grid, 120), 4)
    assert (np.diff(squares) < 0).all()
    assert [len(breaks) for breaks in skipped] == [0, 1, 2, 3]

    def error(edges: np.ndarray) -> float:
        nodes, weights = np.polynomial.legendre.leggauss(30)
        total = 0.0
        for left, right in pairwise(edges):
            values = f(left + (nodes + 1) / 2 * (right - left))
            fitted = np.polynomial.legendre.legfit(nodes, values, order - 1, w=np.sqrt(weights))
            residual = np.polynomial.legendre.legval(nodes, fitted) - values
            total += float(weights @ residual**2) * (right - left) / 2
        return total

    for n in (2, 3, 4):
        inner = [np.sort(draw.uniform(-1, 1, n - 1)) for _ in range(18)]
        # And the middles of the cells that the dynamic program left out.
        inner.append((grid[skipped[n - 1]] + grid[skipped[n - 1] + 1]) / 2)
        tried = [np.concatenate([[-1.0], breaks, [1.0]]) for breaks in inner]
        found = [error(edges) for edges in tried]
        assert squares[n - 1] <= min(found)
        assert found[-1] < 2 * squares[n - 1]


@pytest.mark.parametrize(("order", "unit"), [(2, "mlp"), (3, "glu"), (4, "gqu")])
def test_fitted_splines_stay_above_the_lower_bounds_and_lines_come_close(
    order: int, unit: str
) -> None:
    f = target("exp(2*x)")
    bounds, breaks = bounds_with_breaks(f, order, 12)
    np.testing.assert_array_equal(bounds, lower_bounds(f, order, 12))
    assert [len(ends) for ends in breaks] == [*range(2, 14)]
    assert (np.diff(bounds) < 0).all()
    for pieces in (1, 2, 6, 12):
        fit = fit_free_knots(f, space(unit), equidistributed_knots(f, space(unit), pieces))
        above = fit.rmse / bounds[pieces - 1]
        assert 1 <= above < (1.2 if unit == "mlp" else 6)


def test_a_bound_holds_where_a_target_oscillates_within_the_grid() -> None:
    # Twelve pieces cannot see the waves: their error is the target's own size, to four digits.
    bound = lower_bounds(target("sin(2000*x)"), 3, 12)[-1]
    assert 0.2 < bound < math.sqrt(0.5)


def test_bounds_near_a_pole_and_at_a_kink() -> None:
    f = target("1/(1/1000 + x**2)")
    bounds, breaks = bounds_with_breaks(f, 2, 6)
    fit = fit_free_knots(f, space("mlp"), breaks[-1])
    assert bounds[-1] < fit.rmse < 2 * bounds[-1]
    with pytest.raises(ValueError, match="no derivative"):
        lower_bounds(target("abs(x)"), 2, 3)


def test_rounding_is_taken_off() -> None:
    # A parabola has no error as one: what is left is less than rounding, and the bound is nothing.
    bounds = least_errors(np.ones((40, 6)), 3, np.linspace(0.1, 1.1, 41), 40)
    assert (bounds == 0).all()
