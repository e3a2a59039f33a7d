"""GELU, its tanh form, and its power series with a proved bound on the remainder.

The series (Eq. 2 of the GELU-linearization paper) has the term z/2 and N even terms
(-1)^n z^(2n+2) / (sqrt(2 pi) 2^n n! (2n+1)), n = 0, 1, ..., N - 1. It converges
everywhere.
"""

import math

import numpy as np
from numpy.polynomial.polynomial import polyval
from numpy.typing import ArrayLike
from scipy.special import erf, factorial, ndtr

#: Beyond this many terms factorials and powers leave the range of float64.
MOST_TERMS = 80


def gelu(z: ArrayLike) -> np.ndarray:
    """Return GELU by the error function, z F(z), of any shape."""
    return np.asarray(z) * ndtr(z)


def gelu_even(z: ArrayLike) -> np.ndarray:
    """Return the even part of GELU, GELU(z) - z/2 = z erf(z/sqrt 2)/2."""
    return np.asarray(z) * erf(np.asarray(z) / math.sqrt(2)) / 2


def gelu_tanh(z: ArrayLike) -> np.ndarray:
    """Approximate GELU as usual, by z (1 + tanh(sqrt(2/pi) (z + 0.044715 z^3))) / 2."""
    z = np.asarray(z, dtype=float)
    return z * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))) / 2


def series_coefficients(n_terms: int) -> np.ndarray:
    """Return the coefficients of N even terms by power of z: (2 N + 1,), at least 2."""
    n = np.arange(n_terms)
    denominators = math.sqrt(2 * math.pi) * 2.0**n * factorial(n) * (2 * n + 1)
    coefficients = np.zeros(max(2, 2 * n_terms + 1))
    coefficients[1] = 0.5
    coefficients[2::2] = (-1.0) ** n / denominators
    return coefficients


def taylor_gelu(z: ArrayLike, n_terms: int) -> np.ndarray:
    """Sum the series up to N even terms, of any shape."""
    return polyval(np.asarray(z, dtype=float), series_coefficients(n_terms))


def remainder_bound(z: ArrayLike, n_terms: int) -> np.ndarray:
    """Bound what N terms leave by the next term's size (``xs-gelu-remainder``)."""
    first_left_out = abs(series_coefficients(n_terms + 1)[-1])
    return first_left_out * np.abs(np.asarray(z, dtype=float)) ** (2 * n_terms + 2)
