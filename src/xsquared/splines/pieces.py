"""Pieces of a spline on a grid: all polynomials between two grid points, by their jets.

A *jet* is a derivative over its factorial, of a piece less the target.
:mod:`xsquared.splines.potentials` makes lower bounds of them.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from xsquared.functions import Target
from xsquared.quadrature import gauss_legendre
from xsquared.splines.bounds import least_errors
from xsquared.splines.enclosures import enclosed

#: Gauss-Legendre nodes a box beyond the order: `enclosed` has as many.
_EXTRA_NODES = 3
#: Nodes a piece for the best spline on given knots, whose errors only make S worse.
_NODES = 30


class Quadratic(NamedTuple):
    """Forms y'My + 2 s'y + v in the coefficients y of p polynomials of degree k - 1.

    M is (p, k, k), s is (p, k), v is (p,).
    """

    matrix: np.ndarray
    slope: np.ndarray
    value: np.ndarray


class End(NamedTuple):
    """One end of every piece: the box it lies in, and the piece inside this box.

    The piece with coefficients y has jets ``jets @ y + offset`` (p, k) at the box's
    middle, and ``squared`` is the integral of its squared error over the box.
    """

    box: np.ndarray
    jets: np.ndarray
    offset: np.ndarray
    squared: Quadratic


def piece_jets(
    order: int, left: np.ndarray, width: np.ndarray, at: np.ndarray
) -> np.ndarray:
    """Take jets (..., k, k) of cells' orthonormal Legendre polynomials, at one place.

    The polynomial of degree q < k on a cell (left, left + width) has its jet j < k in
    row j and column q.
    """
    z = 2 * (at - left) / width - 1
    degrees = np.arange(order)
    values = legendre.legvander(z, order - 1)
    rows = []
    for j in range(order):
        # Row q: the Legendre series of the derivative j of the polynomial q.
        derivatives = legendre.legder(np.eye(order), j, axis=1)
        derivatives = np.pad(derivatives, ((0, 0), (0, j)))
        inner = (2 / width) ** j / math.factorial(j)
        rows.append(values @ derivatives.T * inner[..., None])
    norms = np.sqrt((2 * degrees + 1) / width[..., None])
    return np.stack(rows, axis=-2) * norms[..., None, :]


def target_jets(target: Target, order: int, places: np.ndarray) -> np.ndarray:
    """Take the target's jets (..., k), which those of pieces are counted from."""
    jets = [target.derivative(j)(places) / math.factorial(j) for j in range(order)]
    return np.stack(jets, axis=-1)


class Pairs:
    """Every interval between two of m + 1 grid points as a piece, and its boxes.

    Its polynomial is counted from the best one there, in orthonormal coordinates y: the
    squared error is y'y plus the least one. The piece from grid point i to grid point j
    begins in the box i - 1 and ends in the box j; at the interval's ends there is none.
    """

    def __init__(self, target: Target, order: int, grid: np.ndarray) -> None:
        m = len(grid) - 1
        count = order + _EXTRA_NODES
        values, self.away = enclosed(target, grid, count)
        self.grid, self.order, self.m = grid, order, m
        self.delta = np.diff(grid)
        self.errors = least_errors(values, order, grid, m)
        self.first, self.last = np.triu_indices(m + 1, 1)
        xi, weights = gauss_legendre(count)
        points = grid[:-1, None] + self.delta[:, None] * xi
        weights = self.delta[:, None] * weights
        fitted = self._fitted(points, values * weights)
        jets = target_jets(target, order, (grid[1:] + grid[:-1]) / 2)
        self.left, self.right = (
            self._end(box, fitted, points, weights, values, jets)
            for box in (np.maximum(self.first - 1, 0), np.minimum(self.last, m - 1))
        )

    def _fitted(self, points: np.ndarray, products: np.ndarray) -> np.ndarray:
        """Project the target on the polynomials of every pair: coefficients (p, k).

        Points and values times weights are (m, q), on the nodes of the grid cells.
        """
        grid, order, m = self.grid, self.order, self.m
        count = points.shape[1]
        fitted = np.zeros((m + 1, m + 1, order))
        windows = np.lib.stride_tricks.sliding_window_view
        for cells in range(1, m + 1):
            first = np.arange(m + 1 - cells)
            width = (grid[cells:] - grid[:-cells])[:, None]
            nodes = windows(points.ravel(), cells * count)[::count]
            weighed = windows(products.ravel(), cells * count)[::count]
            z = 2 * (nodes - grid[first, None]) / width - 1
            basis = legendre.legvander(z, order - 1)
            norms = np.sqrt((2 * np.arange(order) + 1) / width)
            fitted[first, first + cells] = (
                np.einsum("ij,ijq->iq", weighed, basis) * norms
            )
        return fitted[self.first, self.last]

    def _end(
        self,
        box: np.ndarray,
        fitted: np.ndarray,
        points: np.ndarray,
        weights: np.ndarray,
        values: np.ndarray,
        target_jets: np.ndarray,
    ) -> End:
        """Describe the pieces inside the boxes (p,) at one of their ends.

        There the error is basis @ y - rest, where rest is the target less its best
        polynomial; its square is integrated by the box's nodes.
        """
        left = self.grid[self.first]
        width = self.grid[self.last] - left
        middle = (self.grid[1:] + self.grid[:-1]) / 2
        jets = piece_jets(self.order, left, width, middle[box])
        offset = np.einsum("pjq,pq->pj", jets, fitted) - target_jets[box]
        at_nodes = [
            piece_jets(self.order, left, width, nodes)[:, 0] for nodes in points[box].T
        ]
        basis = np.stack(at_nodes, axis=1)
        rest = values[box] - np.einsum("pcq,pq->pc", basis, fitted)
        weighed = weights[box][..., None] * basis
        squared = Quadratic(
            np.einsum("pca,pcb->pab", basis, weighed),
            -np.einsum("pc,pca->pa", rest, weighed),
            np.sum(weights[box] * rest**2, axis=1),
        )
        return End(box, jets, offset, squared)


def best_on_knots(
    target: Target, order: int, continuity: int, knots: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Solve for the best spline with given knots: its jets, and its multipliers.

    Least squares under the conditions that pieces meet, R y = 0, in orthonormal
    coordinates: y = fitted - R' m with R R' m = R fitted. Return jets (n - 1, 2, k) at
    the inner knots, of the left and the right piece, and multipliers (n - 1, r + 1).
    """
    n = len(knots) - 1
    shared = continuity + 1
    nodes, weights = gauss_legendre(_NODES)
    left, width = knots[:-1], np.diff(knots)
    places = left[:, None] + width[:, None] * nodes
    basis = piece_jets(order, left[:, None], width[:, None] + 0 * nodes, places)
    weighed = target(places) * weights * width[:, None]
    fitted = np.einsum("ci,cij->cj", weighed, basis[..., 0, :]).ravel()
    at_left = piece_jets(order, left, width, left)
    at_right = piece_jets(order, left, width, knots[1:])
    conditions = np.zeros((n - 1, shared, n, order))
    for i in range(n - 1):
        conditions[i, :, i] = at_right[i, :shared]
        conditions[i, :, i + 1] = -at_left[i + 1, :shared]
    rows = conditions.reshape(shared * (n - 1), -1)
    multipliers = np.linalg.lstsq(rows @ rows.T, rows @ fitted)[0]
    pieces = (fitted - rows.T @ multipliers).reshape(n, order)
    before = np.einsum("cjq,cq->cj", at_right[:-1], pieces[:-1])
    after = np.einsum("cjq,cq->cj", at_left[1:], pieces[1:])
    jets = np.stack([before, after], axis=1)
    jets -= target_jets(target, order, knots[1:-1])[:, None]
    return jets, -2 * multipliers.reshape(n - 1, shared)
