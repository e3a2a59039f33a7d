"""GELU and polynomials in its place: Taylor's, and better ones of no more features.

The power series (Eq. 2 of the GELU-linearization paper) has the term z/2 and N even
terms (-1)^n z^(2n+2) / (sqrt(2 pi) 2^n n! (2n+1)), n = 0, 1, ..., N - 1. It converges
everywhere, with a proved bound on the remainder.

Chebyshev's, Hermite's and the best uniform polynomials need no more features. Each
function returns coefficients by power of z, the constant first: z/2 plus an even
polynomial, sought in u = z^2. Beyond degree 24 they lose more digits than the degree
gains.
"""

import math

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial, chebyshev, hermite_e
from numpy.polynomial.polynomial import polyval
from numpy.typing import ArrayLike
from scipy.special import erf, factorial, ndtr

#: Beyond this many terms factorials and powers leave the range of float64.
MOST_TERMS = 80
#: Places where errors are looked at.
_GRID = 20_001
#: Remez' exchange ends when the error's ripples are level to this share.
_LEVEL = 1e-6
#: Rounds after which the exchange has failed; three suffice up to degree 24.
_ROUNDS = 60
#: Rounding of GELU's values, which are as large as the radius.
_ROUNDING = 1e-15


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


def chebyshev_fit(degree: int, radius: float) -> np.ndarray:
    """Interpolate GELU at the degree + 1 Chebyshev points of [-radius, radius].

    An even degree has a point at zero, where GELU vanishes: then z^2 divides the even
    part.
    """
    positive = chebyshev.chebpts1(degree + 1)[degree // 2 + 1 :]
    lowest = 2 if degree % 2 == 0 else 0
    z = radius * positive
    values = gelu_even(z) / z**lowest
    # T_k(2 t^2 - 1), as u = z^2 in [0, radius^2] is 2 t^2 - 1 in [-1, 1].
    basis = chebyshev.chebvander(2 * positive**2 - 1, len(positive) - 1)
    return _by_power(np.linalg.solve(basis, values), radius, degree, lowest)


def best_uniform_fit(degree: int, radius: float) -> tuple[np.ndarray, float, float]:
    """Find the polynomial of smallest largest error by Remez' exchange.

    By symmetry the best even one is best among all on [-radius, radius].

    Returns:
        Coefficients; the largest error; and a bound that the error of no polynomial of
        that degree is below (de la Vallée Poussin).

    Raises:
        RuntimeError: the exchange does not end.
    """
    half = degree // 2  # degree in u = radius^2 (1 + s)/2, s in [-1, 1]
    s = -np.cos(np.linspace(0, np.pi, _GRID))
    values = gelu_even(radius * np.sqrt((1 + s) / 2))
    points = half + 2
    chosen = np.rint(np.linspace(0, _GRID - 1, points)).astype(int)
    signs = (-1.0) ** np.arange(points)
    for _ in range(_ROUNDS):
        # Step 1: the polynomial whose error at the chosen points is level, in turn.
        system = np.column_stack([chebyshev.chebvander(s[chosen], half), signs])
        *c, level = np.linalg.solve(system, values[chosen])
        error = values - chebyshev.chebval(s, c)
        largest = float(np.abs(error).max())
        bound = abs(float(level))
        # Step 2: stop where no error is larger.
        if largest <= bound * (1 + _LEVEL) + _ROUNDING * max(1.0, radius):
            coefficients = _by_power(np.array(c), radius, 2 * half)
            return coefficients, largest, min(largest, bound)
        # Step 3: choose the largest extrema of alternating sign, as many as before.
        chosen = _alternating_peaks(error, points)
    raise RuntimeError(f"no level error after {_ROUNDS} exchanges at degree {degree}")


def _alternating_peaks(error: np.ndarray, count: int) -> np.ndarray:
    """Find where an error on a grid is largest between its zeros, ``count`` places.

    Where there are more the smaller of the two at the ends goes, so signs alternate.
    """
    changes = np.flatnonzero(np.diff(np.signbit(error))) + 1
    pieces = np.split(np.arange(len(error)), changes)
    peaks = [int(piece[np.abs(error[piece]).argmax()]) for piece in pieces]
    while len(peaks) > count:
        first_is_smaller = abs(error[peaks[0]]) < abs(error[peaks[-1]])
        peaks.pop(0 if first_is_smaller else -1)
    return np.array(peaks)


def _by_power(c: np.ndarray, radius: float, degree: int, lowest: int = 0) -> np.ndarray:
    """Expand z/2 plus z^lowest times a Chebyshev series in u = z^2 on [0, radius^2]."""
    in_u = Chebyshev(c, domain=[0, radius**2])
    even = in_u.convert(kind=Polynomial, domain=[-1, 1], window=[-1, 1]).coef
    by_power = np.zeros(max(2, degree + 1))
    by_power[lowest : lowest + 2 * len(even) : 2] = even
    by_power[1] = 0.5
    return by_power


def hermite_fit(degree: int, sigma: float) -> np.ndarray:
    """Project GELU on polynomials, for z normal with standard deviation sigma.

    Coefficients in He_k(z/sigma) are sigma^k/k! times the mean of GELU's k-th
    derivative, from GELU'' = phi - phi'' (``xs-hermite-coefficients``).
    """
    root = math.sqrt(2 * math.pi)
    s = math.sqrt(1 + sigma**2)

    def mean_derivative(j: int) -> float:
        """Return the mean of phi's even derivative j: phi of variance s^2, at 0."""
        odd_factorial = math.prod(range(1, j, 2))
        return (-1) ** (j // 2) * odd_factorial / (root * s ** (j + 1))

    c = np.zeros(degree + 1)
    c[0] = sigma**2 / (root * s)
    c[1] = sigma / 2
    for k in range(2, degree + 1, 2):
        mean = mean_derivative(k - 2) - mean_derivative(k)
        c[k] = sigma**k / math.factorial(k) * mean
    by_power = hermite_e.herme2poly(c)  # as long as its last coefficient but zeros
    return by_power / float(sigma) ** np.arange(len(by_power))


def max_error(coefficients: np.ndarray, radius: float) -> float:
    """Return a polynomial's largest error on 20,001 places of [-radius, radius]."""
    z = radius * np.cos(np.linspace(0, np.pi, _GRID))
    return float(np.abs(polyval(z, coefficients) - gelu(z)).max())
