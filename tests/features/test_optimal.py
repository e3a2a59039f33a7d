"""The law of optimal features against two other decompositions, and the map that
attains it.
"""

import math

import numpy as np
import pytest
from scipy.linalg import eigh_tridiagonal
from scipy.special import gammaln

from xsquared.features.optimal import (
    OptimalMap,
    _unit_harmonics,
    best_mse,
    features_needed,
    harmonics,
    second_moment,
    spectrum,
)
from xsquared.features.polynomials import gelu, gelu_even


def closed_form_values(d: int, degree: int, scale: float) -> np.ndarray:
    """Singular values of one degree, from closed-form coefficients and no integral over
    angles.

    The part of degree l is that of degree 0 of GELU's l-th derivative in d + 2 l
    dimensions. There the coefficients in Laguerre polynomials of one length, by the
    other one s, are (-1)^i s^(2i) / (2^i i! h_i) E GELU^(2i+l)(s g), with known means.
    Good for l below some 10.
    """
    dim, count = d + 2 * degree, 60 + 700 // d
    k = np.arange(count)
    nodes, vectors = eigh_tridiagonal(
        2 * k + dim / 2, np.sqrt(k * (k + dim / 2 - 1))[1:]
    )
    v = 2 * scale**2 * nodes[:, None]
    # Half the derivative's order n; (n-3)!! = 2^(half-1) Gamma(half-1/2)/sqrt(pi).
    half = k + degree // 2
    norms = gammaln(k + dim / 2) - gammaln(k + 1) - gammaln(dim / 2)
    logs = (
        (half - 1 - k) * math.log(2) + gammaln(half - 0.5) - gammaln(k + 1) - norms / 2
    )
    logs = logs + np.log(v + 2 * half) + k * np.log(v) - (half + 0.5) * np.log1p(v)
    values = (
        scale**degree
        * np.exp(logs)
        * np.where(half == 0, -1, 1)
        / (math.pi * math.sqrt(2))
    )
    return np.linalg.svd(np.abs(vectors[0])[:, None] * values, compute_uv=False)


@pytest.mark.parametrize("scale", [0.25, 1.0])
@pytest.mark.parametrize("d", [2, 3, 5, 16, 64, 576, 4096])
def test_heights_are_those_of_a_numerical_decomposition(d: int, scale: float) -> None:
    found = spectrum(d, scale, features=200).levels
    degrees, count = ((0, 2, 4, 6), 1) if d < 64 else ((0, 2), 2)
    for degree in degrees:
        values = [level.value for level in found if level.degree == degree][:count]
        assert len(values) == count
        expected = closed_form_values(d, degree, scale)[:count]
        atol = 1e-9 if d < 64 else 0.0
        np.testing.assert_allclose(values, expected, rtol=1e-6, atol=atol)


def in_the_plane() -> tuple[np.ndarray, np.ndarray]:
    """Corners of the law in two dimensions and what they leave, as shares; no Laguerre,
    no angles.

    GELU(r s cos t) has Fourier modes in t; each is a kernel of the lengths r and s,
    here on Gauss-Legendre nodes with their density r exp(-r^2/2).
    """
    nodes, weights = np.polynomial.legendre.leggauss(150)
    r = 7 * (nodes + 1)
    root = np.sqrt(7 * weights * r * np.exp(-r * r / 2))
    t = np.pi * np.arange(600) / 600  # the even part has even modes only
    modes = np.array(
        [np.fft.rfft(gelu_even(a * r[:, None] * np.cos(t))).real / 600 for a in r]
    )
    found = [(0.5, 2)]
    for degree in range(0, 400, 2):
        values = np.linalg.svd(
            root[:, None] * modes[:, :, degree // 2] * root, compute_uv=False
        )
        found += [(value, 2 if degree else 1) for value in values]
    values, counts = np.array(sorted(found, reverse=True)).T
    left = np.append(np.cumsum((counts * values**2)[::-1])[::-1], 0.0)
    return np.append(0.0, np.cumsum(counts)), left / left[0]


def test_errors_in_the_plane_are_those_of_fourier_modes() -> None:
    m = np.array([1, 3, 8, 16, 64, 100, 128, 256, 512, 570])
    expected = np.sqrt(np.interp(m, *in_the_plane()))
    parts = (best_mse(2, one) for one in (m[:4], m[4:7], m[7:]))
    found = np.sqrt(np.concatenate([*parts]) / second_moment(2))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(
        expected[[6, 7, 8]], [3.59e-5, 1.65e-6, 2.84e-8], rtol=2e-3
    )


@pytest.mark.parametrize(("d", "scale"), [(2, 1.0), (3, 1.0), (5, 0.3), (16, 0.25)])
def test_shares_of_all_levels_add_up(d: int, scale: float) -> None:
    found = spectrum(d, scale).levels
    assert sum(level.share for level in found) == pytest.approx(1, abs=1e-8)
    for level in found:
        share = level.multiplicity * level.value**2 / second_moment(d, scale)
        assert level.share == pytest.approx(share, rel=1e-9)


@pytest.mark.parametrize("d", [2, 16, 576, 4096])
def test_corners_tend_to_those_of_relu(d: int) -> None:
    """For which |z|/2 has the radial singular value d/2 E|t|, and d/2 E|t|/(d+1) after
    it.
    """
    mean = math.exp(gammaln(d / 2) - gammaln((d + 1) / 2)) / math.sqrt(math.pi)
    first = 0.5 - d / 2 * mean**2
    second = first - (d - 1) * (d + 2) / 2 * d / 2 * (mean / (d + 1)) ** 2
    heights = best_mse(d, np.array([d + 1, d + d * (d + 1) // 2])) / second_moment(d)
    np.testing.assert_allclose(heights, [first, second], atol=0.4 / d)
    limits = np.array([0.5 - 1 / math.pi, 0.5 - 1.5 / math.pi])
    np.testing.assert_allclose(heights, limits, atol=0.2 / d)


def test_features_needed_is_the_number_at_which_the_error_is_reached() -> None:
    for error in (0.3, 0.1, 0.03):
        m = features_needed(4, error)
        below, at = np.sqrt(best_mse(4, np.array([m - 1, m])) / second_moment(4))
        assert at <= error * (1 + 1e-6)
        assert below > error
    assert features_needed(4096, 0.1) > 10**12


@pytest.mark.parametrize(("d", "m"), [(2, 1), (2, 12), (3, 9), (6, 28), (6, 80)])
def test_the_map_has_the_least_error(d: int, m: int) -> None:
    rng = np.random.default_rng(m)
    w, x = rng.normal(size=(2, 40_000, d))
    best = OptimalMap(d, m)
    errors = np.sum(best.phi(w) * best.psi(x), axis=1) - gelu(np.sum(w * x, axis=1))
    deviation = np.std(errors**2) / math.sqrt(len(errors))
    assert abs(np.mean(errors**2) - best_mse(d, m)) < 4 * deviation


@pytest.mark.parametrize(("d", "degree"), [(2, 6), (3, 4), (5, 2)])
def test_harmonics_are_orthonormal_and_counted(d: int, degree: int) -> None:
    count = harmonics(d, degree)
    unit = np.random.default_rng(0).normal(size=(40_000, d))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    values = _unit_harmonics(d, degree, count, unit)
    np.testing.assert_allclose(
        values.T @ values / len(values), np.eye(count), atol=0.06
    )
    # The sum of the squares of all of them is their number, everywhere.
    np.testing.assert_allclose(np.sum(values**2, axis=1), count, rtol=1e-6)
