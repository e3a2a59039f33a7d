"""The optimal density: where knots crowd, how many lie between zeros."""

import math

import numpy as np
import pytest

from xsquared.functions import target
from xsquared.splines.density import equidistributed_knots, sign_intervals
from xsquared.splines.free_knots import fit_free_knots
from xsquared.units import space


def test_knots_of_a_polynomial_of_the_degree_are_equidistant() -> None:
    knots = equidistributed_knots(target("x"), space("mlp"), 5)
    np.testing.assert_allclose(knots, np.linspace(-1, 1, 6), atol=1e-12)


@pytest.mark.parametrize("text", ["abs(x - 0.305)", "sqrt(x + 1)", "sqrt(1 - x**2)"])
def test_no_derivative_is_asked_for(text: str) -> None:
    """Kinks inside and infinite slopes at an end: free knots gain."""
    f = target(text)
    knots = equidistributed_knots(f, space("glu"), 12)
    assert (np.diff(knots) > 0).all()
    fit = fit_free_knots(f, space("glu"), knots)
    equal = fit_free_knots(f, space("glu"), np.linspace(-1, 1, 13), max_iterations=0)
    assert fit.rmse < 0.2 * equal.rmse


@pytest.mark.parametrize(("unit", "order"), [("mlp", 2), ("glu", 3), ("gqu", 4)])
def test_the_density_is_that_of_the_derivative(unit: str, order: int) -> None:
    """exp(3x): abs(f^(k))^s is exp(3 s x), whatever constant stands before it, plus the
    floor.
    """
    knots, s = (
        equidistributed_knots(target("exp(3*x)"), space(unit), 40),
        1 / (order + 0.5),
    )
    x = np.linspace(-1, 1, 100_001)
    density = np.exp(3 * s * x)
    density += 0.05 * density.mean()
    share = np.cumsum(density) / density.sum()
    np.testing.assert_allclose(
        knots, np.interp(np.arange(41) / 40, share, x), atol=2e-3
    )


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
    best = min(
        choices, key=lambda m: float(np.sum(cut.masses**5 * (m + extra) ** -4.0))
    )
    found = cut.allocate(2, total, extra)
    np.testing.assert_array_equal(found, best)
    near = cut.neighbouring_allocations(2, found, extra, 3)
    costs = [cut.predicted_squared_error(2, cells, extra) for cells in (found, *near)]
    assert costs == sorted(costs)
    assert all(
        cells.sum() == found.sum() and np.abs(cells - found).sum() == 2
        for cells in near
    )


@pytest.mark.parametrize("order", [2, 3, 4])
def test_the_laws_squared_error_is_that_of_its_masses(order: int) -> None:
    """One interval: C n^-k with C^2 = mass^(2k+1), twice the length doubles the mass."""
    for length in (1.0, 2.0):
        cut = sign_intervals(target(f"x**{order}", (0.0, length)), order)
        mass = length * math.factorial(order) ** (1 / (order + 0.5))
        found = cut.predicted_squared_error(order, np.array([3.0]), np.array([1.0]))
        assert found == pytest.approx(mass ** (2 * order + 1) / 4 ** (2 * order))
