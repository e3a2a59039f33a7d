"""Splines with free knots at their optimum, from the derivative f^(k) alone.

On a cell the error e of a piece of degree k - 1 is fixed by f^(k) and by the values
(and slopes, where the spline has continuous ones) of e at both ends. Its square is a
quadratic form in these with constant matrices, so errors far below the rounding of f
are exact to many digits. Their sum over cells is minimised over knots and end values
together, by Newton's method with the exact Hessian. What is found is stationary: on two
cells a symmetric start may end at a saddle. Unresolved f^(k) is a ValueError.
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

#: Chebyshev nodes of a cell on which f^(k) is interpolated, at least.
_NODES = 10
#: Such nodes of all cells together, at least, so that few wide cells resolve f^(k).
_ALL_NODES = 160
#: Cells that a zero of f^(k) saves, roughly.
_NEAR_A_ZERO = 0.5
#: Cells that an end saves, roughly, by order beyond 2, where pieces meet.
_NEAR_AN_END = 0.115
#: Neighbours of the best allocation from which Newton's method starts as well.
_NEIGHBOURS = 2
#: A relative decrease of the squared error below this ends the iteration.
_CONVERGED = 1e-13
#: Damping of the first step, as a share of the Hessian's diagonal by the knots.
_FIRST_DAMPING = 1e-2
#: What damping is divided by after a step that goes down.
_LOWERED = 10.0
#: What it is multiplied by after one that does not.
_RAISED = 4.0
#: Least damping after a step that does not go down.
_LEAST_DAMPING = 1e-12
#: Damping above which no step is left.
_MOST_DAMPING = 1e8
#: Only steps that are damped less than this say by a small decrease that it is over.
_UNDAMPED = 1e-6
#: Errors from f^(k) and from values of f may differ by this share.
_AGREE = 0.01
#: They may also differ by this share of the target's size, for rounding.
_ROUNDING = 1e-12
#: Squares of errors below this underflow.
_UNDERFLOW = 1e-150


@dataclass(frozen=True)
class OptimalKnots:
    """A stationary spline: its knots (n + 1,), ends included, and its RMSE."""

    knots: np.ndarray
    rmse: float


@cache
def _form(order: int, continuity: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Make so many nodes, and the matrix S of the squared error y'Sy on (0, 1).

    y are the values of f^(k) at the nodes, then the error's values (and slopes) at the
    left end, then those at the right end. The error is g + p: g is a k-fold integral
    of f^(k), so linear in its values, p a polynomial of degree k - 1. The conditions at
    the ends fix a part of p, which is linear in y; the rest of p is projected out.
    """
    nodes = (1 - np.cos(np.pi * (np.arange(count) + 0.5) / count)) / 2
    points, weights = gauss_legendre(count + order)
    roots = np.sqrt(weights)[:, None]
    # Legendre series (rows) of the integrals of each node's Lagrange polynomial.
    lagrange = np.linalg.inv(legendre.legvander(2 * nodes - 1, count - 1))
    integrals = legendre.legint(lagrange, order, lbnd=-1) / 2**order
    # Functions by their values at the points, times roots of weights: (points, ...).
    caused = roots * legendre.legval(2 * points - 1, integrals).T
    pieces = roots * legendre.legvander(2 * points - 1, order - 1)

    # Derivatives at both ends (conditions, order + count): of pieces and of integrals.
    series = np.concatenate([np.eye(len(integrals), order), integrals], axis=1)
    at_ends = []
    for end in (-1.0, 1.0):
        for j in range(continuity + 1):
            derivatives = legendre.legder(series, j)
            at_ends.append(legendre.legval(end, derivatives) * 2.0**j)
    conditions = np.reshape(at_ends, (-1, order + count))
    of_pieces, of_caused = np.split(conditions, [order], axis=1)

    # Of what p the conditions fix, and of what they leave free.
    forced = pieces @ np.linalg.pinv(of_pieces)
    caused = caused - forced @ of_caused
    free = np.linalg.svd(of_pieces)[2][len(conditions) :].T
    errors = np.concatenate([caused, forced], axis=1)
    basis, _ = np.linalg.qr(pieces @ free)
    errors -= basis @ (basis.T @ errors)
    return nodes, errors.T @ errors


class _Cells:
    """Squared errors of cells and their derivatives by what stands at both ends.

    A cell's unknowns, ``local`` (n, c) with c = 2 (2 + r), are at either end t (the
    knot), e(t), and for r = 1 e'(t).
    """

    def __init__(
        self, target: Target, order: int, continuity: int, n_cells: int
    ) -> None:
        count = max(_NODES, -(-_ALL_NODES // n_cells))
        self.nodes, self.form = _form(order, continuity, count)
        self.f = [target.derivative(order + j) for j in range(3)]
        self.order = order
        self.shared = continuity + 1

    def _scaled(self, local: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return widths h (n, 1), and y (n, nodes + 2 shared) of the cells on (0, 1).

        These are h^k f^(k) at the nodes, and h^j e^(j) at the ends.
        """
        block = 1 + self.shared
        powers = np.tile(np.arange(self.shared), 2)
        h = local[:, block, None] - local[:, :1]
        ends = np.concatenate([local[:, 1:block], local[:, block + 1 :]], axis=1)
        values = h**self.order * self.f[0](local[:, :1] + h * self.nodes)
        return h, np.concatenate([values, ends * h**powers], axis=1)

    def errors(self, local: np.ndarray) -> np.ndarray:
        """Return the (n,) squared errors h y'Sy."""
        h, y = self._scaled(local)
        return h[:, 0] * np.einsum("ni,ni->n", y @ self.form, y)

    def derivatives(self, local: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return first and second derivatives of the squared errors, (n, c), (n, c, c).

        With y_a, y_ab the derivatives of y, and h_a = -1, 1 by the left and the right
        knot, else 0::

            (h y'Sy)_a  = h_a y'Sy + 2 h y'S y_a
            (h y'Sy)_ab = 2 h (y_a' S y_b + y'S y_ab) + 2 h_a y'S y_b + 2 h_b y'S y_a
        """
        h, y = self._scaled(local)
        first, second = self._by_unknowns(local, h, y)
        h_by = np.zeros(local.shape[1])
        h_by[[0, 1 + self.shared]] = -1.0, 1.0
        weighted = y @ self.form
        square = np.einsum("ni,ni->n", weighted, y)
        along = 2 * np.einsum("ni,nai->na", weighted, first)
        slopes = h_by * square[:, None] + h * along
        curvature = first @ self.form @ first.transpose(0, 2, 1)
        curvature += np.einsum("ni,nabi->nab", weighted, second)
        crossed = h_by[:, None] * along[:, None, :]
        curvature = 2 * h[..., None] * curvature + crossed
        return slopes, curvature + crossed.transpose(0, 2, 1)

    def _by_unknowns(
        self, local: np.ndarray, h: np.ndarray, y: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Differentiate y by the cell's unknowns: y_a (n, c, ...), y_ab (n, c, c, ...).

        A node lies at ``t + h xi``, so it moves by 1 - xi with the left knot and by xi
        with the right one, and the value there, h^k f^(k), changes by ``k h^(k-1) h_a
        f^(k) + h^k move f^(k+1)``. At the ends stand h^j e^(j), linear in e^(j).
        """
        k, block, xi = self.order, 1 + self.shared, self.nodes
        n, c, m = len(h), local.shape[1], len(xi)
        places = local[:, :1] + h * xi
        f0 = y[:, :m] / h**k
        f1, f2 = (f(places) for f in self.f[1:])
        # By knot: its unknown, how h changes, how a node moves.
        knots = ((0, -1.0, 1 - xi), (block, 1.0, xi))
        first = np.zeros((n, c, y.shape[1]))
        second = np.zeros((n, c, c, y.shape[1]))
        for i, sign, move in knots:
            first[:, i, :m] = k * h ** (k - 1) * sign * f0 + h**k * move * f1
            for j, other, moved in knots:
                second[:, i, j, :m] = (
                    k * (k - 1) * h ** (k - 2) * sign * other * f0
                    + k * h ** (k - 1) * (sign * moved + other * move) * f1
                    + h**k * move * moved * f2
                )
        for side, start in enumerate((1, block + 1)):
            for power in range(self.shared):
                unknown = start + power
                row = m + side * self.shared + power
                first[:, unknown, row] = h[:, 0] ** power
                # Of a slope times h; a value (power 0) does not change with h.
                for i, sign, _ in knots:
                    first[:, i, row] = power * sign * local[:, unknown]
                    second[:, i, unknown, row] = power * sign
                    second[:, unknown, i, row] = power * sign
        return first, second


@np.errstate(all="ignore")
def optimal_knots(
    target: Target,
    order: int,
    n_cells: int,
    continuity: int,
    start: np.ndarray | None = None,
    max_iterations: int = 200,
) -> OptimalKnots:
    """Find the best spline of ``order`` k to which Newton's method leads.

    It starts from ``start`` (n_cells + 1,), or from equal shares of the optimal
    density, with the zeros of f^(k) in the middles of cells. No step changes the number
    of cells between two zeros: the best allocation is tried and its nearest neighbours.
    The target has k + 2 derivatives, bar isolated points, the spline r = ``continuity``
    (1, 0 or -1 for none), with 2 (r + 1) <= k: a cell's polynomial has k coefficients
    for the values and slopes at both ends. Smoother splines are a ValueError. Where the
    errors of pieces on the knots found that need not meet are not the same by f^(k) and
    by values of f, cells do not resolve f^(k): a ValueError, too.
    """
    if 2 * (continuity + 1) > order:
        raise ValueError(
            f"order {order} needs a continuity of {order // 2 - 1} at most"
        )
    cells = _Cells(target, order, continuity, n_cells)
    starts = _starts(target, order, n_cells, continuity) if start is None else [start]
    splines = [_newton(cells, knots, max_iterations) for knots in starts]
    best = min(splines, key=lambda spline: spline.rmse)
    apart = _newton(_Cells(target, order, -1, n_cells), best.knots, 0).rmse
    by_values = errors_by_values(target, best.knots, order - 1, 3 * len(cells.nodes))
    seen, size = np.linalg.norm(by_values, axis=1) / math.sqrt(np.ptp(best.knots))
    agree = abs(apart - seen) < _AGREE * apart + _ROUNDING * size
    if not (apart > _UNDERFLOW and agree):
        errors = f"{apart:.3g} by the derivative of order {order}, {seen:.3g} by values"
        raise ValueError(f"expected errors that agree, got for {target.name} {errors}")
    return best


def _newton(cells: _Cells, start: np.ndarray, max_iterations: int) -> OptimalKnots:
    """Find a stationary point: first of the ends' values alone, then of everything."""
    n_cells, block = len(start) - 1, 1 + cells.shared
    columns = unknowns_of(n_cells, block, 2 * block)
    unknowns = np.zeros((n_cells + 1) * block)
    unknowns[::block] = start
    places = np.arange(len(unknowns))
    ends = [0, len(unknowns) - block]
    not_knots = places % block > 0
    # With knots held the error is quadratic: one step.
    step = _step(*cells.derivatives(unknowns[columns]), not_knots, 0.0)
    unknowns = unknowns + np.nan_to_num(step)
    loss = float(cells.errors(unknowns[columns]).sum())
    free = ~np.isin(places, ends)
    damping = _FIRST_DAMPING
    converged = n_cells == 1
    for _ in range(max_iterations):
        if converged:
            break
        trial = unknowns + _step(*cells.derivatives(unknowns[columns]), free, damping)
        ordered = bool((np.diff(trial[::block]) > 0).all())
        lower = float(cells.errors(trial[columns]).sum()) if ordered else math.inf
        if lower < loss:
            converged = loss - lower < _CONVERGED * loss and damping < _UNDAMPED
            unknowns, loss = trial, lower
            damping /= _LOWERED
        else:
            damping = max(_RAISED * damping, _LEAST_DAMPING)
            rounded = abs(lower - loss) < _CONVERGED * loss
            converged = damping > _MOST_DAMPING or rounded
    return OptimalKnots(unknowns[::block], math.sqrt(loss / (start[-1] - start[0])))


def _step(
    slopes: np.ndarray, curvature: np.ndarray, free: np.ndarray, damping: float
) -> np.ndarray:
    """Solve for a damped Newton step; NaN where the damped Hessian is not definite.

    Cells' derivatives are (n, c) and (n, c, c); unknowns that are not ``free`` stay.
    Damping adds a share of the diagonal by the knots.
    """
    n_cells, size = slopes.shape
    block = size // 2
    kept = free[unknowns_of(n_cells, block, size)]
    kept_by_kept = kept[:, None] & kept[:, :, None]
    banded, gradient = assemble_banded(curvature * kept_by_kept, slopes * kept, block)
    banded[0, ::block] += damping * np.abs(banded[0, ::block])
    banded[0, ~free] = 1.0
    return -solve_banded(banded, gradient[:, None])[:, 0]


def _starts(
    target: Target, order: int, n_cells: int, continuity: int
) -> list[np.ndarray]:
    """Place knots by the optimal density, with the zeros of f^(k) in middles of cells.

    Return knots (n_cells + 1,) by the best allocation of cells to the intervals between
    zeros, then by its neighbours; knots of equal masses alone where there are fewer
    cells than zeros.
    """
    density = sign_intervals(target, order)
    # What each interval saves; the intervals beside a zero have half of its savings.
    extra = np.full(len(density.masses), _NEAR_A_ZERO)
    extra[[0, -1]] = _NEAR_A_ZERO / 2 if density.zeros else 0.0
    if continuity >= 0:
        extra[[0, -1]] += _NEAR_AN_END * (order - 2)
    best = density.allocate(order, n_cells, extra)
    if best is None:
        return [density.mesh(n_cells)]
    others = density.neighbouring_allocations(order, best, extra, _NEIGHBOURS)
    shares = np.append(0.0, np.cumsum(density.masses)) / density.masses.sum()
    starts = []
    for cells in (best, *others):  # halves where a cell stands on a zero
        counted = np.append(0.0, np.cumsum(cells))
        knots = density.knots(np.interp(np.arange(n_cells + 1), counted, shares))
        knots[[0, -1]] = target.domain[0]
        starts.append(knots)
    return starts
