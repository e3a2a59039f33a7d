"""Certified lower bounds of the error of n polynomials that need not meet.

They hold wherever the pieces break. The target is enclosed by ball arithmetic, for
which python-flint is needed; rounding is bounded beforehand and taken off.
"""

import math
from dataclasses import replace

import numpy as np
import sympy as sp
from numpy.polynomial import Polynomial

from xsquared.functions import VARIABLES, Target, interval_of
from xsquared.quadrature import gauss_legendre
from xsquared.splines.density import sign_intervals
from xsquared.splines.enclosures import enclosed

#: Legendre polynomials beyond the first one that the pieces lack, in a lower bound's
#: projection.
_MORE_DEGREES = 3
#: The unit roundoff u of float64.
_ROUNDOFF = 2.0**-53
#: What the nodes' own rounding can change in a projection, in u: by Markov's inequality
#: a Legendre polynomial of degree to 14 has a slope of at most 14^2 = 196 on (-1, 1),
#: and a node is off by less than 20 u.
_NODE_ROUNDING = 4096
#: What sums of nonnegative numbers and their roots can lose to rounding, relatively.
_SLACK = 1e-12
#: What underflow can take, where the largest value is between one and two.
_UNDERFLOW = 1e-140
#: Cells of the coarse grid, on which pieces of any length are projected.
_COARSE = 240
#: Most pieces for which the coarse grid counts: it has twelve cells for each.
_COARSE_PIECES = 20
#: Cells a piece of the fine grid.
_FINE_CELLS = 12
#: Longest interval that is projected on the fine grid, in cells a piece.
_FINE_LONGEST = 2


def least_errors(
    values: np.ndarray, order: int, grid: np.ndarray, longest: int
) -> np.ndarray:
    """Bound the squared error of one polynomial on every interval between grid points.

    Values (m, k + 3) at Gauss nodes of the cells of a grid (m + 1,) stand for piecewise
    polynomials (:func:`xsquared.splines.enclosures.enclosed`), the one polynomial has
    degree k - 1. The bound, from below, is the larger one of two: the sum over two
    halves of the interval, and, up to ``longest`` cells, by projections
    (``_projected``). Return (m + 1, m + 1) by left and right end; 0 where right <=
    left.
    """
    m = len(values)
    bounds = np.zeros((m + 1, m + 1))
    for cells in range(1, m + 1):
        first = np.arange(m + 1 - cells)
        middle = first + cells // 2
        last = first + cells
        halves = bounds[first, middle] + bounds[middle, last]
        if cells <= longest:
            projected = _projected(values, order, grid, cells)
            bounds[first, last] = np.maximum(halves, projected)
        else:
            bounds[first, last] = halves
    return bounds


def _projected(
    values: np.ndarray, order: int, grid: np.ndarray, cells: int
) -> np.ndarray:
    """Bound squared errors on all intervals of so many cells by Bessel's inequality.

    On an interval of width H the error of a polynomial of degree k - 1 has the same
    projections on the Legendre polynomials P_j, j >= k, as the target f, so its square
    integrates to at least the sum of (2j + 1)/H (int P_j f)^2. Arguments are those of
    :func:`least_errors`: of k + 3 values a cell, j goes to k + 3. Return
    (m + 1 - cells,), by the first cell.

    A sum of N products is off by less than N u of the sum of their sizes, u the unit
    roundoff (Higham, Accuracy and stability of numerical algorithms, 2002, section
    3.1); the nodes' own rounding is added, and both are taken off.
    """
    count = values.shape[1]
    h = np.diff(grid)[:, None]
    xi, weights = gauss_legendre(count)  # on (0, 1)
    windows = np.lib.stride_tricks.sliding_window_view
    in_cells = (h * xi).ravel()
    products = (values * (h * weights)).ravel()
    first = np.arange(len(grid) - cells)
    width = grid[cells:] - grid[:-cells]

    # The nodes (interval, cells * count) on (-1, 1), from the interval's end, so that
    # differences of neighbouring places are not rounded.
    scale = (2 / width)[:, None, None]
    starts = windows(grid[:-1], cells) - grid[first, None]
    nodes = windows(in_cells, cells * count)[::count]
    nodes = nodes.reshape(len(first), cells, count)
    z = nodes * scale + (starts[..., None] * scale - 1)
    z = z.reshape(len(first), -1)

    # What f adds to an integral at each node, (interval, cells * count), and the sum of
    # its sizes, (interval,).
    weighed = windows(products, cells * count)[::count]
    sizes_so_far = np.concatenate([[0.0], np.abs(products).cumsum()])[::count]
    size = sizes_so_far[cells:] - sizes_so_far[:-cells]
    rounding = (cells * count + _NODE_ROUNDING) * _ROUNDOFF * size

    # Legendre polynomials but for their leading coefficients, by the three-term
    # recurrence p_j = z p_(j-1) - (j-1)^2/(4 (j-1)^2 - 1) p_(j-2): fewer sweeps over
    # the arrays than with them.
    before: np.ndarray | float = 0.0
    monic: np.ndarray | float = 1.0
    leading = 1.0
    square = np.zeros(len(first))
    for j in range(1, count + 1):
        following = z * monic - (j - 1) ** 2 / (4 * (j - 1) ** 2 - 1) * before
        before, monic = monic, following
        leading *= (2 * j - 1) / j
        if j >= order:
            projection = leading * np.einsum("ij,ij->i", monic, weighed)
            sure = np.maximum(np.abs(projection) - rounding, 0)
            square += (2 * j + 1) * sure**2 / width
    return square


def _certified_lower_bounds(
    bounds: np.ndarray, most: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Bound the squared error of n = 1 to ``most`` < m pieces with free breaks.

    Each break lies in some grid cell. Leaving these cells out lowers the error, so the
    least sum of :func:`least_errors` over all choices of them, by dynamic programming,
    is no more than any spline's. Return (most,) bounds, and for every n the (n - 1,)
    cells left out.
    """
    m = len(bounds) - 1
    # A piece that begins behind the cell j and ends at the grid point i.
    begins, ends = np.arange(m)[:, None], np.arange(m + 1)
    piece = np.where(begins < ends, bounds[1:], np.inf)
    # Of pieces so far up to every grid point, the least sum and the cells left out.
    least = bounds[0]
    left_out = np.empty((m + 1, 0), dtype=int)
    squares, chosen = [least[m]], [left_out[m]]
    for _ in range(most - 1):
        sums = least[:m, None] + piece
        last = sums.argmin(axis=0)
        least = sums.min(axis=0)
        left_out = np.column_stack([left_out[last], last])
        squares.append(least[m])
        chosen.append(left_out[m])
    return np.array(squares), chosen


def bounds_with_breaks(
    target: Target, k: int, most: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Certify lower bounds (most,) of the RMSE of 1 to ``most`` pieces of degree k - 1.

    The larger one of two grids counts: a coarse one, with the longest pieces projected
    as well, up to 20 pieces, and one of twelve cells a piece. Return also, for every n,
    (n + 1,) ends of pieces with breaks in the cells left out. A target that is not
    analytic is a ValueError.
    """
    density = sign_intervals(target, k)
    bounds = np.zeros(most)
    ends = [np.empty(0)] * most
    for cells, longest, pieces in (
        (_COARSE, _COARSE, min(most, _COARSE_PIECES)),
        (_FINE_CELLS * most, _FINE_LONGEST * most, most),
    ):
        grid = density.mesh(cells)
        certified, skipped = _on_grid(target, k, grid, longest, pieces)
        bounds[:pieces] = np.maximum(certified, bounds[:pieces])
        for n, left_out in enumerate(skipped):
            if not len(ends[n]):
                breaks = (grid[left_out] + grid[left_out + 1]) / 2
                ends[n] = np.concatenate([grid[:1], breaks, grid[-1:]])
    return bounds, ends


def _on_grid(
    target: Target, k: int, grid: np.ndarray, longest: int, pieces: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Certify the RMSE of 1 to so many pieces on one grid, and name the cells left out.

    The L2 error of a piecewise polynomial near the target, less the distance ``away``
    of the two, bounds the target's. Values and grid are divided by powers of two, which
    is exact: so no square overflows, and underflow takes little.
    """
    length = float(np.ptp(interval_of(target)))
    values, away = enclosed(_without_line(target, grid), grid, k + _MORE_DEGREES)
    size = _power_of_two(np.abs(values).max())
    unit = _power_of_two(length)
    bounds = least_errors(values / size, k, grid / unit, longest)
    squares, skipped = _certified_lower_bounds(bounds, pieces)
    near = np.sqrt(squares) * (1 - _SLACK) - _UNDERFLOW
    rmse = near / math.sqrt(length / unit)
    rmse = (rmse - away / size / math.sqrt(length)) * (1 - _SLACK)
    return np.array([math.nextafter(size * r, -math.inf) for r in rmse]), skipped


def _without_line(target: Target, grid: np.ndarray) -> Target:
    """Subtract the line that fits best at the points of a grid (m,).

    No error of pieces changes, as each piece contains every line; what can be lost to
    rounding is then a share of the bend, not of a large constant or a steep trend. The
    rest is evaluated by balls, so nothing cancels, and any line will do for the proof.
    """
    values = target(grid)
    size = _power_of_two(np.abs(values).max())
    line = Polynomial.fit(grid, values / size, 1).convert()
    constant, slope = (sp.Float(size * float(part)) for part in line.coef)
    rest = target.expression - constant - slope * VARIABLES[0]
    return replace(target, expression=rest)


def _power_of_two(size: float) -> float:
    """Return the largest power of two that a positive size is not below."""
    return float(2.0 ** (np.frexp(size)[1] - 1))


def lower_bounds(target: Target, order: int, most: int) -> np.ndarray:
    """Return the (most,) bounds of :func:`bounds_with_breaks` alone."""
    return bounds_with_breaks(target, order, most)[0]
