"""The polynomials against what defines each: nodes, equal ripples, orthogonality."""

import math
import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import hermite_e
from numpy.polynomial.polynomial import polyval
from scipy.integrate import quad
from scipy.stats import norm

from xsquared.feature_maps.polynomials import (
    best_uniform_fit,
    chebyshev_fit,
    hermite_coefficients,
    hermite_fit,
    max_error,
)
from xsquared.feature_maps.series import gelu
from xsquared.feature_maps.tensor import TensorMap


@pytest.mark.parametrize(("radius", "limit"), [(3.0, 5.6e-4), (5.0, 1.6e-2), (7.0, 6.4e-2)])
def test_degree_ten_on_the_papers_intervals(radius: float, limit: float) -> None:
    chebyshev = max_error(chebyshev_fit(10, radius), radius)
    best = best_uniform_fit(10, radius)
    assert chebyshev <= limit
    assert best.error <= chebyshev
    assert max_error(best.coefficients, radius) == pytest.approx(best.error, rel=1e-5)


@pytest.mark.parametrize("kind", [int, np.int64])
def test_a_whole_deviation_is_its_float(kind: Callable[[int], float]) -> None:
    for fitted in (hermite_fit, hermite_coefficients):
        np.testing.assert_array_equal(fitted(20, kind(10)), fitted(20, 10.0))


@pytest.mark.parametrize(
    "fit", [best_uniform_fit, chebyshev_fit, hermite_coefficients, hermite_fit]
)
@pytest.mark.parametrize("scale", [math.nan, math.inf, 0, -1.0, None, [1.0], 1j, 1e160, 1e-200])
def test_scales_without_a_polynomial_in_float64_are_refused(fit: Callable, scale: object) -> None:
    wanted = "expected a finite number >= 1e-12 and <= 1e+12, got "
    with pytest.raises(ValueError, match=rf"^(radius|sigma): {re.escape(wanted)}"):
        fit(4, scale)


@pytest.mark.parametrize("degree", [1, 2, 7, 10, 16])
def test_chebyshev_interpolates_at_its_points(degree: int) -> None:
    nodes = 4 * np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    np.testing.assert_allclose(polyval(nodes, chebyshev_fit(degree, 4.0)), gelu(nodes), atol=1e-9)


@pytest.mark.parametrize("degree", [1, 2, 5, 10, 16, 20])
@pytest.mark.parametrize("radius", [1.5, 3.0, 7.0])
def test_best_uniform_is_certified(degree: int, radius: float) -> None:
    fit = best_uniform_fit(degree, radius)
    assert fit.lower_bound <= fit.error * (1 + 1e-12)
    assert fit.error <= fit.lower_bound * (1 + 2e-6) + 1e-14
    assert fit.error <= max_error(chebyshev_fit(degree, radius), radius) + 1e-14


@pytest.mark.parametrize(
    "fit", [chebyshev_fit, best_uniform_fit, hermite_fit, hermite_coefficients]
)
@pytest.mark.parametrize("degree", [0, 25])
def test_degrees_beyond_what_powers_hold_are_refused(fit: Callable, degree: int) -> None:
    with pytest.raises(ValueError, match=f"degree: expected an integer from 1 to 24, got {degree}"):
        fit(degree, 1.0)


def test_best_uniform_ripples_evenly() -> None:
    fit = best_uniform_fit(8, 3.0)
    z = np.linspace(0, 3, 20_001)
    error = polyval(z, fit.coefficients) - gelu(z)
    inner = np.flatnonzero(np.diff(np.sign(np.diff(error)))) + 1
    peaks = error[[0, *inner, -1]]
    assert len(peaks) == 8 // 2 + 2
    np.testing.assert_allclose(np.abs(peaks), fit.error, rtol=1e-4)
    assert (np.sign(peaks[1:]) == -np.sign(peaks[:-1])).all()


@given(st.integers(1, 10), st.floats(0.5, 6), st.floats(-1, 1))
def test_no_perturbation_of_the_best_is_better(degree: int, radius: float, step: float) -> None:
    fit = best_uniform_fit(degree, radius)
    moved = fit.coefficients.copy()
    moved[-1] += 0.01 * step / radius ** (len(moved) - 1)
    assert max_error(moved, radius) >= fit.lower_bound * (1 - 1e-9)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.5])
def test_hermite_coefficients_are_the_integrals(sigma: float) -> None:
    """Against orthonormal polynomials, where a coefficient is no larger than GELU's root mean."""
    for k, coefficient in enumerate(hermite_coefficients(24, sigma)):
        root = math.sqrt(math.factorial(k))
        he = hermite_e.HermiteE.basis(k) / root
        product = lambda g, he=he: gelu(sigma * g) * he(g) * norm.pdf(g)  # noqa: E731
        whole, _ = quad(product, -16, 16, epsabs=1e-13, limit=200)
        assert coefficient * root == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 3.0])
def test_the_second_moment_is_what_the_fit_explains_and_what_it_leaves(sigma: float) -> None:
    nodes, weights = hermite_e.hermegauss(150)
    weights = weights / weights.sum()
    z = sigma * nodes
    for degree in (1, 2, 6, 10):
        explained = [c**2 * math.factorial(k) for k, c in
                     enumerate(hermite_coefficients(degree, sigma))]  # fmt: skip
        residual = polyval(z, hermite_fit(degree, sigma)) - gelu(z)
        left = weights @ gelu(z) ** 2 - sum(explained)
        assert left == pytest.approx(weights @ residual**2, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("radius", [0.7, 2.0, 3.0, 7.0])
def test_an_even_interpolant_meets_gelu_at_zero_and_has_no_constant(radius: float) -> None:
    """Exactly: what is rounding instead of zero gets a feature, and which it is, is the CPU's."""
    for degree in range(2, 25, 2):
        c = chebyshev_fit(degree, radius)
        assert c[0] == 0.0
        assert np.flatnonzero(c).tolist() == [1, *range(2, degree + 1, 2)]
    counts = [TensorMap("symmetric", 8, chebyshev_fit(p, radius)).dimension for p in (2, 4, 6, 10)]
    assert counts == [44, 374, 2090, 27973]


@pytest.mark.parametrize("scale", [1e-3, 0.5, 100.0])
@pytest.mark.parametrize("degree", [1, 2, 11, 24])
def test_small_and_large_intervals_have_fits(degree: int, scale: float) -> None:
    fit = best_uniform_fit(degree, scale)
    assert 0 <= fit.lower_bound <= fit.error < scale
    for c in (fit.coefficients, chebyshev_fit(degree, scale), hermite_fit(degree, scale)):
        assert np.isfinite(c).all()
        assert c[1] == 0.5
        assert not c[3::2].any()
