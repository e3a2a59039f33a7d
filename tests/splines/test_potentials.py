"""Bounds for splines that meet: below every spline, whatever the potentials, and close.

The inequality behind them is minimised exactly: for a knot at a given place, what two
linked pieces count in its box is a quadratic function of their coefficients.
"""

import math

import numpy as np
import pytest

from xsquared.functions import target
from xsquared.quadrature import gauss_legendre
from xsquared.splines.bounds import lower_bounds
from xsquared.splines.constants import least_squares_spline_rmse
from xsquared.splines.free_knots import fit_free_knots
from xsquared.splines.optimal_knots import optimal_knots
from xsquared.splines.pieces import Pairs, best_on_knots, target_jets
from xsquared.splines.potentials import (
    CONTINUITY,
    _costs,
    _linked,
    _potential,
    _shortest,
    meeting_lower_bound,
)
from xsquared.units import space

F = target("sin(4*x)")
#: The nodes that integrate over a part of a box: of errors of degree 3 and of F.
RULE = gauss_legendre(12)


@pytest.mark.parametrize(
    ("order", "unit", "close", "gain"), [(2, "mlp", 1.05, 0.98), (3, "glu", 1.25, 1.2)]
)
def test_the_bound_is_close_to_the_best_spline_and_above_that_of_pieces(
    order: int, unit: str, close: float, gain: float
) -> None:
    start = optimal_knots(F, order, 4, CONTINUITY[order]).knots
    spline = fit_free_knots(F, space(unit), start)
    found, bound = spline.rmse, meeting_lower_bound(F, order, spline)
    assert bound < found < close * bound
    assert bound > gain * lower_bounds(F, order, 4)[-1]
    draw = np.random.default_rng(0)
    for _ in range(20):
        knots = np.concatenate([[-1], np.sort(draw.uniform(-1, 1, 3)), [1]])
        assert fit_free_knots(F, space(unit), knots, max_iterations=0).rmse > bound


@pytest.mark.parametrize("order", [2, 3, 4])
def test_whatever_the_potentials_no_spline_is_below_the_bound(order: int) -> None:
    draw, continuity = np.random.default_rng(order), CONTINUITY[order]
    pairs = Pairs(F, order, np.linspace(-1, 1, 121))
    best = 2 * least_squares_spline_rmse(F, order, 4, continuity) ** 2
    knots = np.linspace(-1, 1, 5)
    jets, multipliers = best_on_knots(F, order, continuity, knots)
    for _ in range(6):
        wild = multipliers * draw.normal(size=multipliers.shape)
        off = jets * draw.uniform(0.5, 1.5, size=jets.shape)
        potential = _potential(pairs, knots, off, wild, draw.uniform(0.01, 0.2))
        costs = _costs(pairs, potential)
        assert _shortest(costs, 4, draw.uniform(0, 1) * best / 4) < best


def test_boxes_take_off_what_two_lines_may_be_charged_too_much() -> None:
    """Without S: lines that part by J (x - knot), the knot at an end of its box.

    What two errors e and e + d have of (1 - nu)/2 of both squares beyond e^2 is largest
    at e = (1 - nu) d/(2 nu): (1 - nu^2) d^2/(4 nu).
    """
    pairs = Pairs(F, 2, np.linspace(-1, 1, 91))
    knots = np.linspace(-1, 1, 4)
    jets, multipliers = best_on_knots(F, 2, 0, knots)
    potential = _potential(pairs, knots, jets, 0 * multipliers, 0.03)
    nu = 1 - 2 * potential.share
    slope = potential.best[:, 1, 1] - potential.best[:, 0, 1]
    worst = (1 - nu**2) / (4 * nu) * slope**2 * pairs.delta**3 / 3
    assert (worst <= potential.constant).all()
    assert (potential.constant <= 4 * worst).all()


@pytest.mark.parametrize("place", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_linked_pieces_count_no_more_than_their_box_holds(
    order: int, scale: float, place: float
) -> None:
    """Minimise the true integral less what is counted over all pieces that meet."""
    r, box = CONTINUITY[order], 40
    pairs = Pairs(F, order, np.linspace(-1, 1, 91))
    knots = np.linspace(-1, 1, 4)
    jets, multipliers = best_on_knots(F, order, r, knots)
    # Without S nothing but the boxes has a penalty.
    penalty = 0.03 if scale else 1e-9
    potential = _potential(pairs, knots, jets, scale * multipliers, penalty)
    edges = pairs.grid[box : box + 2]
    middle = edges.mean()
    knot = edges[0] + place * (edges[1] - edges[0])
    before = int(np.flatnonzero((pairs.first == 10) & (pairs.last == box))[0])
    after = int(np.flatnonzero((pairs.first == box + 1) & (pairs.last == 80))[0])
    of_target = target_jets(F, order, middle)

    def joint(matrix: np.ndarray, side: int) -> np.ndarray:
        return np.pad(matrix, ((0, 0), (side * order, (1 - side) * order)))

    hessian = np.zeros((2 * order, 2 * order))
    slope, constant = np.zeros(2 * order), 0.0
    conditions, jumps = np.zeros((r + 1, 2 * order)), np.zeros(r + 1)
    sides = (
        (before, pairs.right, True, edges[0], knot, -1.0),
        (after, pairs.left, False, knot, edges[1], 1.0),
    )
    for side, (pair, end, right, start, stop, sign) in enumerate(sides):
        # The piece's Taylor coefficients at the middle are jets @ y + at_rest.
        at_rest = end.offset[pair] + of_target
        nodes, weights = start + (stop - start) * RULE[0], (stop - start) * RULE[1]
        powers = (nodes[:, None] - middle) ** np.arange(order)
        basis = joint(powers @ end.jets[pair], side)
        rest = F(nodes) - powers @ at_rest
        counted = _linked(end, potential, right)
        hessian += basis.T @ (weights[:, None] * basis)
        slope -= basis.T @ (weights * rest)
        constant += weights @ rest**2 - counted.value[pair]
        part = slice(side * order, (side + 1) * order)
        hessian[part, part] -= counted.matrix[pair]
        slope[part] -= counted.slope[pair]
        # Derivatives up to r at the knot, by Taylor coefficients.
        taylor = np.array(
            [
                [
                    math.comb(j, i) * (knot - middle) ** max(j - i, 0)
                    for j in range(order)
                ]
                for i in range(r + 1)
            ]
        )
        conditions += sign * joint(taylor @ end.jets[pair], side)
        jumps += sign * taylor @ at_rest
    special = -np.linalg.pinv(conditions) @ jumps
    free = np.linalg.svd(conditions)[2][r + 1 :].T
    reduced = free.T @ hessian @ free
    tilt = free.T @ (slope + hessian @ special)
    size = np.abs(hessian).max()
    assert np.linalg.eigvalsh(reduced)[0] > -1e-12 * size
    least = special @ hessian @ special + 2 * slope @ special + constant
    least -= tilt @ np.linalg.lstsq(reduced, tilt, rcond=1e-9)[0]
    assert least > -1e-10


@pytest.mark.parametrize("order", [2, 3, 4])
def test_jets_and_multipliers_are_those_of_the_best_spline(order: int) -> None:
    continuity, knots = CONTINUITY[order], np.array([-1, -0.4, 0.1, 0.5, 1])
    jets, multipliers = best_on_knots(F, order, continuity, knots)
    free = continuity + 1
    np.testing.assert_allclose(jets[:, 0, :free], jets[:, 1, :free], atol=1e-9)
    assert np.abs(jets[:, 0, free] - jets[:, 1, free]).min() > 1e-4
    assert multipliers.shape == (3, free)
