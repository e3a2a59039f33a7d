"""Bases of piecewise polynomials, and the banded systems that fits with them lead to.

Arrays of n cells may be stacked: several splines, whose systems are solved one after
another. A cell's polynomial is written in xi, the share of the cell that lies to the
left of a point. Its coefficients are values (for cubics slopes as well) at both knots
and, for quadratics, a bubble: well conditioned, unlike a network's one-sided powers.
"""

import math
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy.linalg.lapack import dpbtrf, dpbtrs
from scipy.special import comb

#: Nodes per cell beyond the degree: quadrature then errs by less than is measured.
EXTRA_NODES = 6
#: By degree, the basis in powers of xi (columns), in the order of the unknowns (rows).
_POWERS = {
    1: [[1, -1], [0, 1]],
    2: [[1, -1, 0], [0, 4, -4], [0, 1, 0]],
    3: [[1, 0, -3, 2], [0, 1, -2, 1], [0, 0, 3, -2], [0, 0, -1, 1]],
}
#: By degree, the power of the width that multiplies a coefficient: 1 for slopes.
_EXPONENTS = {1: [0, 0], 2: [0, 0, 0], 3: [0, 1, 0, 1]}
#: Binomial coefficients, row p and column i: p of i.
_CHOICES = comb(np.arange(4), np.arange(4)[:, None])
#: Share of a diagonal that is added to it: dependent conditions share multipliers.
_DEPENDENT = 1e-14


@dataclass(frozen=True)
class Space:
    """Piecewise polynomials of a degree, with 0 or 1 continuous derivatives at knots.

    A spline's unknowns are numbered from left to right: each knot's place, the
    coefficients that belong to it, the bubble of the cell behind it.
    """

    degree: int
    smoothness: int

    @cached_property
    def block(self) -> int:
        """Unknowns from one knot to the next."""
        return self.degree + 1 - self.smoothness

    @cached_property
    def size(self) -> int:
        """Unknowns of one cell: of its left knot, its own, of its right knot."""
        return self.degree + 3

    @cached_property
    def columns(self) -> np.ndarray:
        """Which unknowns of a cell are coefficients, not knots."""
        return np.array([*range(1, self.block), *range(self.block + 1, self.size)])


@dataclass(frozen=True)
class Basis:
    """A cell's m = d + 1 basis polynomials, in powers of xi, and what knots do to them.

    A cell's polynomial is the sum of ``coefficient * width**exponent * polynomial``. At
    a fixed point its derivatives by the two knots are such sums again, with other
    polynomials and an exponent less.

    Attributes:
        exponents: (m,) of the width.
        powers: (m, d + 1) the basis polynomials.
        left, right: (m, d + 1) derivatives by the left knot and by the right one.
        moving: (d + 1, 5 m) these, and their derivatives by left, both, right.
        root: (d + 1, d + 1) whose product with its transpose holds the integrals of
            products of powers.
        gram: (m, m) integrals of products of the basis.
    """

    exponents: np.ndarray
    powers: np.ndarray
    left: np.ndarray
    right: np.ndarray
    moving: np.ndarray
    root: np.ndarray
    gram: np.ndarray


@cache
def local_basis(degree: int) -> Basis:
    """Make the basis of a degree from 1 to 3.

    The knots t and t + h move ``h^e xi^i``, where xi = (x - t)/h: by the right one it
    changes by ``(e - i) h^(e-1) xi^i``, as h does, and by the left one by minus that,
    and by ``-i h^(e-1) xi^(i-1)``, as t does.
    """
    powers = np.array(_POWERS[degree], dtype=float)
    exponents = np.array(_EXPONENTS[degree])
    i = np.arange(degree + 1)

    def by_right(polynomials: np.ndarray, exponents: np.ndarray) -> np.ndarray:
        return (exponents[:, None] - i) * polynomials

    def by_left(polynomials: np.ndarray, exponents: np.ndarray) -> np.ndarray:
        slopes = np.pad(i[1:] * polynomials[:, 1:], ((0, 0), (0, 1)))
        return -by_right(polynomials, exponents) - slopes

    left = by_left(powers, exponents)
    right = by_right(powers, exponents)
    twice_left = by_left(left, exponents - 1)
    both = by_right(left, exponents - 1)
    twice_right = by_right(right, exponents - 1)
    moving = np.concatenate([left, right, twice_left, both, twice_right]).T
    # The integral of xi^i xi^j over (0, 1) is 1/(1 + i + j).
    root = np.linalg.cholesky(1 / (1 + i[:, None] + i))
    gram = powers @ root @ (powers @ root).T
    return Basis(exponents, powers, left, right, moving, root, gram)


def local_derivatives(
    shape: Space, width: np.ndarray, local: np.ndarray
) -> tuple[Basis, np.ndarray, np.ndarray]:
    """Differentiate cells' polynomials by their unknowns, at fixed points.

    Widths are (..., n), coefficients (..., n, m). Return the basis, derivatives
    (..., n, size, d + 1) in powers of xi, and scales (..., n, m), width**exponent.
    """
    basis = local_basis(shape.degree)
    scale = width[..., None] ** basis.exponents
    derivatives = np.empty((*width.shape, shape.size, shape.degree + 1))
    derivatives[..., shape.columns, :] = scale[..., None] * basis.powers
    scaled = local * scale / width[..., None]
    derivatives[..., 0, :] = scaled @ basis.left
    derivatives[..., shape.block, :] = scaled @ basis.right
    return basis, derivatives, scale


def projection(
    shape: Space, width: np.ndarray, moments: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Set up the normal equations for the coefficients of the best spline.

    Moments (..., n, d + 1) are integrals over xi of the target times powers of xi.
    Return the banded matrix, the right-hand side, and the scales (..., n, m).
    """
    basis = local_basis(shape.degree)
    scale = width[..., None] ** basis.exponents
    weighted = width[..., None] * scale
    gram = weighted[..., None] * scale[..., None, :] * basis.gram
    right = weighted * (moments @ basis.powers.T)
    banded, added = assemble_banded(gram, right, shape.block - 1)
    return banded, added, scale


def ungated_polynomial(shape: Space, t: np.ndarray) -> np.ndarray:
    """Expand powers of xi in shares s of the interval, without the constant.

    A cell (t_k, t_k + h) of an interval of length L that begins in a has xi = (s - s_k)
    L/h with s_k = (t_k - a)/L, so ``xi^i = (L/h)^i sum_p C(i, p) (-s_k)^(i-p) s^p``.
    Return (..., n, d, d + 1) by cell, p = 1, ..., d, and i, for knots t (..., n + 1).
    """
    d = shape.degree
    i = np.arange(d + 1)
    p = i[1:, None]
    choices = _CHOICES[1 : d + 1, : d + 1]
    t = t[..., None]
    left = t[..., :-1, :]
    start = t[..., :1, :]
    length = t[..., -1:, :] - start
    shifts = ((start - left) / length) ** i[:d]
    scales = (length / (t[..., 1:, :] - left)) ** i
    # Where i < p there are no choices, whatever shift the index finds.
    return choices * shifts[..., i - p] * scales[..., None, :]


def spread_rows(rows: np.ndarray, block: int) -> np.ndarray:
    """Sum rows (s, n, d, size) of cells, each at its unknowns: (s, d, unknowns)."""
    count, n, d, size = rows.shape
    added = np.zeros((count, d, (n - 1) * block + size))
    for j in range(size):
        added[..., j : (n - 1) * block + j + 1 : block] += rows[..., j].mT
    return added


def assemble_banded(
    matrices: np.ndarray, vectors: np.ndarray, block: int
) -> tuple[np.ndarray, np.ndarray]:
    """Add up cells' symmetric matrices and their vectors.

    These are (..., n, size, size) and (..., n, size); from one cell to the next the
    unknowns move on by ``block``. Return the lower band (..., size, unknowns) and the
    vector (..., unknowns).
    """
    *stack, n, size = vectors.shape
    i, j, in_band, in_vector = _in_band(n, size, block)
    total = in_vector[-1] + 1
    spline = np.arange(math.prod(stack))[:, None]
    band_places = (in_band + spline * (size * total)).ravel()
    vector_places = (in_vector + spline * total).ravel()
    lower = matrices[..., i, j].ravel()
    length = len(spline) * size * total
    banded = np.bincount(band_places, lower, minlength=length)
    added = np.bincount(vector_places, vectors.ravel())
    return banded.reshape(*stack, size, total), added.reshape(*stack, total)


@cache
def _in_band(n: int, size: int, block: int) -> tuple[np.ndarray, ...]:
    """Find rows and columns of a lower triangle, and where all cells' ones are added.

    That is in a flat band, whose row i - j is a diagonal, and in a vector.
    """
    i, j = np.tril_indices(size)
    unknowns = unknowns_of(n, block, size)
    total = unknowns[-1, -1] + 1
    in_band = (i - j) * total + unknowns[:, j]
    return i, j, in_band.ravel(), unknowns.ravel()


@cache
def unknowns_of(n: int, block: int, size: int) -> np.ndarray:
    """Number the unknowns of every cell, (n, size)."""
    return np.arange(n)[:, None] * block + np.arange(size)


def solve_banded(banded: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve symmetric banded systems for columns; NaN where one is not definite.

    Bands are (..., size, unknowns), columns (all unknowns, m). Stacked systems stand
    one after another in one long band, as their last columns reach into no other: one
    call of LAPACK's Cholesky solves all. Where it stops, the system that it names is
    replaced by the identity, and it goes on behind.
    """
    size, total = banded.shape[-2:]
    factor = banded.swapaxes(-1, -2).reshape(-1, size).T.copy(order="F")
    singular = list[slice]()
    end = 0
    while end < factor.shape[1]:
        rest = factor[:, end:]
        factor[:, end:], failed = dpbtrf(rest, lower=1, overwrite_ab=1)
        if not failed:
            break
        start = end + (failed - 1) // total * total  # systems before this one are done
        end = start + total
        factor[:, start:end] = np.eye(size, 1)
        singular.append(slice(start, end))
    solved, _ = dpbtrs(factor, right, lower=1)
    for unknowns in singular:
        solved[unknowns] = np.nan
    return solved


def solve_conditioned(
    banded: np.ndarray, right: np.ndarray, condition: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Solve for what is best among vectors for which rows (s, d, total) vanish.

    Lagrange's equations ``A x + C' l = b, C x = 0`` lead to ``C A^-1 C' l = C A^-1 b``.
    Return x (s, total) and multipliers l (s, d).
    """
    count, d, total = condition.shape
    if not d:
        x = solve_banded(banded, right.reshape(-1, 1)).reshape(count, total)
        return x, np.empty((count, 0))
    columns = np.concatenate([right[:, None], condition], axis=1)  # (s, 1 + d, total)
    columns = columns.swapaxes(0, 1).reshape(1 + d, -1)
    solved = solve_banded(banded, columns.T).reshape(count, total, 1 + d)
    products = condition @ solved  # C A^-1 b, and C A^-1 C'
    diagonal = np.einsum("sqq->sq", products[:, :, 1:])
    diagonal += _DEPENDENT * diagonal + 1e-300
    multipliers = np.linalg.solve(products[:, :, 1:], products[:, :, :1])
    x = solved[:, :, :1] - solved[:, :, 1:] @ multipliers
    return x[..., 0], multipliers[..., 0]


def to_powers(shape: Space, width: np.ndarray, local: np.ndarray) -> np.ndarray:
    """Write cells' polynomials (n, m) in powers of x - t_k: (n, d + 1)."""
    basis = local_basis(shape.degree)
    h = width[..., None]
    in_xi = (local * h**basis.exponents) @ basis.powers
    return in_xi / h ** np.arange(shape.degree + 1)


def ungated_signs(directions: np.ndarray) -> np.ndarray:
    """Give multiples (n,) 1, 0, -1 of cells' polynomials that sum up behind all gates.

    It is the first cell's polynomial and what the knots of gates that open to the left
    (-1) add.
    """
    left = np.asarray(directions) < 0
    return -np.diff(left.astype(int), prepend=1, append=0)


def jumps_at_knots(knots: np.ndarray, pieces: np.ndarray) -> np.ndarray:
    """Subtract from pieces, in powers of x - t_k, the ones before: (n - 1, d + 1)."""
    return np.subtract(pieces[1:], taylor_shift(pieces[:-1], np.diff(knots)[:-1]))


def taylor_shift(pieces: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Expand polynomials (n, d + 1) in powers of s in those of s - distance.

    ``(u + distance)^i`` has the coefficients ``C(i, j) distance^(i-j)`` of u^j.
    """
    i = np.arange(pieces.shape[1])
    j = i[:, None]
    powers = distance[:, None, None] ** np.maximum(i - j, 0)
    return ((comb(i, j) * powers) @ pieces[..., None])[..., 0]
