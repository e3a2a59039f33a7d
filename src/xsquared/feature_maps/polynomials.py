"""Better polynomials than Taylor's under the same features: Chebyshev, Hermite, best uniform.

Tensor features are the same for every polynomial of a degree, so the coefficients may as well be
good ones. Each function returns them by power of z, the constant first; all are z/2 plus an even
polynomial, because the odd part of GELU is z/2 and the intervals and laws here are symmetric.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial, chebyshev, hermite_e

from xsquared.feature_maps.series import gelu, gelu_even

#: Beyond this degree, coefficients by power lose more digits than the degree gains.
MOST_DEGREE = 24
_SQRT_2PI = math.sqrt(2 * math.pi)
#: Places per cell of the exchange's grid, and when and whether it ends.
_GRID = 20_001
_LEVEL = 1e-6
_ROUNDS = 60


def chebyshev_fit(degree: int, radius: float) -> np.ndarray:
    """The polynomial that meets GELU at the degree + 1 Chebyshev points of [-radius, radius].

    Raises:
        ValueError: a degree outside 1 to 24, or a radius that is not positive and finite.
    """
    _check(degree, radius, "radius")
    fit = Chebyshev.interpolate(gelu, degree, domain=[-radius, radius])
    c = np.zeros(degree + 1)
    by_power = fit.convert(kind=Polynomial, domain=[-1, 1], window=[-1, 1]).coef
    c[: len(by_power)] = by_power
    c[1], c[3::2] = 0.5, 0.0  # exact; what stood there was rounding
    return c


@dataclass(frozen=True)
class UniformFit:
    """A best uniform polynomial with its certificate.

    Attributes:
        coefficients: by power of z.
        error: its largest error on the interval.
        lower_bound: no polynomial of that degree has a smaller largest error than this
            (de la Vallée Poussin).
    """

    coefficients: np.ndarray
    error: float
    lower_bound: float


def best_uniform_fit(degree: int, radius: float) -> UniformFit:
    """The polynomial of smallest largest error on [-radius, radius], by Remez exchange.

    In u = z^2 the even part of GELU is an analytic function on [0, radius^2], to be approximated by
    a polynomial of half the degree; symmetry makes the best even one best among all.

    Raises:
        ValueError: as for :func:`chebyshev_fit`.
        RuntimeError: the exchange did not level the error.
    """
    _check(degree, radius, "radius")
    half = degree // 2
    s = -np.cos(np.linspace(0, np.pi, _GRID))  # u = radius^2 (1 + s)/2
    values = gelu_even(radius * np.sqrt((1 + s) / 2))
    chosen = np.rint(np.linspace(0, _GRID - 1, half + 2)).astype(int)
    signs = (-1.0) ** np.arange(half + 2)
    for _ in range(_ROUNDS):
        system = np.column_stack([chebyshev.chebvander(s[chosen], half), signs])
        *c, level = np.linalg.solve(system, values[chosen])
        error = values - chebyshev.chebval(s, c)
        largest = float(np.abs(error).max())
        if largest <= abs(level) * (1 + _LEVEL) + 1e-15:
            in_u = Chebyshev(c, domain=[0, radius**2])
            by_power = in_u.convert(kind=Polynomial, domain=[-1, 1], window=[-1, 1]).coef
            coefficients = np.zeros(max(2, 2 * half + 1))
            coefficients[: 2 * len(by_power) : 2] = by_power
            coefficients[1] = 0.5
            return UniformFit(coefficients, largest, min(largest, abs(float(level))))
        chosen = _alternating_extrema(error, half + 2)
    raise RuntimeError(f"no level error after {_ROUNDS} exchanges at degree {degree}")


def _alternating_extrema(error: np.ndarray, count: int) -> np.ndarray:
    """Indices of ``count`` extrema of alternating sign, the largest such run."""
    edges = np.flatnonzero(np.diff(np.signbit(error))) + 1
    pieces = np.split(np.arange(len(error)), edges)
    peaks = [int(piece[np.abs(error[piece]).argmax()]) for piece in pieces]
    if len(peaks) < count:
        raise RuntimeError(f"the error has {len(peaks)} alternations, {count} are needed")
    while len(peaks) > count:
        peaks.pop(0 if abs(error[peaks[0]]) < abs(error[peaks[-1]]) else -1)
    return np.array(peaks)


def hermite_coefficients(degree: int, sigma: float) -> np.ndarray:
    """Coefficients of GELU(sigma g) in the Hermite polynomials He_k(g), g standard normal.

    From GELU'' = phi - phi'' and E phi^(j)(sigma g) = (-1)^(j/2) (j-1)!!/(sqrt(2 pi) s^(j+1)) for
    even j, with s^2 = 1 + sigma^2; :mod:`xsquared.papers.gelu_linearization` proves both under the
    key ``xs-hermite-coefficients``.

    Returns:
        Of shape (degree + 1,), with sigma/2 at k = 1 and zero at every other odd k.

    Raises:
        ValueError: a degree outside 1 to 24, or a sigma that is not positive and finite.
    """
    _check(degree, sigma, "sigma")
    s = math.sqrt(1 + sigma**2)

    def mean_derivative(j: int) -> float:
        odd_product = math.prod(range(1, j, 2))
        return (-1) ** (j // 2) * odd_product / (_SQRT_2PI * s ** (j + 1))

    c = np.zeros(degree + 1)
    c[0], c[1] = sigma**2 / (_SQRT_2PI * s), sigma / 2
    for k in range(2, degree + 1, 2):
        c[k] = sigma**k / math.factorial(k) * (mean_derivative(k - 2) - mean_derivative(k))
    return c


def hermite_fit(degree: int, sigma: float) -> np.ndarray:
    """The polynomial of least mean squared error for z normal with standard deviation sigma.

    That is the law of w . x for standard normal x and a row w of length sigma. Errors as for
    :func:`hermite_coefficients`.
    """
    by_power = hermite_e.herme2poly(hermite_coefficients(degree, sigma))
    return by_power / sigma ** np.arange(len(by_power))


def gelu_second_moment(sigma: float) -> float:
    """E GELU(z)^2 for z normal with standard deviation sigma, in closed form.

    Raises:
        ValueError: a sigma that is not positive and finite.
    """
    _check(1, sigma, "sigma")
    v = sigma**2
    angle = v * math.asin(v / (1 + v)) / (2 * math.pi)
    return v / 4 + angle + v**2 / (math.pi * (1 + v) * math.sqrt(1 + 2 * v))


def hermite_mse(degree: int, sigma: float) -> float:
    """Mean squared error of :func:`hermite_fit`: the second moment less what the fit explains.

    Errors as for :func:`hermite_coefficients`.
    """
    c = hermite_coefficients(degree, sigma)
    explained = sum(float(c[k]) ** 2 * math.factorial(k) for k in range(degree + 1))
    return max(0.0, gelu_second_moment(sigma) - explained)


def max_error(coefficients: np.ndarray, radius: float) -> float:
    """Largest error of a polynomial on [-radius, radius], on 20,001 places dense at the ends.

    Raises:
        ValueError: coefficients that are no vector, or a radius that is not positive and finite.
    """
    c = np.asarray(coefficients, dtype=np.float64)
    if c.ndim != 1 or not len(c):
        raise ValueError(f"expected a vector of coefficients, got shape {c.shape}")
    _check(1, radius, "radius")
    z = radius * np.cos(np.linspace(0, np.pi, _GRID))
    return float(np.abs(np.polynomial.polynomial.polyval(z, c) - gelu(z)).max())


def _check(degree: int, scale: float, name: str) -> None:
    if not isinstance(degree, int | np.integer) or not 1 <= degree <= MOST_DEGREE:
        raise ValueError(f"degree must be an integer from 1 to {MOST_DEGREE}, got {degree!r}")
    if not (math.isfinite(scale) and scale > 0):
        raise ValueError(f"{name} must be positive and finite, got {scale}")
