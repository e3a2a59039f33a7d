"""What no spline can do better: lower bounds of the error of n pieces with free breaks.

Between the zeros of f^(k), optimal cells have equal shares of the integral of
abs(f^(k))^s with s = 1/(k + 1/2) (Barrow and Smith, Quart. Appl. Math. 36, 1978).
:func:`lower_bounds` certifies what no pieces reach; rounding is bounded beforehand and
taken off.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

import numpy as np

from xsquared.functions import Target, interval_of
from xsquared.quadrature import gauss_legendre
from xsquared.splines.enclosures import enclosed

#: Points of the midpoint rule that finds zeros of f^(k) and masses between them.
_FINE = 200_000
#: Legendre polynomials beyond the first one that the pieces lack, in a lower bound's
#: projection.
_MORE_DEGREES = 3
#: Of float64, and what sums of nonnegative numbers and their roots can lose to it.
_ROUNDOFF, _SLACK = 2.0**-53, 1e-12


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


def least_errors(
    values: np.ndarray, order: int, grid: np.ndarray, longest: int
) -> np.ndarray:
    """Bound the squared error of one polynomial on every interval between grid points,
    from below.

    Values (m, k + 3) are of :func:`xsquared.splines.enclosures.enclosed` on the grid (m
    + 1,), the polynomial of degree k - 1. Projections on the Legendre polynomials of
    degrees k to k + 3 bound its error by Bessel's inequality; intervals of more than
    ``longest`` grid cells get the sum over two halves. Return (m + 1, m + 1) by left
    and right end; 0 where right <= left.

    A sum of N products is off by less than N u of the sum of their sizes, u the unit
    roundoff (Higham, Accuracy and stability of numerical algorithms, 2002, section
    3.1). The nodes' own rounding counts as 4096 u, by Markov's inequality for degrees
    to 14.
    """
    (m, count), h = values.shape, np.diff(grid)[:, None]
    xi, weights = gauss_legendre(count)
    inside, products = (h * xi).ravel(), (values * (h * weights)).ravel()
    sizes = np.concatenate([[0.0], np.abs(products).cumsum()])[::count]
    bounds, windows = np.zeros((m + 1, m + 1)), np.lib.stride_tricks.sliding_window_view
    for cells in range(1, m + 1):
        first = np.arange(m + 1 - cells)
        middle = first + cells // 2
        below = bounds[first, middle] + bounds[middle, first + cells]
        if cells <= longest:
            # From the interval's end, so that differences of neighbouring places are
            # not rounded.
            starts = windows(grid[:-1], cells) - grid[first, None]
            width = grid[cells:] - grid[:-cells]
            half = (2 / width)[:, None, None]
            nodes = windows(inside, cells * count)[::count].reshape(
                len(first), cells, count
            )
            z = (nodes * half + (starts[..., None] * half - 1)).reshape(len(first), -1)
            weighed = windows(products, cells * count)[::count]
            rounding = (
                (cells * count + 4096) * _ROUNDOFF * (sizes[cells:] - sizes[:-cells])
            )
            # Legendre polynomials but for their leading coefficients: fewer sweeps over
            # the arrays.
            lower, upper, leading, square = 0.0, 1.0, 1.0, np.zeros(len(first))
            for j in range(1, count + 1):
                lower, upper = (
                    upper,
                    z * upper - (j - 1) ** 2 / (4 * (j - 1) ** 2 - 1) * lower,
                )
                leading *= (2 * j - 1) / j
                if j >= order:
                    projection = leading * np.einsum("ij,ij->i", upper, weighed)
                    sure = np.maximum(np.abs(projection) - rounding, 0)
                    square += (2 * j + 1) * sure**2 / width
            below = np.maximum(below, square)
        bounds[first, first + cells] = below
    return bounds


def certified_lower_bounds(
    bounds: np.ndarray, most: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Bound the squared error of n = 1 to ``most`` < m pieces with free breaks from
    below.

    Leaving out the grid cells in which breaks lie lowers the error: the least sum of
    :func:`least_errors` over all choices of them, by dynamic programming, is no more
    than any spline's. Return (most,) bounds, and for every n the (n - 1,) cells left
    out.
    """
    m = len(bounds) - 1
    # A piece that begins behind the cell j and ends at the grid point i.
    piece = np.where(np.arange(m)[:, None] < np.arange(m + 1), bounds[1:], np.inf)
    best, found, ways = bounds[0], [bounds[0, m]], [np.empty((m + 1, 0), dtype=int)]
    for _ in range(most - 1):
        sums = best[:m, None] + piece
        last, best = sums.argmin(axis=0), sums.min(axis=0)
        found.append(best[m])
        ways.append(np.column_stack([ways[-1][last], last]))
    return np.array(found), [way[m] for way in ways]


def bounds_with_breaks(
    target: Target, k: int, most: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Certify lower bounds (most,) of the RMSE of 1 to ``most`` pieces of degree k - 1.

    The larger one of two grids counts: a coarse one, with the longest pieces projected
    as well, up to 20 pieces, and one of twelve cells a piece. Return also, for every n,
    (n + 1,) ends of pieces with breaks in the cells left out. A target that is not
    analytic is a ValueError.
    """
    cut, length = sign_intervals(target, k), float(np.ptp(interval_of(target)))
    found, ends = np.zeros(most), [np.empty(0)] * most
    for cells, longest, last in (
        (240, 240, min(most, 20)),
        (12 * most, 2 * most, most),
    ):
        grid = cut.mesh(cells)
        values, away = enclosed(target, grid, k + _MORE_DEGREES)
        # Powers of two, so exact: no square overflows, and underflow takes less than
        # 1e-140.
        size, unit = 2.0 ** (np.frexp([np.abs(values).max(), length])[1] - 1)
        bounds = least_errors(values / size, k, grid / unit, longest)
        squares, skipped = certified_lower_bounds(bounds, last)
        sure = (np.sqrt(squares) * (1 - _SLACK) - 1e-140) / math.sqrt(length / unit)
        sure = (sure - away / size / math.sqrt(length)) * (1 - _SLACK)
        for n, (bound, left_out) in enumerate(zip(sure, skipped, strict=True)):
            found[n] = max(math.nextafter(size * bound, -math.inf), found[n])
            if not len(ends[n]):
                middles = (grid[left_out] + grid[left_out + 1]) / 2
                ends[n] = np.concatenate([grid[:1], middles, grid[-1:]])
    return found, ends


def lower_bounds(target: Target, order: int, most: int) -> np.ndarray:
    """Return the (most,) bounds of :func:`bounds_with_breaks` alone."""
    return bounds_with_breaks(target, order, most)[0]
