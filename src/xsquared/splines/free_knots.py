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
    signs = np.empty((len(starts), 0))
    if directions is not None:
        signs = spaces.ungated_signs(directions)
    model, limit = Model(target, shape), limit * (starts.shape[1] > 2)
    state = model.project(starts.copy(), signs)
    if not np.isfinite(state.loss).all():
        raise FloatingPointError(f"the loss is {state.loss.max()} at the start")
    descents = [
        dampings(loss, limit, patience=1, **_DAMPING) for loss in state.loss.tolist()
    ]
    # Of each descent the next damping, or 0 at its end, iterations and status.
    answers = [next(descent) for descent in descents]
    ends = points = model.linearise(state)
    rows = np.arange(len(starts))  # the descents that stand at these points
    while (damping := np.array([answers[k][0] for k in rows])).any():
        if not damping.all():
            going = np.flatnonzero(damping)
            ends = _replaced(ends, rows, points)
            points, rows, damping = _taken(points, going), rows[going], damping[going]
        moved = model.step(points, damping)
        possible = np.flatnonzero(~np.isnan(moved[:, 0]))
        loss = np.full(len(rows), np.inf)
        if possible.size:
            trial = model.project(moved[possible], points.signs[possible])
            loss[possible] = trial.loss
        lower = np.flatnonzero(loss[possible] < points.loss[possible])
        if lower.size:
            new = model.linearise(_taken(trial, lower))
            points = _replaced(points, possible[lower], new)
        for k, reached in zip(rows.tolist(), loss.tolist(), strict=True):
            answers[k] = descents[k].send(reached)
    ends = _replaced(ends, rows, points)
    pieces = spaces.to_powers(shape, np.diff(ends.knots), ends.local)
    ways = [None] * len(starts) if directions is None else directions
    columns = (ends.knots, pieces, np.sqrt(ends.loss).tolist(), answers, ways)
    return [
        FreeKnotSpline(t, c, rmse, *answer[1:], way)
        for t, c, rmse, answer, way in zip(*columns, strict=True)
    ]


#: Projected points, stacked: signs (s, n) of the condition, or (s, 0) for none of its d
#: rows, local coefficients (s, n, m), integrals (s, n, d + 1) of the error times powers
#: of xi, jumps of the slope times it, multipliers (s, d), what makes the rows (s, n, d,
#: d + 1), mean square errors.
State = namedtuple("State", "knots signs local moments jumps multipliers behind loss")
#: Points with Newton's systems there, and what multiplies a damping at each inner knot.
Linearised = namedtuple(
    "Linearised", "knots signs local loss banded slopes condition scale"
)


def _taken(stack: Any, rows: np.ndarray) -> Any:
    """Take these rows of a stack."""
    if len(rows) == len(stack[0]):
        return stack
    return type(stack)(*(part[rows] for part in stack))


def _replaced(stack: Any, rows: np.ndarray, new: Any) -> Any:
    """Put new ones into these rows of a stack, in place where others stay."""
    if len(rows) == len(stack[0]):
        return new
    for part, values in zip(stack, new, strict=True):
        part[rows] = values
    return stack


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

    def linearise(self, state: State) -> Linearised:
        """Set up Newton's systems, for knots and coefficients together."""
        shape, block, t = self.shape, self.shape.block, state.knots
        width = t[:, 1:] - t[:, :-1]
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
        # One cell has no inner knot.
        size = (np.abs(banded[:, 0, block:-block:block]) * room).max(
            axis=1, keepdims=True, initial=0.0
        )
        systems = (banded, slopes, spaces.spread_rows(rows, block), size / room)
        return Linearised(t, state.signs, state.local, state.loss, *systems)

    def step(self, points: Linearised, damping: np.ndarray) -> np.ndarray:
        """Take Newton's damped steps; return knots, NaN where there is no step."""
        t, block, damped = points.knots, self.shape.block, points.banded.copy()
        damped[:, 0, block:-block:block] += damping[:, None] * points.scale
        solution, _ = spaces.solve_conditioned(damped, -points.slopes, points.condition)
        step = solution[:, ::block]
        # No cell shrinks by more than a fixed share.
        shrink = ((step[:, :-1] - step[:, 1:]) / (t[:, 1:] - t[:, :-1])).max(axis=1)
        share = np.minimum(1.0, _MAX_SHRINK / np.maximum(shrink, 1e-300))
        moved = t + step * share[:, None]
        narrowest = (moved[:, 1:] - moved[:, :-1]).min(axis=1)
        wide = narrowest >= _LEAST_WIDTH * (t[:, -1] - t[:, 0])
        moved[~wide] = np.nan
        return moved
