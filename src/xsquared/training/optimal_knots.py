"""Splines with free knots at their optimum: Newton's method on the error itself, from f^(k) alone.

On a cell [t, t + h] the error of a piece of degree k - 1 is fixed by f^(k) there and by the error's
values (and slopes, where the spline has continuous ones) at both ends: what is left of the piece is
eliminated, and the squared error is a quadratic form with constant matrices. Nothing of size one is
subtracted from anything of size one, so that errors far below the rounding of f are exact to many
digits. The sum over cells is minimised over knots and end values together, with the exact Hessian
of every cell. Gauss-Newton, as in :mod:`xsquared.training.free_knots`, leaves out the residual's
part of it; for cubics with continuous slopes that is nearly all of the knots' curvature, because
the best ones have second derivatives that are nearly continuous too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from numpy.polynomial import legendre
from scipy.linalg import LinAlgError, solveh_banded
from torch import Tensor

from xsquared.checks import check_integer
from xsquared.functions import Target
from xsquared.quadrature import gauss_legendre

#: Chebyshev nodes on which f^(k) is interpolated in a cell.
_NODES = 10
#: Points of the midpoint rule that places the first knots.
_MASS_POINTS = 200_000
#: Cells that a zero of f^(k) saves, roughly: enough to place the first knots.
_NEAR_A_ZERO = 0.5
#: A relative decrease of the squared error below this ends the iteration.
_CONVERGED = 1e-13


@dataclass(frozen=True)
class OptimalKnots:
    """A stationary spline with free knots.

    Attributes:
        knots: (n + 1,) ends of the cells.
        rmse: root mean square error over the interval.
        iterations: Newton's.
        converged: whether no step lowered the error any more before the iterations ended.
    """

    knots: np.ndarray
    rmse: float
    iterations: int
    converged: bool


@cache
def _forms(order: int, continuity: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Nodes, and A, B, M of a cell's error: g'Ag + 2 w'Bg + w'Mw on a cell of width one.

    g are values of f^(k) at the nodes, w the error's values (slopes) at the left, then right end.
    """
    nodes = (1 - np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)) / 2
    points, weights = gauss_legendre(_NODES + order)
    root = np.sqrt(weights)[:, None]
    # The error caused by each node's Lagrange polynomial: its k-fold integral, up to a piece.
    vandermonde = legendre.legvander(2 * nodes - 1, _NODES - 1)
    lagrange = np.linalg.inv(vandermonde)
    integrals = legendre.legint(lagrange, order, lbnd=-1) / 2**order
    caused = root * legendre.legval(2 * points - 1, integrals).T
    pieces = root * legendre.legvander(2 * points - 1, order - 1)
    # Remove from the pieces what the conditions at the ends fix.
    ends = []
    for end in (-1.0, 1.0):
        for j in range(continuity + 1):
            row = [legendre.legder(series, j) * 2.0**j for series in np.eye(order)]
            by_piece = [legendre.legval(end, series) for series in row]
            by_node = legendre.legval(end, legendre.legder(integrals, j)) * 2.0**j
            ends.append((by_piece, by_node))
    if ends:
        at_piece = np.array([piece for piece, _ in ends])
        at_node = np.array([node for _, node in ends])
        to_piece = np.linalg.pinv(at_piece)
        caused = caused - pieces @ to_piece @ at_node
        forced = pieces @ to_piece
        _, _, rows = np.linalg.svd(at_piece)
        pieces = pieces @ rows[len(ends) :].T
    else:
        forced = np.zeros((len(points), 0))
    if pieces.shape[1]:
        basis, _ = np.linalg.qr(pieces)
        caused = caused - basis @ (basis.T @ caused)
        forced = forced - basis @ (basis.T @ forced)
    parts = (nodes, caused.T @ caused, forced.T @ caused, forced.T @ forced)
    return tuple(torch.from_numpy(part) for part in parts)  # type: ignore[return-value]


def optimal_knots(
    target: Target,
    order: int,
    n_cells: int,
    continuity: int = -1,
    max_iterations: int = 200,
) -> OptimalKnots:
    """The spline with free knots to which Newton's method leads from the optimal density.

    Args:
        target: a function of one variable with ``order`` + 2 derivatives, bar isolated points.
        order: k; the pieces have degree k - 1.
        n_cells: at least 1.
        continuity: continuous derivatives r at the knots, -1 where pieces need not meet; 2 (r + 1)
            is at most the order.
        max_iterations: at least 1.

    Raises:
        ValueError: several variables, a number out of its range, or a target whose derivative of
            that order vanishes everywhere.
    """
    if target.dim != 1:
        raise ValueError(f"expected a target of one variable, {target.name} has {target.dim}")
    check_integer("order", order, 1)
    check_integer("n_cells", n_cells, 1)
    check_integer("max_iterations", max_iterations, 1)
    if not -1 <= continuity <= order // 2 - 1:
        raise ValueError(f"continuity must be -1 to {order // 2 - 1} here, got {continuity}")
    derivative = target.torch(order)
    nodes, a_form, b_form, m_form = _forms(order, continuity)
    shared = continuity + 1
    scaled = torch.arange(shared, dtype=torch.float64)

    def cell(local: Tensor) -> Tensor:
        """Squared error on one cell from (t, values, slopes) at its left, then its right end."""
        left, right = local[: 1 + shared], local[1 + shared :]
        h = right[0] - left[0]
        g = h**order * derivative(left[0] + h * nodes)
        w = torch.cat([left[1:] * h**scaled, right[1:] * h**scaled])
        return h * (g @ a_form @ g + 2 * w @ (b_form @ g) + w @ m_form @ w)

    block = 1 + shared
    energy = torch.func.vmap(cell)
    slopes = torch.func.vmap(torch.func.grad(cell))
    curvature = torch.func.vmap(torch.func.hessian(cell))
    columns = np.arange(n_cells)[:, None] * block + np.arange(2 * block)

    def local(unknowns: np.ndarray) -> Tensor:
        return torch.from_numpy(unknowns[columns])

    unknowns = np.zeros((n_cells + 1) * block)
    unknowns[::block] = _start(target, order, n_cells)
    free = np.ones(len(unknowns), dtype=bool)
    free[[0, -block]] = False
    inner = np.flatnonzero(free & (np.arange(len(unknowns)) % block == 0))
    # First the ends' values alone, for which the error is quadratic, then everything.
    held = free.copy()
    held[::block] = False
    if held.any():
        unknowns = unknowns + _step(slopes, curvature, local(unknowns), columns, held, inner, 0.0)
    loss = float(energy(local(unknowns)).sum())
    damping, iterations, converged = 1e-2, 0, not len(inner)
    while iterations < max_iterations and not converged:
        iterations += 1
        step = _step(slopes, curvature, local(unknowns), columns, free, inner, damping)
        trial = unknowns + step
        width = np.diff(trial[::block])
        lower = math.inf
        if np.isfinite(step).all() and (width > 0).all():
            lower = float(energy(local(trial)).sum())
        if not lower < loss:
            damping = max(4 * damping, 1e-12)
            converged = damping > 1e8 or abs(lower - loss) < _CONVERGED * loss
            continue
        converged = loss - lower < _CONVERGED * loss and damping < 1e-6
        unknowns, loss, damping = trial, lower, damping / 10
    ((a, b),) = target.domain
    return OptimalKnots(unknowns[::block].copy(), math.sqrt(loss / (b - a)), iterations, converged)


def _step(slopes, curvature, local, columns, free, inner, damping):  # type: ignore[no-untyped-def]
    """A damped Newton step of the free unknowns; NaN where the damped Hessian is not definite."""
    gradient_parts, hessian_parts = slopes(local).numpy(), curvature(local).numpy()
    size, total = columns.shape[1], columns[-1, -1] + 1
    gradient, banded = np.zeros(total), np.zeros((size, total))
    np.add.at(gradient, columns, gradient_parts)
    for i in range(size):
        for j in range(i + 1):
            np.add.at(banded, (i - j, columns[:, j]), hessian_parts[:, i, j])
    if damping:
        # In units of each cell's own energy over its squared width: the knots' natural curvature.
        banded[0, inner] += damping * np.abs(banded[0, inner]).clip(1e-300)
    fixed = np.flatnonzero(~free)
    banded[:, fixed] = 0.0
    for distance in range(1, size):
        banded[distance, fixed[fixed >= distance] - distance] = 0.0
    banded[0, fixed], gradient[fixed] = 1.0, 0.0
    scale = 1 / np.sqrt(np.abs(banded[0]).clip(1e-300))
    scaled = banded * scale
    for distance in range(size):
        scaled[distance, : total - distance] *= scale[distance:]
    try:
        return -scale * solveh_banded(scaled, scale * gradient, lower=True, check_finite=False)
    except (LinAlgError, ValueError):
        return np.full(total, np.nan)


@dataclass(frozen=True)
class Segments:
    """An interval cut at the zeros of f^(k), measured in what optimal cells have equal shares of.

    Attributes:
        edges: (s + 1,) the interval's ends and the simple zeros between them.
        masses: (s,) integrals of abs(f^(k))^(1/(k + 1/2)) between neighbouring edges.
        zero_at_end: whether f^(k) vanishes at the left end, and at the right one.
        knots: maps shares of the whole mass to places.
    """

    edges: np.ndarray
    masses: np.ndarray
    zero_at_end: tuple[bool, bool]
    knots: Callable[[np.ndarray], np.ndarray]

    @property
    def zeros(self) -> int:
        """How many zeros lie inside the interval."""
        return len(self.masses) - 1

    def allocate(self, order: int, n_cells: int, extra: np.ndarray) -> np.ndarray | None:
        """Cells per segment that make the sum of mass^(2k+1) (cells + extra)^(-2k) least.

        A cell with a zero in its middle counts half for either side. The sum is convex in every
        segment, so that giving one cell after another where it helps most is optimal.

        Args:
            order: k.
            n_cells: of all segments together.
            extra: (s,) what each segment has beyond its cells.

        Returns:
            (s,) numbers of cells; None where there are fewer cells than zeros.
        """
        if n_cells < self.zeros:
            return None
        halves = np.ones(len(self.masses))
        halves[[0, -1]] = 0.5 if self.zeros else 0.0
        cells = halves + extra
        power = -2 * order
        for _ in range(n_cells - self.zeros):
            with np.errstate(divide="ignore"):
                gain = self.masses ** (1 - power) * (cells**power - (cells + 1) ** power)
            cells[np.argmax(gain)] += 1
        return cells - extra


def segments(target: Target, order: int) -> Segments:
    """Cut a target's interval at the zeros of its derivative of that order.

    Raises:
        ValueError: several variables, or a derivative that vanishes everywhere.
    """
    if target.dim != 1:
        raise ValueError(f"expected a target of one variable, {target.name} has {target.dim}")
    ((a, b),) = target.domain
    edges = np.linspace(a, b, _MASS_POINTS + 1)
    values = target.numpy(order)((edges[1:] + edges[:-1]) / 2)
    if not values.any():
        raise ValueError(f"the derivative of order {order} of {target.name} vanishes everywhere")
    mass = np.concatenate([[0.0], np.cumsum(np.abs(values) ** (1 / (order + 0.5)))])
    mass *= (b - a) / _MASS_POINTS
    change = np.flatnonzero(values[1:] * values[:-1] < 0) + 1
    places = np.array([0, *change, _MASS_POINTS])
    at_ends = np.abs(target.numpy(order)(np.array([a, b]))) < 1e-9 * np.abs(values).max()
    return Segments(
        edges[places],
        np.diff(mass[places]),
        (bool(at_ends[0]), bool(at_ends[1])),
        lambda shares: np.interp(shares * mass[-1], mass, edges),
    )


def _start(target: Target, order: int, n_cells: int) -> np.ndarray:
    """Knots of equal shares of the mass, with the zeros of f^(k) in the middles of cells."""
    cut = segments(target, order)
    extra = np.full(len(cut.masses), _NEAR_A_ZERO)
    extra[[0, -1]] = _NEAR_A_ZERO / 2 if cut.zeros else 0.0
    cells = cut.allocate(order, n_cells, extra)
    shares = np.linspace(0, 1, n_cells + 1)
    if cells is not None:
        cumulated = np.concatenate([[0.0], np.cumsum(cut.masses)]) / cut.masses.sum()
        shares = np.interp(shares * n_cells, np.concatenate([[0.0], np.cumsum(cells)]), cumulated)
    knots = cut.knots(shares)
    knots[[0, -1]] = target.domain[0]
    return knots
