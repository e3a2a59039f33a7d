"""Spline constants against integrals and against fitted splines."""

import math

import numpy as np
import pytest
import sympy as sp

from xsquared.functions import PAPER_TARGET, target
from xsquared.splines.constants import (
    Family,
    equal_cells_constant,
    error_constant,
    least_squares_spline_rmse,
)
from xsquared.splines.free_knots import fit_free_knots
from xsquared.units import space

x = sp.Symbol("x")


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_constants_are_norms_of_legendre_and_bernoulli_polynomials(order: int) -> None:
    legendre = sp.legendre(order, 2 * x - 1)
    errors: dict[Family, sp.Expr] = {
        "discontinuous": legendre / sp.Poly(legendre, x).LC(),
        "smooth": sp.bernoulli(order, x),
    }
    for family, error in errors.items():
        square = sp.integrate(sp.expand(error**2), (x, 0, 1)) / sp.factorial(order) ** 2
        assert sp.simplify(error_constant(order, family) ** 2 - square) == 0


def test_least_squares_spline_of_degree_one_is_the_free_knot_fit_without_iterations() -> (
    None
):
    knots = np.linspace(-1, 1, 13)
    oracle = fit_free_knots(PAPER_TARGET, space("mlp"), knots, max_iterations=0).rmse
    assert least_squares_spline_rmse(PAPER_TARGET, 2, 12) == pytest.approx(
        oracle, rel=1e-6
    )
    assert least_squares_spline_rmse(target("x**2 - x"), 3, 5) < 1e-14


@pytest.mark.parametrize(
    ("order", "continuity"),
    [(2, 0), (3, -1), (3, 0), (3, 1), (4, -1), (4, 0), (4, 1), (4, 2)],
)
def test_monosplines_constant_is_that_of_fitted_splines(
    order: int, continuity: int
) -> None:
    f, n = target("exp(2*x)"), 100
    ratio = [
        least_squares_spline_rmse(f, order, m, continuity)
        / ((2 / m) ** order * f.l2_norm(order) / math.sqrt(2))
        for m in (n, 2 * n)
    ]
    constant = float(equal_cells_constant(order, continuity))
    # The ends' freedom is an effect of relative size 1/n: extrapolated away.
    assert 2 * ratio[1] - ratio[0] == pytest.approx(constant, rel=0.01)
