"""The law of optimal features: the singular values of GELU(w . x), and the map that has them.

Let w and x be independent normal vectors in d dimensions, x standard and w with entries of
deviation ``scale``. No map of m features has a smaller E (GELU(w . x) - Phi(w) Psi(x))^2 than the
sum of the squares of all singular values of this kernel but the m largest (Eckart, Young, Schmidt).

The kernel splits by rotation (Funk, Hecke). Its odd part z/2 has d singular values scale/2. For
each even degree l of spherical harmonics its even part E has those of the radial kernel

    mu_l(r s),  mu_l(p) = E_t E(p t) P_l(t),

where r and s are lengths of normal vectors, t is the cosine of a random angle and P_l the
Gegenbauer polynomial with P_l(1) = 1. Each of them counts as often as there are harmonics.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import count as count_from
from itertools import islice

import numpy as np
from scipy.linalg import eigh_tridiagonal, solve_triangular

from xsquared.checks import check_integer, check_number
from xsquared.feature_maps.series import gelu_even
from xsquared.quadrature import on_cells

#: Largest degree of harmonics.
MOST_DEGREE = 4000
#: Cells of the rule in angle, and nodes in a cell up to and beyond a degree of harmonics.
_CELLS, _FEW, _MANY, _MANY_FROM = 16, 40, 320, 64
#: Degrees whose integrals over the angle are taken together: one product of matrices.
_AT_ONCE = 16
#: Below this share of the second moment a level is rounding.
_ROUNDING = 1e-26
#: Root of a length's weight below which functions of the length are rounding.
_RARE = 1e-8
#: What 1 less the listed shares is off by.
_SUBTRACTION = 1e-13
#: How far off, relative to itself, the share beyond the features asked for may be.
_PRECISION = 1e-7


@dataclass(frozen=True)
class Level:
    """A singular value of GELU(w . x) and the functions that have it.

    Attributes:
        degree: of its spherical harmonics.
        radial: its place in its degree, from 0.
        value: the singular value; exp(-700) where float64 has none so small.
        multiplicity: number of harmonics of that degree.
        share: of the second moment, that all of them carry together.
        sign: of the eigenvalue.
        function: of the length, mean square 1, in orthonormal Laguerre polynomials.
    """

    degree: int
    radial: int
    value: float
    multiplicity: int
    share: float
    sign: float = field(repr=False)
    function: np.ndarray = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        self.function.setflags(write=False)  # levels are kept


@dataclass(frozen=True)
class Spectrum:
    """Levels, the largest value first; the share of all others, and a bound on its error."""

    levels: tuple[Level, ...]
    rest: float
    uncertain: float


def second_moment(d: int, scale: float = 1.0) -> float:
    """E GELU(w . x)^2, by quadrature over the length of x of a closed form.

    Given x, w . x is normal with variance v, and the mean square of its GELU is
    v/4 + v asin(v/(1+v))/(2 pi) + v^2/(pi (1+v) sqrt(1+2v)).
    """
    length, weights = _lengths(d)
    v = (scale * length) ** 2
    arc = v * np.arcsin(v / (1 + v)) / (2 * np.pi)
    return float(weights @ (v / 4 + arc + v**2 / (np.pi * (1 + v) * np.sqrt(1 + 2 * v))))


@cache
def spectrum(d: int, scale: float = 1.0, features: int = 0, left_over: float = 1e-9) -> Spectrum:
    """Levels until they hold so many features, or else until the others carry ``left_over``.

    Degrees are added, each with all its levels. With ``features``, the list ends where no larger
    degree can displace one of them, and where the share of the levels beyond them is known to
    1e-7 of itself. It ends in any case where a degree is rounding, or at degree 4000.

    Raises:
        ValueError: here and below, fewer than two dimensions, in which no direction is random.
    """
    d = check_integer("d", d, 2)
    _, roots, basis = _rule(d)
    radius = basis @ (roots * _lengths(d)[0])  # z/2 is linear in both lengths
    share = d * scale**2 / 4 / second_moment(d, scale)
    linear = Level(1, 0, scale / 2, d, share, 1.0, radius / math.sqrt(d))
    found, carried = [(math.log(scale / 2), linear)], [share]
    for own in _by_degree(d, scale):
        largest = own[0][0] if own else -math.inf
        higher = sum(level.multiplicity for log_value, level in found if log_value >= largest)
        found += own
        carried.append(sum(level.share for _, level in own))
        rest, uncertain = _rest(carried)
        if carried[-1] < _ROUNDING or (not features and rest < left_over):
            break
        if 0 < features <= higher and uncertain < _PRECISION * (_beyond(found, features) + rest):
            break
    # Rounding must not decide between two levels.
    ordered = sorted(found, key=lambda pair: -round(pair[0], 9))
    return Spectrum(tuple(level for _, level in ordered), rest, uncertain)


def _rest(carried: list[float]) -> tuple[float, float]:
    """The share of the degrees that follow, from those of the first, and a bound on its error.

    It is what the first leave of 1 or, where that is rounding, the geometric series of the last
    ratio. There shares fall like exp(-c l^(2/3)), so twice the series is a bound.
    """
    ratio = min(carried[-1] / max(carried[-2], _ROUNDING), 0.99)
    series = max(carried[-1], _ROUNDING) * ratio / (1 - ratio)
    if len(carried) < 4 or series > _SUBTRACTION:
        return 1 - math.fsum(carried), _SUBTRACTION
    return series, series


def _beyond(found: list[tuple[float, Level]], features: int) -> float:
    """The share of the listed levels beyond the first features."""
    left, beyond = features, 0.0
    for _, level in sorted(found, key=lambda pair: -pair[0]):
        taken = min(left, level.multiplicity)
        beyond += level.share * ((level.multiplicity - taken) / level.multiplicity)
        left -= taken
    return beyond


def _by_degree(d: int, scale: float) -> Iterator[tuple[tuple[float, Level], ...]]:
    """The levels of each even degree, the largest first, with the logarithms of their values.

    What was found for one call serves the next, which may ask for more degrees.
    """
    known, whole, more = _known_degrees(d, scale), second_moment(d, scale), None
    for degree in range(0, MOST_DEGREE, 2):
        while degree not in known:
            more = more or _radial_operators(d, scale, degree)
            known.update((n, _degree_levels(d, n, matrix, whole)) for n, matrix in next(more))
        yield known[degree]


@cache
def _known_degrees(d: int, scale: float) -> dict[int, tuple[tuple[float, Level], ...]]:
    """What :func:`_by_degree` has found of a law so far; it adds to it."""
    del d, scale
    return {}


def _degree_levels(
    d: int, degree: int, matrix: np.ndarray, whole: float
) -> tuple[tuple[float, Level], ...]:
    """What :func:`_by_degree` gives for one degree, from its radial operator."""
    count = harmonics(d, degree)
    values, vectors = np.linalg.eigh(matrix)
    order = np.argsort(-np.abs(values))
    kept = order[values[order] ** 2 > _ROUNDING * whole]
    logs = np.log(np.abs(values[kept])) - math.log(count) / 2
    basis, found = _rule(d)[2], []
    for radial, (log_value, i) in enumerate(zip(logs, kept, strict=True)):
        value, share = math.exp(max(log_value, -700)), float(values[i] ** 2 / whole)
        sign = math.copysign(1.0, values[i])
        level = Level(degree, radial, value, count, share, sign, basis @ vectors[:, i])
        found.append((float(log_value), level))
    return tuple(found)


def _radial_operators(d: int, scale: float, first: int) -> Iterator[list[tuple[int, np.ndarray]]]:
    """For even degrees, the radial kernel times the root of their number of harmonics, at nodes.

    Each matrix has the roots of the weights on both sides. They come in groups, the first of them
    that which begins with degree ``first``.
    """
    length, roots, _ = _rule(d)
    rows, columns = np.tril_indices(len(length))
    products = scale * length[rows] * length[columns]
    for least, most, nodes in ((0, _MANY_FROM, _FEW), (_MANY_FROM, MOST_DEGREE, _MANY)):
        if first >= most:
            continue
        t, weights = _angles(d, nodes)
        even = gelu_even(np.outer(products, t))
        # Where directions are rare polynomials overflow, and their products with weights do not.
        polynomials = islice(_gegenbauer(d, t, weights), most)
        wanted = ((n, p) for n, p in polynomials if n >= max(least, first) and n % 2 == 0)
        while group := list(islice(wanted, _AT_ONCE)):
            entries = even @ np.column_stack([polynomial for _, polynomial in group])
            made = []
            for (degree, _), column in zip(group, entries.T, strict=True):
                matrix = np.empty((len(length), len(length)))
                matrix[rows, columns] = matrix[columns, rows] = column
                made.append((degree, roots[:, None] * matrix * roots))
            yield made


def best_mse(d: int, m: np.ndarray | int, scale: float = 1.0) -> np.ndarray:
    """The smallest mean squared error that any Phi and Psi of m features can have, of m's shape.

    Between two corners, numbers of features with which a level is complete, it is linear in m.
    """
    found = spectrum(d, scale, max(1, int(np.max(m))))
    shares = np.array([level.share for level in found.levels])
    # Summed from the smallest: subtracting from one would cancel.
    errors = np.append(np.cumsum(shares[::-1])[::-1], 0.0) + max(0.0, found.rest)
    corners = np.cumsum([0.0, *(float(level.multiplicity) for level in found.levels)])
    return np.asarray(np.interp(m, corners, errors) * second_moment(d, scale))


def features_needed(d: int, error: float, scale: float = 1.0) -> int:
    """The fewest features with which some map has this root mean square error, relative to GELU's.

    Raises:
        ValueError: an error that is not from 1e-7 to 1, or that 4000 degrees do not reach.
    """
    check_number("error", error, least=1e-7, most=1.0)
    missing, count = 1 - error**2, 0
    for level in spectrum(d, scale, left_over=error**2 / 10).levels:
        if level.share >= missing:
            # Numbers beyond float64, so in integers.
            part = math.ceil(missing / level.share * 2**50)
            return count + -(-level.multiplicity * part // 2**50)
        missing, count = missing - level.share, count + level.multiplicity
    raise ValueError(f"error: expected one that {MOST_DEGREE} degrees reach, got {error}")


def harmonics(d: int, degree: int) -> int:
    """Number of spherical harmonics of a degree in d dimensions."""
    d, degree = check_integer("d", d, 2), int(degree)  # powers of numpy's integers wrap
    if degree < 2:
        return d**degree
    # One number of many digits, and not the difference of two.
    return (d + 2 * degree - 2) * math.comb(d + degree - 3, degree - 1) // degree


@dataclass(frozen=True)
class OptimalMap:
    """The map of m features with the least mean squared error, :func:`best_mse`.

    Its features are the singular functions: harmonics of the direction times functions of the
    length.

    Raises:
        ValueError: more features than have a singular value above rounding; of its maps, vectors of
            a length that standard normal ones never have, where its functions are rounding.
    """

    d: int
    m: int
    scale: float = 1.0

    def __post_init__(self) -> None:
        if self.m > (most := sum(level.multiplicity for level in self._levels())):
            raise ValueError(f"m: expected at most {most} features, the others are rounding")

    def phi(self, w: np.ndarray) -> np.ndarray:
        """Features of weight rows, of deviation ``scale``: (..., d) -> (..., m)."""
        return self._features(np.asarray(w) / self.scale, 1)

    def psi(self, x: np.ndarray) -> np.ndarray:
        """Features of inputs: (..., d) -> (..., m)."""
        return self._features(np.asarray(x), 0)

    def _levels(self) -> tuple[Level, ...]:
        return spectrum(self.d, self.scale, self.m).levels

    def _features(self, v: np.ndarray, signed: int) -> np.ndarray:
        """Singular functions of standard normal vectors times roots of their singular values."""
        length = np.linalg.norm(v, axis=-1)
        nodes, roots, _ = _rule(self.d)
        known = nodes[roots > _RARE]
        least, most = max(2 * known[0] - known[1], 0.0), known[-1]
        if not ((least <= length) & (length <= most)).all():
            found = f"lengths from {length.min():.3g} to {length.max():.3g}"
            raise ValueError(f"standardise: expected {least:.3g} to {most:.3g}, got {found}")
        unit = v / np.where(length > 0, length, 1.0)[..., None]
        parts, left = [], self.m
        for level in self._levels():
            count = min(level.multiplicity, left)
            root = math.sqrt(level.value)
            if level.degree == 1:
                parts.append(root * v[..., :count])
            elif count:
                radial = level.sign**signed * _laguerre_sum(self.d, level.function, length)
                harmonic = unit_harmonics(self.d, level.degree, count, unit)
                parts.append(root * radial[..., None] * harmonic)
            left -= count
        return np.concatenate(parts, axis=-1)


def unit_harmonics(d: int, degree: int, count: int, unit: np.ndarray) -> np.ndarray:
    """So many orthonormal harmonics of a degree at unit vectors: (..., d) -> (..., count).

    They are spanned by the zonal ones about as many random points.
    """
    most = harmonics(d, degree)
    points = np.random.default_rng(degree).normal(size=(count, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)

    def zonal(t: np.ndarray) -> np.ndarray:
        """The mean product of the harmonics of two points, by the cosine of their angle."""
        found = next(value for n, value in _gegenbauer(d, t, np.ones_like(t)) if n == degree)
        return math.sqrt(most) * found

    root = np.linalg.cholesky(zonal(points @ points.T))
    values = zonal(unit @ points.T)
    return solve_triangular(root, values.reshape(-1, count).T, lower=True).T.reshape(values.shape)


def _gegenbauer(d: int, t: np.ndarray, first: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """The polynomials orthonormal for the cosine t of a random angle, by degree, without end.

    Each is multiplied by ``first``, of t's shape.
    """
    last, value, before = np.zeros_like(t), first, 0.0
    for n in count_from(1):
        yield n - 1, value
        after = math.sqrt(
            1 / d if n == 1 else n * (n + d - 3) / ((2 * n + d - 2) * (2 * n + d - 4))
        )
        last, value, before = value, (t * value - before * last) / after, after


def _angles(d: int, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Rule for even functions of the cosine t = sin(phi) of the angle between random directions.

    The density is cos(phi)^(d-2). Cells halve towards t = 0, where E(p t) bends within 1/p.
    """
    phi, weights = on_cells(np.array([0.0, *np.pi * 2.0 ** -np.arange(_CELLS, 0, -1)]), nodes)
    weights *= np.cos(phi) ** (d - 2)
    return np.sin(phi).ravel(), weights.ravel() / weights.sum()


def _laguerre_sum(d: int, coefficients: np.ndarray, length: np.ndarray) -> np.ndarray:
    """A sum of the orthonormal polynomials of half the squared length."""
    half_square, last, value = length**2 / 2, np.zeros_like(length), np.ones_like(length)
    found, before = coefficients[0] * value, 0.0
    for k, coefficient in enumerate(coefficients[1:]):
        after = math.sqrt((k + 1) * (k + d / 2))
        last, value = value, ((half_square - 2 * k - d / 2) * value - before * last) / after
        found, before = found + coefficient * value, after
    return found


def _lengths(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss rule for the length of a standard normal vector: nodes and weights."""
    nodes, roots, _ = _rule(d)
    return nodes, roots**2


@cache
def _rule(d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes (q,), roots of their weights (q,), and Laguerre's polynomials times these roots (n, q).

    Half the squared length is Gamma(d/2), so Laguerre's are the orthonormal polynomials, here with
    positive leading coefficients. Nodes are eigenvalues of their recurrence (Golub, Welsch), as
    scipy's weights overflow from d = 344 on. Of n nodes the q with a weight above rounding remain.
    """
    k = np.arange(60 + 900 // d)
    half_square, basis = eigh_tridiagonal(2 * k + d / 2, np.sqrt(k * (k + d / 2 - 1))[1:])
    basis = basis * np.sign(basis[0])
    kept = basis[0] > 1e-14
    return np.sqrt(2 * half_square[kept]), basis[0, kept], basis[:, kept]
