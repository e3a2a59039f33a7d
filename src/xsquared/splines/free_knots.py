"""Splines with free knots in the limit of infinite data: variable projection in one dimension.

The loss is an integral, taken by Gauss-Legendre nodes that move with the cells: on a fixed grid it
has a kink whenever a knot passes a point. For fixed knots the best coefficients solve a banded
linear system; damped Newton steps go in knots and coefficients together. At a fixed x a piece's
derivatives by its knots are polynomials of its own degree, so second derivatives need only the
moments of the error. Where the directions of gates are given, the polynomial behind all gates has
to be constant (:mod:`xsquared.training.directions`): one Lagrange multiplier per power.

Reference: Golub and Pereyra, SIAM J. Numer. Anal. 10 (1973), for variable projection.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from scipy.linalg import LinAlgError

from xsquared.functions import Target
from xsquared.levenberg_marquardt import descend
from xsquared.quadrature import LEAST_NODES, gauss_legendre
from xsquared.splines import spaces
from xsquared.splines.spaces import Space

#: Largest share of its width that a cell may lose in one step: knots never cross.
_MAX_SHRINK = 0.5
#: Least width of a cell, as a share of the interval: at a jump cells would shrink for ever.
LEAST_WIDTH = 1e-10
#: How a fit descends: :func:`xsquared.levenberg_marquardt.descend`.
_DAMPING = {"damping": 1e-3, "lowered": 3.0, "stall": 1e-7, "floor": 0.0, "rounding": 1e-13}


@cache
def _by_knots(shape: Space) -> np.ndarray:
    """Place 2 m + 4 numbers in a cell's matrix (size, size), m unknowns but its knots.

    Those of left knot and each of the m, of right knot and each; left twice, both, right twice; 0.
    """
    m, ends, columns = len(shape.columns), np.array([0, shape.block]), shape.columns
    made = np.full((shape.size, shape.size), 2 * m + 3)
    made[ends[:, None], columns] = np.arange(2 * m).reshape(2, m)
    made[columns[:, None], ends] = np.arange(2 * m).reshape(2, m).T
    made[ends[:, None], ends] = 2 * m + np.array([[0, 1], [1, 2]])
    return made


@cache
def _rule(degree: int, count: int) -> tuple[np.ndarray, ...]:
    """Make nodes, weights (q,), powers (d + 1, q), these by weights (q, d + 1), ends (q, 2)."""
    (xi, weights), least = gauss_legendre(count), min(count, 10)
    legendre = np.polynomial.legendre.legvander(2 * xi - 1, least - 1)
    to_ends = np.polynomial.legendre.legvander(np.array([-1.0, 1.0]), least - 1)
    ends = (legendre * weights[:, None] * (2 * np.arange(least) + 1)) @ to_ends.T
    powers = xi ** np.arange(degree + 1)[:, None]
    return xi, weights, powers, (powers * weights).T.copy(), ends


@dataclass(frozen=True)
class FreeKnotSpline:
    """A fitted spline on ascending knots (n + 1,), a local minimum, and how the fit went.

    Its pieces are (n, degree + 1) coefficients in powers of x - t_k, the constant first. Gates at
    inner knots open in directions (n - 1,), 1 to the right and -1 to the left, and the polynomial
    behind them is constant; None: nothing is asked of it.
    """

    knots: np.ndarray
    pieces: np.ndarray
    rmse: float
    iterations: int
    status: Literal["converged", "iterations"]
    directions: np.ndarray | None = None

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The spline's values at points of the interval."""
        cell = np.searchsorted(self.knots[1:-1], x, side="right")
        s = x - self.knots[cell]
        return sum(self.pieces[cell, j] * s**j for j in range(self.pieces.shape[1]))


def fit_free_knots(
    target: Target,
    shape: Space,
    knots: np.ndarray,
    max_iterations: int = 300,
    directions: np.ndarray | None = None,
) -> FreeKnotSpline:
    """Fit a spline by variable projection from the given knots (n + 1,), strictly ascending.

    Directions (n - 1,) as in :class:`FreeKnotSpline`; with no iterations the knots stay.
    """
    signs = None if directions is None else spaces.ungated_signs(directions)
    model = Model(target, shape, signs)
    state = model.project(knots)
    if not np.isfinite(state.loss):
        raise FloatingPointError(f"the loss is {state.loss} at the start")
    limit = max_iterations if len(knots) > 2 else 0
    *_, (state, iterations, status) = descend(state, model.linearise, limit, **_DAMPING)
    pieces = spaces.to_powers(shape, np.diff(state.knots), state.local)
    error = math.sqrt(state.loss)
    return FreeKnotSpline(state.knots, pieces, error, iterations, status, directions)


@dataclass(frozen=True)
class State:
    """A projected point: knots, best coefficients (n, m) in the local bases, and mean square error.

    Moments (n, d + 1) are integrals of the error times powers of xi, jumps (n - 1,) the error times
    the slope's jump, multipliers (d,) the condition's; ``behind`` (cells, d, d + 1) makes its rows.
    """

    knots: np.ndarray
    local: np.ndarray
    moments: np.ndarray
    jumps: np.ndarray
    multipliers: np.ndarray
    behind: np.ndarray
    loss: float


@dataclass(frozen=True)
class Model:
    """The problem to project; with signs, the signed sum of cells' polynomials is constant."""

    target: Target
    shape: Space
    signs: np.ndarray | None

    def project(self, t: np.ndarray) -> State:
        """The best coefficients for fixed knots."""
        shape, width = self.shape, t[1:] - t[:-1]
        basis = spaces.local_basis(shape.degree)
        count = max(shape.degree + spaces.EXTRA_NODES, -(-LEAST_NODES // len(width)))
        xi, weights, powers, weighted, ends = _rule(shape.degree, count)
        values = self.target(t[:-1, None] + xi * width[:, None])
        banded, right, scale = spaces.projection(shape, width, values @ weighted)
        behind, condition = np.empty(0), None
        if self.signs is not None:
            cells = np.flatnonzero(self.signs)
            behind = spaces.ungated_polynomial(shape, t, cells) * self.signs[cells, None, None]
            rows = behind @ (scale[cells, :, None] * basis.powers).mT
            condition = spaces.spread_rows(rows, cells, shape.block - 1, len(width))
        solution, multipliers = spaces.solve_conditioned(banded, right, condition)
        local = solution[spaces.unknowns_of(len(width), shape.block - 1, shape.size - 2)]
        pieces = (local * scale) @ basis.powers
        error = pieces @ powers - values
        loss = float(width @ (error**2 @ weights)) / (t[-1] - t[0])
        jumps = np.zeros(len(width) - 1)
        if not shape.smoothness:
            at = error @ ends
            left = pieces[:-1] @ np.arange(shape.degree + 1) / width[:-1]
            jumps = (at[:-1, 1] + at[1:, 0]) / 2 * (pieces[1:, 1] / width[1:] - left)
        moments = error @ weighted * width[:, None]
        return State(t, local, moments, jumps, multipliers, behind, loss)

    def linearise(self, state: State) -> Callable[[float], State | None]:
        """Return a function from a damping to the state after Newton's step, or to None."""
        shape, t = self.shape, state.knots
        width, n, block = t[1:] - t[:-1], len(t) - 1, shape.block
        basis, derivatives, scale = spaces.local_derivatives(shape, width, state.local)
        root = (derivatives.reshape(-1, shape.degree + 1) @ basis.root).reshape(derivatives.shape)
        hessian = (width[:, None, None] * root) @ root.mT
        gradient = np.matmul(derivatives, state.moments[:, :, None])[:, :, 0]
        functional, condition = state.moments, None
        if self.signs is not None:
            cells = np.flatnonzero(self.signs)
            rows = state.behind @ derivatives[cells].mT
            # In these cells the condition, times its multipliers, adds to the loss.
            functional = state.moments.copy()
            functional[cells] += state.multipliers @ state.behind
        moving = (functional @ basis.moving).reshape(n, 5, -1)
        once = (scale / width[:, None])[:, None] * moving[:, :2]
        twice = (moving[:, 2:] @ (state.local * scale)[:, :, None])[:, :, 0] / width[:, None] ** 2
        more = np.concatenate([once.reshape(n, -1), twice, np.zeros((n, 1))], axis=1)
        hessian += more.take(_by_knots(shape), axis=1)
        hessian[1:, 0, 0] += state.jumps
        for cell, knot in ((0, 0), (-1, block)):
            hessian[cell, knot] = hessian[cell, :, knot] = 0.0
            hessian[cell, knot, knot], gradient[cell, knot] = 1.0, 0.0
        if self.signs is not None:
            rows[cells == 0, :, 0] = 0.0
            rows[cells == n - 1, :, block] = 0.0
            condition = spaces.spread_rows(rows, cells, block, n)
        banded, total = spaces.assemble_banded(hessian, gradient, block)
        places = np.arange(n + 1) * block
        inner = places[1:-1]
        # Scaled as for log widths, so that steps stay bounded where the loss hardly depends on one.
        room = np.minimum(width[:-1], width[1:])
        size = (np.abs(banded[0, inner]) * room**2).max() / room**2

        def attempt(damping: float) -> State | None:
            damped = banded.copy()
            damped[0, inner] += damping * size
            try:
                step = spaces.solve_conditioned(damped, -total, condition)[0][places]
                # No cell shrinks by more than a fixed share.
                shrink = float(((step[:-1] - step[1:]) / width).max())
                moved = t + step * min(1.0, _MAX_SHRINK / max(shrink, 1e-300))
                narrow = float((moved[1:] - moved[:-1]).min()) < LEAST_WIDTH * (t[-1] - t[0])
                return None if narrow else self.project(moved)
            except LinAlgError:
                return None

        return attempt
