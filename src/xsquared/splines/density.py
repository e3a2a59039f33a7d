"""The asymptotically optimal density of knots, from values or from the derivative.

Optimal cells have equal shares of the integral of abs(f^(k))^s with s = 1/(k + 1/2)
(Barrow and Smith, Quart. Appl. Math. 36, 1978). :func:`equidistributed_knots` asks for
the target's values alone: a kink or an infinite slope is no obstacle.
:func:`sign_intervals` takes f^(k) itself, and knows its zeros.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import permutations

import numpy as np

from xsquared.functions import Target, interval_of
from xsquared.quadrature import gauss_legendre
from xsquared.splines.spaces import EXTRA_NODES, Space

#: Cells of the mesh on which the density of knots is estimated.
_MESH = 400
#: Points of the midpoint rule that finds zeros of f^(k) and masses between them.
_FINE = 200_000


def equidistributed_knots(target: Target, shape: Space, n_cells: int) -> np.ndarray:
    """Place knots (n_cells + 1,) by the optimal density ``abs(f^(k))^s``, s = 1/(k +
    1/2).

    On a small cell the error of the best polynomial of degree k - 1 is a multiple of
    h^(1/s) abs(f^(k)): its power s stands for the density. Cells that hold too much of
    it are halved.
    """
    (a, b), degree = interval_of(target), shape.degree
    edges, first = np.linspace(a, b, _MESH // 4 + 1), 0.0
    while True:
        width = np.diff(edges)
        error, size = errors_by_values(target, edges, degree, degree + EXTRA_NODES)
        error[error < 1e-14 * size] = (
            0.0  # what rounding leaves of a polynomial is nothing
        )
        mass = error ** (1 / (degree + 1.5))
        first = first or float(mass.sum())
        heavy = (mass > 2 / _MESH * first) & (width > 1e-14 * (b - a))
        if not heavy.any() or len(edges) > 20 * _MESH:
            break
        edges = np.sort(np.append(edges, (edges[:-1] + width / 2)[heavy]))
    # A floor keeps a share of the knots where the derivative happens to vanish.
    mass = mass + 0.05 * first * width / (b - a) if first else width
    share = np.concatenate([[0.0], np.cumsum(mass)]) / mass.sum()
    knots = np.interp(np.arange(n_cells + 1) / n_cells, share, edges)
    # At a jump all cells would fall together.
    return proportioned_knots(target, np.maximum(np.diff(knots), 1e-9 * (b - a)))


@cache
def is_rough(target: Target) -> bool:
    """Whether knots of smooth cubics fall together, as at a kink that is no edge of
    both meshes.
    """
    (a, b), shape = interval_of(target), Space(3, 1)
    ends = b, b - (b - a) / 997
    meshes = (
        equidistributed_knots(replace(target, domain=((a, c),)), shape, _MESH)
        for c in ends
    )
    return any(bool(np.diff(mesh).min() < 1e-5 * np.ptp(mesh)) for mesh in meshes)


def proportioned_knots(target: Target, widths: np.ndarray) -> np.ndarray:
    """Cut a target's interval into n cells with widths in proportion to (n,): knots (n
    + 1,).
    """
    (a, b), share = interval_of(target), np.cumsum(widths)
    return np.concatenate([[a], a + (b - a) * share[:-1] / share[-1], [b]])


def errors_by_values(
    target: Target, edges: np.ndarray, degree: int, count: int
) -> np.ndarray:
    """Find (2, n) L2 errors of the best polynomial on each cell, and norms, from
    values.
    """
    (xi, weights), width = gauss_legendre(count), np.diff(edges)
    basis = (
        np.polynomial.legendre.legvander(2 * xi - 1, degree) * np.sqrt(weights)[:, None]
    )
    basis = np.linalg.qr(basis)[0]
    values = np.sqrt(weights) * target(edges[:-1, None] + width[:, None] * xi)
    return np.sqrt(
        width * np.square([values - values @ basis @ basis.T, values]).sum(axis=2)
    )


@dataclass(frozen=True)
class SignIntervals:
    """An interval cut at the zeros of f^(k), measured in what optimal cells have equal
    shares of.

    Between edges (s + 1,) lie masses (s,); ``knots`` maps shares of the whole mass to
    places.
    """

    edges: np.ndarray
    masses: np.ndarray
    zero_at_end: tuple[bool, bool]
    knots: Callable[[np.ndarray], np.ndarray]

    @property
    def zeros(self) -> int:
        """How many zeros lie inside the interval."""
        return len(self.masses) - 1

    def mesh(self, n_cells: int) -> np.ndarray:
        """Return (n_cells + 1,) places with equal masses between them, both ends among
        them.
        """
        places = self.knots(np.linspace(0, 1, n_cells + 1))
        places[[0, -1]] = self.edges[[0, -1]]
        return places

    def predicted_squared_error(
        self, order: int, cells: np.ndarray, extra: np.ndarray
    ) -> float:
        """Sum mass^(2k+1) (cells + extra)^(-2k): the law's squared error but for a
        constant.
        """
        return float(
            np.sum(self.masses ** (2 * order + 1) * (cells + extra) ** (-2.0 * order))
        )

    def allocate(
        self, order: int, n_cells: int, extra: np.ndarray
    ) -> np.ndarray | None:
        """Choose the cells (s,) that make :meth:`predicted_squared_error` least; None
        for too few.

        A cell with a zero in its middle counts half for either side; each interval has
        ``extra`` ones. The sum is convex, so giving one cell after another where it
        helps most is optimal.
        """
        if n_cells < self.zeros:
            return None
        cells, power = extra + 1.0, -2 * order
        cells[[0, -1]] = extra[[0, -1]] + (0.5 if self.zeros else 0.0)
        for _ in range(n_cells - self.zeros):
            with np.errstate(divide="ignore"):
                gain = self.masses ** (1 - power) * (
                    cells**power - (cells + 1) ** power
                )
            cells[np.argmax(gain)] += 1
        return cells - extra

    def neighbouring_allocations(
        self, order: int, cells: np.ndarray, extra: np.ndarray, most: int
    ) -> list[np.ndarray]:
        """Return the allocations, at most so many, that move one cell at the least
        cost.
        """
        unit = np.eye(len(cells))
        moved = [
            cells - unit[i] + unit[j] for i, j in permutations(range(len(cells)), 2)
        ]
        kept = [other for other in moved if other.min() > 0]
        kept.sort(key=lambda other: self.predicted_squared_error(order, other, extra))
        return kept[:most]


@lru_cache(maxsize=64)  # splines of many numbers of cells ask for the same
def sign_intervals(target: Target, order: int) -> SignIntervals:
    """Cut a target's interval at the zeros of its derivative of that order; zero is an
    error.
    """
    a, b = interval_of(target)
    edges = np.linspace(a, b, _FINE + 1)
    derivative = target.derivative(order)
    values = derivative((edges[1:] + edges[:-1]) / 2)
    if not values.any():
        raise ValueError(
            f"expected a derivative of order {order}, {target.name} has none"
        )
    mass = np.concatenate([[0.0], np.cumsum(np.abs(values) ** (1 / (order + 0.5)))])
    mass *= (b - a) / _FINE
    seen = np.flatnonzero(values)
    cut = np.array([0, *seen[1:][np.diff(np.sign(values[seen])) != 0], _FINE])
    left, right = np.abs(derivative(np.array([a, b]))) < 1e-9 * np.abs(values).max()
    ends = (bool(left), bool(right))
    return SignIntervals(
        edges[cut],
        np.diff(mass[cut]),
        ends,
        lambda part: np.interp(part * mass[-1], mass, edges),
    )
