"""Better polynomials than Taylor's under the same features: Chebyshev, Hermite, best
uniform.

Each function returns coefficients by power of z, the constant first: z/2 plus an even
polynomial, sought in u = z^2. Beyond degree 24 they lose more digits than the degree
gains.
"""

import math

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial, chebyshev, hermite_e
from numpy.polynomial.polynomial import polyval

from xsquared.features.series import gelu, gelu_even

#: Places where errors are looked at.
_GRID = 20_001
#: The exchange ends when the error's ripples are level to this part, or fails after
#: these rounds.
_LEVEL, _ROUNDS = 1e-6, 60


def chebyshev_fit(degree: int, radius: float) -> np.ndarray:
    """Interpolate GELU at the degree + 1 Chebyshev points of [-radius, radius].

    An even degree has a point at zero, where GELU vanishes: then z^2 divides the even
    part.
    """
    nodes = chebyshev.chebpts1(degree + 1)[degree // 2 + 1 :]  # the positive ones
    lowest = 2 * (1 - degree % 2)
    values = gelu_even(radius * nodes) / (radius * nodes) ** lowest
    c = np.linalg.solve(chebyshev.chebvander(2 * nodes**2 - 1, len(nodes) - 1), values)
    return _by_power(c, radius, degree, lowest)


def best_uniform_fit(degree: int, radius: float) -> tuple[np.ndarray, float, float]:
    """Find the polynomial of smallest largest error on [-radius, radius], by Remez
    exchange.

    By symmetry the best even one is best among all. Return coefficients, the largest
    error, and one that no polynomial of that degree is below (de la Vallée Poussin).
    """
    half = degree // 2
    s = -np.cos(np.linspace(0, np.pi, _GRID))  # u = radius^2 (1 + s)/2
    values = gelu_even(radius * np.sqrt((1 + s) / 2))
    chosen = np.rint(np.linspace(0, _GRID - 1, half + 2)).astype(int)
    signs = (-1.0) ** np.arange(half + 2)
    for _ in range(_ROUNDS):
        system = np.column_stack([chebyshev.chebvander(s[chosen], half), signs])
        *c, level = np.linalg.solve(system, values[chosen])
        error = values - chebyshev.chebval(s, c)
        largest, lower_bound = float(np.abs(error).max()), abs(float(level))
        if largest <= lower_bound * (1 + _LEVEL) + 1e-15 * max(1.0, radius):
            return (
                _by_power(np.array(c), radius, 2 * half),
                largest,
                min(largest, lower_bound),
            )
        # The largest extrema of alternating sign, as many as were chosen before.
        pieces = np.split(
            np.arange(_GRID), np.flatnonzero(np.diff(np.signbit(error))) + 1
        )
        peaks = [int(piece[np.abs(error[piece]).argmax()]) for piece in pieces]
        while len(peaks) > half + 2:
            peaks.pop(0 if abs(error[peaks[0]]) < abs(error[peaks[-1]]) else -1)
        chosen = np.array(peaks)
    raise RuntimeError(f"no level error after {_ROUNDS} exchanges at degree {degree}")


def _by_power(c: np.ndarray, radius: float, degree: int, lowest: int = 0) -> np.ndarray:
    """Expand z/2 plus z^lowest times a Chebyshev series in u = z^2 on [0, radius^2]."""
    in_u = Chebyshev(c, domain=[0, radius**2])
    even = in_u.convert(kind=Polynomial, domain=[-1, 1], window=[-1, 1]).coef
    found = np.zeros(max(2, degree + 1))
    found[lowest : lowest + 2 * len(even) : 2] = even
    found[1] = 0.5
    return found


def hermite_fit(degree: int, sigma: float) -> np.ndarray:
    """Project GELU on polynomials, for z normal with standard deviation sigma.

    Coefficients in He_k(z/sigma) follow from GELU'' = phi - phi''
    (``xs-hermite-coefficients``).
    """
    root, s = math.sqrt(2 * math.pi), math.sqrt(1 + sigma**2)

    def mean_derivative(j: int) -> float:
        return (-1) ** (j // 2) * math.prod(range(1, j, 2)) / (root * s ** (j + 1))

    c = np.zeros(degree + 1)
    c[:2] = sigma**2 / (root * s), sigma / 2
    for k in range(2, degree + 1, 2):
        c[k] = (
            sigma**k / math.factorial(k) * (mean_derivative(k - 2) - mean_derivative(k))
        )
    by_power = hermite_e.herme2poly(
        c
    )  # no longer than its last coefficient that is not zero
    return by_power / float(sigma) ** np.arange(len(by_power))


def max_error(coefficients: np.ndarray, radius: float) -> float:
    """Return the largest error of a polynomial on [-radius, radius], on 20,001 places."""
    z = radius * np.cos(np.linspace(0, np.pi, _GRID))
    return float(np.abs(polyval(z, coefficients) - gelu(z)).max())
