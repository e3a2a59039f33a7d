"""In which directions gates open, so that n neurons carry n + 1 cells.

Where gates at the knots inside open to either side, no neuron is left for the
polynomial behind them all, which has to be constant. Which directions cost least is
decided for knots that stay.
"""

import itertools

import numpy as np

from xsquared.functions import Target
from xsquared.splines import spaces
from xsquared.splines.free_knots import Model
from xsquared.splines.zonoid import depth
from xsquared.units import Unit, space

#: Gates of which all directions are compared; of more gates so many at a time, drawn so
#: often.
_BLOCK, _ROUNDS = 8, 4
#: Of many cells those of which three are combined, then those so near the best three.
_SOME, _NEAR = 16, 2


def best_directions(
    f: Target, unit: str | Unit, knots: np.ndarray, count: int
) -> list[np.ndarray]:
    """Choose directions of the gates at the knots (n + 1,) inside for which a fit loses
    least.

    The polynomial behind all gates is the first cell's and what those that open to the
    left add. To make it constant costs a quadratic form in few coefficients, and
    rounding. Return at most ``count`` arrays (n - 1,) of 1 and -1. Of few gates: away
    from the best cell, then the best of all. Of many: the best three cells, then the
    best found from them and rounded shares of `depth`.
    """
    shape, n, width = space(unit), len(knots) - 1, np.diff(knots)
    state, q = Model(f, shape).project(knots[None], np.empty((1, 0))), shape.degree
    banded, _, scale = spaces.projection(shape, width, state.moments[0])
    behind = spaces.ungated_polynomial(shape, knots)
    behind = behind @ (scale[:, :, None] * spaces.local_basis(q).powers).mT
    value = np.einsum("kqj,kj->kq", behind, state.local[0])
    large = np.einsum(
        "kqj,kj->k", np.abs(behind), np.finfo(float).eps * np.abs(state.local[0])
    )
    flat = spaces.spread_rows(np.eye(n)[:, :, None, None] * behind, shape.block - 1)
    flat = flat.reshape(n * q, -1)
    form = (
        (flat @ spaces.solve_banded(banded, flat.T))
        .reshape(n, q, n, q)
        .transpose(0, 2, 1, 3)
    )

    def ranked(gates: np.ndarray) -> np.ndarray:
        """Sort gates (m, n - 1), 1 where open to the left, by what they cost."""
        signs = -np.diff(
            np.pad(gates, ((0, 0), (1, 1)), constant_values=(1, 0)).astype(float)
        )
        matrix = np.einsum("sk,skqr->sqr", signs, np.tensordot(signs, form, (1, 0)))
        size = np.sqrt(np.einsum("sqq->sq", matrix)) + 1e-300
        matrix = matrix / (size[:, :, None] * size[:, None]) + 1e-13 * np.eye(q)
        vector = signs @ value / size
        reduced = np.linalg.solve(matrix, vector[..., None])[..., 0]
        total = np.einsum("sq,sq->s", vector, reduced) + (np.abs(signs) @ large) ** 2
        return gates[np.argsort(total, kind="stable")]

    block = min(n - 1, _BLOCK)
    every = np.arange(2**block)[:, None] >> np.arange(block) & 1
    if block == n - 1:
        found = [ranked(np.tri(n, n - 1, -1, dtype=int))[0], *ranked(every)]
    else:
        some, draw = np.linspace(0, n - 1, _SOME).astype(int), np.random.default_rng(n)
        for _ in range(2):
            threes = itertools.combinations_with_replacement(np.unique(some), 3)
            beyond = np.arange(n - 1) >= np.array(list(threes))[:, :, None]
            found = [ranked(1 - beyond.sum(axis=1) % 2)[0]]
            ends = np.flatnonzero(np.diff(found[0], prepend=1, append=0))
            some = (ends[:, None] + np.arange(-_NEAR, _NEAR + 1)).clip(0, n - 1)
        chi = depth(np.diff(value, axis=0), -value[0])[1].clip(0, 1)
        # Every stretch of gates has its share chi of those that open to the left.
        sums = np.append(0.0, chi.cumsum()) + np.arange(0.0, 1.0, 2 / count)[:, None]
        turned = []
        for start in np.vstack([found, np.diff(np.floor(sums)).astype(int)]):
            for _ in range(_ROUNDS):
                tried = np.tile(start, (len(every), 1))
                tried[:, draw.permutation(n - 1)[:block]] = every
                turned += [*ranked(tried)[:count]]
                start = turned[-count]  # the best
        found += [*ranked(np.array(turned))]
    distinct = dict.fromkeys(tuple(gates.tolist()) for gates in found)
    return [1 - 2 * np.array(gates, dtype=int) for gates in distinct][:count]
