"""In which directions gates open, so that n neurons carry n + 1 cells.

Where gates at the knots inside open to either side, no neuron is left for the polynomial behind
them all, which has to be constant. Which directions cost least is decided for knots that stay.
"""

import itertools
import math
from functools import cache

import numpy as np

from xsquared.functions import Target
from xsquared.splines import spaces
from xsquared.splines.free_knots import Model
from xsquared.units import Unit, space

#: Combinations of directions that are compared at most.
_COMBINATIONS = 25_000


def best_directions(f: Target, unit: str | Unit, knots: np.ndarray, count: int) -> list[np.ndarray]:
    """Choose directions of the gates at the knots (n + 1,) inside for which a fit loses least.

    The polynomial behind all gates is a combination of cells with alternating signs. What it costs
    to make it constant is a quadratic form in few coefficients, so thousands of combinations are
    compared, with the rounding of the neurons' largest values. Return at most ``count`` arrays (n -
    1,) of 1 and -1: that of the best single cell, whose gates open away from it, then the best.
    """
    shape, n, width = space(unit), len(knots) - 1, np.diff(knots)
    state = Model(f, shape, None).project(knots)
    banded, _, scale = spaces.projection(shape, width, state.moments)
    cells, q = sign_patterns(n)[0][:, 0], shape.degree
    powers = scale[cells, :, None] * spaces.local_basis(q).powers
    behind = spaces.ungated_polynomial(shape, knots, cells) @ powers.mT
    flat = np.concatenate(
        [spaces.spread_rows(behind[[k]], cells[[k]], shape.block - 1, n) for k in range(len(cells))]
    )
    form = (flat @ spaces.solve_banded(banded, flat.T)).reshape(len(cells), q, len(cells), q)
    form = form.transpose(0, 2, 1, 3).copy()
    value = np.einsum("kqj,kj->kq", behind, state.local[cells])
    right, left = neuron_sizes(knots, spaces.to_powers(shape, width, state.local))
    lean = np.concatenate([[0.0], np.cumsum(left - right)])
    found: list[tuple[float, np.ndarray]] = []
    for chosen in sign_patterns(n):
        signs, at = (-1.0) ** np.arange(chosen.shape[1]), np.searchsorted(cells, chosen)
        pairs = form[at[:, :, None], at[:, None]].reshape(len(at), -1, q * q)
        matrix = (np.outer(signs, signs).ravel() @ pairs).reshape(-1, q, q)
        vector = np.einsum("a,saq->sq", signs, value[at])
        size = np.sqrt(np.einsum("sqq->sq", matrix)) + 1e-300
        matrix = matrix / (size[:, :, None] * size[:, None, :]) + 1e-13 * np.eye(q)
        reduced = np.linalg.solve(matrix, (vector / size)[..., None])[..., 0]
        rounding = np.finfo(float).eps * (right.sum() + lean[chosen] @ signs)
        total = np.einsum("sq,sq->s", vector / size, reduced) + rounding**2
        best = np.argsort(total, kind="stable")[:count]
        found += [(float(total[i]), directions_of(chosen[i], n)) for i in best]
    found[1:] = sorted(found[1:], key=lambda pair: pair[0])
    return [directions for _, directions in found[:count]]


@cache
def sign_patterns(n: int) -> tuple[np.ndarray, ...]:
    """List cells, of n, whose polynomials, with signs + - + ..., may stand behind all gates.

    Indices (m, size) for sizes 1, 3, 5, ... until they are too many; of many cells some, evenly.
    """
    compared, cells, made = 0, np.arange(n), []
    for size in range(1, n + 1, 2):
        most = {1: 200, 3: 50}.get(size, n)
        if len(cells) > most:
            cells = cells[np.linspace(0, len(cells) - 1, most).astype(int)]
        compared += math.comb(len(cells), size)
        if compared > _COMBINATIONS:
            break
        made.append(cells[np.array(list(itertools.combinations(range(len(cells)), size)))])
    return tuple(made)


def directions_of(chosen: np.ndarray, n: int) -> np.ndarray:
    """Directions (n - 1,) of the gates for a combination of the n cells: see ``ungated_signs``."""
    multiples = np.zeros(n, dtype=int)
    multiples[chosen] = (-1) ** np.arange(len(chosen))
    return 2 * np.cumsum(multiples)[:-1] - 1


def neuron_sizes(knots: np.ndarray, pieces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bound a neuron at each knot inside, (n - 1,), its gate open to the right and to the left."""
    change, powers = np.abs(spaces.jumps_at_knots(knots, pieces)), np.arange(pieces.shape[1])
    reach = (np.abs(end - knots[1:-1, None]) for end in (knots[-1], knots[0]))
    right, left = (np.sum(change * distance**powers, axis=1) for distance in reach)
    return right, left
