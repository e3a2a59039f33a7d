"""GELU, its tanh form, and the power series of both the distribution function and GELU.

GELU(z) = z F(z) with F the standard normal distribution function. Its series (Eq. 2 of the
GELU-linearization paper) has the terms z/2 and, for n = 0, 1, 2, ...,

    (-1)^n z^(2n+2) / (sqrt(2 pi) 2^n n! (2n+1)),

and converges everywhere. "N terms" means N of the even terms, beside z/2, which is how the paper
counts. What the first N terms leave over is never larger than the first term left out, whatever z
is; :mod:`xsquared.papers.gelu_linearization` proves it under the key ``xs-gelu-remainder``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erf, ndtr

#: Coefficient of the cube in the tanh form, and the whole argument's scale sqrt(2/pi).
TANH_CUBIC = 0.044715
_TANH_SCALE = math.sqrt(2 / math.pi)
_SQRT_2PI = math.sqrt(2 * math.pi)
#: Beyond this many terms factorials leave the range of float64.
_MOST_TERMS = 80


def gelu(z: ArrayLike) -> np.ndarray:
    """GELU by the error function, z F(z), of any shape."""
    z = np.asarray(z, dtype=np.float64)
    return z * ndtr(z)


def gelu_even(z: ArrayLike) -> np.ndarray:
    """The even part of GELU, GELU(z) - z/2 = z erf(z/sqrt 2)/2: all of it that is not linear."""
    z = np.asarray(z, dtype=np.float64)
    return z * erf(z / math.sqrt(2)) / 2


def gelu_tanh(z: ArrayLike) -> np.ndarray:
    """The usual approximation of GELU, z (1 + tanh(sqrt(2/pi) (z + 0.044715 z^3))) / 2."""
    z = np.asarray(z, dtype=np.float64)
    return z * (1 + np.tanh(_TANH_SCALE * (z + TANH_CUBIC * z**3))) / 2


def gelu_derivative(z: ArrayLike) -> np.ndarray:
    """Derivative of :func:`gelu`: F(z) + z phi(z)."""
    z = np.asarray(z, dtype=np.float64)
    return ndtr(z) + z * np.exp(-(z**2) / 2) / _SQRT_2PI


def gelu_tanh_derivative(z: ArrayLike) -> np.ndarray:
    """Derivative of :func:`gelu_tanh`, the formula of section 2.3.1."""
    z = np.asarray(z, dtype=np.float64)
    inner = np.tanh(_TANH_SCALE * (z + TANH_CUBIC * z**3))
    slope = _TANH_SCALE * (1 + 3 * TANH_CUBIC * z**2)
    return (1 + inner) / 2 + z * slope * (1 - inner**2) / 2


def series_coefficients(n_terms: int) -> np.ndarray:
    """Coefficients of the series by power of z, from the constant up: (2 n_terms + 1,).

    Args:
        n_terms: number N of even terms, from 0 to 80; zero leaves z/2.

    Raises:
        ValueError: ``n_terms`` out of that range.
    """
    _check_terms(n_terms)
    found = np.zeros(max(2, 2 * n_terms + 1))
    found[1] = 0.5
    for n in range(n_terms):
        found[2 * n + 2] = _even_coefficient(n)
    return found


def taylor_gelu(z: ArrayLike, n_terms: int) -> np.ndarray:
    """The series cut after N even terms, of any shape.

    Raises:
        ValueError: as for :func:`series_coefficients`.
    """
    z = np.asarray(z, dtype=np.float64)
    return np.polynomial.polynomial.polyval(z, series_coefficients(n_terms))


def remainder_bound(z: ArrayLike, n_terms: int) -> np.ndarray:
    """The proved bound on what N terms leave over: the first term left out, in absolute value.

    Raises:
        ValueError: as for :func:`series_coefficients`, with 79 as the most.
    """
    _check_terms(n_terms)
    _check_terms(n_terms + 1)
    z = np.abs(np.asarray(z, dtype=np.float64))
    return abs(_even_coefficient(n_terms)) * z ** (2 * n_terms + 2)


def largest_error(n_terms: int, radius: float) -> float:
    """Largest error of N terms on [-radius, radius] against GELU.

    The error's absolute value grows with z (its derivative is the remainder of an alternating
    series of one sign), so the maximum is at the ends and no grid is needed.

    Raises:
        ValueError: a radius that is not positive and finite, or as for :func:`series_coefficients`.
    """
    _check_radius(radius)
    return abs(float(taylor_gelu(radius, n_terms) - gelu(radius)))


def terms_needed(tolerance: float, radius: float) -> int:
    """The smallest N whose proved bound on [-radius, radius] is at most a tolerance.

    Raises:
        ValueError: a tolerance or radius that is not positive and finite, or no N up to 79.
    """
    _check_radius(radius)
    if not (math.isfinite(tolerance) and tolerance > 0):
        raise ValueError(f"tolerance must be positive and finite, got {tolerance}")
    for n in range(_MOST_TERMS):
        if float(remainder_bound(radius, n)) <= tolerance:
            return n
    raise ValueError(
        f"{_MOST_TERMS - 1} terms are not enough for {tolerance:g} on [-{radius:g}, {radius:g}]"
    )


def rounding_floor(radius: float) -> float:
    """Size of the rounding errors of the summed series at z = radius: eps times its largest term.

    The terms of the alternating series grow to about exp(z^2/2) before they fall, and float64
    keeps 16 digits of the largest, however small their sum is.

    Raises:
        ValueError: a radius that is not positive and finite.
    """
    _check_radius(radius)
    n = np.arange(_MOST_TERMS)
    log_terms = (2 * n + 2) * math.log(radius) - n * math.log(2) - np.log(2 * n + 1)
    log_terms -= np.array([math.lgamma(k + 1) for k in n])
    return float(np.finfo(np.float64).eps * np.exp(log_terms.max()) / _SQRT_2PI)


def _even_coefficient(n: int) -> float:
    """The coefficient of z^(2n+2)."""
    return (-1) ** n / (_SQRT_2PI * 2.0**n * math.factorial(n) * (2 * n + 1))


def _check_terms(n_terms: int) -> None:
    if not isinstance(n_terms, int | np.integer) or not 0 <= n_terms <= _MOST_TERMS:
        raise ValueError(f"n_terms must be an integer from 0 to {_MOST_TERMS}, got {n_terms!r}")


def _check_radius(radius: float) -> None:
    if not (math.isfinite(radius) and radius > 0):
        raise ValueError(f"radius must be positive and finite, got {radius}")
