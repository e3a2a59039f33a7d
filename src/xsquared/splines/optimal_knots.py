"""Splines with free knots at their optimum: Newton's method on the error itself, from
f^(k) alone.

On a cell the error of a piece of degree k - 1 is fixed by f^(k) and by the error's
values (and slopes, where the spline has continuous ones) at both ends, and its square
is a quadratic form with constant matrices: errors far below the rounding of f are exact
to many digits. Their sum over cells is minimised over knots and end values together,
with the exact Hessian. What is found is stationary: on two cells a symmetric start may
end at a saddle. Unresolved f^(k) is a ValueError.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial import legendre

from xsquared.functions import Target
from xsquared.quadrature import gauss_legendre
from xsquared.splines.density import errors_by_values, sign_intervals
from xsquared.splines.spaces import assemble_banded, solve_banded, unknowns_of

#: Chebyshev nodes on which f^(k) is interpolated: in a cell at least, in all cells
#: together.
_NODES, _ALL_NODES = 10, 160
#: Cells that a zero of f^(k) saves, roughly, and an end by order beyond 2 where pieces
#: meet.
_NEAR_A_ZERO, _NEAR_AN_END = 0.5, 0.115
#: Neighbours of the best allocation from which Newton's method starts as well.
_NEIGHBOURS = 2
#: A relative decrease of the squared error below this ends the iteration.
_CONVERGED = 1e-13


@dataclass(frozen=True)
class OptimalKnots:
    """A stationary spline: its knots (n + 1,), ends included, and its RMSE."""

    knots: np.ndarray
    rmse: float


@cache
def _form(order: int, continuity: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Make nodes, and the matrix S of a cell's squared error y'Sy on a cell of width
    one.

    y are the values of f^(k) at the nodes, then the error's values (and slopes) at
    either end.
    """
    nodes = (1 - np.cos(np.pi * (np.arange(count) + 0.5) / count)) / 2
    points, weights = gauss_legendre(count + order)
    root = np.sqrt(weights)[:, None]
    # The error caused by each node's Lagrange polynomial: its k-fold integral, up to a
    # piece.
    lagrange = np.linalg.inv(legendre.legvander(2 * nodes - 1, count - 1))
    integrals = legendre.legint(lagrange, order, lbnd=-1) / 2**order
    caused = root * legendre.legval(2 * points - 1, integrals).T
    pieces = root * legendre.legvander(2 * points - 1, order - 1)
    # Remove from the pieces what the conditions at the ends fix.
    series = np.concatenate([np.eye(len(integrals), order), integrals], axis=1)
    ends = [(end, j) for end in (-1.0, 1.0) for j in range(continuity + 1)]
    at_ends = [
        legendre.legval(end, legendre.legder(series, j)) * 2.0**j for end, j in ends
    ]
    at_piece, at_caused = np.split(
        np.reshape(at_ends, (-1, order + count)), [order], axis=1
    )
    forced = pieces @ np.linalg.pinv(at_piece)
    caused = caused - forced @ at_caused
    pieces = pieces @ np.linalg.svd(at_piece)[2][len(ends) :].T
    both, (basis, _) = np.concatenate([caused, forced], axis=1), np.linalg.qr(pieces)
    both -= basis @ (basis.T @ both)
    return nodes, both.T @ both


class _Cells:
    """Squared errors of cells and their derivatives by (t, values, slopes) at both
    ends.
    """

    def __init__(
        self, target: Target, order: int, continuity: int, n_cells: int
    ) -> None:
        self.nodes, self.form = _form(
            order, continuity, max(_NODES, -(-_ALL_NODES // n_cells))
        )
        self.f = [target.derivative(order + j) for j in range(3)]
        self.order, self.shared = order, continuity + 1

    def _scaled(self, local: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return widths (n, 1) and y (n, nodes + 2 shared): h^k f^(k), the ends' h^j
        e^(j).
        """
        block, powers = 1 + self.shared, np.tile(np.arange(self.shared), 2)
        h = local[:, block, None] - local[:, :1]
        ends = np.concatenate([local[:, 1:block], local[:, block + 1 :]], axis=1)
        values = h**self.order * self.f[0](local[:, :1] + h * self.nodes)
        return h, np.concatenate([values, ends * h**powers], axis=1)

    def errors(self, local: np.ndarray) -> np.ndarray:
        """Return the (n,) squared errors."""
        h, y = self._scaled(local)
        return h[:, 0] * np.einsum("ni,ni->n", y @ self.form, y)

    def derivatives(self, local: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return first and second derivatives, (n, c) and (n, c, c)."""
        h, y = self._scaled(local)
        k, block, xi = self.order, 1 + self.shared, self.nodes
        n, c, m = len(h), 2 * (1 + self.shared), len(xi)
        place = local[:, :1] + h * xi
        f0, f1, f2 = y[:, :m] / h**k, *(f(place) for f in self.f[1:])
        # By the left knot, then by the right one: h changes by sign, a node's place by
        # move.
        sides = ((0, -1.0, 1 - xi), (block, 1.0, xi))
        first, second = np.zeros((n, c, y.shape[1])), np.zeros((n, c, c, y.shape[1]))
        rise = np.zeros(c)
        for i, sign, move in sides:
            rise[i] = sign
            first[:, i, :m] = k * h ** (k - 1) * sign * f0 + h**k * move * f1
            for j, other, moved in sides:
                second[:, i, j, :m] = (
                    k * (k - 1) * h ** (k - 2) * sign * other * f0
                    + k * h ** (k - 1) * (sign * moved + other * move) * f1
                    + h**k * move * moved * f2
                )
        for side, start in enumerate((1, block + 1)):
            for power in range(self.shared):
                column, row = start + power, m + side * self.shared + power
                first[:, column, row] = h[:, 0] ** power
                for i, sign, _ in sides:  # of a slope, times h
                    first[:, i, row] = power * sign * local[:, column]
                    second[:, i, column, row] = second[:, column, i, row] = power * sign
        weighted = y @ self.form
        square = np.einsum("ni,ni->n", weighted, y)
        along = 2 * np.einsum("ni,nai->na", weighted, first)
        slopes = rise * square[:, None] + h * along
        curvature = first @ self.form @ first.transpose(0, 2, 1)
        curvature += np.einsum("ni,nabi->nab", weighted, second)
        crossed = rise[:, None] * along[:, None, :]
        return slopes, 2 * h[..., None] * curvature + crossed + crossed.transpose(
            0, 2, 1
        )


@np.errstate(all="ignore")
def optimal_knots(
    target: Target,
    order: int,
    n_cells: int,
    continuity: int = -1,
    start: np.ndarray | None = None,
    max_iterations: int = 200,
) -> OptimalKnots:
    """Find the best spline of ``order`` k with free knots to which Newton's method
    leads.

    It starts from ``start`` (n_cells + 1,), or from equal shares of the optimal
    density, with the zeros of f^(k) in the middles of cells. No step changes the number
    of cells between two zeros: the best allocation is tried and its nearest neighbours.
    The target has k + 2 derivatives, bar isolated points, the spline r = ``continuity``
    (1, 0 or -1 for none), with 2 (r + 1) <= k.
    """
    cells = _Cells(target, order, continuity, n_cells)
    starts = _starts(target, order, n_cells, continuity) if start is None else [start]
    best = min(
        (_newton(cells, one, max_iterations) for one in starts),
        key=lambda one: one.rmse,
    )
    # The least error of pieces on these cells that need not meet, from f^(k) and from
    # values.
    told = _newton(_Cells(target, order, -1, n_cells), best.knots, 0).rmse
    by_values = errors_by_values(target, best.knots, order - 1, 3 * len(cells.nodes))
    seen, size = np.linalg.norm(by_values, axis=1) / math.sqrt(np.ptp(best.knots))
    if not (told > 1e-150 and abs(told - seen) < 0.01 * told + 1e-12 * size):
        errors = f"{told:.3g} by the derivative of order {order}, {seen:.3g} by values"
        raise ValueError(f"expected errors that agree, got for {target.name} {errors}")
    return best


def _newton(cells: _Cells, start: np.ndarray, max_iterations: int) -> OptimalKnots:
    """Find a stationary point: first of the ends' values alone, then of everything."""
    n_cells, block = len(start) - 1, 1 + cells.shared
    columns = unknowns_of(n_cells, block, 2 * block)
    unknowns = np.zeros((n_cells + 1) * block)
    unknowns[::block] = start
    places = np.arange(len(unknowns))
    free, held = ~np.isin(places, [0, len(unknowns) - block]), places % block > 0
    # With knots held the error is quadratic.
    unknowns = unknowns + np.nan_to_num(
        _step(*cells.derivatives(unknowns[columns]), held, 0.0)
    )
    loss = float(cells.errors(unknowns[columns]).sum())
    damping, converged = 1e-2, n_cells == 1
    for _ in range(max_iterations):
        if converged:
            break
        trial = unknowns + _step(*cells.derivatives(unknowns[columns]), free, damping)
        ordered = bool((np.diff(trial[::block]) > 0).all())
        lower = float(cells.errors(trial[columns]).sum()) if ordered else math.inf
        if not lower < loss:
            damping = max(4 * damping, 1e-12)
            converged = damping > 1e8 or abs(lower - loss) < _CONVERGED * loss
            continue
        converged = loss - lower < _CONVERGED * loss and damping < 1e-6
        unknowns, loss, damping = trial, lower, damping / 10
    return OptimalKnots(unknowns[::block], math.sqrt(loss / (start[-1] - start[0])))


def _step(
    slope: np.ndarray, curvature: np.ndarray, free: np.ndarray, damping: float
) -> np.ndarray:
    """Solve for a damped Newton step; NaN where the damped Hessian is not definite."""
    size = slope.shape[1]
    kept = free[unknowns_of(len(slope), size // 2, size)]
    kept_by_kept = kept[:, None] & kept[:, :, None]
    banded, gradient = assemble_banded(
        curvature * kept_by_kept, slope * kept, size // 2
    )
    banded[0, :: size // 2] += damping * np.abs(banded[0, :: size // 2])
    banded[0, ~free] = 1.0
    return -solve_banded(banded, gradient[:, None])[:, 0]


def _starts(
    target: Target, order: int, n_cells: int, continuity: int
) -> list[np.ndarray]:
    """Share the mass equally, with the zeros of f^(k) in the middles of cells."""
    cut = sign_intervals(target, order)
    extra = np.full(len(cut.masses), _NEAR_A_ZERO)
    extra[[0, -1]] = _NEAR_A_ZERO / 2 if cut.zeros else 0.0
    extra[[0, -1]] += _NEAR_AN_END * (order - 2) * (continuity >= 0)
    if (best := cut.allocate(order, n_cells, extra)) is None:
        return [cut.mesh(n_cells)]
    cumulated = np.concatenate([[0.0], np.cumsum(cut.masses)]) / cut.masses.sum()
    made = []
    for cells in (best, *cut.neighbouring_allocations(order, best, extra, _NEIGHBOURS)):
        counted = np.concatenate([[0.0], np.cumsum(cells)])
        made.append(cut.knots(np.interp(np.arange(n_cells + 1), counted, cumulated)))
        made[-1][[0, -1]] = target.domain[0]
    return made
