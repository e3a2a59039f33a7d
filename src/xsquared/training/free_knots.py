"""Splines with free knots in the limit of infinite data: variable projection in one dimension.

A ReLU network of one input is a spline whose knots are its gates. This module fits such splines to
a target: piecewise polynomials on n cells, of degree 1 (MLP) or 2 (GLU) and continuous, or of
degree 3 with a continuous slope (GQU). The loss is the integral of the squared error, taken by
Gauss-Legendre nodes that move with the cells. On such nodes the error is a smooth function of the
knots, whereas on a fixed grid it has a kink whenever a knot passes a point.

Every iteration projects and steps. *Projection*: for fixed knots the best coefficients solve a
banded linear system. *Step*: Levenberg-Marquardt on knots and coefficients together, from the
projected point. Its knot part is the step of variable projection with Kaufman's Jacobian, since
eliminating the coefficients from the joint normal equations leaves exactly that, but the joint
system is banded, so that an iteration costs time proportional to n. The local basis (values,
slopes, bubbles) is well conditioned, unlike the one-sided powers of the network; the weights are
computed from the fitted cells afterwards.

A network whose n hinges all lie inside has n + 1 cells, but not every spline on them: where gates
at the knots open to either side, no neuron is left for the polynomial that stands behind them all,
and it has to be constant. That is a linear condition on the coefficients of a few cells, and one
multiplier per power eliminates it from the banded system (:func:`best_directions`).

Of the target its values are asked for, no derivative: a kink or an infinite slope is no obstacle.

References:
    Golub and Pereyra, SIAM J. Numer. Anal. 10 (1973), for variable projection; Kaufman, BIT 15
    (1975), for the Jacobian; Barrow and Smith, Quart. Appl. Math. 36 (1978), for the asymptotic
    density of optimal knots.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpbsv

from xsquared.checks import check_finite_array, check_integer
from xsquared.constructions import combination, increments, shifted
from xsquared.functions import Target, interval_of
from xsquared.quadrature import LEAST_NODES, gauss_legendre, on_cells
from xsquared.training.levenberg_marquardt import Damping, descend
from xsquared.units import Unit, find_unit

#: Highest relative change of a cell's width in one step: knots never cross, nor merge in one step.
_MAX_SHRINK = 0.5
#: Nodes per cell beyond the degree, so that the quadrature error stays below the error measured.
_EXTRA_NODES = 6
#: Step of the target's slope, in widths of the cell: the outermost node is farther from its end.
_STEP = 1e-6
#: How the damping moves in a fit of knots.
DAMPING = Damping(start=1e-3, lowered=3.0, most=1e12, stall=1e-7, floor=0.0)
#: Cells of the mesh on which the density of knots is estimated.
_MESH = 400
#: Combinations of directions that are compared at most.
_COMBINATIONS = 25_000


@dataclass(frozen=True)
class Space:
    """A space of piecewise polynomials.

    Attributes:
        degree: degree of the pieces.
        smoothness: derivatives that are continuous at the knots: 0 or 1.
    """

    degree: int
    smoothness: int

    @cached_property
    def shared(self) -> int:
        """Coefficients per knot: the value, and the slope where it is continuous."""
        return self.smoothness + 1

    @cached_property
    def inner(self) -> int:
        """Coefficients per cell that no other cell shares: the bubble of the quadratic."""
        return self.degree + 1 - 2 * self.shared

    @cached_property
    def block(self) -> int:
        """Unknowns from one knot to the next, its place included."""
        return 1 + self.shared + self.inner

    @cached_property
    def size(self) -> int:
        """Unknowns of one cell: those of its left knot, its own, those of its right knot."""
        return self.block + 1 + self.shared

    @cached_property
    def columns(self) -> np.ndarray:
        """Which unknowns of a cell are coefficients, not knots."""
        return np.array([*range(1, self.block), *range(self.block + 1, self.size)])

    def unknowns(self, n_cells: int) -> int:
        """Unknowns of a spline."""
        return n_cells * self.block + 1 + self.shared


#: What the fit implements; the local bases of :func:`_reference` are written for these.
_SPACES = (Space(1, 0), Space(2, 0), Space(3, 1))


def space(unit: str | Unit) -> Space:
    """The spline space of a unit with a ReLU gate and p affine factors.

    An increment at a knot t is (x - t)^p times an affine function for p > 0, so the degree is p + 1
    and p - 1 derivatives are continuous; without factors the unit is piecewise linear.

    Raises:
        ValueError: an unknown unit, another gate, or more than two factors.
    """
    record = find_unit(unit)
    factors = len(record.factors)
    made = Space(factors + 1, max(factors - 1, 0))
    if record.gate.name != "relu" or made not in _SPACES:
        raise ValueError(
            "free_knots fits relu gates with up to two factors, "
            f"got unit {record.name!r} with gate {record.gate.name!r}"
        )
    return made


@cache
def _reference(degree: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """So many nodes and weights on [0, 1], the local basis there, and its part times the width.

    The local coefficients of a cell are those of its left knot, its bubble, those of its right
    knot. The basis is split as B = constant + h * linear, for slopes scale with the width.
    """
    xi, weights = gauss_legendre(count)
    zero = np.zeros_like(xi)
    if degree == 1:
        constant = [1 - xi, xi]
        linear = [zero, zero]
    elif degree == 2:
        constant = [1 - xi, 4 * xi * (1 - xi), xi]
        linear = [zero, zero, zero]
    else:
        constant = [(1 + 2 * xi) * (1 - xi) ** 2, zero, xi**2 * (3 - 2 * xi), zero]
        linear = [zero, xi * (1 - xi) ** 2, zero, -(xi**2) * (1 - xi)]
    return xi, weights, np.stack(constant, axis=1), np.stack(linear, axis=1)


@dataclass(frozen=True)
class FreeKnotSpline:
    """A fitted spline and how the fit went.

    Attributes:
        knots: (n + 1,) ends of the cells, ascending, the interval's ends included.
        pieces: (n, degree + 1) coefficients in powers of x - t_k on cell k, the constant first.
        rmse: root mean square error over the interval, by quadrature.
        iterations: Levenberg-Marquardt iterations, over all starts.
        gradient: largest derivative of the mean square error by a knot, times its cell's width,
            over the mean square error: 0 at a stationary point.
        status: ``"converged"``, or ``"iterations"`` where the limit came first.
        directions: (n - 1,) in which gates at the knots inside open so that no other neuron is
            needed, 1 to the right and -1 to the left; None where the spline is any of its space.
    """

    knots: np.ndarray
    pieces: np.ndarray
    rmse: float
    iterations: int
    gradient: float
    status: Literal["converged", "iterations"]
    directions: np.ndarray | None = None

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The spline's values at points of the interval."""
        last = len(self.pieces) - 1
        cell = np.clip(np.searchsorted(self.knots, x, side="right") - 1, 0, last)
        s = x - self.knots[cell]
        return sum(self.pieces[cell, j] * s**j for j in range(self.pieces.shape[1]))


def fit_free_knots(
    target: Target,
    unit: str | Unit,
    knots: np.ndarray,
    max_iterations: int = 300,
    directions: np.ndarray | None = None,
    damping: Damping = DAMPING,
) -> FreeKnotSpline:
    """Fit a spline by variable projection from the given knots.

    Args:
        target: a function of one variable.
        unit: whose space to fit.
        knots: (n + 1,) strictly ascending start, its ends those of the target's domain.
        max_iterations: at least 0; with 0 the given knots stay and only coefficients are fitted.
        directions: of the gates at the knots inside, if no other neurons are to be needed.
        damping: how the damping moves, and when the fit ends.

    Raises:
        ValueError: a unit that :func:`space` refuses, a target of several variables, knots that are
            not such, a negative number of iterations, or directions that are not 1 and -1.
        FloatingPointError: the loss is not finite at the start, or the coefficients at the end.
    """
    shape = space(unit)
    t = _checked_knots(target, knots)
    check_integer("max_iterations", max_iterations, 0)
    signs = None
    if directions is not None:
        if np.shape(directions) != (len(t) - 2,) or not (np.abs(directions) == 1).all():
            raise ValueError(f"expected {len(t) - 2} directions 1 or -1, got {directions}")
        signs = combination(directions)
    model = _Model(target, shape, signs)
    state = model.project(t)
    if not np.isfinite(state.loss):
        raise FloatingPointError(f"the loss is {state.loss} at the start")
    limit = max_iterations if len(t) > 2 else 0
    *_, (state, iterations, status) = descend(state, model.linearise, limit, damping)
    pieces = _pieces(shape, np.diff(state.knots), state.local)
    if not np.isfinite(pieces).all():
        raise FloatingPointError("the spline's coefficients are not finite")
    return FreeKnotSpline(
        state.knots,
        pieces,
        math.sqrt(state.loss),
        iterations,
        _relative_gradient(shape, state),
        status,
        directions,
    )


@dataclass(frozen=True)
class _State:
    """A projected point: knots, the best coefficients for them, residuals and their Jacobian."""

    knots: np.ndarray
    local: np.ndarray
    residual: np.ndarray
    jacobian: np.ndarray
    loss: float


@dataclass(frozen=True)
class _Model:
    """The separable problem; with signs, that combination of the cells has to be constant."""

    target: Target
    shape: Space
    signs: np.ndarray | None

    def project(self, t: np.ndarray) -> _State:
        """The best coefficients for fixed knots, the Jacobian in knots and coefficients there."""
        shape, width = self.shape, np.diff(t)
        count = max(shape.degree + _EXTRA_NODES, -(-LEAST_NODES // len(width)))
        xi, weights, constant, linear = _reference(shape.degree, count)
        x = t[:-1, None] + xi * width[:, None]
        step = _STEP * width[:, None]
        value, ahead, behind = self.target(np.stack([x, x + step, x - step]))
        slope = (ahead - behind) / (2 * step)
        root = np.sqrt(weights * width[:, None] / (t[-1] - t[0]))
        basis = constant + linear * width[:, None, None]
        columns = shape.columns
        jacobian = np.zeros((*x.shape, shape.size))
        jacobian[..., columns] = root[..., None] * basis
        banded, gradient = _normal_equations(shape, jacobian, -root * value)
        places = np.arange(len(t)) * shape.block
        _fix(banded, gradient, places)
        solution = _conditioned(banded, -gradient, self._condition(t))
        local = _gather(shape, solution, len(width))[:, columns]
        fitted = np.einsum("kqj,kj->kq", basis, local)
        residual = root * (fitted - value)
        by_width = np.einsum("qj,kj->kq", linear, local)
        half = residual / (2 * width[:, None])
        jacobian[..., 0] = -half + root * (-by_width - slope * (1 - xi))
        jacobian[..., shape.block] = half + root * (by_width - slope * xi)
        return _State(t, local, residual, jacobian, float(np.sum(residual**2)))

    def linearise(self, state: _State) -> Callable[[float], _State | None]:
        """Levenberg-Marquardt steps of the knots inside."""
        shape, t = self.shape, state.knots
        banded, gradient = _normal_equations(shape, state.jacobian, state.residual)
        places = np.arange(len(t)) * shape.block
        inner = places[1:-1]
        _fix(banded, gradient, places[[0, -1]])
        condition = self._condition(t, state.local)
        if condition is not None:
            condition[:, places[[0, -1]]] = 0.0
        # Damping in units of the cells' widths, as if log widths were the variables, and no less
        # than a multiple of the largest entry: directions that the projection has emptied stay
        # bounded.
        room = np.minimum(np.diff(t)[:-1], np.diff(t)[1:])
        scale = np.max(banded[0, inner] * room**2) / room**2

        def attempt(damping: float) -> _State | None:
            damped = banded.copy()
            damped[0, inner] += damping * scale
            try:
                step = _conditioned(damped, -gradient, condition)[places]
                return self.project(_limited(t, step))
            except LinAlgError:
                return None

        return attempt

    def _condition(self, t: np.ndarray, local: np.ndarray | None = None) -> np.ndarray | None:
        """Rows (degree, unknowns) that have to vanish; by the knots too where given the cells."""
        if self.signs is None:
            return None
        shape, cells = self.shape, np.flatnonzero(self.signs)
        made = np.zeros((shape.degree, shape.unknowns(len(t) - 1)))
        for cell, rows in zip(cells, _behind(shape, t, cells, local), strict=True):
            at = cell * shape.block
            made[:, at : at + shape.size] += self.signs[cell] * rows
        return made


def _behind(
    shape: Space, t: np.ndarray, cells: np.ndarray, local: np.ndarray | None = None
) -> np.ndarray:
    """Derivatives (cells, degree, size) of cells' polynomials by the unknowns of each.

    Of the coefficients of all powers but the constant, in powers of the share of the interval; the
    columns of the knots are zero where no local coefficients are given.
    """
    left, width, length = t[cells], np.diff(t)[cells], t[-1] - t[0]
    m, size = len(cells), len(shape.columns)
    lefts, widths = [np.tile(left, size)], [np.tile(width, size)]
    locals_ = [np.repeat(np.eye(size), m, axis=0)]
    if local is not None:
        d = _STEP * width
        lefts += [left + d, left - d, left, left]
        widths += [width - d, width + d, width + d, width - d]
        locals_.append(np.tile(local[cells], (4, 1)))
    pieces = _pieces(shape, np.concatenate(widths), np.concatenate(locals_))
    moved = shifted(pieces, t[0] - np.concatenate(lefts))[:, 1:]
    moved = (moved * length ** np.arange(1, shape.degree + 1)).reshape(-1, m, shape.degree)
    made = np.zeros((m, shape.degree, shape.size))
    made[..., shape.columns] = np.moveaxis(moved[:size], 0, -1)
    if local is not None:
        made[..., 0] = (moved[size] - moved[size + 1]) / (2 * d[:, None])
        made[..., shape.block] = (moved[size + 2] - moved[size + 3]) / (2 * d[:, None])
    return made


def _normal_equations(
    shape: Space, jacobian: np.ndarray, residual: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """J'J in lower banded form and J'r, assembled from the cells' contiguous columns."""
    n, _, size = jacobian.shape
    total = shape.unknowns(n)
    gram = np.einsum("kqi,kqj->kij", jacobian, jacobian)
    local = np.einsum("kqi,kq->ki", jacobian, residual)
    i, j, in_band, in_vector = _places(size, shape.block, n, total)
    banded = np.bincount(in_band, gram[:, i, j].ravel(), minlength=size * total)
    gradient = np.bincount(in_vector, local.ravel(), minlength=total)
    return banded.reshape(size, total), gradient


@cache
def _places(size: int, block: int, n: int, total: int) -> tuple[np.ndarray, ...]:
    """Where the lower halves of cells' Gram matrices, and their vectors, go in the global ones."""
    i, j = np.tril_indices(size)
    first = np.arange(n)[:, None] * block
    return i, j, ((i - j) * total + first + j).ravel(), (first + np.arange(size)).ravel()


def _fix(banded: np.ndarray, gradient: np.ndarray, indices: np.ndarray) -> None:
    """Take unknowns out of a banded system, in place: their step is zero."""
    banded[:, indices] = 0.0
    for distance in range(1, len(banded)):
        banded[distance, indices[indices >= distance] - distance] = 0.0
    banded[0, indices] = 1.0
    gradient[indices] = 0.0


def _solve(banded: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve the symmetric banded system for columns (total, m), its diagonal scaled to one.

    Raises:
        LinAlgError: it is not positive definite.
    """
    scale = 1 / np.sqrt(banded[0])
    scaled = banded * scale
    for distance in range(len(banded)):
        scaled[distance, : len(scale) - distance] *= scale[distance:]
    _, solved, failed = dpbsv(scaled, scale[:, None] * right, lower=1)
    if failed:
        raise LinAlgError("the banded system is singular")
    return scale[:, None] * solved


def _conditioned(banded: np.ndarray, right: np.ndarray, condition: np.ndarray | None) -> np.ndarray:
    """The solution under a condition: rows whose products with it vanish, a multiplier for each."""
    if condition is None:
        return _solve(banded, right[:, None])[:, 0]
    solved = _solve(banded, np.column_stack([right, condition.T]))
    free, by_row = solved[:, 0], solved[:, 1:]
    scale = 1 / np.sqrt(np.sum(condition.T * by_row, axis=0) + 1e-300)
    matrix = condition @ by_row * np.outer(scale, scale)
    multipliers = scale * np.linalg.lstsq(matrix, scale * (condition @ free), rcond=1e-14)[0]
    return free - by_row @ multipliers


def _gather(shape: Space, solution: np.ndarray, n: int) -> np.ndarray:
    """The unknowns of every cell, (n, size), out of the global vector."""
    return solution[np.arange(n)[:, None] * shape.block + np.arange(shape.size)]


def _limited(knots: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Knots after the step, shortened so that no cell shrinks by more than a fixed share."""
    shrink = -np.diff(step) / np.diff(knots)
    return knots + step * min(1.0, _MAX_SHRINK / max(float(shrink.max()), 1e-300))


def _relative_gradient(shape: Space, state: _State) -> float:
    _, gradient = _normal_equations(shape, state.jacobian, state.residual)
    if len(state.knots) < 3 or state.loss == 0:
        return 0.0
    width = np.diff(state.knots)
    inner = 2 * gradient[np.arange(1, len(state.knots) - 1) * shape.block]
    return float(np.max(np.abs(inner) * np.minimum(width[:-1], width[1:])) / state.loss)


def _pieces(shape: Space, width: np.ndarray, local: np.ndarray) -> np.ndarray:
    """Coefficients in powers of x - t_k."""
    h, c = width[:, None], local
    if shape.degree == 1:
        return np.stack([c[:, 0], (c[:, 1] - c[:, 0]) / h[:, 0]], axis=1)
    if shape.degree == 2:
        rise = c[:, 2:3] - c[:, :1]
        bubble = 4 * c[:, 1:2]
        return np.concatenate([c[:, :1], (rise + bubble) / h, -bubble / h**2], axis=1)
    v0, m0, v1, m1 = (c[:, j : j + 1] for j in range(4))
    secant = (v1 - v0) / h
    return np.concatenate(
        [v0, m0, (3 * secant - 2 * m0 - m1) / h, (m0 + m1 - 2 * secant) / h**2], axis=1
    )


def best_directions(
    target: Target, unit: str | Unit, knots: np.ndarray, count: int
) -> list[np.ndarray]:
    """Directions of the gates at the knots inside for which the fit loses least.

    The polynomial behind all gates is a combination of cells with alternating signs. For knots held
    where they are, what it costs to make it constant is a quadratic form in the best coefficients,
    of few unknowns, and so thousands of combinations are compared: all of them for narrow networks,
    those of one and of three cells for wide ones. What neurons are at most, times the rounding unit
    of float64, counts as an error as well: steep polynomials of one end must not have to cancel at
    the other.

    Args:
        target: a function of one variable.
        unit: whose space.
        knots: (n + 1,) ends of the cells.
        count: how many to return.

    Returns:
        At most so many arrays (n - 1,) of 1 and -1: that of the best single cell, whose gates open
        away from it, then the others, the best first.
    """
    shape, n = space(unit), len(knots) - 1
    state = _Model(target, shape, None).project(knots)
    banded, gradient = _normal_equations(shape, state.jacobian, state.residual)
    places = np.arange(n + 1) * shape.block
    _fix(banded, gradient, places)
    cells = next(alternations(n))[:, 0]
    m, q = len(cells), shape.degree
    behind = _behind(shape, knots, cells)
    rows = np.zeros((m, q, shape.unknowns(n)))
    for row, cell, by_unknowns in zip(rows, cells, behind, strict=True):
        row[:, cell * shape.block : cell * shape.block + shape.size] = by_unknowns
    flat = rows.reshape(m * q, -1)
    form = (flat @ _solve(banded, flat.T)).reshape(m, q, m, q).transpose(0, 2, 1, 3)
    value = np.einsum("kqj,kj->kq", behind[..., shape.columns], state.local[cells])
    right, left = neuron_sizes(knots, _pieces(shape, np.diff(knots), state.local))
    lean = np.concatenate([[0.0], np.cumsum(left - right)])
    found: list[tuple[float, np.ndarray]] = []
    for chosen in alternations(n):
        signs, at = (-1.0) ** np.arange(chosen.shape[1]), np.searchsorted(cells, chosen)
        matrix = np.einsum("a,b,sabqr->sqr", signs, signs, form[at[:, :, None], at[:, None, :]])
        vector = np.einsum("a,saq->sq", signs, value[at])
        scale = np.sqrt(np.einsum("sqq->sq", matrix)) + 1e-300
        matrix = matrix / (scale[:, :, None] * scale[:, None, :]) + 1e-13 * np.eye(q)
        reduced = np.linalg.solve(matrix, (vector / scale)[..., None])[..., 0]
        cost = np.einsum("sq,sq->s", vector / scale, reduced)
        rounding = np.finfo(float).eps * (right.sum() + lean[chosen] @ signs)
        total = cost + rounding**2
        best = np.argsort(total, kind="stable")[:count]
        found += [(float(total[i]), directions_of(chosen[i], n)) for i in best]
    rest = sorted(found[1:], key=lambda pair: pair[0])
    return [directions for _, directions in [found[0], *rest][:count]]


def alternations(n: int) -> Iterator[np.ndarray]:
    """Cells whose polynomials, with signs + - + ..., may stand behind all gates.

    Args:
        n: number of cells.

    Yields:
        Ascending indices (m, size) for the sizes 1, 3, 5, ... until there would be too many. Of
        many cells a share is taken, at equal distances: 200 for one, 50 for three.
    """
    compared, cells = 0, np.arange(n)
    for size in range(1, n + 1, 2):
        most = {1: 200, 3: 50}.get(size, n)
        if len(cells) > most:
            cells = cells[np.linspace(0, len(cells) - 1, most).astype(int)]
        compared += math.comb(len(cells), size)
        if compared > _COMBINATIONS:
            return
        yield cells[np.array(list(itertools.combinations(range(len(cells)), size)))]


def directions_of(chosen: np.ndarray, n: int) -> np.ndarray:
    """Directions (n - 1,) of the gates for a combination of the n cells: see ``combination``."""
    multiples = np.zeros(n, dtype=int)
    multiples[chosen] = (-1) ** np.arange(len(chosen))
    return 2 * np.cumsum(multiples)[:-1] - 1


def neuron_sizes(knots: np.ndarray, pieces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a neuron at each knot inside is at most, its gate open to the right and to the left.

    Arguments as the attributes of :class:`FreeKnotSpline`; returns two arrays (n - 1,).
    """
    change = np.abs(increments(knots, pieces))
    powers = np.arange(pieces.shape[1])
    right, left = (
        np.sum(change * np.abs(end - knots[1:-1, None]) ** powers, axis=1)
        for end in (knots[-1], knots[0])
    )
    return right, left


def equidistributed_knots(target: Target, unit: str | Unit, n_cells: int) -> np.ndarray:
    """Knots of the asymptotically optimal density, ``abs(f^(k))^s`` with s = 1/(k + 1/2).

    No derivative is taken. On a small cell the error of the best polynomial of degree k - 1 is a
    multiple of h^(1/s) abs(f^(k)), so its power s is the density's integral there. Cells that hold
    too much of what there was at first are halved until none does; at a kink, where f^(k) is no
    function, what they hold vanishes with them.

    Args:
        target: a function of one variable.
        unit: whose space, of order k.
        n_cells: number of cells, at least 1.

    Returns:
        (n_cells + 1,) knots. Where the target is a polynomial of the unit's degree they are
        equidistant.

    Raises:
        ValueError: several variables, or fewer than one cell.
        FloatingPointError: values whose squares are not finite.
    """
    check_integer("n_cells", n_cells, 1, 10**6)
    a, b = interval_of(target)
    degree = space(unit).degree
    xi, weights = gauss_legendre(degree + _EXTRA_NODES)
    basis = np.polynomial.legendre.legvander(2 * xi - 1, degree) * np.sqrt(weights)[:, None]
    basis = np.linalg.qr(basis)[0]
    edges = np.linspace(a, b, _MESH // 4 + 1)
    first = 0.0
    while True:
        width = np.diff(edges)
        values = np.sqrt(weights) * target(edges[:-1, None] + width[:, None] * xi)
        rest = values - values @ basis @ basis.T
        error = np.sqrt(width * np.sum(rest**2, axis=1))
        size = np.sqrt(width * np.sum(values**2, axis=1))
        if not np.isfinite(size).all():
            raise FloatingPointError(f"the loss is {size.max()}: the target's squares overflow")
        # What rounding leaves of a polynomial is nothing.
        error[error < 1e-14 * size] = 0.0
        mass = error ** (1 / (degree + 1.5))
        first = first or float(mass.sum())
        heavy = (mass > 2 / _MESH * first) & (width > 1e-14 * (b - a))
        if not heavy.any() or len(edges) > 4 * _MESH:
            break
        edges = np.sort(np.append(edges, (edges[:-1] + width / 2)[heavy]))
    # A floor keeps a share of the knots where the derivative happens to vanish.
    mass = mass + 0.05 * first * width / (b - a) if first else width
    share = np.concatenate([[0.0], np.cumsum(mass)]) / mass.sum()
    return np.concatenate([[a], np.interp(np.arange(1, n_cells) / n_cells, share, edges), [b]])


def cell_errors(target: Target, spline: FreeKnotSpline) -> np.ndarray:
    """Integral of the squared error over each cell, (n,)."""
    x, weights = on_cells(spline.knots)
    return np.sum(weights * (spline(x) - target(x)) ** 2, axis=1)


def _checked_knots(target: Target, knots: np.ndarray) -> np.ndarray:
    a, b = interval_of(target)
    t = check_finite_array("knots", knots)
    if t.ndim != 1 or len(t) < 2 or not (np.diff(t) > 0).all():
        raise ValueError(f"expected at least 2 strictly ascending knots, got shape {t.shape}")
    if (t[0], t[-1]) != (a, b):
        raise ValueError(f"knots: expected them to span ({a:g}, {b:g}), got ({t[0]:g}, {t[-1]:g})")
    return t
