"""Lower bounds of the error of splines that must meet, wherever their knots lie.

Every knot lies in some cell of a fine grid, its *box*, of width delta and middle c. Let
p and q be the pieces that meet there, e_p and e_q their errors, d = q - p. The bound
comes in four steps.

1. **Potentials.** To the cost of a piece, the integral of its squared error, a linear
   function S of its value (and slope) at c is added for its left knot, and one is taken
   off for its right knot. In a chain of pieces S(q) - S(p) = S(d) is left of each knot,
   which is small, as d vanishes at the knot.
2. **Boxes.** A knot may lie anywhere in its box. There both pieces are charged, each
   for a little less than half of the box.
3. **Penalties.** What steps 1 and 2 may have added to a chain is at most a sum of
   squares of the two pieces' jets at c, and a constant. They are taken off again, so
   that a chain's costs are no more than the spline's squared error.
4. **Shortest path.** Each piece's least cost is now a least-squares problem of its own,
   and the least sum over all boxes a shortest path. At any knot S may be left out.

S may be any linear function; the multipliers of the best spline make a good one. A
*jet* is a derivative over its factorial, of a piece less the target.
"""

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from xsquared.functions import Target, interval_of
from xsquared.splines.density import sign_intervals
from xsquared.splines.free_knots import FreeKnotSpline
from xsquared.splines.pieces import End, Pairs, Quadratic, best_on_knots, piece_jets

#: The derivative r up to which pieces meet, by order k: lines, parabolas, C1 cubics.
CONTINUITY = {2: 0, 3: 0, 4: 1}
#: Boxes a piece, by order: what fits a minute at eleven pieces.
_BOXES = {2: 60, 3: 40, 4: 50}
#: Least eigenvalue of a piece's quadratic form: below it the piece is not linked.
_LEAST_EIGENVALUE = 0.02
#: What is taken off for rounding, which is not enclosed here: the forms are float64.
_MARGIN = 1e-6
#: The share nu of its box that a knot gives up, in boxes a cell. It costs nu e^2 of the
#: box against 0.3 (delta D)^2/nu that boxes charge too much; lines on equal cells of a
#: parabola have e = f'' h^2/12 at a knot and D = f'' h, so that about 6.6 is best.
_NU = 6.0
#: Shares of the best spline's multipliers that are tried as S.
_SHARES = (0.7, 1.0)
#: Penalties on squared jets that are tried, as shares of what a cell's own form has.
_PENALTIES = (0.01, 0.03)
#: What a link should gain, as shares of the squared error of a piece.
_GAINS = (0.3, 1.0)


@dataclass(frozen=True)
class _Potential:
    """S and its penalties in each of m boxes.

    S is ``slopes`` (m, k) times a piece's jets less the mean of the best spline's two,
    ``best`` (m, 2, k), left and right piece. ``share`` (m,) of a box is charged to
    either piece; ``form`` (m, k) times squares of the jets less ``best``, of either
    piece, and ``constant`` (m,) are taken off.
    """

    slopes: np.ndarray
    best: np.ndarray
    share: np.ndarray
    form: np.ndarray
    constant: np.ndarray


def _potential(
    pairs: Pairs,
    knots: np.ndarray,
    jets: np.ndarray,
    multipliers: np.ndarray,
    penalty: float,
) -> _Potential:
    """Choose S in every box, and find the penalties that keep the bound below.

    Jets (n - 1, 2, k) and multipliers (n - 1, r + 1) belong to the inner knots of
    ``knots`` (n + 1,). Any of them, any ``penalty`` > 0 and any nu between 0 and 1 make
    a valid bound. In a box of width delta and middle c, J and J' are the jets r + 1 and
    r + 2 of d at c.

    **How large d is.** Up to its derivative r it vanishes at the knot. Its derivative
    r + 1 over (r + 1)! is J + (r + 2) J' (x - c), and abs(x - c) <= delta/2, so in the
    box at most ``D = |J| + w |J'|``, w = (r + 2)/2 delta (no J' for lines). Integrated
    from the knot, ``|d| <= delta^(r+1) D``, and at c, no farther than delta/2 from the
    knot, ``|d(c)| <= delta/2 D`` for r = 0, and for r = 1 ``|d'(c)| <= delta D``, from
    which ``|d(c)| <= delta^2 D``. So ``|S(d)| <= gain D``.

    **How large D is.** J is that of the best spline plus x_q - x_p, the jets of the two
    pieces less the best spline's, so ``D <= K + |x_q - x_p| + w |x'_q - x'_p|`` with K
    the best spline's D.

    **What S adds.** Let Q be the sum of squares of x_p, x_q, w x'_p and w x'_q. As
    ``gain |x| <= omega x^2 + gain^2 / (4 omega)`` for each, ``gain D <= gain K +
    omega Q + terms gain^2 / (2 omega)``, with one term for lines, two for the others.

    **What boxes add.** Where p is charged, ``e_q = e_p + d``, and from ``2 e_p d <=
    t e_p^2 + d^2/t`` with t = 2 nu/(1 - nu) follows ``(1 - nu)/2 (e_p^2 + e_q^2) <=
    e_p^2 + d^2/(4 nu)``; the other way round where q is. So a share (1 - nu)/2 of the
    box for both pieces is too much by at most the integral of d^2/(4 nu), at most
    ``delta^(2r+3) D^2 / (4 nu)`` (a (2r + 3)-th of it would do). From ``(a + b + c)^2
    <= 3 a^2 + 3 b^2 + 3 c^2`` and ``(x_q - x_p)^2 <= 2 x_p^2 + 2 x_q^2`` follows
    ``D^2 <= 3 K^2 + 6 Q``; for lines, from ``(a + b)^2 <= 1.2 a^2 + 6 b^2``,
    ``D^2 <= 1.2 K^2 + 12 Q``.
    """
    k, delta = pairs.order, pairs.delta
    r = CONTINUITY[k]
    lines = k == r + 2
    terms = 1 if lines else 2
    known_squared, jets_squared = (1.2, 12.0) if lines else (3.0, 6.0)

    # In each box, h (the mean width of the cells that meet), S and the best jets are
    # interpolated between the inner knots beside it.
    inner = np.interp(knots[1:-1], pairs.grid, np.arange(pairs.m + 1))
    h = _spread((knots[2:] - knots[:-2]) / 2, inner, pairs.m)
    slopes = _spread(multipliers, inner, pairs.m)
    best = _spread(jets, inner, pairs.m)

    # omega: a share of the largest form that a cell of width h has in the jet r + 1.
    # A cell (0, 1) has 1/squared_jet, as y'y >= jet^2/squared_jet.
    zero = np.zeros(1)
    one = np.ones(1)
    squared_jet = np.sum(piece_jets(k, zero, one, one)[0, r + 1] ** 2)
    omega = penalty * h ** (2 * r + 3) / squared_jet
    nu = np.minimum(_NU * delta / h, 0.5)

    # K, the best spline's D.
    w = (r + 2) / 2 * delta
    jump = np.abs(best[:, 1] - best[:, 0])
    known = jump[:, r + 1]
    if not lines:
        known = known + w * jump[:, r + 2]
    if r == 0:
        gain = np.abs(slopes[:, 0]) * delta / 2
    else:
        gain = np.abs(slopes[:, 1]) * delta + np.abs(slopes[:, 0]) * delta**2
    # What boxes charge too much is at most ``overcharge`` times D^2.
    overcharge = delta ** (2 * r + 3) / nu / 4
    constant_of_potential = terms * gain**2 / (2 * omega) + gain * known
    constant_of_boxes = known_squared * overcharge * known**2
    # Q's coefficient: omega Q for S, jets_squared Q of the D^2 for the boxes.
    form = np.zeros((pairs.m, k))
    form[:, r + 1] = omega + jets_squared * overcharge
    if not lines:
        form[:, r + 2] = form[:, r + 1] * w**2
    return _Potential(
        slopes=np.pad(slopes, ((0, 0), (0, k - r - 1))),
        best=best,
        share=(1 - nu) / 2,
        form=form,
        constant=constant_of_potential + constant_of_boxes,
    )


def _spread(values: np.ndarray, inner: np.ndarray, m: int) -> np.ndarray:
    """Interpolate values (n - 1, ...) of inner knots, at grid places, to m boxes."""
    along = np.arange(m) + 0.5
    columns = values.reshape(len(values), -1).T
    spread = np.stack([np.interp(along, inner, column) for column in columns], axis=1)
    return spread.reshape(m, *values.shape[1:])


def _linked(end: End, potential: _Potential, right: bool) -> Quadratic:
    """Sum what a link adds to the pieces' squared errors at their left or right end.

    That is the share of the squared error in the box, plus S at the left end or minus S
    at the right one, minus the penalties. A piece is at its left end the right one of
    the two that meet there, and pays the constant; at its right end it is the left one.
    """
    box = end.box  # (p,)
    jets = end.jets  # (p, k, k), of the piece's jets ``jets @ y + offset``
    best = potential.best[box]  # (p, 2, k), left and right piece
    if right:
        sign_of_s = -1.0
        best_piece = best[:, 0]
        constant = 0.0
    else:
        sign_of_s = 1.0
        best_piece = best[:, 1]
        constant = potential.constant[box]
    slopes = sign_of_s * potential.slopes[box]
    share = potential.share[box]
    form = potential.form[box]
    form_times_jets = form[..., None] * jets
    # At y = 0, jets as the penalties and as S count them: (p, k).
    from_best_piece = end.offset - best_piece
    from_mean = end.offset - best.mean(axis=1)
    return Quadratic(
        matrix=share[:, None, None] * end.squared.matrix
        - np.einsum("pja,pjb->pab", jets, form_times_jets),
        slope=share[:, None] * end.squared.slope
        - np.einsum("pj,pja->pa", from_best_piece, form_times_jets)
        + np.einsum("pj,pja->pa", slopes, jets) / 2,
        value=share * end.squared.value
        - np.einsum("pj,pj->p", form, from_best_piece**2)
        + np.einsum("pj,pj->p", slopes, from_mean)
        - constant,
    )


def _costs(pairs: Pairs, potential: _Potential) -> dict[tuple[bool, bool], np.ndarray]:
    """Minimise each piece's cost, by whether its left and its right end are linked.

    Return (m + 1, m + 1) by left and right grid point. Where the form is not safely
    definite, or no knot is at that end, or the piece has no grid cell, -inf: no bound.
    """
    k, m = pairs.order, pairs.m
    left = _linked(pairs.left, potential, right=False)
    right = _linked(pairs.right, potential, right=True)
    alone = pairs.errors[pairs.first, pairs.last]
    costs = {(False, False): pairs.errors}
    for ends in ((True, True), (True, False), (False, True)):
        forms = [form for form, used in zip((left, right), ends, strict=True) if used]
        matrix = np.eye(k) + sum(form.matrix for form in forms)
        slope = np.asarray(sum(form.slope for form in forms))
        value = np.asarray(sum(form.value for form in forms)) + alone
        sound = np.linalg.eigvalsh(matrix)[:, 0] > _LEAST_EIGENVALUE
        if ends[0]:
            sound &= pairs.first > 0
        if ends[1]:
            sound &= pairs.last < m
        matrix[~sound] = np.eye(k)
        # The least of y'My + 2 s'y + v is v - s' M^-1 s.
        solved = np.linalg.solve(matrix, slope[..., None])[..., 0]
        least = value - np.einsum("pa,pa->p", slope, solved)
        costs[ends] = np.full((m + 1, m + 1), -np.inf)
        costs[ends][pairs.first, pairs.last] = np.where(sound, least, -np.inf)
    return costs


def _shortest(
    costs: dict[tuple[bool, bool], np.ndarray], pieces: int, wanted: float
) -> float:
    """Bound the squared error of chains of so many pieces by a shortest path.

    A chain of pieces up to a knot is *linked* there, so that its last piece and the
    next one count S, or *cut*. Both are valid, whatever decides; so three numbers a box
    say what chains cost at least that end there: ``linked`` ones, ``cut`` ones, and
    ``floor`` all, S left out at that knot. Costs are those of :func:`_costs`, by
    (linked to the left, linked to the right); :func:`_linked_and_cut` decides, by the
    squared error ``wanted`` that a link should gain.
    """
    m = len(costs[True, True]) - 1
    points = np.arange(m + 1)
    # Two knots in one box (right grid point before the left one) or in neighbours: such
    # a piece costs nothing, and links nothing.
    possible = points >= points[:, None] - 1
    # By the grid point at which the next piece begins.
    linked = np.full(m + 1, np.inf)
    cut = np.where(points == 0, 0.0, np.inf)
    floor = cut.copy()

    def with_piece(before: np.ndarray, ends: tuple[bool, bool]) -> np.ndarray:
        """Add a piece to chains (m + 1,): (m + 1, m + 1), by where it begins, ends."""
        reached = possible & (before < np.inf)[:, None]
        nothing = np.full((m + 1, m + 1), np.inf)
        return np.add(before[:, None], costs[ends], out=nothing, where=reached)

    def longer(right: bool) -> np.ndarray:
        """Bound chains with a piece more: they were linked or cut, and in any case."""
        after_link = with_piece(linked, (True, right))
        after_cut = with_piece(cut, (False, right))
        in_any_case = with_piece(floor, (False, right))
        return np.maximum(np.minimum(after_link, after_cut), in_any_case)

    for _ in range(pieces):
        if_linked, if_cut = longer(right=True), longer(right=False)
        floor = if_cut.min(axis=0)
        linked, cut = _linked_and_cut(if_linked, if_cut, wanted)
        total = float(floor[m])
        # A knot in the box behind a grid point: the next piece begins at the next one.
        linked, cut, floor = (
            np.concatenate([[np.inf], cost[:-1]]) for cost in (linked, cut, floor)
        )
    return total


def _linked_and_cut(
    if_linked: np.ndarray, if_cut: np.ndarray, wanted: float
) -> tuple[np.ndarray, np.ndarray]:
    """Link some of the chains in each column, cut the others: their least costs.

    Both arrays are (chains, columns). Linked are chains that then cost a threshold or
    more, which is one of these costs: the one that leaves the highest minimum of linked
    chains' costs and of cut chains' less ``wanted``. Impossible chains cost infinity; a
    threshold of infinity cuts all that are possible. Return (columns,) of the linked
    and of the cut ones, infinite where there are none.
    """
    ascending = if_linked.argsort(axis=0)
    thresholds = np.take_along_axis(if_linked, ascending, axis=0)
    # Of the chains below each threshold, which would be cut, the cheapest.
    cheapest_cut = np.take_along_axis(if_cut, ascending, axis=0)
    cheapest_cut = np.minimum.accumulate(cheapest_cut, axis=0)
    none = np.full((1, if_cut.shape[1]), np.inf)
    cheapest_cut = np.concatenate([none, cheapest_cut[:-1]])
    worth = np.minimum(thresholds, cheapest_cut - wanted)
    best = worth.argmax(axis=0, keepdims=True)
    is_linked = if_linked >= np.take_along_axis(thresholds, best, axis=0)
    linked = np.where(is_linked, if_linked, np.inf).min(axis=0)
    cut = np.where(is_linked, np.inf, if_cut).min(axis=0)
    return linked, cut


def meeting_lower_bound(target: Target, order: int, spline: FreeKnotSpline) -> float:
    """Bound the RMSE of splines of as many pieces as one has, by its multipliers.

    Orders are 2, continuous lines, 3, continuous parabolas, and 4, cubics with a
    continuous slope, of at least two pieces; the target is analytic. The spline is the
    best one known: for any other the bound holds, too, but is low.
    """
    pieces = len(spline.knots) - 1
    grid = sign_intervals(target, order).mesh(_BOXES[order] * pieces)
    pairs = Pairs(target, order, grid)
    jets, multipliers = best_on_knots(target, order, CONTINUITY[order], spline.knots)
    length = float(np.ptp(interval_of(target)))
    a_piece = spline.rmse**2 * length / pieces
    choices = list(product(_SHARES, _PENALTIES, _GAINS))
    if order == 2:
        choices = choices[:1]  # lines hardly need S: any does
    squares = [0.0]
    for share, penalty, gain in choices:
        potential = _potential(pairs, spline.knots, jets, share * multipliers, penalty)
        squares.append(_shortest(_costs(pairs, potential), pieces, gain * a_piece))
    bound = (math.sqrt(max(squares)) - pairs.away) / math.sqrt(length) * (1 - _MARGIN)
    return max(bound, 0.0)
