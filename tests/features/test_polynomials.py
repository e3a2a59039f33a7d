"""GELU, its series and the remainder against mpmath, torch and the paper's table; other
polynomials against what defines each: nodes, equal ripples, orthogonality.
"""

import math

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import hermite_e
from numpy.polynomial.polynomial import polyval

from xsquared.features.polynomials import (
    best_uniform_fit,
    chebyshev_fit,
    gelu,
    gelu_even,
    gelu_tanh,
    hermite_fit,
    max_error,
    remainder_bound,
    series_coefficients,
    taylor_gelu,
)


def test_both_forms_are_torchs() -> None:
    z = np.linspace(-9, 9, 361)
    points = torch.from_numpy(z)
    exact = torch.nn.functional.gelu(points).numpy()
    tanh = torch.nn.functional.gelu(points, approximate="tanh").numpy()
    np.testing.assert_allclose(gelu(z), exact, atol=1e-14)
    np.testing.assert_allclose(gelu_tanh(z), tanh, atol=1e-14)
    np.testing.assert_allclose(gelu_even(z), exact - z / 2, atol=1e-14)


def test_coefficients_are_mpmaths_taylor_series() -> None:
    with mpmath.workdps(40):
        expected = mpmath.taylor(lambda z: z * mpmath.ncdf(z), 0, 12)
    np.testing.assert_allclose(
        series_coefficients(6), [float(c) for c in expected], atol=1e-17
    )
    np.testing.assert_array_equal(series_coefficients(0), [0, 0.5])


@pytest.mark.parametrize(
    ("radius", "expected"), [(1, 8.818e-6), (3, 3.006), (5, 785.2), (7, 26792.5)]
)
def test_table_1_to_the_digit_and_at_the_ends(radius: float, expected: float) -> None:
    grid = np.linspace(-radius, radius, 4001)
    errors = np.abs(taylor_gelu(grid, 5) - gelu(grid))
    assert errors.max() == pytest.approx(expected, rel=2e-4)
    assert errors[[0, -1]] == pytest.approx(errors.max(), rel=1e-6)


@given(st.floats(-8, 8), st.integers(0, 40))
def test_remainder_is_within_its_bound_and_of_the_next_terms_sign(
    z: float, n_terms: int
) -> None:
    """In 60 digits, so that rounding plays no part."""
    with mpmath.workdps(60):
        exact = mpmath.mpf(z) * mpmath.ncdf(z)
        total = mpmath.mpf(z) / 2
        for n in range(n_terms):
            total += (
                (-1) ** n * mpmath.mpf(z) ** (2 * n + 2)
                / (mpmath.sqrt(2 * mpmath.pi) * 2**n * mpmath.factorial(n) * (2 * n + 1))
            )  # fmt: skip
        left = exact - total
        slack = mpmath.mpf(10) ** -40
        assert abs(left) <= float(remainder_bound(z, n_terms)) * (1 + 1e-12) + slack
        assert (-1) ** n_terms * left >= -slack


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
