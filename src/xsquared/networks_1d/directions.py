"""In which directions gates open, so that n neurons carry n + 1 cells.

Where gates at the knots inside open to either side, no neuron is left for the
polynomial behind them all, which has to be constant (book/paper.md, Eq. (inside)). It
is ``sum_k s_k p_k`` over the cells' polynomials p_k, where s_k = left_(k-1) - left_k
and left_k is 1 for a gate that opens to the left, else 0 (1 before the first gate, 0
beyond the last). Which directions cost least is decided for knots that stay.

Whether any will do as n grows is a linear programme. With a share chi(t) of gates that
open to the left at every place t that polynomial is constant if, for j = 1, ..., k - 1,
``f^(j)(a) + int chi(t) f^(k)(t) (a - t)^(k-1-j)/(k-1-j)! dt = 0``. Vectors of such
integrals fill a zonoid (a sum of segments): whether one lies in it is decided.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from xsquared.functions import Target, interval_of
from xsquared.quadrature import on_cells
from xsquared.splines import spaces
from xsquared.splines.free_knots import Model
from xsquared.units import Unit, space

#: Gates all of whose directions are compared at a time: 256 choices in one stack.
_BLOCK = 8
#: Draws of such a block in a wide network; the best choice goes on from each.
_ROUNDS = 4
#: Cells, evenly spread, of which three are combined first: 816 choices.
_SPREAD = 16
#: Cells to either side of the best three that are combined next.
_NEAR = 2
#: Least eigenvalue of a scaled condition, so that dependent powers can be solved for.
_LEAST = 1e-13
#: Cells on whose Gauss-Legendre nodes the derivative of order k is taken.
_NODE_CELLS = 250
#: Bound of tau, for the zonoid's middle: shares are then 1/2 to nine digits.
_LARGEST_TAU = 1e9
#: Least tau, for vectors of which no multiple lies inside.
_LEAST_TAU = 1e-9


def best_directions(
    f: Target, unit: str | Unit, knots: np.ndarray, count: int
) -> list[np.ndarray]:
    """Choose directions of the gates at the inner knots for which a fit loses least.

    Of up to eight gates all choices are compared, the one away from the best cell
    first. Of more gates three cells are combined, then blocks of eight gates are turned
    in the best choice so far and in roundings of the shares of `depth`.

    Args:
        f: what the spline approximates.
        unit: whose splines they are.
        knots: (n + 1,) of the best spline, ends included.
        count: how many choices, at most.

    Returns:
        Arrays (n - 1,) of 1, open to the right, and -1, the cheapest first but for that
        of few cells, which is the first.
    """
    costs = _Costs.of_spline(f, unit, knots)
    gates = len(knots) - 2
    if gates <= _BLOCK:
        away_from_a_cell = np.tri(gates + 1, gates, -1, dtype=int)
        choices = [
            costs.ranked(away_from_a_cell)[0],
            *costs.ranked(_all_choices(gates)),
        ]
    else:
        choices = _wide_choices(costs, gates, count)
    distinct = dict.fromkeys(tuple(choice.tolist()) for choice in choices)
    return [1 - 2 * np.array(choice, dtype=int) for choice in distinct][:count]


def _all_choices(gates: int) -> np.ndarray:
    """List all choices (2^gates, gates), 1 where a gate opens to the left, else 0."""
    return np.arange(2**gates)[:, None] >> np.arange(gates) & 1


def _wide_choices(costs: "_Costs", gates: int, count: int) -> list[np.ndarray]:
    """Search the choices (gates,) of many gates, 1 where a gate opens to the left."""
    rng = np.random.default_rng(gates + 1)
    cells = np.linspace(0, gates, _SPREAD).astype(int)
    for _ in range(2):
        triples = itertools.combinations_with_replacement(np.unique(cells), 3)
        # (triples, 3, gates): whether a gate lies beyond a cell of the triple.
        beyond = np.arange(gates) >= np.array(list(triples))[:, :, None]
        # Directions turn at each of the three cells.
        of_three = costs.ranked(1 - beyond.sum(axis=1) % 2)[0]
        turns = np.flatnonzero(np.diff(of_three, prepend=1, append=0))
        near = turns[:, None] + np.arange(-_NEAR, _NEAR + 1)
        cells = near.clip(0, gates)
    # Any stretch of gates has as many that open to the left as its shares add up to.
    shares = depth(np.diff(costs.values, axis=0), -costs.values[0])[1].clip(0, 1)
    offsets = np.arange(0.0, 1.0, 2 / count)
    sums = np.append(0.0, shares.cumsum()) + offsets[:, None]
    roundings = np.diff(np.floor(sums)).astype(int)
    every = _all_choices(_BLOCK)
    refined = []
    for best in np.vstack([of_three[None], roundings]):
        for _ in range(_ROUNDS):
            turned = np.tile(best, (len(every), 1))
            turned[:, rng.permutation(gates)[:_BLOCK]] = every
            cheapest = costs.ranked(turned)[:count]
            refined += [*cheapest]
            best = cheapest[0]
    return [of_three, *costs.ranked(np.array(refined))]


@dataclass(frozen=True)
class _Costs:
    """What it costs a least-squares spline to have a constant behind its gates.

    Coefficients c of the spline minimise ``(c - c0)' M (c - c0)`` about the best c0.
    The polynomial behind all gates has q coefficients ``B c``, constant aside, with
    ``B = sum_k s_k B_k`` over the cells. Where they vanish the error has grown by
    ``v' (B M^-1 B')^-1 v``, ``v = B c0 = sum_k s_k v_k``.

    Attributes:
        values: (n, q), the v_k = B_k c0.
        rounding: (n,), of the largest of their terms.
        form: (n, n, q, q), the blocks B_k M^-1 B_l'.
    """

    values: np.ndarray
    rounding: np.ndarray
    form: np.ndarray

    @classmethod
    def of_spline(cls, f: Target, unit: str | Unit, knots: np.ndarray) -> "_Costs":
        """Set up the costs at the knots (n + 1,) of a spline."""
        shape = space(unit)
        n, q = len(knots) - 1, shape.degree
        state = Model(f, shape).project(knots[None], np.empty((1, 0)))
        local = state.local[0]  # (n, m)
        banded, _, scale = spaces.projection(shape, np.diff(knots), state.moments[0])
        powers = spaces.ungated_polynomial(shape, knots)  # (n, q, q + 1)
        maps = powers @ (scale[:, :, None] * spaces.local_basis(q).powers).mT
        values = np.einsum("kqj,kj->kq", maps, local)  # v_k = B_k c0
        terms = np.finfo(float).eps * np.abs(local)
        rounding = np.einsum("kqj,kj->k", np.abs(maps), terms)
        # Row (k, q) has B_k at the unknowns of cell k and zeros elsewhere.
        each_cell = np.eye(n)[:, :, None, None] * maps
        rows = spaces.spread_rows(each_cell, shape.block - 1).reshape(n * q, -1)
        form = rows @ spaces.solve_banded(banded, rows.T)  # B_k M^-1 B_l'
        return cls(values, rounding, form.reshape(n, q, n, q).transpose(0, 2, 1, 3))

    def ranked(self, choices: np.ndarray) -> np.ndarray:
        """Sort choices (m, n - 1), 1 where a gate opens to the left, by their cost."""
        # (m, n), the s_k.
        signs = -np.diff(choices.astype(float), prepend=1, append=0)
        half = np.tensordot(signs, self.form, (1, 0))
        matrix = np.einsum("sk,skqr->sqr", signs, half)  # B M^-1 B'
        # Each row and column over the root of its diagonal: powers differ in size.
        size = np.sqrt(np.einsum("sqq->sq", matrix)) + 1e-300
        matrix = matrix / (size[:, :, None] * size[:, None])
        matrix = matrix + _LEAST * np.eye(matrix.shape[-1])
        vector = signs @ self.values / size
        solution = np.linalg.solve(matrix, vector[..., None])[..., 0]
        growth = np.einsum("sq,sq->s", vector, solution)
        cost = growth + (np.abs(signs) @ self.rounding) ** 2
        return choices[np.argsort(cost, kind="stable")]


def depth(masses: np.ndarray, wanted: np.ndarray) -> tuple[float, np.ndarray]:
    """Solve for shares chi (m,) with ``chi @ masses = wanted``, far from 0 and from 1.

    Masses are (m, q), what is wanted (q,). With ``chi = 1/2 + z / tau`` the condition
    is ``z @ masses = tau (wanted - sum of masses / 2)``: the largest tau with
    ``|z| <= 1/2`` has the shares that are farthest from 0 and 1. Return also their
    distance from these: at most 1/2, below zero where no shares between 0 and 1 will
    do. Where masses are of sizes too different for the programme, no shares are known:
    they are 1/2, at -inf.
    """
    # Rows of one size each.
    size = np.abs(masses).sum(axis=0) + np.abs(wanted) + 1e-300
    scaled = masses / size
    aim = (wanted - masses.sum(axis=0) / 2) / size
    rows = np.column_stack([scaled.T, -aim])
    bounds = [(-0.5, 0.5)] * len(masses) + [(0.0, _LARGEST_TAU)]
    cost = -np.eye(len(bounds))[-1]
    solution = linprog(cost, A_eq=rows, b_eq=np.zeros(len(aim)), bounds=bounds)
    if solution.x is None:
        return -math.inf, np.full(len(masses), 0.5)
    z, tau = solution.x[:-1], max(float(solution.x[-1]), _LEAST_TAU)
    return 0.5 - 0.5 / tau, 0.5 + z / tau


def network_depth(target: Target, order: int) -> float:
    """Return how deep a target lies in its zonoid: above zero inside, below outside.

    For splines of order k = 2, 3 or 4; inside, n neurons carry best splines of n + 1
    cells.
    """
    a, b = interval_of(target)
    nodes, weights = on_cells(np.linspace(a, b, _NODE_CELLS + 1))
    nodes, weights = nodes.ravel(), weights.ravel()
    weighed = target.derivative(order)(nodes) * weights
    masses, wanted = [], []
    for j in range(1, order):
        power = order - 1 - j
        masses.append(weighed * (a - nodes) ** power / math.factorial(power))
        wanted.append(-float(target.derivative(j)(np.array(a))))
    return depth(np.array(masses).T, np.array(wanted))[0]
