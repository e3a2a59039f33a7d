"""Spline constants against integrals and against fitted splines."""

import math
from typing import Any

import numpy as np
import pytest
import sympy as sp

from xsquared.functions import PAPER_TARGET, target
from xsquared.splines.constants import (
    equal_cells_constant,
    error_constant,
    least_squares_spline_rmse,
    lines_at_jump,
)
from xsquared.splines.free_knots import fit_free_knots
from xsquared.splines.global_search import global_search
from xsquared.units import space

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


def test_another_family_is_refused() -> None:
    family: Any = "Discontinuous"
    with pytest.raises(ValueError, match=r"^unknown family 'Discontinuous'; known are discontinu"):
        error_constant(3, family)


def test_least_squares_spline_reproduces_its_polynomials() -> None:
    assert least_squares_spline_rmse(target("x**2 - x"), 3, 5) < 1e-14


def test_least_squares_spline_of_degree_one_is_the_free_knot_fit_without_iterations() -> None:
    knots = np.linspace(-1, 1, 13)
    oracle = fit_free_knots(PAPER_TARGET, space("mlp"), knots, max_iterations=0).rmse
    assert least_squares_spline_rmse(PAPER_TARGET, 2, 12) == pytest.approx(oracle, rel=1e-6)


@pytest.mark.parametrize("n", [1, 3, 9, 31])
@pytest.mark.parametrize(
    ("text", "square"),
    [
        ("exp(-(x/0.001)**2)", 0.001 * math.sqrt(math.pi / 2)),
        ("sin(400*x)", 1 - math.sin(800) / 800),
    ],
)
def test_what_is_narrower_than_the_nodes_are_apart_is_fitted(
    text: str, square: float, n: int
) -> None:
    """No spline can do much about it: the error is nearly the target's own size, and not above."""
    own = math.sqrt(square / 2)
    assert 0.98 * own < least_squares_spline_rmse(target(text), 2, n) < own


@pytest.mark.parametrize("order", [0, -1, 2.5])
def test_constants_are_those_of_whole_orders(order: Any) -> None:
    with pytest.raises(ValueError, match="order: expected an integer >= 1, got"):
        error_constant(order, "smooth")


def test_a_square_beyond_float64_is_an_error() -> None:
    with pytest.raises(FloatingPointError, match="spline on 3 cells is not finite"):
        least_squares_spline_rmse(target("1e300*exp(x)"), 2, 3)


@pytest.mark.parametrize(
    ("order", "continuity"), [(2, 0), (3, -1), (3, 0), (3, 1), (4, -1), (4, 0), (4, 1), (4, 2)]
)
def test_monosplines_constant_is_that_of_fitted_splines(order: int, continuity: int) -> None:
    f, n = target("exp(2*x)"), 100
    ratio = [
        least_squares_spline_rmse(f, order, m, continuity)
        / ((2 / m) ** order * f.l2_norm(order) / math.sqrt(2))
        for m in (n, 2 * n)
    ]
    constant = float(equal_cells_constant(order, continuity))
    # The ends' freedom is an effect of relative size 1/n: extrapolated away.
    assert 2 * ratio[1] - ratio[0] == pytest.approx(constant, rel=0.01)


@pytest.mark.parametrize("ratio", [1, 8])
def test_lines_at_a_jump_are_the_best_on_their_cells(ratio: int) -> None:
    """Against a search from values alone, at few cells; without a jump cells are equal."""
    off = "(x - 0.1234)"
    f = target(f"x**2/2 + {(ratio - 1) / 4}*({off}**2 + {off}*abs{off})")
    _, found = global_search(f, 2, 6, 0)
    assert lines_at_jump(ratio, 0.1234, 6) == pytest.approx(found, rel=2e-4)
