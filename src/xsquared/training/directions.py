"""In which directions gates open, so that n neurons carry n + 1 cells.

Where gates at the knots inside open to either side, no neuron is left for the polynomial behind
them all, which has to be constant. Which directions cost least is decided for knots that stay.
"""

from functools import cache

import numpy as np

from xsquared.functions import Target
from xsquared.splines import spaces
from xsquared.splines.free_knots import Model
from xsquared.splines.zonoid import depth, rounded
from xsquared.units import Unit, space

#: Gates of which all directions are compared; of more gates so many at a time, drawn so often.
_BLOCK, _ROUNDS = 8, 8
#: Knots of which two bound a stretch of gates that open to the right.
_ENDS = 64


def best_directions(f: Target, unit: str | Unit, knots: np.ndarray, count: int) -> list[np.ndarray]:
    """Choose directions of the gates at the knots (n + 1,) inside for which a fit loses least.

    The polynomial behind all gates is the first cell's and what those that open to the left add.
    What it costs to make it constant is a quadratic form in few coefficients; the rounding of the
    neurons' largest values counts as well. Of many gates, a few at a time are turned as is best,
    from the shares of :func:`xsquared.splines.zonoid.depth` on. Return at most ``count`` arrays (n
    - 1,) of 1 and -1: that of the best single cell, whose gates open away from it, then the best.
    """
    shape, n, width = space(unit), len(knots) - 1, np.diff(knots)
    state, q, cells = Model(f, shape, None).project(knots), shape.degree, np.arange(n)
    banded, _, scale = spaces.projection(shape, width, state.moments)
    behind = spaces.ungated_polynomial(shape, knots, cells)
    behind = behind @ (scale[:, :, None] * spaces.local_basis(q).powers).mT
    value = np.einsum("kqj,kj->kq", behind, state.local)
    rows = [spaces.spread_rows(behind[[k]], cells[[k]], shape.block - 1, n) for k in cells]
    flat = np.concatenate(rows)
    form = (flat @ spaces.solve_banded(banded, flat.T)).reshape(n, q, n, q).transpose(0, 2, 1, 3)
    right, left = neuron_sizes(knots, spaces.to_powers(shape, width, state.local))
    lean = np.append(0.0, np.cumsum(left - right))

    def costs(gates: np.ndarray) -> np.ndarray:
        """Costs (m,) of gates (m, n - 1), 1 where open to the left."""
        signs = -np.diff(np.pad(gates, ((0, 0), (1, 1)), constant_values=(1, 0)))
        same = (signs == signs[0]).all(axis=0)
        # The cells whose signs are the same throughout count as one.
        basis = np.vstack([same * signs[0], np.eye(n)[~same]])
        chosen = np.column_stack([np.ones(len(signs)), signs[:, ~same]])
        part = np.tensordot(basis, np.tensordot(basis, form, (1, 0)), (1, 1))
        matrix = np.einsum("sb,sbqp->sqp", chosen, np.tensordot(chosen, part, (1, 0)))
        size = np.sqrt(np.einsum("sqq->sq", matrix)) + 1e-300
        matrix = matrix / (size[:, :, None] * size[:, None]) + 1e-13 * np.eye(q)
        vector = signs @ value / size
        reduced = np.linalg.solve(matrix, vector[..., None])[..., 0]
        rounding = np.finfo(float).eps * (right.sum() + signs @ lean)
        return np.einsum("sq,sq->s", vector, reduced) + rounding**2

    # Gates that open to the right in one stretch, those that reach the end first.
    ends = np.unique(np.linspace(0, n - 1, min(n, _ENDS)).astype(int))
    begin, end = ends[np.column_stack(np.triu_indices(len(ends)))].T[:, :, None]
    runs = 1 - ((np.arange(n - 1) >= begin) & (np.arange(n - 1) < end)).astype(int)
    total, apart = costs(runs), end[:, 0] < n - 1
    starts = [runs[np.argmin(np.where(cut, np.inf, total))] for cut in (apart, ~apart)]
    few = n <= _BLOCK + 1
    first = starts[: 1 if few else 2]
    found = {tuple(one): place - 2.0 for place, one in enumerate(first)}  # before all others
    if not few:
        chi = depth(np.diff(value, axis=0), -value[0])[1]
        starts += [rounded(chi, j / count) for j in range(count)]
    draw, block = np.random.default_rng(n), min(n - 1, _BLOCK)
    for start in starts:
        for _ in range(1 if few else _ROUNDS):
            tried = np.tile(start, (2**block, 1))
            tried[:, draw.permutation(n - 1)[:block]] = _all(block)
            total = costs(tried)
            best = np.argsort(total, kind="stable")[:count]
            start = tried[best[0]]
            found = dict(zip(map(tuple, tried[best]), total[best], strict=True)) | found
    return [1 - 2 * np.array(gates) for gates in sorted(found, key=found.__getitem__)[:count]]


@cache
def _all(gates: int) -> np.ndarray:
    """Every choice (2^gates, gates) of gates that open to the left."""
    return np.arange(2**gates)[:, None] >> np.arange(gates) & 1


def neuron_sizes(knots: np.ndarray, pieces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bound a neuron at each knot inside, (n - 1,), its gate open to the right and to the left."""
    change, powers = np.abs(spaces.jumps_at_knots(knots, pieces)), np.arange(pieces.shape[1])
    reach = (np.abs(end - knots[1:-1, None]) for end in (knots[-1], knots[0]))
    right, left = (np.sum(change * distance**powers, axis=1) for distance in reach)
    return right, left
