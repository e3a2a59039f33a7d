"""GELU, its series and the proved remainder, against mpmath, torch and the paper's
table.
"""

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from xsquared.features.series import (
    gelu,
    gelu_even,
    gelu_tanh,
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
