"""The polynomials against what defines each: nodes, equal ripples, orthogonality."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import hermite_e
from numpy.polynomial.polynomial import polyval

from xsquared.features.polynomials import (
    best_uniform_fit,
    chebyshev_fit,
    hermite_fit,
    max_error,
)
from xsquared.features.series import gelu


@pytest.mark.parametrize("degree", [1, 2, 7, 10, 16])
def test_chebyshev_interpolates_at_its_points(degree: int) -> None:
    nodes = 4 * np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    np.testing.assert_allclose(
        polyval(nodes, chebyshev_fit(degree, 4.0)), gelu(nodes), atol=1e-9
    )


@pytest.mark.parametrize("radius", [0.7, 3.0, 7.0])
def test_coefficients_that_symmetry_makes_zero_are_zero(radius: float) -> None:
    """Exactly: what is rounding instead of zero gets a feature, and which it is, is the
    CPU's.
    """
    for degree in range(2, 25, 2):
        even = chebyshev_fit(degree, radius)
        assert np.flatnonzero(even).tolist() == [1, *range(2, degree + 1, 2)]
        for c in (
            even,
            best_uniform_fit(degree, radius)[0],
            hermite_fit(degree, radius),
        ):
            assert c[1] == pytest.approx(0.5, rel=1e-12)
            assert not c[3::2].any()


@pytest.mark.parametrize("degree", [1, 2, 5, 10, 16, 20])
@pytest.mark.parametrize("radius", [1.5, 3.0, 7.0])
def test_best_uniform_is_certified(degree: int, radius: float) -> None:
    coefficients, error, lower_bound = best_uniform_fit(degree, radius)
    assert lower_bound <= error * (1 + 1e-12)
    assert error <= lower_bound * (1 + 2e-6) + 1e-14
    assert error <= max_error(chebyshev_fit(degree, radius), radius) + 1e-14
    assert max_error(coefficients, radius) == pytest.approx(error, rel=1e-5, abs=1e-9)


@given(st.integers(1, 10), st.floats(0.5, 6), st.floats(-1, 1))
def test_no_perturbation_of_the_best_is_better(
    degree: int, radius: float, step: float
) -> None:
    moved, _, lower_bound = best_uniform_fit(degree, radius)
    moved[-1] += 0.01 * step / radius ** (len(moved) - 1)
    assert max_error(moved, radius) >= lower_bound * (1 - 1e-9)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("degree", [1, 2, 6, 11])
def test_what_hermite_leaves_over_is_orthogonal_to_all_polynomials(
    degree: int, sigma: float
) -> None:
    nodes, weights = hermite_e.hermegauss(150)
    left = polyval(sigma * nodes, hermite_fit(degree, sigma)) - gelu(sigma * nodes)
    norms = [math.sqrt(math.factorial(k)) for k in range(degree + 1)]
    products = (weights * left) @ hermite_e.hermevander(nodes, degree) / norms
    assert np.abs(products).max() < 2e-5 * sigma
