"""Local bases of piecewise polynomials, and the banded systems that fits with them lead
to.

Arrays of n cells may be stacked: several splines, whose systems are solved one after
another. The local basis (values, slopes, bubbles) is well conditioned, unlike a
network's one-sided powers.
"""

import math
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy.linalg.lapack import dpbtrf, dpbtrs
from scipy.special import comb

#: Nodes per cell beyond the degree, so that the quadrature error stays below the error
#: measured.
EXTRA_NODES = 6
#: By degree, the basis in powers of xi, in the order of the unknowns.
_POWERS = {
    1: [[1, -1], [0, 1]],
    2: [[1, -1, 0], [0, 4, -4], [0, 1, 0]],
    3: [[1, 0, -3, 2], [0, 1, -2, 1], [0, 0, 3, -2], [0, 0, -1, 1]],
}
#: How many ways there are to choose as many as the row says of as many as the column
#: says.
_CHOICES = comb(np.arange(4), np.arange(4)[:, None])


@dataclass(frozen=True)
class Space:
    """Piecewise polynomials of a degree, with 0 or 1 continuous derivatives at the
    knots.
    """

    degree: int
    smoothness: int

    @cached_property
    def block(self) -> int:
        """Unknowns from one knot to the next: its place, its values, the bubble of a
        quadratic.
        """
        return self.degree + 1 - self.smoothness

    @cached_property
    def size(self) -> int:
        """Unknowns of one cell: those of its left knot, its own, those of its right
        knot.
        """
        return self.degree + 3

    @cached_property
    def columns(self) -> np.ndarray:
        """Which unknowns of a cell are coefficients, not knots."""
        return np.array([*range(1, self.block), *range(self.block + 1, self.size)])


@dataclass(frozen=True)
class Basis:
    """A cell's local basis in powers of xi, the share of the cell that lies to the left
    of a point.

    Each local coefficient (left knot, bubble, right knot), times the width to its
    exponent, multiplies a polynomial of ``powers`` (m, d + 1); what a knot's shift does
    to that at a fixed point is another one, over the width.

    Attributes:
        left, right: (m, d + 1) derivatives by the left knot and by the right one.
        moving: (d + 1, 5 m) columns of these, and of their derivatives by left, both,
            right.
        root: (d + 1, d + 1) whose product with its transpose holds the integrals of
            products.
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
    """The basis of a degree from 1 to 3."""
    powers = np.array(_POWERS[degree], dtype=float)
    exponents = (
        np.array([0, 1, 0, 1]) if degree == 3 else np.zeros(len(powers), dtype=int)
    )
    i = np.arange(degree + 1)

    def by_right(c: np.ndarray, exponent: np.ndarray) -> np.ndarray:
        return (exponent[:, None] - i) * c

    def by_left(c: np.ndarray, exponent: np.ndarray) -> np.ndarray:
        return -by_right(c, exponent) - np.pad(i[1:] * c[:, 1:], ((0, 0), (0, 1)))

    left, right, less = (
        by_left(powers, exponents),
        by_right(powers, exponents),
        exponents - 1,
    )
    second = by_left(left, less), by_right(left, less), by_right(right, less)
    moving = np.concatenate([left, right, *second]).T
    root = np.linalg.cholesky(1 / (1 + i[:, None] + i))
    gram = powers @ root @ (powers @ root).T
    return Basis(exponents, powers, left, right, moving, root, gram)


def local_derivatives(
    shape: Space, width: np.ndarray, local: np.ndarray
) -> tuple[Basis, np.ndarray, np.ndarray]:
    """The basis, derivatives (n, size, d + 1) of cells' polynomials by their unknowns,
    scales.
    """
    basis = local_basis(shape.degree)
    scale = width[..., None] ** basis.exponents
    made = np.empty((*width.shape, shape.size, shape.degree + 1))
    made[..., shape.columns, :] = scale[..., None] * basis.powers
    scaled = local * scale / width[..., None]
    made[..., 0, :] = scaled @ basis.left
    made[..., shape.block, :] = scaled @ basis.right
    return basis, made, scale


def projection(
    shape: Space, width: np.ndarray, moments: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The banded system for the coefficients, its right-hand side, and the scales of
    the basis.
    """
    basis = local_basis(shape.degree)
    scale = width[..., None] ** basis.exponents
    weighted = width[..., None] * scale
    gram = weighted[..., None] * scale[..., None, :] * basis.gram
    return *assemble_banded(
        gram, weighted * (moments @ basis.powers.T), shape.block - 1
    ), scale


def ungated_polynomial(shape: Space, t: np.ndarray) -> np.ndarray:
    """Map a cell's polynomial in xi to shares of the interval, no constant: (n, d, d +
    1).
    """
    i, choices = (
        np.arange(shape.degree + 1),
        _CHOICES[1 : shape.degree + 1, : shape.degree + 1],
    )
    t = t[..., None]
    left, length = t[..., :-1, :], t[..., -1:, :] - t[..., :1, :]
    shifts, scales = (
        ((t[..., :1, :] - left) / length) ** i,
        (length / (t[..., 1:, :] - left)) ** i,
    )
    return choices * shifts[..., i - i[1:, None]] * scales[..., None, :]


def spread_rows(rows: np.ndarray, block: int) -> np.ndarray:
    """Sum of rows (s, n, d, size) over cells, each at its unknowns of all: (s, d,
    unknowns).
    """
    count, n, d, size = rows.shape
    made = np.zeros((count, d, (n - 1) * block + size))
    for j in range(size):
        made[..., j : (n - 1) * block + j + 1 : block] += rows[..., j].mT
    return made


def assemble_banded(
    matrices: np.ndarray, vectors: np.ndarray, block: int
) -> tuple[np.ndarray, np.ndarray]:
    """Add up the cells' symmetric matrices, in lower banded form, and their vectors."""
    *stack, n, size = vectors.shape
    i, j, in_band, in_vector = _in_band(n, size, block)
    total, first = in_vector[-1] + 1, np.arange(math.prod(stack))[:, None]
    places, inner = (
        (in_band + first * (size * total)).ravel(),
        (in_vector + first * total).ravel(),
    )
    banded = np.bincount(
        places, matrices[..., i, j].ravel(), minlength=len(first) * size * total
    )
    added = np.bincount(inner, vectors.ravel())
    return banded.reshape(*stack, size, total), added.reshape(*stack, total)


@cache
def _in_band(n: int, size: int, block: int) -> tuple[np.ndarray, ...]:
    """Rows and columns of cells' lower triangles, and where these and the unknowns are
    added.
    """
    (i, j), places = np.tril_indices(size), unknowns_of(n, block, size)
    return i, j, ((i - j) * (places[-1, -1] + 1) + places[:, j]).ravel(), places.ravel()


@cache
def unknowns_of(n: int, block: int, size: int) -> np.ndarray:
    """Number the unknowns of every cell, (n, size)."""
    return np.arange(n)[:, None] * block + np.arange(size)


def solve_banded(banded: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve symmetric banded systems for columns (all unknowns, m); NaN where one is
    singular.
    """
    size, total = banded.shape[-2:]
    rows = banded.reshape(-1, size, total).swapaxes(0, 1).reshape(size, -1)
    factor, end, singular = np.empty(rows.shape, order="F"), 0, list[int]()
    while end < rows.shape[1]:
        factor[:, end:], failed = dpbtrf(rows[:, end:], lower=1)
        if not failed:
            break
        start = end + (failed - 1) // total * total  # systems before this one are done
        end = start + total
        factor[:, start:end] = np.eye(size, 1)
        singular += range(start, end)
    solved, _ = dpbtrs(factor, right, lower=1)
    solved[singular] = np.nan
    return solved


def solve_conditioned(
    banded: np.ndarray, right: np.ndarray, condition: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Solutions (s, total) for which rows (s, d, total) vanish, and multipliers (s, d)."""
    count, d, total = condition.shape
    columns = np.vstack(
        [right.ravel(), condition.swapaxes(0, 1).reshape(d, right.size)]
    )
    solved = solve_banded(banded, columns.T).reshape(count, total, 1 + d)
    both = condition @ solved
    diagonal = np.einsum("sqq->sq", both[:, :, 1:])
    diagonal += (
        1e-14 * diagonal + 1e-300
    )  # rows that depend on each other share multipliers
    multipliers = np.linalg.solve(both[:, :, 1:], both[:, :, :1])
    return (solved[:, :, :1] - solved[:, :, 1:] @ multipliers)[..., 0], multipliers[
        ..., 0
    ]


def to_powers(shape: Space, width: np.ndarray, local: np.ndarray) -> np.ndarray:
    """Coefficients in powers of x - t_k."""
    basis, h = local_basis(shape.degree), width[..., None]
    return (
        (local * h**basis.exponents) @ basis.powers / h ** np.arange(shape.degree + 1)
    )


def ungated_signs(directions: np.ndarray) -> np.ndarray:
    """Give multiples (n,) 1, 0 or -1 of the cells' polynomials whose sum no gate
    multiplies.

    It is the first cell's polynomial and what the knots of gates that open to the left
    (-1) add.
    """
    left = np.asarray(directions) < 0
    return -np.diff(left.astype(int), prepend=1, append=0)


def jumps_at_knots(knots: np.ndarray, pieces: np.ndarray) -> np.ndarray:
    """Subtract from each piece, in powers of x - t_k, the one before continued: (n - 1,
    d + 1).
    """
    return np.subtract(pieces[1:], taylor_shift(pieces[:-1], np.diff(knots)[:-1]))


def taylor_shift(pieces: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Expand polynomials (n, degree + 1) in powers of s in those of s - distance."""
    j = np.arange(pieces.shape[1])
    powers = distance[:, None, None] ** np.maximum(j - j[:, None], 0)
    return ((comb(j, j[:, None]) * powers) @ pieces[..., None])[..., 0]
