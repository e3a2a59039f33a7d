"""The best weights for frozen gates: splines on equal cells, forward passes, exact cases."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xsquared.functions import PAPER_TARGET, target
from xsquared.geometry import knots
from xsquared.splines.constants import least_squares_spline_rmse
from xsquared.training.frozen_gates import fit_frozen, quadrature
from xsquared.training.variable_projection import to_network
from xsquared.units import find_unit, predict

UNITS = ["mlp", "glu", "gqu"]


@given(st.lists(st.floats(-2, 3).map(lambda t: round(t, 6)), max_size=6), st.integers(0, 15))
@settings(max_examples=30)
def test_quadrature_is_exact_for_polynomials_between_the_knots(inner: list, degree: int) -> None:
    """Knots outside the interval, at its ends, or given twice make no cells."""
    given_knots = np.array([-1.0, 2.0, *inner, *inner])
    f = target(f"x**{degree}", (-1.0, 2.0))
    x, y, weights = quadrature(f, given_knots)
    assert (weights > 0).all()
    assert math.isclose(weights.sum(), 1, rel_tol=1e-12)
    assert len(x) >= 240
    np.testing.assert_array_equal(y, f(x))
    edges = np.unique(np.clip(given_knots, -1, 2))
    for a, b in pairwise(edges):
        inside = (x > a) & (x < b)
        exact = (b ** (degree + 1) - a ** (degree + 1)) / (degree + 1) / 3
        assert math.isclose(weights[inside] @ y[inside], exact, rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.parametrize("n", [2, 3, 6, 11])
@pytest.mark.parametrize("unit", ["mlp", "glu"])
def test_the_minimum_is_that_of_splines_on_equal_cells(unit: str, n: int) -> None:
    fit = fit_frozen(PAPER_TARGET, unit, n, 1)
    splines = least_squares_spline_rmse(PAPER_TARGET, find_unit(unit).order, n - 1, 0)
    assert fit.rmse == pytest.approx(splines, rel=1e-8)
    assert (fit.iterations, fit.status) == (0, "converged")


@pytest.mark.parametrize("n", [1, 2, 5, 9])
@pytest.mark.parametrize("unit", UNITS)
def test_the_forward_pass_has_the_reported_rmse_and_the_papers_knots(unit: str, n: int) -> None:
    fit = fit_frozen(PAPER_TARGET, unit, n, 50)
    network = to_network(fit, find_unit(unit))
    ends = np.linspace(-1, 1, n) if n > 1 else [-1.0]
    np.testing.assert_allclose(knots(network), ends, atol=1e-15)
    fine = np.linspace(-1, 1, 20_001)
    sampled = math.sqrt(np.mean((predict(network, fine) - PAPER_TARGET(fine)) ** 2))
    assert math.isclose(sampled, fit.rmse, rel_tol=1e-3)


@pytest.mark.parametrize("n", [4, 7])
def test_factors_only_gain(n: int) -> None:
    errors = [fit_frozen(PAPER_TARGET, "gqu", n, m).rmse for m in (1, 5, 50)]
    assert errors[0] > errors[1] >= errors[2]


@pytest.mark.parametrize(("unit", "power"), [("mlp", 1), ("glu", 2), ("gqu", 3)])
@pytest.mark.parametrize("n", [2, 4, 8])
def test_polynomials_of_the_units_degree(unit: str, power: int, n: int) -> None:
    """Exact for MLP and GLU; for the GQU as far as two neurons' factors can be found."""
    fit = fit_frozen(target(f"x**{power}"), unit, n, 200)
    assert fit.rmse < (1e-2 if unit == "gqu" else 1e-12)
    if n == 2:
        assert fit.rmse < 1e-12
