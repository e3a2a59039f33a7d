"""Optimal features of GELU(w . x): singular values, and the map that has them.

Let w and x be independent standard normal vectors in d dimensions (w of deviation
``scale`` where one is given). No map of m features has a smaller
E (GELU(w . x) - Phi(w) Psi(x))^2 than the sum of the squares of all singular values of
this kernel but the m largest (Eckart, Young, Schmidt).

The kernel splits by rotation (Funk, Hecke). Its odd part z/2 has d singular values
scale/2. For each even degree l of spherical harmonics its even part E has those of the
radial kernel

    mu_l(r s),  mu_l(p) = E_t E(p t) P_l(t),

each as often as there are harmonics: r and s are lengths of normal vectors, t is the
cosine of a random angle and P_l the Gegenbauer polynomial with P_l(1) = 1.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count as count_from
from itertools import islice

import numpy as np
from scipy.linalg import eigh_tridiagonal, solve_triangular

from xsquared.features.polynomials import gelu_even
from xsquared.quadrature import on_cells

#: Largest degree of harmonics.
_MOST_DEGREE = 4000
#: Cells of the rule in the angle: they halve towards 0, down to 2^-16 of pi.
_CELLS = 16
#: Nodes in a cell for harmonics below the degree _MANY_FROM.
_FEW = 40
#: Nodes in a cell from there on: degree 4000 has 2000 waves on a quarter turn.
_MANY = 320
_MANY_FROM = 64
#: Degrees whose integrals over the angle are taken together: one product of matrices.
_AT_ONCE = 16
#: Below this share of the second moment a level is rounding.
_ROUNDING = 1e-26
#: Rounding of 1 less the listed shares.
_SUBTRACTION = 1e-13
#: How far off, relatively, the share of the levels that are not listed may be.
_PRECISION = 1e-7
#: Decimals of half a log squared value by which levels are sorted: a hundred times
#: rounding, which must not decide between two levels.
_RANK_DECIMALS = 9
#: The logarithm of the smallest singular value told: below it float64 underflows.
_LEAST_LOG = -700


@dataclass(frozen=True)
class Level:
    """A singular value of GELU(w . x) and the functions that have it.

    Attributes:
        degree: that of the spherical harmonics in these functions.
        value: the singular value, at least exp(-700).
        multiplicity: number of harmonics of the degree.
        share: what all of them carry together of the second moment.
        sign: of the radial kernel's eigenvalue; Phi has it, Psi has not.
        function: of the length, with mean square 1, in orthonormal Laguerre
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
        """Return the share that the first m features leave, of m's shape.

        Between complete levels it is linear in m.
        """
        shares = np.array([level.share for level in self.levels])
        multiplicities = [float(level.multiplicity) for level in self.levels]
        # Summed from the smallest: subtracting from one would cancel.
        behind = np.append(np.cumsum(shares[::-1])[::-1], 0.0)
        corners = np.cumsum([0.0, *multiplicities])
        return np.asarray(np.interp(m, corners, behind + max(0.0, self.tail)))


def second_moment(d: int, scale: float = 1.0) -> float:
    """Return E GELU(w . x)^2, by quadrature over the length of x.

    Given x, w . x is normal with variance v = (scale length)^2, and GELU's mean square
    is v/4 + v asin(v/(1+v))/(2 pi) + v^2/(pi (1+v) sqrt(1+2v)).
    """
    length, roots, _ = _length_rule(d)
    v = (scale * length) ** 2
    arc = v * np.arcsin(v / (1 + v)) / (2 * np.pi)
    density = v**2 / (np.pi * (1 + v) * np.sqrt(1 + 2 * v))
    return float(roots**2 @ (v / 4 + arc + density))


@cache
def spectrum(
    d: int, scale: float = 1.0, features: int = 0, tolerance: float = 1e-9
) -> Spectrum:
    """List the levels in d >= 2 dimensions, one degree of harmonics after the other.

    With ``features`` the list ends where it holds so many of which no larger degree can
    displace one, and where the share of the levels beyond is known to 1e-7 of itself.
    With no features it ends where the others carry less than ``tolerance``. In any case
    it ends at degree 4000, or where a degree is rounding.
    """
    moment = second_moment(d, scale)
    linear = _linear_level(d, scale, moment)
    levels = [linear]
    shares = [linear.share]  # of each degree
    for degree, operator in _radial_operators(d, scale):
        of_degree = _levels_of_degree(d, degree, operator, moment)
        # Levels as large as this degree's largest, than which larger degrees have less.
        settled = [
            level.multiplicity
            for level in levels
            if of_degree and level.rank >= of_degree[0].rank
        ]
        levels += of_degree
        shares.append(sum(level.share for level in of_degree))
        if shares[-1] < _ROUNDING:
            break
        tail, tail_error = _tail(shares)
        if not features:
            if tail < tolerance:
                break
        elif sum(settled) >= features:
            left = _sorted_spectrum(levels, tail).left(features)
            if tail_error < _PRECISION * left:
                break
    tail, _ = _tail(shares)
    return _sorted_spectrum(levels, tail)


def _sorted_spectrum(levels: Sequence[Level], tail: float) -> Spectrum:
    """Sort levels, the largest value first."""

    def place(level: Level) -> float:
        return -round(level.rank / 2, _RANK_DECIMALS)

    return Spectrum(tuple(sorted(levels, key=place)), tail)


def _linear_level(d: int, scale: float, moment: float) -> Level:
    """Make the level of z/2, which is linear in both lengths."""
    length, roots, basis = _length_rule(d)
    share = d * scale**2 / 4 / moment
    function = basis @ (roots * length) / math.sqrt(d)
    return Level(1, scale / 2, d, share, 1.0, function)


def _levels_of_degree(
    d: int, degree: int, operator: np.ndarray, moment: float
) -> list[Level]:
    """List a degree's levels, the largest first, from its radial operator (q, q).

    An eigenvalue is the singular value times the root of the number of harmonics, so
    its square is what all of them carry together.
    """
    _, _, basis = _length_rule(d)
    eigenvalues, vectors = np.linalg.eigh(operator)
    multiplicity = harmonics(d, degree)
    levels = []
    for i in np.argsort(-np.abs(eigenvalues)):
        square = float(eigenvalues[i] * eigenvalues[i])
        if square <= _ROUNDING * moment:
            continue
        log_value = np.log(np.abs(eigenvalues[i])) - math.log(multiplicity) / 2
        levels.append(
            Level(
                degree,
                value=math.exp(max(log_value, _LEAST_LOG)),
                multiplicity=multiplicity,
                share=square / moment,
                sign=float(np.sign(eigenvalues[i])),
                function=basis @ vectors[:, i],
            )
        )
    return levels


def _tail(shares: list[float]) -> tuple[float, float]:
    """Return the share of the degrees that follow, and a bound on its error.

    It is 1 less the shares of the degrees so far, unless that is rounding. Then it is
    the geometric series of the last ratio: shares fall like exp(-c l^(2/3)) there, so
    twice the series is a bound.
    """
    ratio = min(shares[-1] / shares[-2], 0.99)
    series = shares[-1] * ratio / (1 - ratio)
    if series > _SUBTRACTION:
        return 1 - math.fsum(shares), _SUBTRACTION
    return series, series


def _radial_operators(d: int, scale: float) -> Iterator[tuple[int, np.ndarray]]:
    """Generate even degrees l and their radial operators, (q, q) at the lengths' nodes.

    Entries are sqrt(N) sqrt(v_i) mu_l(scale r_i r_j) sqrt(v_j) for N harmonics, nodes
    r_i and weights v_i. As sqrt(N) P_l is the orthonormal polynomial p_l of the cosine,

        sqrt(N) mu_l(p) = sum_k u_k E(p t_k) p_l(t_k)

    by a rule of nodes t_k and weights u_k for the cosine.
    """
    length, roots, _ = _length_rule(d)
    q = len(length)
    i, j = np.tril_indices(q)  # operators are symmetric
    products = scale * length[i] * length[j]
    for least, most, nodes in (
        (0, _MANY_FROM, _FEW),
        (_MANY_FROM, _MOST_DEGREE, _MANY),
    ):
        t, weights = _cosine_rule(d, nodes)
        even = gelu_even(np.outer(products, t))  # (pairs, cosines)
        # Where directions are rare polynomials overflow, and their products with
        # weights do not.
        weighted = islice(_gegenbauer(d, t, weights), least, most, 2)
        while group := list(islice(weighted, _AT_ONCE)):
            columns = np.column_stack([polynomial for _, polynomial in group])
            integrals = even @ columns  # (pairs, degrees)
            for (degree, _), integral in zip(group, integrals.T, strict=True):
                kernel = np.empty((q, q))
                kernel[i, j] = integral
                kernel[j, i] = integral
                yield degree, roots[:, None] * kernel * roots


def _cosine_rule(d: int, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Make a rule for the cosine t = sin(phi) >= 0 of random directions.

    Its density in phi is proportional to cos(phi)^(d - 2). Cells in phi halve towards
    0, as E(p t) bends within 1/p of it. Return cosines and weights of sum 1.
    """
    edges = np.array([0.0, *np.pi * 2.0 ** -np.arange(_CELLS, 0, -1)])
    phi, weights = on_cells(edges, nodes)
    weights *= np.cos(phi) ** (d - 2)
    return np.sin(phi).ravel(), weights.ravel() / weights.sum()


def best_mse(d: int, m: np.ndarray | int, scale: float = 1.0) -> np.ndarray:
    """Return the least mean squared error of any map of m features, of m's shape."""
    listed = spectrum(d, scale, max(1, int(np.max(m))))
    return np.asarray(listed.left(m) * second_moment(d, scale))


def features_needed(d: int, error: float, scale: float = 1.0) -> int:
    """Count the fewest features of a map with this RMSE, as a share of GELU's.

    The error is at least 1e-7. One that 4000 degrees do not reach is a ValueError.
    """
    missing = 1 - error**2
    count = 0
    for level in spectrum(d, scale, tolerance=error**2 / 10).levels:
        if level.share < missing:
            missing -= level.share
            count += level.multiplicity
            continue
        # A part of this level, rounded up; multiplicities beyond float64 are integers.
        part = math.ceil(missing / level.share * 2**50)
        return count + -(-level.multiplicity * part // 2**50)
    raise ValueError(
        f"error: expected one that {_MOST_DEGREE} degrees reach, got {error}"
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

    def phi(self, w: np.ndarray) -> np.ndarray:
        """Map weight rows: (..., d) -> (..., m)."""
        return self._features(w, signed=True)

    def psi(self, x: np.ndarray) -> np.ndarray:
        """Map inputs: (..., d) -> (..., m)."""
        return self._features(x, signed=False)

    def _features(self, v: np.ndarray, signed: bool) -> np.ndarray:
        """Multiply singular functions of vectors by roots of their singular values.

        A function of degree l is one of the length times a harmonic of the direction.
        """
        length = np.linalg.norm(v, axis=-1)
        direction = v / np.where(length > 0, length, 1.0)[..., None]
        levels = spectrum(self.d, features=self.m).levels[: self.m]
        functions = np.array([level.function for level in levels])
        radials = _laguerre_sums(self.d, functions, length)  # (levels, ...)
        blocks = []
        wanted = self.m
        for level, radial in zip(levels, radials[..., None], strict=True):
            count = min(level.multiplicity, wanted)
            if not count:
                break
            wanted -= count
            root = math.sqrt(level.value)
            if level.degree == 1:  # the length times the direction is v
                blocks.append(root * v[..., :count])
                continue
            sign = level.sign if signed else 1.0
            harmonic = _unit_harmonics(self.d, level.degree, count, direction)
            blocks.append(sign * root * radial * harmonic)
        return np.concatenate(blocks, axis=-1)


def _unit_harmonics(d: int, degree: int, count: int, unit: np.ndarray) -> np.ndarray:
    """Evaluate orthonormal harmonics at unit vectors: (..., d) -> (..., count).

    They span the same functions as the zonal harmonics Z about ``count`` random points.
    By the addition theorem Z(x . y) sums the products of all harmonics of the degree at
    x and y, so the Gram matrix of the zonal ones is Z of the points, and its Cholesky
    factor makes them orthonormal.
    """
    points = np.random.default_rng(degree).normal(size=(count, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)

    def zonal(t: np.ndarray) -> np.ndarray:
        polynomials = _gegenbauer(d, t, np.ones_like(t))
        _, polynomial = next(islice(polynomials, degree, None))
        return math.sqrt(harmonics(d, degree)) * polynomial

    factor = np.linalg.cholesky(zonal(points @ points.T))
    values = zonal(unit @ points.T)
    columns = values.reshape(-1, count).T
    return solve_triangular(factor, columns, lower=True).T.reshape(values.shape)


def _gegenbauer(
    d: int, t: np.ndarray, first: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """Generate degrees and orthonormal polynomials of a random angle's cosine t.

    By p_n = (t p_(n-1) - b_(n-1) p_(n-2)) / b_n, all of them times ``first``.
    """
    last = np.zeros_like(t)
    value = first
    b_last = 0.0
    for n in count_from(1):
        yield n - 1, value
        if n == 1:
            square = 1 / d
        else:
            square = n * (n + d - 3) / ((2 * n + d - 2) * (2 * n + d - 4))
        b = math.sqrt(square)
        last, value = value, (t * value - b_last * last) / b
        b_last = b


def _laguerre_sums(d: int, coefficients: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Sum polynomials with coefficients at lengths: (s, k), (...) -> (s, ...).

    They are orthonormal in half the squared length u, by the recursion
    b_(k+1) p_(k+1) = (u - 2k - d/2) p_k - b_k p_(k-1), b_k = sqrt(k (k - 1 + d/2)).
    """
    half_square = length**2 / 2
    values = [np.zeros_like(length), np.ones_like(length)]  # degrees -1 and 0
    for k in range(coefficients.shape[1] - 1):
        b = math.sqrt(k * (k - 1 + d / 2))
        b_next = math.sqrt((k + 1) * (k + d / 2))
        risen = (half_square - 2 * k - d / 2) * values[-1]
        values.append((risen - b * values[-2]) / b_next)
    return np.tensordot(coefficients, np.array(values[1:]), 1)


@cache
def _length_rule(d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make a Gauss rule for the length of a standard normal vector (Golub, Welsch).

    Return nodes (q,), roots of weights (q,), and (n, q) Laguerre polynomials times
    these roots, orthonormal for half the squared length; scipy's own rule overflows
    from d = 344.
    """
    k = np.arange(60 + 900 // d)
    off_diagonal = np.sqrt(k * (k + d / 2 - 1))[1:]
    half_square, basis = eigh_tridiagonal(2 * k + d / 2, off_diagonal)
    basis = basis * np.sign(basis[0])
    kept = basis[0] > 1e-14
    return np.sqrt(2 * half_square[kept]), basis[0, kept], basis[:, kept]
