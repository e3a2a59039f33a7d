"""Certified lower bounds of the error of n polynomials that need not meet.

They hold wherever the pieces break. The target is enclosed by ball arithmetic, for
which python-flint is needed; rounding is bounded beforehand and taken off.
"""

import math

import numpy as np

from xsquared.functions import Target, interval_of
from xsquared.quadrature import gauss_legendre
from xsquared.splines.density import sign_intervals
from xsquared.splines.enclosures import enclosed

#: Legendre polynomials beyond the first one that the pieces lack, in a lower bound's
#: projection.
_MORE_DEGREES = 3
#: Of float64, and what sums of nonnegative numbers and their roots can lose to it.
_ROUNDOFF, _SLACK = 2.0**-53, 1e-12


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
