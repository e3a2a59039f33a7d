"""Lower bounds of the error of splines that must meet, wherever their knots lie.

Every knot lies in some cell of a fine grid, its box. To its left piece a potential is
added, from its right piece one is taken off: functions of the piece's value, slope, ...
at the box's middle, by which no pair of pieces that meet in the box gains. So the sum
over a chain is no more than the spline's squared error; each piece is a least-squares
problem, and the least sum over all boxes is a shortest path. At any knot the potential
may be cut off, at the price of the least that the pieces before it cost. Multipliers of
the best spline make good potentials; a bound holds for any.
"""

import math
from itertools import product

import numpy as np
from numpy.polynomial import legendre

from xsquared.functions import Target, interval_of
from xsquared.quadrature import gauss_legendre
from xsquared.splines.bounds import least_errors
from xsquared.splines.density import sign_intervals
from xsquared.splines.enclosures import enclosed
from xsquared.splines.free_knots import FreeKnotSpline

#: By order: derivatives that are continuous, the weight of the second jet in what a
#: jump can be, and the squared norm of the first jet that may jump, on a cell of width
#: one.
_SPACES = {2: (0, 0.0, 12.0), 3: (0, 1.0, 192.0), 4: (1, 1.5, 6480.0)}
#: Boxes a piece, by order; how far the forms may be from degenerate; what rounding may
#: take.
_BOXES, _LEAST, _MARGIN = {2: 60, 3: 40, 4: 50}, 0.02, 1e-6
#: Shares tried: of the multipliers, of the form that penalties take, of what a link
#: should gain.
_TRIED = tuple(product((0.7, 1.0), (0.01, 0.03), (0.3, 1.0)))


def _jets(
    order: int, left: np.ndarray, width: np.ndarray, at: np.ndarray
) -> np.ndarray:
    """(..., k, k) derivatives over j! of cells' orthonormal polynomials, at one place
    each.
    """
    z, q = 2 * (at - left) / width - 1, np.arange(order)
    rows = [
        legendre.legvander(z, order)[..., :order]
        @ np.pad(legendre.legder(np.eye(order), j, axis=1), ((0, 0), (0, j)))[
            :, :order
        ].T
        * ((2 / width) ** j / math.factorial(j))[..., None]
        for j in range(order)
    ]
    return (
        np.stack(rows, axis=-2) * np.sqrt((2 * q + 1) / width[..., None])[..., None, :]
    )


def _own(target: Target, order: int, places: np.ndarray) -> np.ndarray:
    """(..., k) the target's own jets, which those of pieces are counted from."""
    parts = [target.derivative(j)(places) / math.factorial(j) for j in range(order)]
    return np.stack(parts, axis=-1)


class _Pairs:
    """Every interval between two grid points as a cell: its best polynomial, and the
    boxes beside.

    Polynomials are counted from that best one, in orthonormal coordinates.
    """

    def __init__(self, target: Target, order: int, grid: np.ndarray) -> None:
        m, count = len(grid) - 1, order + 3
        values, self.away = enclosed(target, grid, count)
        self.grid, self.order, self.m = grid, order, m
        self.errors = least_errors(values, order, grid, m)
        self.first, self.last = np.triu_indices(m + 1, 1)
        self.boxes = np.maximum(self.first - 1, 0), np.minimum(self.last, m - 1)
        self.delta, self.middle = np.diff(grid), (grid[1:] + grid[:-1]) / 2
        xi, weights = gauss_legendre(count)
        points = grid[:-1, None] + self.delta[:, None] * xi
        weights = self.delta[:, None] * weights
        left, width = grid[self.first], grid[self.last] - grid[self.first]
        fitted = np.zeros((m + 1, m + 1, order))
        windows = np.lib.stride_tricks.sliding_window_view
        for cells in range(1, m + 1):
            a = np.arange(m + 1 - cells)
            h = (grid[cells:] - grid[:-cells])[:, None]
            z = (
                2
                * (windows(points.ravel(), cells * count)[::count] - grid[a, None])
                / h
                - 1
            )
            fitted[a, a + cells] = np.einsum(
                "ij,ijq->iq",
                windows((values * weights).ravel(), cells * count)[::count],
                legendre.legvander(z, order - 1),
            ) * np.sqrt((2 * np.arange(order) + 1) / h)
        fitted = fitted[self.first, self.last]
        self.sides = []
        for box in self.boxes:
            jets = _jets(order, left, width, self.middle[box])
            at = [_jets(order, left, width, points[box, i])[:, 0] for i in range(count)]
            basis = np.stack(at, axis=1)
            rest = values[box] - np.einsum("pcq,pq->pc", basis, fitted)
            weighed = weights[box][..., None] * basis
            inside = (
                np.einsum("pca,pcb->pab", basis, weighed),
                -np.einsum("pc,pca->pa", rest, weighed),
                np.sum(weights[box] * rest**2, axis=1),
            )
            off = (
                np.einsum("pjq,pq->pj", jets, fitted)
                - _own(target, order, self.middle)[box]
            )
            self.sides.append((jets, off, inside))


def _best(
    target: Target, order: int, continuity: int, knots: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of the best spline with given knots: (n - 1, 2, k) jets of its error, and its
    multipliers.
    """
    n, free = len(knots) - 1, continuity + 1
    nodes, weights = gauss_legendre(30)
    left, h = knots[:-1], np.diff(knots)
    ends = _jets(order, left, h, left), _jets(order, left, h, knots[1:])
    basis = _jets(
        order, left[:, None], h[:, None] + 0 * nodes, left[:, None] + h[:, None] * nodes
    )
    values = target(left[:, None] + h[:, None] * nodes)
    fitted = np.einsum(
        "ci,cij->cj", values * weights * h[:, None], basis[..., 0, :]
    ).ravel()
    meets = np.zeros((n - 1, free, n, order))
    for i in range(n - 1):
        meets[i, :, i], meets[i, :, i + 1] = ends[1][i, :free], -ends[0][i + 1, :free]
    rows = meets.reshape(free * (n - 1), -1)
    multipliers = np.linalg.lstsq(rows @ rows.T, rows @ fitted)[0]
    made = (fitted - rows.T @ multipliers).reshape(n, order)
    pieces = (ends[1][:-1], made[:-1]), (ends[0][1:], made[1:])
    jets = np.stack(
        [np.einsum("cjq,cq->cj", end, piece) for end, piece in pieces], axis=1
    )
    return jets - _own(target, order, knots[1:-1])[:, None], -2 * multipliers.reshape(
        n - 1, free
    )


def _costs(
    pairs: _Pairs,
    knots: np.ndarray,
    jets: np.ndarray,
    multipliers: np.ndarray,
    penalty: float,
) -> dict[tuple[bool, bool], np.ndarray]:
    """(m + 1, m + 1) least of each cell, by whether its left and its right end are
    linked.

    Let d be the difference of two pieces that meet in a box of width delta, as smooth
    as asked for, J its first jet that may jump, J' the next. There |d| and the
    potential's gain are at most multiples of |J| + w delta |J'|, by the mean value
    theorem. Forms of both pieces' own jets, less those of the best spline, stand above
    the square of it.
    """
    k, m, delta = pairs.order, pairs.m, pairs.delta
    r, second, norm = _SPACES[k]
    where = np.interp(knots[1:-1], pairs.grid, np.arange(m + 1))
    along = np.arange(m) + 0.5

    def spread(values: np.ndarray) -> np.ndarray:
        flat = values.reshape(len(values), -1)
        made = np.stack([np.interp(along, where, column) for column in flat.T], axis=1)
        return made.reshape(m, *values.shape[1:])

    h, g, best = spread((knots[2:] - knots[:-2]) / 2), spread(multipliers), spread(jets)
    omega = penalty * h ** (2 * r + 3) / norm
    near = np.minimum(6 * delta / h, 0.5)
    gain = np.abs(g[:, 0]) * delta / 2 if r == 0 else np.abs(g) @ [0, 1] * delta
    gain = gain if r == 0 else gain + np.abs(g[:, 0]) * delta**2
    jump = np.abs(best[:, 1] - best[:, 0])
    known = jump[:, r + 1] + (second * delta * jump[:, r + 2] if second else 0)
    apart = delta ** (2 * r + 3) / near
    # (a + b)^2 <= 1.2 a^2 + 6 b^2, or (a + b + c)^2 <= 3 (a^2 + b^2 + c^2).
    parts = (0.75, 1.5) if second else (0.3, 3.0)
    constant = (
        gain**2 / omega * (1 if second else 0.5)
        + gain * known
        + parts[0] * apart * known**2
    )
    form = np.zeros((m, k))
    form[:, r + 1] = omega + parts[1] * apart
    if second:
        form[:, r + 2] = form[:, r + 1] * (second * delta) ** 2
    ends_of = []
    for side, box, sign in ((1, pairs.boxes[0], 1.0), (0, pairs.boxes[1], -1.0)):
        to_jets, values, inside = pairs.sides[1 - side]
        off, weighed = values - best[box, side], form[box][..., None] * to_jets
        share = (1 - near[box]) / 2
        linear = sign * np.pad(g, ((0, 0), (0, k - r - 1)))[box]
        ends_of.append((
            share[:, None, None] * inside[0] - np.einsum("pja,pjb->pab", to_jets, weighed),
            share[:, None] * inside[1] - np.einsum("pj,pja->pa", off, weighed)
            + np.einsum("pj,pja->pa", linear, to_jets) / 2,
            share * inside[2] - np.einsum("pj,pj->p", form[box], off**2)
            + np.einsum("pj,pj->p", linear, values - best[box].mean(axis=1))
            - (constant[box] if side else 0),
        ))  # fmt: skip
    made = {(False, False): pairs.errors}
    for ends in ((True, True), (True, False), (False, True)):
        used = [part for part, linked in zip(ends_of, ends, strict=True) if linked]
        square = np.eye(k) + sum(part[0] for part in used)
        slope = np.asarray(sum(part[1] for part in used))
        sound = np.linalg.eigvalsh(square)[:, 0] > _LEAST
        sound &= ((pairs.first > 0) | (not ends[0])) & (
            (pairs.last < m) | (not ends[1])
        )
        square[~sound] = np.eye(k)
        least = (
            np.asarray(sum(part[2] for part in used))
            + pairs.errors[pairs.first, pairs.last]
        )
        least -= np.einsum(
            "pa,pa->p", slope, np.linalg.solve(square, slope[..., None])[..., 0]
        )
        made[ends] = np.full((m + 1, m + 1), -np.inf)
        made[ends][pairs.first, pairs.last] = np.where(sound, least, -np.inf)
    return made


def _shortest(
    costs: dict[tuple[bool, bool], np.ndarray], pieces: int, wanted: float
) -> float:
    """The least squared error of so many pieces.

    What the pieces before a knot cost is at least the lesser one of ``linked`` plus the
    potential and ``cut``, and at least ``floor``. A cell's end is linked where that is
    worth ``wanted``.
    """
    m = len(costs[True, True]) - 1
    # A piece with both ends in one box, or in neighbours, costs nothing and links
    # nothing.
    possible = np.arange(m + 1) >= np.arange(m + 1)[:, None] - 1
    linked = np.full(m + 1, np.inf)
    cut = np.where(np.arange(m + 1) == 0, 0.0, np.inf)
    floor = cut.copy()

    def plus(before: np.ndarray, ends: tuple[bool, bool]) -> np.ndarray:
        there = possible & (before < np.inf)[:, None]
        nothing = np.full((m + 1, m + 1), np.inf)
        return np.add(before[:, None], costs[ends], out=nothing, where=there)

    def extended(right: bool) -> np.ndarray:
        either = np.minimum(plus(linked, (True, right)), plus(cut, (False, right)))
        return np.maximum(either, plus(floor, (False, right)))

    for _ in range(pieces):
        joined, apart = extended(True), extended(False)
        floor = apart.min(axis=0)
        # Of the thresholds above which an end is linked, the one that leaves most.
        order = joined.argsort(axis=0)
        levels = np.take_along_axis(joined, order, axis=0)
        others = np.minimum.accumulate(np.take_along_axis(apart, order, axis=0), axis=0)
        others = np.vstack([np.full(m + 1, np.inf), others[:-1]])
        worth = np.minimum(levels, others - wanted)
        best = np.where(np.isnan(worth), -np.inf, worth).argmax(axis=0)[None]
        threshold = np.take_along_axis(levels, best, axis=0)
        linked = np.where(joined >= threshold, joined, np.inf).min(axis=0)
        cut = np.where(joined >= threshold, np.inf, apart).min(axis=0)
        end = float(floor[m])
        linked, cut, floor = (
            np.concatenate([[np.inf], a[:-1]]) for a in (linked, cut, floor)
        )
    return end


def meeting_lower_bound(target: Target, order: int, spline: FreeKnotSpline) -> float:
    """Bound the RMSE of splines of as many pieces as one has, by its multipliers.

    Orders are 2, continuous lines, 3, continuous parabolas, and 4, cubics with a
    continuous slope, of at least two pieces; the target is analytic. The spline is the
    best one known: for any other the bound holds, too, but is low.
    """
    pieces = len(spline.knots) - 1
    grid = sign_intervals(target, order).mesh(_BOXES[order] * pieces)
    pairs = _Pairs(target, order, grid)
    jets, multipliers = _best(target, order, _SPACES[order][0], spline.knots)
    length, least = float(np.ptp(interval_of(target))), 0.0
    # Lines hardly need the potentials: any does.
    for share, penalty, gain in _TRIED[: 1 if order == 2 else None]:
        costs = _costs(pairs, spline.knots, jets, share * multipliers, penalty)
        least = max(
            least, _shortest(costs, pieces, gain * spline.rmse**2 * length / pieces)
        )
    bound = (math.sqrt(least) - pairs.away) / math.sqrt(length) * (1 - _MARGIN)
    return max(bound, 0.0)
