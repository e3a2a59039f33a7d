"""Slopes against pure powers, known scatter and scipy's regression."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import linregress, t

from xsquared.slopes import fit_slope

SIZES = np.array([5.0, 8, 13, 21, 34, 50])


@given(st.floats(-6, 6), st.floats(1e-6, 1e6))
def test_pure_powers_are_found_exactly(exponent: float, coefficient: float) -> None:
    slope = fit_slope(SIZES, coefficient * SIZES**exponent)
    assert math.isclose(slope.value, exponent, abs_tol=1e-9)
    assert slope.high - slope.low < 1e-6
    assert math.isclose(slope.coefficient, coefficient, rel_tol=1e-8)


def test_two_points_have_no_scatter() -> None:
    slope = fit_slope([10, 20], [8.0, 1.0])
    assert slope.value == slope.low == slope.high == pytest.approx(-3)
    assert str(slope) == "-3.00 [-3.00, -3.00]"


def test_regression_is_scipys() -> None:
    """An independent implementation of slope and standard error."""
    errors = SIZES**-2.5 * np.exp(0.3 * np.random.default_rng(8).normal(size=6))
    oracle = linregress(np.log(SIZES), np.log(errors))
    slope = fit_slope(SIZES, errors)
    half = t.ppf(0.975, len(SIZES) - 2) * oracle.stderr
    np.testing.assert_allclose(
        [slope.value, slope.high - slope.value], [oracle.slope, half]
    )
    assert slope.low == slope.value - (slope.high - slope.value)
