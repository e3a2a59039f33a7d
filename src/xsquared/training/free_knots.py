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

References:
    Golub and Pereyra, SIAM J. Numer. Anal. 10 (1973), for variable projection; Kaufman, BIT 15
    (1975), for the Jacobian; Barrow and Smith, Quart. Appl. Math. 36 (1978), for the asymptotic
    density of optimal knots.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from scipy.linalg import LinAlgError, solveh_banded

from xsquared.functions import Target
from xsquared.quadrature import LEAST_NODES, gauss_legendre
from xsquared.units import Unit, find_unit

#: Highest relative change of a cell's width in one step: knots never cross, nor merge in one step.
_MAX_SHRINK = 0.5
#: A step that lowers the loss by less than this fraction counts as no progress.
_STALL = 1e-7
#: Damping beyond which no step lowers the loss any more: a stationary point to rounding.
_MAX_DAMPING = 1e12
#: Nodes per cell beyond the degree, so that the quadrature error stays below the error measured.
_EXTRA_NODES = 6


@dataclass(frozen=True)
class Space:
    """A space of piecewise polynomials.

    Attributes:
        degree: degree of the pieces.
        smoothness: derivatives that are continuous at the knots: 0 or 1.
    """

    degree: int
    smoothness: int

    @property
    def shared(self) -> int:
        """Coefficients per knot: the value, and the slope where it is continuous."""
        return self.smoothness + 1

    @property
    def inner(self) -> int:
        """Coefficients per cell that no other cell shares: the bubble of the quadratic."""
        return self.degree + 1 - 2 * self.shared


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
    """

    knots: np.ndarray
    pieces: np.ndarray
    rmse: float
    iterations: int
    gradient: float
    status: Literal["converged", "iterations"]


def fit_free_knots(
    target: Target,
    unit: str | Unit,
    knots: np.ndarray,
    max_iterations: int = 300,
    flat_cell: int | None = None,
) -> FreeKnotSpline:
    """Fit a spline by variable projection from the given knots.

    Args:
        target: a function of one variable with a first derivative.
        unit: whose space to fit.
        knots: (n + 1,) strictly ascending start, its ends those of the target's domain.
        max_iterations: at least 0; with 0 the given knots stay and only coefficients are fitted.
        flat_cell: index of a cell on which the fitted function is constant (linear pieces only): the
            price at which n neurons have n knots inside the interval, hence n + 1 cells.

    Raises:
        ValueError: a unit that :func:`space` refuses, a target of several variables, knots that are
            not such, a negative number of iterations, or a flat cell where there can be none.
        FloatingPointError: the loss is not finite at the start.
    """
    shape = space(unit)
    t = _checked_knots(target, knots)
    if max_iterations < 0:
        raise ValueError(f"max_iterations must be at least 0, got {max_iterations}")
    if flat_cell is not None and (shape.degree > 1 or not 0 <= flat_cell < len(t) - 1):
        raise ValueError(
            f"expected flat_cell among linear cells 0 to {len(t) - 2}, "
            f"got {flat_cell} of degree {shape.degree}"
        )
    state = _project(target, shape, t, flat_cell)
    if not np.isfinite(state.loss):
        raise FloatingPointError(f"the loss is {state.loss} at the start")
    damping, stalled, iterations = 1e-3, 0, 0
    while iterations < max_iterations and stalled < 3 and state.loss > 0 and len(t) > 2:
        iterations += 1
        step = _knot_step(shape, state, damping)
        moved = None if step is None else _limited(state.knots, step)
        trial = None if moved is None else _project(target, shape, moved, flat_cell)
        if trial is None or not trial.loss < state.loss:
            damping *= 4
            if damping > _MAX_DAMPING:
                break
            continue
        stalled = stalled + 1 if state.loss - trial.loss < _STALL * state.loss else 0
        state = trial
        damping = max(damping / 3, 1e-12)
    gradient = _relative_gradient(shape, state)
    return FreeKnotSpline(
        state.knots,
        _pieces(shape, state),
        float(np.sqrt(state.loss)),
        iterations,
        gradient,
        "iterations" if iterations == max_iterations and max_iterations > 0 else "converged",
    )


@dataclass(frozen=True)
class _State:
    """A projected point: knots, the best coefficients for them, residuals and their Jacobian."""

    knots: np.ndarray
    local: np.ndarray
    residual: np.ndarray
    jacobian: np.ndarray
    loss: float
    flat_cell: int | None


def _project(target: Target, shape: Space, t: np.ndarray, flat_cell: int | None = None) -> _State:
    """The best coefficients for fixed knots, and the Jacobian in knots and coefficients there."""
    width = np.diff(t)
    count = max(shape.degree + _EXTRA_NODES, -(-LEAST_NODES // len(width)))
    xi, weights, constant, linear = _reference(shape.degree, count)
    x = t[:-1, None] + xi * width[:, None]
    value, slope = target(x), target.numpy(1)(x)
    root = np.sqrt(weights * width[:, None] / (t[-1] - t[0]))
    basis = constant + linear * width[:, None, None]
    block = 1 + shape.shared + shape.inner
    size = block + 1 + shape.shared
    # Columns of a cell: its left knot, shared and inner coefficients, its right knot and shared.
    columns = np.array([*range(1, block), *range(block + 1, size)])
    jacobian = np.zeros((*x.shape, size))
    jacobian[..., columns] = root[..., None] * basis
    banded, gradient = _normal_equations(shape, jacobian, -root * value)
    _fix(banded, gradient, np.arange(len(t)) * block)
    if flat_cell is not None:
        _fold(banded, gradient, flat_cell)
    solution = _solve(banded, -gradient)
    if flat_cell is not None:
        solution[2 * flat_cell + 3] = solution[2 * flat_cell + 1]
    local = _gather(solution, len(width), block, size)[:, columns]
    fitted = np.einsum("kqj,kj->kq", basis, local)
    residual = root * (fitted - value)
    by_width = np.einsum("qj,kj->kq", linear, local)
    half = residual / (2 * width[:, None])
    jacobian[..., 0] = -half + root * (-by_width - slope * (1 - xi))
    jacobian[..., block] = half + root * (by_width - slope * xi)
    return _State(t, local, residual, jacobian, float(np.sum(residual**2)), flat_cell)


def _normal_equations(
    shape: Space, jacobian: np.ndarray, residual: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """J'J in lower banded form and J'r, assembled from the cells' contiguous columns.

    The band has one row more than the cells need: the room that a flat cell takes.
    """
    n, _, size = jacobian.shape
    block = 1 + shape.shared + shape.inner
    total = n * block + 1 + shape.shared
    gram = np.einsum("kqi,kqj->kij", jacobian, jacobian)
    local = np.einsum("kqi,kq->ki", jacobian, residual)
    banded, gradient = np.zeros((size + 1, total)), np.zeros(total)
    for j in range(size):
        gradient[j : j + n * block : block] += local[:, j]
        for i in range(j, size):
            banded[i - j, j : j + n * block : block] += gram[:, i, j]
    return banded, gradient


def _fix(banded: np.ndarray, gradient: np.ndarray, indices: np.ndarray) -> None:
    """Take unknowns out of a banded system, in place: their step is zero."""
    banded[:, indices] = 0.0
    for distance in range(1, len(banded)):
        banded[distance, indices[indices >= distance] - distance] = 0.0
    banded[0, indices] = 1.0
    gradient[indices] = 0.0


def _fold(banded: np.ndarray, gradient: np.ndarray, flat_cell: int) -> None:
    """Give both ends of an MLP's flat cell one value: add the right end's row to the left end's."""
    left, right = 2 * flat_cell + 1, 2 * flat_cell + 3
    gradient[left] += gradient[right]
    banded[0, left] += 2 * banded[2, left] + banded[0, right]
    banded[1, left - 1] += banded[3, left - 1]
    banded[1, left] += banded[1, left + 1]
    for distance in (1, 2):
        banded[distance + 2, left] += banded[distance, right]
    _fix(banded, gradient, np.array([right]))


def _solve(banded: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve the symmetric banded system after scaling its diagonal to one."""
    scale = 1 / np.sqrt(banded[0])
    scaled = banded * scale
    for distance in range(len(banded)):
        scaled[distance, : len(scale) - distance] *= scale[distance:]
    return scale * solveh_banded(scaled, scale * right, lower=True, check_finite=False)


def _gather(solution: np.ndarray, n: int, block: int, size: int) -> np.ndarray:
    """The unknowns of every cell, (n, size), out of the global vector."""
    return solution[np.arange(n)[:, None] * block + np.arange(size)]


def _knot_step(shape: Space, state: _State, damping: float) -> np.ndarray | None:
    """The Levenberg-Marquardt step of the inner knots; None where the system is singular."""
    block = 1 + shape.shared + shape.inner
    banded, gradient = _normal_equations(shape, state.jacobian, state.residual)
    places = np.arange(len(state.knots)) * block
    inner = places[1:-1]
    # Damping in units of the cells' widths, as if log widths were the variables, and no less than
    # a multiple of the largest entry: directions that the projection has emptied stay bounded.
    room = np.minimum(np.diff(state.knots)[:-1], np.diff(state.knots)[1:])
    banded[0, inner] += damping * np.max(banded[0, inner] * room**2) / room**2
    _fix(banded, gradient, places[[0, -1]])
    if state.flat_cell is not None:
        _fold(banded, gradient, state.flat_cell)
    try:
        return _solve(banded, -gradient)[places]
    except LinAlgError:
        return None


def _limited(knots: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Knots after the step, shortened so that no cell shrinks by more than a fixed share."""
    shrink = -np.diff(step) / np.diff(knots)
    return knots + step * min(1.0, _MAX_SHRINK / max(float(shrink.max()), 1e-300))


def _relative_gradient(shape: Space, state: _State) -> float:
    block = 1 + shape.shared + shape.inner
    _, gradient = _normal_equations(shape, state.jacobian, state.residual)
    if len(state.knots) < 3 or state.loss == 0:
        return 0.0
    width = np.diff(state.knots)
    inner = 2 * gradient[np.arange(1, len(state.knots) - 1) * block]
    return float(np.max(np.abs(inner) * np.minimum(width[:-1], width[1:])) / state.loss)


def _pieces(shape: Space, state: _State) -> np.ndarray:
    """Coefficients in powers of x - t_k."""
    h = np.diff(state.knots)[:, None]
    c = state.local
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


def equidistributed_knots(target: Target, order: int, n_cells: int) -> np.ndarray:
    """Knots of the asymptotically optimal density, ``abs(f^(k))^s`` with s = 1/(k + 1/2).

    Args:
        target: a function of one variable with ``order`` derivatives.
        order: k, the order of convergence.
        n_cells: number of cells, at least 1.

    Returns:
        (n_cells + 1,) knots. Where the derivative vanishes identically they are equidistant.

    Raises:
        ValueError: several variables, or fewer than one cell.
    """
    if target.dim != 1:
        raise ValueError(f"expected a target of one variable, {target.name} has {target.dim}")
    if n_cells < 1:
        raise ValueError(f"n_cells must be at least 1, got {n_cells}")
    x = np.linspace(*target.domain[0], 4001)
    density = np.abs(target.numpy(order)(x)) ** (1 / (order + 0.5))
    # A floor keeps a share of the knots where the derivative happens to vanish.
    density = density + 0.05 * density.mean() if density.any() else np.ones_like(x)
    mass = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return np.interp(np.linspace(0, mass[-1], n_cells + 1), mass, x)


def _checked_knots(target: Target, knots: np.ndarray) -> np.ndarray:
    if target.dim != 1:
        raise ValueError(f"expected a target of one variable, {target.name} has {target.dim}")
    t = np.array(knots, dtype=np.float64)
    if t.ndim != 1 or len(t) < 2 or not np.isfinite(t).all() or not (np.diff(t) > 0).all():
        raise ValueError(f"expected at least 2 strictly ascending knots, got shape {t.shape}")
    if (t[0], t[-1]) != target.domain[0]:
        raise ValueError(f"knots must span {target.domain[0]}, got ({t[0]:g}, {t[-1]:g})")
    return t
