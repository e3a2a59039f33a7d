"""GELU, its series and the proved remainder, against mpmath, torch and the paper's table."""

import math
from functools import partial

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from xsquared.feature_maps.series import (
    gelu,
    gelu_even,
    gelu_tanh,
    largest_error,
    remainder_bound,
    series_coefficients,
    taylor_gelu,
)

Z = np.linspace(-9, 9, 361)


def test_both_forms_are_torchs() -> None:
    points = torch.from_numpy(Z)
    exact = torch.nn.functional.gelu(points).numpy()
    tanh = torch.nn.functional.gelu(points, approximate="tanh").numpy()
    np.testing.assert_allclose(gelu(Z), exact, atol=1e-14)
    np.testing.assert_allclose(gelu_tanh(Z), tanh, atol=1e-14)


def test_even_part() -> None:
    np.testing.assert_allclose(gelu_even(Z), gelu(Z) - Z / 2, atol=1e-14)
    np.testing.assert_allclose(gelu_even(Z), gelu_even(-Z), atol=0)


def test_coefficients_are_mpmaths_taylor_series() -> None:
    with mpmath.workdps(40):
        expected = mpmath.taylor(lambda z: z * mpmath.ncdf(z), 0, 12)
    np.testing.assert_allclose(series_coefficients(6), [float(c) for c in expected], atol=1e-17)
    np.testing.assert_array_equal(series_coefficients(0), [0, 0.5])


@pytest.mark.parametrize(
    ("radius", "expected"), [(1, 8.818e-6), (3, 3.006), (5, 785.2), (7, 26792.5)]
)
def test_table_1_to_the_digit(radius: float, expected: float) -> None:
    assert largest_error(5, radius) == pytest.approx(expected, rel=2e-4)


@pytest.mark.parametrize("n_terms", [1, 3, 5, 8])
@pytest.mark.parametrize("radius", [0.5, 2.0, 6.0])
def test_largest_error_is_at_the_ends(n_terms: int, radius: float) -> None:
    grid = np.linspace(-radius, radius, 4001)
    on_grid = np.abs(taylor_gelu(grid, n_terms) - gelu(grid)).max()
    assert largest_error(n_terms, radius) == pytest.approx(on_grid, rel=1e-6, abs=1e-15)


@given(st.floats(-8, 8), st.integers(0, 40))
def test_remainder_is_within_its_bound_and_of_the_next_terms_sign(z: float, n_terms: int) -> None:
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


def test_whole_numbers_have_the_bound_of_their_floats() -> None:
    np.testing.assert_array_equal(remainder_bound([3, 20], 40), remainder_bound([3.0, 20.0], 40))


def test_more_terms_than_float64_holds_are_refused() -> None:
    for call in (series_coefficients, partial(taylor_gelu, 1.0), partial(remainder_bound, 1.0)):
        for n_terms in (-2, 81):
            with pytest.raises(ValueError, match="n_terms: expected an integer from 0 to 80, got "):
                call(n_terms)


def test_largest_radius_and_most_terms_stay_in_float64() -> None:
    """Rounding leaves nothing of the sum, but nothing overflows either."""
    assert math.isfinite(largest_error(80, 30.0))
    assert math.isfinite(float(remainder_bound(30.0, 79)))
