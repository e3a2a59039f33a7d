"""In which directions gates open, so that n neurons carry n + 1 cells.

Where gates at the knots inside open to either side, no neuron is left for the
polynomial behind them all, which has to be constant (book/paper.md, Eq. (inside)). It
is ``sum_k s_k p_k`` over the cells' polynomials p_k, where s_k = left_(k-1) - left_k
and left_k is 1 for a gate that opens to the left, else 0 (1 before the first gate, 0
beyond the last). Which directions cost least is decided for knots that stay.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from xsquared.functions import Target
from xsquared.splines import spaces
from xsquared.splines.free_knots import Model
from xsquared.splines.zonoid import depth
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
        padded = np.pad(choices, ((0, 0), (1, 1)), constant_values=(1, 0))
        signs = -np.diff(padded.astype(float))  # (m, n), the s_k
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
