"""The asymptotically optimal density of knots, from values or from the derivative.

Optimal cells have equal shares of the integral of abs(f^(k))^s with s = 1/(k + 1/2)
(Barrow and Smith, Quart. Appl. Math. 36, 1978). :func:`equidistributed_knots` asks for
the target's values alone: a kink or an infinite slope is no obstacle.
:func:`sign_intervals` takes f^(k) itself, and knows its zeros.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

import numpy as np

from xsquared.functions import Target, interval_of
from xsquared.quadrature import gauss_legendre
from xsquared.splines.spaces import EXTRA_NODES, Space

#: Cells of the mesh, roughly, on which the density of knots is estimated: of more than
#: two shares of the mass in so many, a cell is halved.
_MESH = 400
#: Most cells of that mesh, for each of these: towards a singularity halving has no end.
_MOST_HALVINGS = 20
#: Least width of a mesh's cell over the interval's: floats tell its nodes apart.
_NARROWEST = 1e-14
#: Errors below this share of the values are what rounding leaves of a polynomial.
_ROUNDING = 1e-14
#: Share of the knots that is spread evenly, for where the derivative happens to vanish.
_FLOOR = 0.05
#: Least width of a cell over the interval's: at a jump all cells would fall together.
_LEAST_WIDTH = 1e-9
#: Points of the midpoint rule that finds zeros of f^(k) and masses between them.
_FINE = 200_000
#: Below this share of its largest value f^(k) counts as zero at an end.
_ZERO_AT_END = 1e-9


def equidistributed_knots(target: Target, shape: Space, n_cells: int) -> np.ndarray:
    """Place knots (n_cells + 1,) by the optimal density, from values of the target.

    On a small cell of width h the error of the best polynomial of degree k - 1 is a
    multiple of h^(1/s) abs(f^(k)), so its power s is the cell's share of the density
    ``abs(f^(k))^s``, s = 1/(k + 1/2). Cells that hold too much of it are halved.
    """
    a, b = interval_of(target)
    degree = shape.degree
    s = 1 / (degree + 1.5)
    edges = np.linspace(a, b, _MESH // 4 + 1)
    first = 0.0  # the mass on the first mesh that has any
    while True:
        width = np.diff(edges)
        error, size = errors_by_values(target, edges, degree, degree + EXTRA_NODES)
        error[error < _ROUNDING * size] = 0.0
        mass = error**s
        first = first or float(mass.sum())
        heavy = (mass > 2 / _MESH * first) & (width > _NARROWEST * (b - a))
        if not heavy.any() or len(edges) > _MOST_HALVINGS * _MESH:
            break
        middles = edges[:-1] + width / 2
        edges = np.sort(np.append(edges, middles[heavy]))
    # A polynomial of the degree has no mass: any knots do.
    mass = mass + _FLOOR * first * width / (b - a) if first else width
    share = np.concatenate([[0.0], np.cumsum(mass)]) / mass.sum()
    knots = np.interp(np.arange(n_cells + 1) / n_cells, share, edges)
    widths = np.maximum(np.diff(knots), _LEAST_WIDTH * (b - a))
    share = np.cumsum(widths)
    inner = a + (b - a) * share[:-1] / share[-1]
    return np.concatenate([[a], inner, [b]])


def errors_by_values(
    target: Target, edges: np.ndarray, degree: int, count: int
) -> np.ndarray:
    """Measure the best polynomial on each cell from values at so many Gauss nodes.

    Return (2, n): L2 errors on the cells between edges (n + 1,), and the target's
    norms. By an orthonormal basis, as differences of squares would cancel.
    """
    xi, weights = gauss_legendre(count)
    width = np.diff(edges)
    roots = np.sqrt(weights)
    basis = np.polynomial.legendre.legvander(2 * xi - 1, degree) * roots[:, None]
    basis = np.linalg.qr(basis)[0]
    values = roots * target(edges[:-1, None] + width[:, None] * xi)
    rest = values - values @ basis @ basis.T
    return np.sqrt(width * np.square([rest, values]).sum(axis=2))


@dataclass(frozen=True)
class SignIntervals:
    """An interval cut at the zeros of f^(k), measured in masses.

    The mass of an interval is the integral of abs(f^(k))^s over it; optimal cells
    between two zeros have equal ones.

    Attributes:
        edges: (s + 1,) ends of the interval, and the zeros inside.
        masses: (s,) between the edges.
        zero_at_end: whether f^(k) vanishes at the left and at the right end.
        knots: maps shares of the whole mass, from the left, to places.
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
        """Return (n_cells + 1,) places, ends included, with equal masses between."""
        places = self.knots(np.linspace(0, 1, n_cells + 1))
        places[[0, -1]] = self.edges[[0, -1]]
        return places

    def predicted_squared_error(
        self, order: int, cells: np.ndarray, extra: np.ndarray
    ) -> float:
        """Sum mass^(2k+1) (cells + extra)^(-2k), the law's squared error but a factor.

        ``cells`` (s,) lie between the zeros, and a cell with a zero in its middle
        counts half for either side; ``extra`` (s,) is what zeros and ends save.
        """
        power = -2.0 * order
        return float(np.sum(self.masses ** (1 - power) * (cells + extra) ** power))

    def allocate(
        self, order: int, n_cells: int, extra: np.ndarray
    ) -> np.ndarray | None:
        """Choose the cells (s,) with the least :meth:`predicted_squared_error`.

        One cell stands on each zero; the others lie between. The sum is convex, so
        giving one cell after another where it helps most is optimal. None where there
        are fewer cells than zeros.
        """
        free = n_cells - self.zeros
        if free < 0:
            return None
        power = -2 * order
        cells = extra + 1.0  # two halves, of the cells on the zeros at both sides
        cells[[0, -1]] = extra[[0, -1]] + (0.5 if self.zeros else 0.0)
        for _ in range(free):
            with np.errstate(divide="ignore"):
                fall = cells**power - (cells + 1) ** power
                gain = self.masses ** (1 - power) * fall
            cells[np.argmax(gain)] += 1
        return cells - extra

    def neighbouring_allocations(
        self, order: int, cells: np.ndarray, extra: np.ndarray, most: int
    ) -> list[np.ndarray]:
        """Move one cell elsewhere: at most so many allocations, the cheapest first."""
        unit = np.eye(len(cells))
        moved = [
            cells - unit[i] + unit[j] for i, j in permutations(range(len(cells)), 2)
        ]
        possible = [other for other in moved if other.min() > 0]
        possible.sort(
            key=lambda other: self.predicted_squared_error(order, other, extra)
        )
        return possible[:most]


@lru_cache(maxsize=64)  # splines of many numbers of cells ask for the same
def sign_intervals(target: Target, order: int) -> SignIntervals:
    """Cut a target's interval at the zeros of its derivative of that order.

    A midpoint rule of 200,000 cells: zeros closer than its cells go unseen. Where the
    derivative vanishes everywhere, a ValueError.
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
    turns = np.diff(np.sign(values[seen])) != 0
    cut = np.array([0, *seen[1:][turns], _FINE])
    small = _ZERO_AT_END * np.abs(values).max()
    left, right = np.abs(derivative(np.array([a, b]))) < small
    return SignIntervals(
        edges[cut],
        np.diff(mass[cut]),
        (bool(left), bool(right)),
        lambda shares: np.interp(shares * mass[-1], mass, edges),
    )
