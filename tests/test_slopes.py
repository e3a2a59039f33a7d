"""Slopes against pure powers, known scatter, and what is refused."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import linregress, t, ttest_1samp

from xsquared.slopes import fit_slope, fit_slope_over_seeds, local_slopes, require_sizes

SIZES = np.array([5.0, 8, 13, 21, 34, 50])


@given(st.floats(-6, 6), st.floats(1e-6, 1e6))
def test_pure_powers_are_found_exactly(exponent: float, coefficient: float) -> None:
    errors = coefficient * SIZES**exponent
    slope = fit_slope(SIZES, errors)
    assert math.isclose(slope.value, exponent, abs_tol=1e-9)
    assert slope.high - slope.low < 1e-6
    assert math.isclose(slope.coefficient, coefficient, rel_tol=1e-8)
    np.testing.assert_allclose(local_slopes(SIZES, errors), exponent, atol=1e-9)


def test_no_slope_is_that_of_vectors_that_differ() -> None:
    for slope in (fit_slope, local_slopes):
        for errors, message in (([1, 2], "two vectors of one length"), ([1, 2, 0], "positive")):
            with pytest.raises(ValueError, match=f"^expected {message}"):
                slope([4, 8, 16], errors)
    with pytest.raises(ValueError, match=r"^seeds: expected an integer >= 2, got 1$"):
        fit_slope_over_seeds(SIZES, SIZES[None])


@pytest.mark.parametrize("start", [1e2, 1e6, 1e8])
def test_sizes_close_together_have_an_interval(start: float) -> None:
    """Against 60 digits, within what rounding of the logarithms leaves."""
    sizes = start + np.arange(4.0, 9)
    errors = 2.0 ** np.arange(-4, -14, -2) * [1.1, 0.95, 1, 1.05, 0.97]
    with mpmath.workdps(60):
        x, y = ([mpmath.log(float(one)) for one in row] for row in (sizes, errors))
        u = [one - sum(x) / 5 for one in x]
        value = sum(a * b for a, b in zip(u, y, strict=True)) / sum(a * a for a in u)
        missed = [b - sum(y) / 5 - value * a for a, b in zip(u, y, strict=True)]
        half = t.ppf(0.975, 3) * float(
            mpmath.sqrt(sum(r * r for r in missed) / 3 / sum(a * a for a in u))
        )
    slope = fit_slope(sizes, errors)
    np.testing.assert_allclose(
        [slope.value, slope.high - slope.value], [float(value), half], rtol=1e-5
    )


def test_two_points_have_no_scatter() -> None:
    slope = fit_slope(np.array([10, 20]), np.array([8.0, 1.0]))
    assert slope.value == slope.low == slope.high
    assert math.isclose(slope.value, -3)


def test_text_shows_the_interval() -> None:
    assert str(fit_slope(np.array([1, 10]), np.array([1, 0.01]))) == "-2.00 [-2.00, -2.00]"


def test_the_slope_over_seeds_is_the_mean_of_theirs() -> None:
    errors = np.array([SIZES**-2.0, 3 * SIZES**-2.5, SIZES**-3.0])
    slope = fit_slope_over_seeds(SIZES, errors)
    oracle = ttest_1samp([-2.0, -2.5, -3.0], 0).confidence_interval()
    np.testing.assert_allclose([slope.value, slope.low, slope.high], [-2.5, *oracle])
    assert math.isclose(slope.coefficient, 3 ** (1 / 3))


def test_regression_is_scipys() -> None:
    """An independent implementation of slope and standard error."""
    errors = SIZES**-2.5 * np.exp(0.3 * np.random.default_rng(8).normal(size=6))
    oracle = linregress(np.log(SIZES), np.log(errors))
    slope = fit_slope(SIZES, errors)
    half = t.ppf(0.975, len(SIZES) - 2) * oracle.stderr
    np.testing.assert_allclose([slope.value, slope.high - slope.value], [oracle.slope, half])
    assert slope.low == slope.value - (slope.high - slope.value)


def test_sizes_for_a_slope_are_checked_beforehand() -> None:
    require_sizes("widths", [4, 20, 25], 20)
    require_sizes("widths", np.arange(1, 22), 20)
    for sizes, found in (([20, 20, 4], r"\[20\]"), ([4, 5], "none"), ([], "none")):
        with pytest.raises(ValueError, match=f"widths: .* two different sizes from 20 .* {found}"):
            require_sizes("widths", sizes, 20)
