"""The law of optimal features: the singular values of GELU(w . x), and the map that has
them.

Let w and x be independent normal vectors in d dimensions, x standard and w with entries
of deviation ``scale``. No map of m features has a smaller E (GELU(w . x) - Phi(w)
Psi(x))^2 than the sum of the squares of all singular values of this kernel but the m
largest (Eckart, Young, Schmidt).

The kernel splits by rotation (Funk, Hecke). Its odd part z/2 has d singular values
scale/2. For each even degree l of spherical harmonics its even part E has those of the
radial kernel

    mu_l(r s),  mu_l(p) = E_t E(p t) P_l(t),

each as often as there are harmonics: r and s are lengths of normal vectors, t is the
cosine of a random angle and P_l the Gegenbauer polynomial with P_l(1) = 1.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import count as count_from
from itertools import islice

import numpy as np
from scipy.linalg import eigh_tridiagonal, solve_triangular

from xsquared.features.series import gelu_even
from xsquared.quadrature import on_cells

#: Largest degree of harmonics.
MOST_DEGREE = 4000
#: Cells of the rule in angle, and nodes in a cell up to and beyond a degree of
#: harmonics.
_CELLS, _FEW, _MANY, _MANY_FROM = 16, 40, 320, 64
#: Degrees whose integrals over the angle are taken together: one product of matrices.
_AT_ONCE = 16
#: Below this share of the second moment a level is rounding.
_ROUNDING = 1e-26
#: What 1 less the listed shares is off by, and how far off, relatively, the rest may
#: be.
_SUBTRACTION, _PRECISION = 1e-13, 1e-7


@dataclass(frozen=True)
class Level:
    """A singular value of GELU(w . x), exp(-700) at least, and the functions that have
    it.

    All ``multiplicity`` harmonics of its degree carry a share of the second moment
    together. ``function`` of the length has mean square 1, in orthonormal Laguerre
    polynomials.
    """

    degree: int
    value: float
    multiplicity: int
    share: float
    sign: float = field(repr=False)
    function: np.ndarray = field(repr=False, compare=False)

    @property
    def rank(self) -> float:
        """The logarithm of the squared value, but for a constant, without underflow."""
        return math.log(self.share) - math.log(self.multiplicity)


@dataclass(frozen=True)
class Spectrum:
    """Levels, the largest value first, and the share of all others."""

    levels: tuple[Level, ...]
    tail: float

    def left(self, m: np.ndarray | int) -> np.ndarray:
        """Return the share that the first m features leave, linear between complete
        levels.
        """
        shares = np.array([level.share for level in self.levels])
        # Summed from the smallest: subtracting from one would cancel.
        left = np.append(np.cumsum(shares[::-1])[::-1], 0.0) + max(0.0, self.tail)
        corners = np.cumsum(
            [0.0, *(float(level.multiplicity) for level in self.levels)]
        )
        return np.asarray(np.interp(m, corners, left))


def second_moment(d: int, scale: float = 1.0) -> float:
    """Return E GELU(w . x)^2, by quadrature over the length of x, which w . x has the
    variance of.

    GELU's mean square is v/4 + v asin(v/(1+v))/(2 pi) + v^2/(pi (1+v) sqrt(1+2v)) for
    variance v.
    """
    length, roots, _ = _rule(d)
    v = (scale * length) ** 2
    arc = v * np.arcsin(v / (1 + v)) / (2 * np.pi)
    return float(
        roots**2 @ (v / 4 + arc + v**2 / (np.pi * (1 + v) * np.sqrt(1 + 2 * v)))
    )


@cache
def spectrum(
    d: int, scale: float = 1.0, features: int = 0, tolerance: float = 1e-9
) -> Spectrum:
    """List levels in d >= 2 dimensions, a degree at a time, until they hold so many
    features.

    They end where no larger degree can displace one of these, and the share of the
    levels beyond is known to 1e-7 of itself; with no features where the others carry
    less than ``tolerance``; in any case at degree 4000 or where a degree is rounding.
    """
    length, roots, basis = _rule(d)
    whole = second_moment(d, scale)
    carried = [d * scale**2 / 4 / whole]
    radius = basis @ (roots * length) / math.sqrt(d)  # z/2 is linear in both lengths
    found = [Level(1, scale / 2, d, carried[0], 1.0, radius)]

    def listed() -> Spectrum:
        # Rounding must not decide between two levels.
        ordered = sorted(found, key=lambda level: -round(level.rank / 2, 9))
        return Spectrum(tuple(ordered), _tail(carried)[0])

    for degree, matrix in _radial_operators(d, scale):
        values, vectors = np.linalg.eigh(matrix)
        own, count = list[Level](), harmonics(d, degree)
        for i in np.argsort(-np.abs(values)):  # the largest first
            if (square := float(values[i] * values[i])) > _ROUNDING * whole:
                value = math.exp(
                    max(np.log(np.abs(values[i])) - math.log(count) / 2, -700)
                )
                sign, function = float(np.sign(values[i])), basis @ vectors[:, i]
                own.append(Level(degree, value, count, square / whole, sign, function))
        carried.append(sum(level.share for level in own))
        tail, tail_error = _tail(carried)
        larger = [
            level for level in found if features and own and level.rank >= own[0].rank
        ]
        found += own
        if carried[-1] < _ROUNDING or (not features and tail < tolerance):
            break
        enough = 0 < features <= sum(level.multiplicity for level in larger)
        if enough and tail_error < _PRECISION * listed().left(features):
            break
    return listed()


def _tail(carried: list[float]) -> tuple[float, float]:
    """Return the share of the degrees that follow, and a bound on its error.

    Where what the first leave of 1 is rounding, it is the geometric series of the last
    ratio: shares fall like exp(-c l^(2/3)) there, so twice the series is a bound.
    """
    ratio = min(carried[-1] / carried[-2], 0.99)
    series = carried[-1] * ratio / (1 - ratio)
    return (
        (1 - math.fsum(carried), _SUBTRACTION)
        if series > _SUBTRACTION
        else (series, series)
    )


def _radial_operators(d: int, scale: float) -> Iterator[tuple[int, np.ndarray]]:
    """Make, for even degrees, the radial kernel times the root of their number of
    harmonics.

    Matrices are at nodes, with the roots of the weights on both sides.
    """
    length, roots, _ = _rule(d)
    rows, columns = np.tril_indices(len(length))
    products = scale * length[rows] * length[columns]
    for least, most, nodes in ((0, _MANY_FROM, _FEW), (_MANY_FROM, MOST_DEGREE, _MANY)):
        # For the cosine t = sin(phi) of random directions; cells halve to 0: E bends
        # within 1/p.
        phi, weights = on_cells(
            np.array([0.0, *np.pi * 2.0 ** -np.arange(_CELLS, 0, -1)]), nodes
        )
        weights *= np.cos(phi) ** (d - 2)
        t, weights = np.sin(phi).ravel(), weights.ravel() / weights.sum()
        even = gelu_even(np.outer(products, t))
        # Where directions are rare polynomials overflow, and their products with
        # weights do not.
        polynomials = islice(_gegenbauer(d, t, weights), least, most, 2)
        while group := list(islice(polynomials, _AT_ONCE)):
            entries = even @ np.column_stack([polynomial for _, polynomial in group])
            for (degree, _), column in zip(group, entries.T, strict=True):
                matrix = np.empty((len(length), len(length)))
                matrix[rows, columns] = matrix[columns, rows] = column
                yield degree, roots[:, None] * matrix * roots


def best_mse(d: int, m: np.ndarray | int, scale: float = 1.0) -> np.ndarray:
    """Return the least mean squared error of any Phi and Psi of m features, of m's
    shape.
    """
    found = spectrum(d, scale, max(1, int(np.max(m))))
    return np.asarray(found.left(m) * second_moment(d, scale))


def features_needed(d: int, error: float, scale: float = 1.0) -> int:
    """Count the fewest features with which some map has this RMSE, 1e-7 at least, of
    GELU's.

    An error that 4000 degrees do not reach is a ValueError.
    """
    missing, count = 1 - error**2, 0
    for level in spectrum(d, scale, tolerance=error**2 / 10).levels:
        if level.share >= missing:
            # Numbers beyond float64, so in integers.
            part = math.ceil(missing / level.share * 2**50)
            return count + -(-level.multiplicity * part // 2**50)
        missing, count = missing - level.share, count + level.multiplicity
    raise ValueError(
        f"error: expected one that {MOST_DEGREE} degrees reach, got {error}"
    )


def harmonics(d: int, degree: int) -> int:
    """Count the spherical harmonics of a degree in d dimensions."""
    if degree < 2:
        return d**degree
    # One number of many digits, and not the difference of two.
    return (d + 2 * degree - 2) * math.comb(d + degree - 3, degree - 1) // degree


@dataclass(frozen=True)
class OptimalMap:
    """The map of m features with the least mean squared error, :func:`best_mse`.

    Its singular functions are rounding at lengths that standard normal vectors never
    have.
    """

    d: int
    m: int
    scale: float = 1.0

    def phi(self, w: np.ndarray) -> np.ndarray:
        """Map weight rows, of deviation ``scale``: (..., d) -> (..., m)."""
        return self._features(w / self.scale, signed=True)

    def psi(self, x: np.ndarray) -> np.ndarray:
        """Map inputs: (..., d) -> (..., m)."""
        return self._features(x, signed=False)

    def _features(self, v: np.ndarray, signed: bool) -> np.ndarray:
        """Multiply singular functions of normal vectors by roots of their singular
        values.
        """
        length = np.linalg.norm(v, axis=-1)
        unit = v / np.where(length > 0, length, 1.0)[..., None]
        levels = spectrum(self.d, self.scale, self.m).levels[: self.m]
        radials = _laguerre_sums(
            self.d, np.array([one.function for one in levels]), length
        )
        parts, left = [], self.m
        for level, radial in zip(levels, radials[..., None], strict=True):
            count, root = min(level.multiplicity, left), math.sqrt(level.value)
            if level.degree == 1:
                parts.append(root * v[..., :count])
            elif count:
                harmonic = unit_harmonics(self.d, level.degree, count, unit)
                parts.append((level.sign if signed else 1.0) * root * radial * harmonic)
            left -= count
        return np.concatenate(parts, axis=-1)


def unit_harmonics(d: int, degree: int, count: int, unit: np.ndarray) -> np.ndarray:
    """Evaluate orthonormal harmonics of a degree at unit vectors: (..., d) -> (...,
    count).

    They are spanned by the zonal ones about as many random points.
    """
    points = np.random.default_rng(degree).normal(size=(count, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)

    def zonal(t: np.ndarray) -> np.ndarray:
        """Average the products of the harmonics of two points, by the cosine of their
        angle.
        """
        found = next(
            value for n, value in _gegenbauer(d, t, np.ones_like(t)) if n == degree
        )
        return math.sqrt(harmonics(d, degree)) * found

    root = np.linalg.cholesky(zonal(points @ points.T))
    values = zonal(unit @ points.T)
    return solve_triangular(root, values.reshape(-1, count).T, lower=True).T.reshape(
        values.shape
    )


def _gegenbauer(
    d: int, t: np.ndarray, first: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """Generate the polynomials orthonormal for the cosine t of a random angle, times
    ``first``.
    """
    last, value, before = np.zeros_like(t), first, 0.0
    for n in count_from(1):
        yield n - 1, value
        square = (
            1 / d if n == 1 else n * (n + d - 3) / ((2 * n + d - 2) * (2 * n + d - 4))
        )
        after = math.sqrt(square)
        last, value, before = value, (t * value - before * last) / after, after


def _laguerre_sums(d: int, coefficients: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Sum the orthonormal polynomials of half the squared length: (s, k), (...) -> (s,
    ...).
    """
    half_square, values = length**2 / 2, [np.zeros_like(length), np.ones_like(length)]
    for k in range(coefficients.shape[1] - 1):
        before, after = (math.sqrt(n * (n - 1 + d / 2)) for n in (k, k + 1))
        values.append(
            ((half_square - 2 * k - d / 2) * values[-1] - before * values[-2]) / after
        )
    return np.tensordot(coefficients, np.array(values[1:]), 1)


@cache
def _rule(d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make a Gauss rule for the length of a standard normal vector.

    Return nodes (q,), roots of weights (q,), and (n, q) Laguerre polynomials times
    these roots, orthonormal for half the squared length (Golub, Welsch; scipy's
    overflow from d = 344).
    """
    k = np.arange(60 + 900 // d)
    half_square, basis = eigh_tridiagonal(
        2 * k + d / 2, np.sqrt(k * (k + d / 2 - 1))[1:]
    )
    basis = basis * np.sign(basis[0])
    kept = basis[0] > 1e-14
    return np.sqrt(2 * half_square[kept]), basis[0, kept], basis[:, kept]
