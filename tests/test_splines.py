"""Spline constants against integrals and against fitted splines."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
from scipy.interpolate import make_lsq_spline

from xsquared.functions import PAPER_TARGET, target
from xsquared.splines import (
    error_constant,
    least_squares_spline_rmse,
    predicted_free,
    predicted_uniform,
)
from xsquared.training.free_knots import equidistributed_knots, fit_free_knots

x = sp.Symbol("x")


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


def test_free_knots_reach_the_prediction() -> None:
    f = target("exp(2*x)")
    fit = fit_free_knots(f, "mlp", equidistributed_knots(f, "mlp", 150))
    assert abs(fit.rmse / predicted_free(f, 2, 150, "smooth") - 1) < 0.02


def test_free_knots_gain_nothing_where_the_derivative_is_constant() -> None:
    f = target("x**3", (0.0, 2.0))
    uniform, free = (p(f, 3, 7, "smooth") for p in (predicted_uniform, predicted_free))
    assert math.isclose(uniform, free, rel_tol=1e-9)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="order: expected an integer from 1 to 100, got 0"):
        error_constant(0, "smooth")
    with pytest.raises(ValueError, match="unknown family 'c1'; known are discontinuous, smooth"):
        error_constant(2, "c1")
    for predict in (predicted_uniform, predicted_free):
        with pytest.raises(ValueError, match="one variable"):
            predict(target("x*y"), 2, 3, "smooth")
        with pytest.raises(ValueError, match="n_cells: expected an integer >= 1, got 0"):
            predict(PAPER_TARGET, 2, 0, "smooth")
        with pytest.raises(ValueError, match="unknown family"):
            predict(PAPER_TARGET, 2, 3, "c1")


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
    oracle = fit_free_knots(PAPER_TARGET, "mlp", knots, max_iterations=0).rmse
    assert least_squares_spline_rmse(PAPER_TARGET, 2, 12) == pytest.approx(oracle, rel=1e-6)


def test_least_squares_spline_refuses_order_one() -> None:
    with pytest.raises(ValueError, match="order: expected an integer from 2 to 20, got 1"):
        least_squares_spline_rmse(PAPER_TARGET, 1, 4)
