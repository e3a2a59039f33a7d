"""Splines with free knots in the limit of infinite data: variable projection in one
dimension.

The loss is an integral, taken by Gauss-Legendre nodes that move with the cells: on a
fixed grid it has a kink whenever a knot passes a point. For fixed knots the best
coefficients solve a banded linear system; damped Newton steps go in knots and
coefficients together. At a fixed x a piece's derivatives by its knots are polynomials
of its own degree, so second derivatives need only the moments of the error. Where the
directions of gates are given, the polynomial behind all gates has to be constant
(:mod:`xsquared.networks_1d.directions`): one Lagrange multiplier per power.

Reference: Golub and Pereyra, SIAM J. Numer. Anal. 10 (1973), for variable projection.
"""

from collections import namedtuple
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from xsquared.functions import Target
from xsquared.levenberg_marquardt import Status, dampings
from xsquared.quadrature import LEAST_NODES, gauss_legendre
from xsquared.splines import spaces
from xsquared.splines.spaces import Space

#: Largest share of its width that a cell may lose in one step: knots never cross.
_MAX_SHRINK = 0.5
#: Least width of a cell, as a share of the interval: at a jump cells would shrink for
#: ever.
_LEAST_WIDTH = 1e-10
#: How a fit descends: :func:`xsquared.levenberg_marquardt.dampings`.
_DAMPING = {
    "damping": 1e-3,
    "lowered": 3.0,
    "stall": 1e-7,
    "floor": 0.0,
    "rounding": 1e-13,
}


@cache
def _by_knots(shape: Space) -> np.ndarray:
    """Place 2 m + 4 numbers in a cell's matrix (size, size), m unknowns but its knots.

    Those of left knot and each of the m, of right knot and each; left twice, both,
    right twice; 0.
    """
    m, ends, columns = len(shape.columns), np.array([0, shape.block]), shape.columns
    made = np.full((shape.size, shape.size), 2 * m + 3)
    made[ends[:, None], columns] = np.arange(2 * m).reshape(2, m)
    made[columns[:, None], ends] = np.arange(2 * m).reshape(2, m).T
    made[ends[:, None], ends] = 2 * m + np.array([[0, 1], [1, 2]])
    return made


@cache
def _rule(degree: int, count: int) -> tuple[np.ndarray, ...]:
    """Make nodes, weights (q,), powers (d + 1, q), these by weights (q, d + 1), ends
    (q, 2).
    """
    (xi, weights), least = gauss_legendre(count), min(count, 10)
    legendre = np.polynomial.legendre.legvander(2 * xi - 1, least - 1)
    to_ends = np.polynomial.legendre.legvander(np.array([-1.0, 1.0]), least - 1)
    ends = (legendre * weights[:, None] * (2 * np.arange(least) + 1)) @ to_ends.T
    powers = xi ** np.arange(degree + 1)[:, None]
    return xi, weights, powers, (powers * weights).T.copy(), ends


@dataclass(frozen=True)
class FreeKnotSpline:
    """A fitted spline on ascending knots (n + 1,), a local minimum, and how the fit
    went.

    Its pieces are (n, degree + 1) coefficients in powers of x - t_k, the constant
    first. Gates at inner knots open in directions (n - 1,), 1 to the right and -1 to
    the left, and the polynomial behind them is constant; None: nothing is asked of it.
    """

    knots: np.ndarray
    pieces: np.ndarray
    rmse: float
    iterations: int
    status: Status
    directions: np.ndarray | None = None

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The spline's values at points of the interval."""
        cell = np.searchsorted(self.knots[1:-1], x, side="right")
        s = x - self.knots[cell]
        return sum(self.pieces[cell, j] * s**j for j in range(self.pieces.shape[1]))


def fit_free_knots(
    f: Target,
    shape: Space,
    knots: np.ndarray,
    max_iterations: int = 300,
) -> FreeKnotSpline:
    """Fit a spline by variable projection from the given knots (n + 1,), strictly
    ascending; with no iterations they stay.
    """
    return fit_stacked(f, shape, knots[None], max_iterations, None)[0]


def fit_stacked(
    target: Target,
    shape: Space,
    starts: np.ndarray,
    limit: int,
    directions: np.ndarray | None,
) -> list[FreeKnotSpline]:
    """Fit from each of the starts (s, n + 1), in step: arrays of many cells cost little
    more.
    """
    signs = (
        np.empty((len(starts), 0))
        if directions is None
        else spaces.ungated_signs(directions)
    )
    model, limit = Model(target, shape), limit * (starts.shape[1] > 2)
    state = model.project(starts.copy(), signs)
    if not np.isfinite(state.loss).all():
        raise FloatingPointError(f"the loss is {state.loss.max()} at the start")
    linear: Any = model.linearise(state) if limit else None
    runs = [
        dampings(loss, limit, patience=1, **_DAMPING) for loss in state.loss.tolist()
    ]
    said = [next(run) for run in runs]
    while (rows := np.flatnonzero([damping for damping, *_ in said])).size:
        tried = np.array([said[k][0] for k in rows])
        trial = model.attempt(_taken(state, rows), _taken(linear, rows), tried)
        lower = np.flatnonzero(trial.loss < state.loss[rows])
        if lower.size:
            kept = _taken(trial, lower)
            for old, new in zip(
                (*state, *linear), (*kept, *model.linearise(kept)), strict=True
            ):
                old[rows[lower]] = new
        for k, loss in zip(rows.tolist(), trial.loss.tolist(), strict=True):
            said[k] = runs[k].send(loss)
    pieces = spaces.to_powers(shape, np.diff(state.knots), state.local)
    ways = [None] * len(starts) if directions is None else directions
    ends = zip(
        state.knots, pieces, np.sqrt(state.loss).tolist(), said, ways, strict=True
    )
    return [
        FreeKnotSpline(t, c, rmse, *word[1:], way) for t, c, rmse, word, way in ends
    ]


#: Projected points, stacked: signs (s, n) of the condition, or (s, 0) for none of its d
#: rows, local coefficients (s, n, m), integrals (s, n, d + 1) of the error times powers
#: of xi, jumps of the slope times it, multipliers (s, d), what makes the rows (s, n, d,
#: d + 1), mean square errors.
State = namedtuple("State", "knots signs local moments jumps multipliers behind loss")
#: Newton's systems there, and what multiplies a damping at each inner knot.
Linear = namedtuple("Linear", "banded slopes condition scale")


def _taken(state: Any, rows: np.ndarray) -> Any:
    """Those of the stack."""
    return (
        state
        if len(rows) == len(state[0])
        else type(state)(*(part[rows] for part in state))
    )


@dataclass(frozen=True)
class Model:
    """The problem to project; with signs, the signed sum of cells' polynomials is
    constant.
    """

    target: Target
    shape: Space

    def project(self, t: np.ndarray, signs: np.ndarray) -> State:
        """The best coefficients for fixed knots."""
        shape, width, degree = self.shape, t[:, 1:] - t[:, :-1], self.shape.degree
        basis, n = spaces.local_basis(degree), width.shape[1]
        count = max(degree + spaces.EXTRA_NODES, -(-LEAST_NODES // n))
        xi, weights, powers, weighted, ends = _rule(degree, count)
        values = self.target(t[:, :-1, None] + xi * width[..., None])
        banded, right, scale = spaces.projection(shape, width, values @ weighted)
        behind = np.empty((len(t), n, 0, degree + 1))
        if signs.size:
            behind = spaces.ungated_polynomial(shape, t) * signs[..., None, None]
        rows = behind @ (scale[..., None] * basis.powers).mT
        condition = spaces.spread_rows(rows, shape.block - 1)
        solution, multipliers = spaces.solve_conditioned(banded, right, condition)
        local = solution[:, spaces.unknowns_of(n, shape.block - 1, shape.size - 2)]
        pieces = (local * scale) @ basis.powers
        error = pieces @ powers - values
        loss = (width * (error**2 @ weights)).sum(axis=1) / (t[:, -1] - t[:, 0])
        jumps = np.zeros((len(t), n - 1))
        if not shape.smoothness:
            at = error @ ends
            left = pieces[:, :-1] @ np.arange(degree + 1) / width[:, :-1]
            jumps = (
                (at[:, :-1, 1] + at[:, 1:, 0])
                / 2
                * (pieces[:, 1:, 1] / width[:, 1:] - left)
            )
        moments = error @ weighted * width[..., None]
        return State(t, signs, local, moments, jumps, multipliers, behind, loss)

    def linearise(self, state: State) -> Linear:
        """Newton's systems, for knots and coefficients together."""
        shape, block, width = self.shape, self.shape.block, np.diff(state.knots)
        count, n = width.shape
        basis, derivatives, scale = spaces.local_derivatives(shape, width, state.local)
        root = derivatives @ basis.root
        hessian = (width[..., None, None] * root) @ root.mT
        gradient = (derivatives @ state.moments[..., None])[..., 0]
        rows = state.behind @ derivatives.mT
        # In these cells the condition, times its multipliers, adds to the loss.
        functional = (
            state.moments + (state.multipliers[:, None, None] @ state.behind)[:, :, 0]
        )
        moving = (functional @ basis.moving).reshape(count, n, 5, -1)
        once = (scale / width[..., None])[:, :, None] * moving[:, :, :2]
        twice = (moving[:, :, 2:] @ (state.local * scale)[..., None])[..., 0]
        more = [
            once.reshape(count, n, -1),
            twice / width[..., None] ** 2,
            np.zeros((count, n, 1)),
        ]
        hessian += np.concatenate(more, axis=2).take(_by_knots(shape), axis=2)
        hessian[:, 1:, 0, 0] += state.jumps
        for cell, knot in ((0, 0), (-1, block)):
            hessian[:, cell, knot] = hessian[:, cell, :, knot] = rows[
                :, cell, :, knot
            ] = 0.0
            hessian[:, cell, knot, knot], gradient[:, cell, knot] = 1.0, 0.0
        banded, slopes = spaces.assemble_banded(hessian, gradient, block)
        # Scaled as for log widths, so that steps stay bounded where the loss hardly
        # depends on one.
        room = np.minimum(width[:, :-1], width[:, 1:]) ** 2
        size = (np.abs(banded[:, 0, block:-block:block]) * room).max(
            axis=1, keepdims=True
        )
        return Linear(banded, slopes, spaces.spread_rows(rows, block), size / room)

    def attempt(self, state: State, linear: Linear, damping: np.ndarray) -> State:
        """The states after Newton's damped steps; an infinite loss where there are
        none.
        """
        t, block, damped = state.knots, self.shape.block, linear.banded.copy()
        damped[:, 0, block:-block:block] += damping[:, None] * linear.scale
        step = spaces.solve_conditioned(damped, -linear.slopes, linear.condition)[0][
            :, ::block
        ]
        # No cell shrinks by more than a fixed share.
        shrink = ((step[:, :-1] - step[:, 1:]) / (t[:, 1:] - t[:, :-1])).max(axis=1)
        moved = (
            t
            + step * np.minimum(1.0, _MAX_SHRINK / np.maximum(shrink, 1e-300))[:, None]
        )
        wide = (moved[:, 1:] - moved[:, :-1]).min(axis=1) >= _LEAST_WIDTH * (
            t[:, -1] - t[:, 0]
        )
        trial = self.project(np.where(wide[:, None], moved, t), state.signs)
        trial.loss[~wide] = np.inf
        return trial
