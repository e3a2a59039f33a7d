"""Splines with free knots in the limit of infinite data: variable projection in one dimension.

A ReLU network of one input is a spline whose knots are its gates. This module fits such splines to
a target: piecewise polynomials on n cells, of degree 1 (MLP) or 2 (GLU) and continuous, or of
degree 3 with a continuous slope (GQU). The loss is the integral of the squared error, taken by
Gauss-Legendre nodes that move with the cells. On such nodes the error is a smooth function of the
knots, whereas on a fixed grid it has a kink whenever a knot passes a point.

Every iteration projects and steps. *Projection*: for fixed knots the best coefficients solve a
banded linear system. *Step*: Newton's on knots and coefficients together, from the projected point,
damped until its matrix is definite. The second derivatives are exact and cost nothing more: a
piece's derivatives by its knots, at a fixed point, are polynomials of its own degree, so that they
need the moments of the error and nothing else of the target. An iteration costs time proportional
to n. The local basis (values, slopes, bubbles) is well conditioned, unlike the one-sided powers of
the network; the weights are computed from the fitted cells afterwards.

A network whose n hinges all lie inside has n + 1 cells, but not every spline on them: where gates
at the knots open to either side, no neuron is left for the polynomial that stands behind them all,
and it has to be constant. That is a linear condition on the coefficients of a few cells, and one
multiplier per power eliminates it from the banded system (:func:`best_directions`). Multiplied by
them, the condition's second derivatives belong to Newton's matrix: those of the same polynomials.

Of the target its values are asked for, no derivative: a kink or an infinite slope is no obstacle.

References:
    Golub and Pereyra, SIAM J. Numer. Anal. 10 (1973), for variable projection;
    Barrow and Smith, Quart. Appl. Math. 36 (1978), for the asymptotic density of optimal knots.
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
from xsquared.constructions import combination, increments
from xsquared.functions import Target, interval_of
from xsquared.quadrature import LEAST_NODES, gauss_legendre, on_cells
from xsquared.training.levenberg_marquardt import Damping, descend
from xsquared.units import Unit, find_unit

#: Highest relative change of a cell's width in one step: knots never cross, nor merge in one step.
_MAX_SHRINK = 0.5
#: No step makes a cell narrower, in shares of the interval: at a jump of the target they would
#: shrink until rounding ends it.
_LEAST_WIDTH = 1e-10
#: Nodes per cell beyond the degree, so that the quadrature error stays below the error measured.
_EXTRA_NODES = 6
#: How the damping moves in a fit of knots.
DAMPING = Damping(start=1e-3, lowered=3.0, stall=1e-7, floor=0.0)
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


#: What the fit implements; the local bases of :func:`_basis` are written for these.
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


@dataclass(frozen=True)
class _Basis:
    """A cell's local basis in powers of xi, the share of the cell that lies to the left of a point.

    Local coefficients are those of the left knot, the bubble, those of the right knot. Each, times
    the width to its exponent, multiplies a polynomial of the reference cell; what a knot's shift
    does to that product at a fixed point is another such polynomial, over the width.

    Attributes:
        exponents: (m,) of the width: 1 for a slope.
        powers: (m, d + 1) coefficients.
        left, right: (m, d + 1) derivatives by the left knot and by the right one.
        second: (3, m, d + 1) derivatives of these by the left knot, mixed, by the right one.
        root: (d + 1, d + 1) whose product with its transpose holds the integrals of products.
    """

    exponents: np.ndarray
    powers: np.ndarray
    left: np.ndarray
    right: np.ndarray
    second: np.ndarray
    root: np.ndarray


@cache
def _basis(degree: int) -> _Basis:
    powers = np.array(
        {
            1: [[1, -1], [0, 1]],
            2: [[1, -1, 0], [0, 4, -4], [0, 1, 0]],
            3: [[1, 0, -3, 2], [0, 1, -2, 1], [0, 0, 3, -2], [0, 0, -1, 1]],
        }[degree],
        dtype=float,
    )
    exponents = np.array([0, 1, 0, 1]) if degree == 3 else np.zeros(len(powers), dtype=int)
    i = np.arange(degree + 1)

    def by_right(c: np.ndarray, exponent: np.ndarray) -> np.ndarray:
        return (exponent[:, None] - i) * c

    def by_left(c: np.ndarray, exponent: np.ndarray) -> np.ndarray:
        falling = np.pad(i[1:] * c[:, 1:], ((0, 0), (0, 1)))
        return -by_right(c, exponent) - falling

    left, right = by_left(powers, exponents), by_right(powers, exponents)
    less = exponents - 1
    second = np.stack([by_left(left, less), by_right(left, less), by_right(right, less)])
    root = np.linalg.cholesky(1 / (1 + i[:, None] + i))
    return _Basis(exponents, powers, left, right, second, root)


@cache
def _rule(degree: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Nodes (q,), weights (q,), powers (q, d + 1) there, and what extrapolates to both ends."""
    xi, weights = gauss_legendre(count)
    least = min(count, 10)
    legendre = np.polynomial.legendre.legvander(2 * xi - 1, least - 1)
    to_ends = np.polynomial.legendre.legvander(np.array([-1.0, 1.0]), least - 1)
    norms = 2 * np.arange(least) + 1
    ends = (legendre * weights[:, None] * norms) @ to_ends.T
    return xi, weights, xi[:, None] ** np.arange(degree + 1), ends


@dataclass(frozen=True)
class FreeKnotSpline:
    """A fitted spline and how the fit went.

    Attributes:
        knots: (n + 1,) ends of the cells, ascending, the interval's ends included.
        pieces: (n, degree + 1) coefficients in powers of x - t_k on cell k, the constant first.
        rmse: root mean square error over the interval, by quadrature.
        iterations: Levenberg-Marquardt iterations, over all starts.
        gradient: largest derivative of the mean square error by a knot, times its cell's width,
            over the mean square error: 0 at a stationary point. The condition's multipliers count.
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
        model.relative_gradient(state),
        status,
        directions,
    )


@dataclass(frozen=True)
class _State:
    """A projected point: knots, the best coefficients for them, what is left of the target.

    Attributes:
        knots: (n + 1,).
        local: (n, m) coefficients of the cells.
        moments: (n, d + 1) integrals of the error times powers of xi over the cells.
        jumps: (n - 1,) the error at the knots inside times the jump of the slope.
        multipliers: (d,) of the condition, if there is one.
        loss: mean square error.
    """

    knots: np.ndarray
    local: np.ndarray
    moments: np.ndarray
    jumps: np.ndarray
    multipliers: np.ndarray
    loss: float


@dataclass(frozen=True)
class _Model:
    """The separable problem; with signs, that combination of the cells has to be constant."""

    target: Target
    shape: Space
    signs: np.ndarray | None

    def project(self, t: np.ndarray) -> _State:
        """The best coefficients for fixed knots."""
        shape, width = self.shape, np.diff(t)
        basis = _basis(shape.degree)
        count = max(shape.degree + _EXTRA_NODES, -(-LEAST_NODES // len(width)))
        xi, weights, powers, ends = _rule(shape.degree, count)
        values = self.target(t[:-1, None] + xi * width[:, None])
        banded, right, scale = _projection(shape, width, (values * weights) @ powers)
        condition = None
        if self.signs is not None:
            cells, behind = self._behind(t)
            rows = behind @ (scale[cells, :, None] * basis.powers).mT
            condition = _spread(rows, cells, shape.block - 1, len(width))
        solution, multipliers = _conditioned(banded, right, condition)
        local = solution[_cells(len(width), shape.block - 1, shape.size - 2)]
        pieces = (local * scale) @ basis.powers
        error = pieces @ powers.T - values
        loss = float(width @ (error**2 @ weights)) / (t[-1] - t[0])
        jumps = np.zeros(len(width) - 1)
        if not shape.smoothness:
            at = error @ ends
            jump = (
                pieces[1:, 1] / width[1:] - pieces[:-1] @ np.arange(shape.degree + 1) / width[:-1]
            )
            jumps = (at[:-1, 1] + at[1:, 0]) / 2 * jump
        moments = (error * weights) @ powers * width[:, None]
        return _State(t, local, moments, jumps, multipliers, loss)

    def linearise(self, state: _State) -> Callable[[float], _State | None]:
        """Newton steps of the knots inside."""
        shape, t = self.shape, state.knots
        width, n, block = np.diff(t), len(t) - 1, shape.block
        basis, derivatives, scale = _derivatives(shape, width, state.local)
        root = (derivatives.reshape(-1, shape.degree + 1) @ basis.root).reshape(derivatives.shape)
        hessian = (width[:, None, None] * root) @ root.mT
        gradient = np.matmul(derivatives, state.moments[:, :, None])[:, :, 0]
        functional, condition = state.moments, None
        if self.signs is not None:
            cells, behind = self._behind(t)
            rows = behind @ derivatives[cells].mT
            functional = self._functional(state)
        over = scale / width[:, None]
        columns = shape.columns
        by_left, by_right = over * (functional @ basis.left.T), over * (functional @ basis.right.T)
        hessian[:, 0, columns] += by_left
        hessian[:, columns, 0] += by_left
        hessian[:, block, columns] += by_right
        hessian[:, columns, block] += by_right
        twice = np.einsum("kj,pji,ki->kp", state.local * scale, basis.second, functional)
        twice /= width[:, None] ** 2
        hessian[:, 0, 0] += twice[:, 0]
        hessian[:, block, 0] += twice[:, 1]
        hessian[:, 0, block] += twice[:, 1]
        hessian[:, block, block] += twice[:, 2]
        hessian[1:, 0, 0] += state.jumps
        for cell, knot in ((0, 0), (-1, block)):
            hessian[cell, knot] = hessian[cell, :, knot] = 0.0
            hessian[cell, knot, knot], gradient[cell, knot] = 1.0, 0.0
        if self.signs is not None:
            rows[cells == 0, :, 0] = 0.0
            rows[cells == n - 1, :, block] = 0.0
            condition = _spread(rows, cells, block, n)
        banded, total = _assembled(hessian, gradient, block)
        places = np.arange(n + 1) * block
        inner = places[1:-1]
        # Damping in units of the cells' widths, as if log widths were the variables, and no less
        # than a multiple of the largest entry: directions that the projection has emptied stay
        # bounded.
        room = np.minimum(width[:-1], width[1:])
        size = np.max(np.abs(banded[0, inner]) * room**2) / room**2

        def attempt(damping: float) -> _State | None:
            damped = banded.copy()
            damped[0, inner] += damping * size
            try:
                step = _conditioned(damped, -total, condition)[0][places]
                moved = _limited(t, step)
                narrow = float(np.diff(moved).min()) < _LEAST_WIDTH * (t[-1] - t[0])
                return None if narrow else self.project(moved)
            except LinAlgError:
                return None

        return attempt

    def relative_gradient(self, state: _State) -> float:
        """As the attribute of :class:`FreeKnotSpline`."""
        width = np.diff(state.knots)
        if len(width) < 2 or state.loss == 0:
            return 0.0
        _, derivatives, _ = _derivatives(self.shape, width, state.local)
        by = np.einsum("kci,ki->kc", derivatives, self._functional(state))
        inner = 2 * np.abs(by[:-1, self.shape.block] + by[1:, 0])
        size = state.loss * (state.knots[-1] - state.knots[0])
        return float(np.max(inner * np.minimum(width[:-1], width[1:])) / size)

    def _functional(self, state: _State) -> np.ndarray:
        """The moments, and in the combination's cells what the multipliers make of a polynomial."""
        if self.signs is None:
            return state.moments
        made = state.moments.copy()
        cells, behind = self._behind(state.knots)
        made[cells] += state.multipliers @ behind
        return made

    def _behind(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The combination's cells, and :func:`_behind` of each with its sign."""
        assert self.signs is not None
        cells = np.flatnonzero(self.signs)
        return cells, _behind(self.shape, t, cells) * self.signs[cells, None, None]


def _derivatives(
    shape: Space, width: np.ndarray, local: np.ndarray
) -> tuple[_Basis, np.ndarray, np.ndarray]:
    """The basis, derivatives (n, size, d + 1) of cells' polynomials by their unknowns, scales."""
    basis = _basis(shape.degree)
    scale = width[:, None] ** basis.exponents
    made = np.empty((len(width), shape.size, shape.degree + 1))
    made[:, shape.columns] = scale[:, :, None] * basis.powers
    scaled = local * scale / width[:, None]
    made[:, 0] = scaled @ basis.left
    made[:, shape.block] = scaled @ basis.right
    return basis, made, scale


def _projection(
    shape: Space, width: np.ndarray, moments: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The banded system for the coefficients, its right-hand side, and the scales of the basis."""
    basis = _basis(shape.degree)
    scale = width[:, None] ** basis.exponents
    root = basis.powers @ basis.root
    weighted = width[:, None] * scale
    gram = (weighted[:, :, None] * scale[:, None, :]) * (root @ root.T)
    return *_assembled(gram, weighted * (moments @ basis.powers.T), shape.block - 1), scale


def _behind(shape: Space, t: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Matrices (cells, d, d + 1): of a cell's polynomial in xi, the coefficients but the constant.

    Those are in powers of the share of the interval.
    """
    u, width, length = t[cells] - t[0], np.diff(t)[cells], t[-1] - t[0]
    made = np.zeros((len(cells), shape.degree, shape.degree + 1))
    for i in range(1, shape.degree + 1):
        for r in range(1, i + 1):
            made[:, r - 1, i] = math.comb(i, r) * (-u) ** (i - r) * (length**r / width**i)
    return made


def _spread(rows: np.ndarray, cells: np.ndarray, block: int, n: int) -> np.ndarray:
    """Sum of rows (cells, d, size) over cells, each at its unknowns of all, (d, unknowns)."""
    size = rows.shape[2]
    made = np.zeros((rows.shape[1], (n - 1) * block + size))
    for cell, row in zip(cells.tolist(), rows, strict=True):
        made[:, cell * block : cell * block + size] += row
    return made


def _assembled(
    matrices: np.ndarray, vectors: np.ndarray, block: int
) -> tuple[np.ndarray, np.ndarray]:
    """The cells' symmetric matrices in lower banded form, and their vectors, added up."""
    n, size = vectors.shape
    total = (n - 1) * block + size
    lower, in_band, in_vector = _places(size, block, n)
    flat = matrices.reshape(n, -1)[:, lower].ravel()
    banded = np.bincount(in_band, flat, minlength=size * total)
    return banded.reshape(size, total), np.bincount(in_vector, vectors.ravel(), minlength=total)


@cache
def _places(size: int, block: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lower halves of cells' matrices, where they go in the band, where vectors go."""
    i, j = np.tril_indices(size)
    total = (n - 1) * block + size
    first = np.arange(n)[:, None] * block
    return i * size + j, ((i - j) * total + first + j).ravel(), _cells(n, block, size).ravel()


@cache
def _cells(n: int, block: int, size: int) -> np.ndarray:
    """The unknowns of every cell, (n, size)."""
    return np.arange(n)[:, None] * block + np.arange(size)


def _solve(banded: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve the symmetric banded system for columns (total, m).

    Raises:
        LinAlgError: it is not positive definite.
    """
    _, solved, failed = dpbsv(banded, right, lower=1)
    if failed or not np.isfinite(solved).all():
        raise LinAlgError("the banded system is singular")
    return solved


def _conditioned(
    banded: np.ndarray, right: np.ndarray, condition: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The solution for which the condition's rows vanish, and a multiplier for each."""
    if condition is None:
        return _solve(banded, right[:, None])[:, 0], np.empty(0)
    solved = _solve(banded, np.column_stack([right, condition.T]))
    free, by_row = solved[:, 0], solved[:, 1:]
    both = condition @ solved
    scale = 1 / np.sqrt(np.diagonal(both[:, 1:]) + 1e-300)
    matrix = both[:, 1:] * np.outer(scale, scale)
    multipliers = scale * np.linalg.lstsq(matrix, scale * both[:, 0], rcond=1e-14)[0]
    return free - by_row @ multipliers, multipliers


def _limited(knots: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Knots after the step, shortened so that no cell shrinks by more than a fixed share."""
    shrink = -np.diff(step) / np.diff(knots)
    return knots + step * min(1.0, _MAX_SHRINK / max(float(shrink.max()), 1e-300))


def _pieces(shape: Space, width: np.ndarray, local: np.ndarray) -> np.ndarray:
    """Coefficients in powers of x - t_k."""
    basis, h = _basis(shape.degree), width[:, None]
    return (local * h**basis.exponents) @ basis.powers / h ** np.arange(shape.degree + 1)


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
    width = np.diff(knots)
    banded, _, scale = _projection(shape, width, state.moments)
    cells = next(alternations(n))[:, 0]
    m, q = len(cells), shape.degree
    behind = _behind(shape, knots, cells) @ (scale[cells, :, None] * _basis(q).powers).mT
    rows = np.zeros((m, q, banded.shape[1]))
    for row, cell, by_unknowns in zip(rows, cells, behind, strict=True):
        row[:, cell * (shape.block - 1) :][:, : shape.size - 2] = by_unknowns
    flat = rows.reshape(m * q, -1)
    form = (flat @ _solve(banded, flat.T)).reshape(m, q, m, q).transpose(0, 2, 1, 3)
    value = np.einsum("kqj,kj->kq", behind, state.local[cells])
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
            A target whose square has no integral: what narrow cells hold of it only grows.
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
        if not heavy.any() or len(edges) > 20 * _MESH:
            break
        edges = np.sort(np.append(edges, (edges[:-1] + width / 2)[heavy]))
    narrow = width < 1e-7 * (b - a)
    if np.sum(size[narrow] ** 2) > 0.5 * np.sum(size**2):
        pole = edges[:-1][narrow][np.argmax(size[narrow])]
        raise ValueError(
            f"expected a target whose square has an integral on ({a:g}, {b:g}), {target.name} "
            f"grows without bound near {pole:.6g}"
        )
    # A floor keeps a share of the knots where the derivative happens to vanish.
    mass = mass + 0.05 * first * width / (b - a) if first else width
    share = np.concatenate([[0.0], np.cumsum(mass)]) / mass.sum()
    knots = np.interp(np.arange(n_cells + 1) / n_cells, share, edges)
    # At a jump all cells would fall together.
    share = np.cumsum(np.maximum(np.diff(knots), 1e-9 * (b - a)))
    return np.concatenate([[a], a + (b - a) * share[:-1] / share[-1], [b]])


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
