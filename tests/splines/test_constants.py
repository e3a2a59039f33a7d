"""Spline constants against integrals and against fitted splines."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import sympy as sp
from scipy.interpolate import make_lsq_spline

from xsquared.functions import PAPER_TARGET, target
from xsquared.splines.bounds import certified_lower_bounds, least_errors, lower_bounds, segments
from xsquared.splines.constants import (
    equal_cells_constant,
    error_constant,
    least_squares_spline_rmse,
    predicted_uniform,
)
from xsquared.splines.density import equidistributed_knots
from xsquared.splines.free_knots import fit_free_knots
from xsquared.units import space

x = sp.Symbol("x")
LINE = target("x")
THREE = np.linspace(-1, 1, 3)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_discontinuous_constant_is_the_norm_of_a_legendre_polynomial(order: int) -> None:
    polynomial = sp.legendre(order, 2 * x - 1)
    monic = polynomial / sp.Poly(polynomial, x).LC() / sp.factorial(order)
    norm = sp.sqrt(sp.integrate(sp.expand(monic**2), (x, 0, 1)))
    assert sp.simplify(error_constant(order, "discontinuous") - norm) == 0


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_smooth_constant_is_the_norm_of_a_bernoulli_polynomial(order: int) -> None:
    monospline = sp.bernoulli(order, x) / sp.factorial(order)
    norm = sp.sqrt(sp.integrate(sp.expand(monospline**2), (x, 0, 1)))
    assert sp.simplify(error_constant(order, "smooth") - norm) == 0


@pytest.mark.parametrize("order", [2, 3, 4])
def test_meeting_at_knots_costs_nothing_for_lines_and_something_beyond(order: int) -> None:
    ratio = error_constant(order, "smooth") / error_constant(order, "discontinuous")
    assert (sp.simplify(ratio - 1) == 0) == (order == 2)
    assert float(ratio) >= 1 - 1e-15


@pytest.mark.parametrize("order", [2, 3, 4])
def test_equal_cells_reach_the_prediction(order: int) -> None:
    """A library's least-squares spline of maximal smoothness, on dense Gauss nodes."""
    n, degree = 200, order - 1
    edges = np.linspace(-1, 1, n + 1)
    nodes, weights = np.polynomial.legendre.leggauss(order + 3)
    points = (edges[:-1, None] + (1 + nodes) / n).ravel()
    knots = np.concatenate([[-1.0] * degree, edges, [1.0] * degree])
    root = np.sqrt(np.tile(weights, n) / n)
    spline = make_lsq_spline(points, PAPER_TARGET(points), knots, k=degree, w=root)
    error = root * (spline(points) - PAPER_TARGET(points))
    rmse = math.sqrt(float(error @ error) / 2)
    assert math.isfinite(rmse)
    assert abs(rmse / predicted_uniform(PAPER_TARGET, order, n, "smooth") - 1) < 0.03


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="order: expected an integer from 1 to 100, got 0"):
        error_constant(0, "smooth")
    with pytest.raises(ValueError, match="unknown family 'c1'; known are discontinuous, smooth"):
        error_constant(2, "c1")
    with pytest.raises(ValueError, match="one variable"):
        predicted_uniform(target("x*y"), 2, 3, "smooth")
    with pytest.raises(ValueError, match="n_cells: expected an integer >= 1, got 0"):
        predicted_uniform(PAPER_TARGET, 2, 0, "smooth")
    with pytest.raises(ValueError, match="unknown family"):
        predicted_uniform(PAPER_TARGET, 2, 3, "c1")
    with pytest.raises(ValueError, match="most: expected an integer from 1 to 200, got 0"):
        lower_bounds(PAPER_TARGET, 2, 0)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_least_squares_spline_approaches_the_smooth_constant(order: int) -> None:
    ratio = least_squares_spline_rmse(PAPER_TARGET, order, 160) / predicted_uniform(
        PAPER_TARGET, order, 160, "smooth"
    )
    assert ratio == pytest.approx(1.0, abs=0.05)


def test_least_squares_spline_reproduces_its_polynomials() -> None:
    assert least_squares_spline_rmse(target("x**2 - x"), 3, 5) < 1e-14


def test_least_squares_spline_of_degree_one_is_the_free_knot_fit_without_iterations() -> None:
    knots = np.linspace(-1, 1, 13)
    oracle = fit_free_knots(PAPER_TARGET, space("mlp"), knots, max_iterations=0).rmse
    assert least_squares_spline_rmse(PAPER_TARGET, 2, 12) == pytest.approx(oracle, rel=1e-6)


def test_a_square_beyond_float64_is_an_error() -> None:
    with pytest.raises(FloatingPointError, match="spline on 3 cells is not finite"):
        least_squares_spline_rmse(target("1e300*exp(x)"), 2, 3)


def test_least_squares_spline_refuses_order_one() -> None:
    with pytest.raises(ValueError, match="order: expected an integer from 2 to 20, got 1"):
        least_squares_spline_rmse(PAPER_TARGET, 1, 4)


@pytest.mark.parametrize(("order", "continuity"), [(2, 0), (3, 0), (4, 0), (4, 1)])
def test_monosplines_constant_is_that_of_fitted_splines(order: int, continuity: int) -> None:
    f, n = target("exp(2*x)"), 100
    fitted = [least_squares_spline_rmse(f, order, m, continuity) for m in (n, 2 * n)]
    leading = [predicted_uniform(f, order, m, "smooth") for m in (n, 2 * n)]
    ratio = np.array(fitted) / leading * float(error_constant(order, "smooth"))
    constant = float(equal_cells_constant(order, continuity))
    # The ends' freedom is an effect of relative size 1/n: extrapolated away.
    assert 2 * ratio[1] - ratio[0] == pytest.approx(constant, rel=0.01)


def test_continuity_out_of_bounds_is_refused() -> None:
    with pytest.raises(ValueError, match="continuity"):
        equal_cells_constant(3, 2)
    with pytest.raises(ValueError, match="continuity"):
        least_squares_spline_rmse(PAPER_TARGET, 3, 4, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: error_constant(101, "smooth"), "order: expected an integer from 1 to 100, got"),
        (lambda: equal_cells_constant(0, -1), "order: expected an integer from 1 to 12, got"),
        (lambda: equal_cells_constant(13, -1), "order: expected an integer from 1 to 12, got"),
        (lambda: equal_cells_constant(4, -2), "continuity: expected an integer from -1 to 2, got"),
        (lambda: least_squares_spline_rmse(LINE, 21, 1), "order: .* from 2 to 20, got"),
        (lambda: least_squares_spline_rmse(LINE, 2, 0), "n_cells: .* from 1 to 1000000, got"),
        (lambda: least_squares_spline_rmse(LINE, 3, 1, -1), "continuity: .* from 0 to 1, got"),
        (lambda: segments(LINE, 0), "order: expected an integer from 1 to 12, got"),
        (lambda: segments(LINE, 13), "order: expected an integer from 1 to 12, got"),
        (lambda: least_errors(LINE, 0, THREE, 1), "order: expected an integer from 1 to 12, got"),
        (lambda: least_errors(LINE, 13, THREE, 1), "order: expected an integer from 1 to 12, got"),
        (lambda: least_errors(LINE, 2, THREE, 0), "longest: expected an integer >= 1, got"),
        (lambda: least_errors(LINE, 2, THREE[:1], 1), "expected at least 2 ascending points"),
        (lambda: least_errors(LINE, 2, THREE[[0, 1, 1]], 1), "expected at least 2 ascending"),
        (
            lambda: certified_lower_bounds(np.eye(4), 3),
            "most: expected an integer from 1 to 2, got",
        ),
        (
            lambda: certified_lower_bounds(np.eye(4), 0),
            "most: expected an integer from 1 to 2, got",
        ),
        (lambda: certified_lower_bounds(np.eye(1), 1), "expected shape"),
        (lambda: certified_lower_bounds(np.ones((3, 4)), 1), "expected shape"),
    ],
)
def test_each_door_names_its_bounds(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_bounds_larger_than_memory_should_hold_are_refused(monkeypatch) -> None:
    monkeypatch.setattr("xsquared.checks.MOST_NUMBERS", 36)
    assert least_errors(LINE, 1, np.linspace(-1, 1, 6), 1).shape == (6, 6)
    with pytest.raises(ValueError, match="bounds: expected at most 36 numbers"):
        least_errors(LINE, 1, np.linspace(-1, 1, 7), 1)


def test_a_derivative_that_vanishes_has_no_segments() -> None:
    assert segments(LINE, 1).zeros == 0
    with pytest.raises(ValueError, match="does not vanish"):
        segments(LINE, 2)


def test_segments_find_zeros_inside_and_at_the_ends() -> None:
    cut = segments(target("sin(pi*x)", (0.0, 2.5)), 2)
    np.testing.assert_allclose(cut.edges, [0, 1, 2, 2.5], atol=1e-9)
    assert cut.zeros == 2
    assert cut.zero_at_end == (True, False)
    assert cut.masses[0] == pytest.approx(cut.masses[1], rel=1e-5)
    assert cut.masses[2] == pytest.approx(cut.masses[1] / 2, rel=1e-5)


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
    assert found is not None
    np.testing.assert_array_equal(found, best)
    assert cut.allocate(2, 1, extra) is None


@pytest.mark.parametrize("order", [2, 3, 4])
def test_one_polynomials_error_is_bounded_closely(order: int) -> None:
    f, grid = target("exp(2*x)"), np.linspace(-1, 1, 31)
    bounds = least_errors(f, order, grid, 30)
    error = 2 * least_squares_spline_rmse(f, order, 1) ** 2
    assert bounds[0, -1] == pytest.approx(error, rel=1e-4)
    assert bounds[0, -1] <= error * (1 + 1e-12)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    projections = np.polynomial.legendre.legvander(nodes, order + 3).T @ (weights * f(nodes))
    parts = (np.arange(order + 4) + 0.5) * projections**2
    assert bounds[0, -1] == pytest.approx(parts[order:].sum(), rel=1e-8)
    halved = least_errors(f, order, grid, 15)
    assert 0 < halved[0, -1] < bounds[0, -1]
    assert (bounds[np.tril_indices(31)] == 0).all()


@pytest.mark.parametrize("order", [2, 3])
def test_lower_bounds_lie_below_every_choice_of_breaks(order: int) -> None:
    f, grid, draw = target("sin(4*x)"), np.linspace(-1, 1, 121), np.random.default_rng(0)
    squares, skipped = certified_lower_bounds(least_errors(f, order, grid, 120), 4)
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
    bounds = lower_bounds(f, order, 12)
    assert (np.diff(bounds) < 0).all()
    for pieces in (1, 2, 6, 12):
        fit = fit_free_knots(f, space(unit), equidistributed_knots(f, space(unit), pieces))
        above = fit.rmse / bounds[pieces - 1]
        assert 1 <= above < (1.2 if unit == "mlp" else 6)
