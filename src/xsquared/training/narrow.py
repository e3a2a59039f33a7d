"""Narrow networks by variable projection, from neurons inserted greedily (ours).

Two factors of a GQU that vanish away from the hinge leave a jump of the slope there, and a hinge
outside the domain gives no knot: few neurons have more optima than fits of splines see.
"""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from xsquared.functions import Target
from xsquared.training.frozen_gates import quadrature
from xsquared.training.greedy import insertions
from xsquared.training.variable_projection import ProjectedFit, Rows, iterates, last
from xsquared.units import Unit

#: Candidates for each neuron, equidistant points that choose, and the steps after an insertion.
_CANDIDATES, _POINTS, _STEPS = 200, 400, 8
#: Steps from each start before the best goes on, and cells of the rule.
_SCREENED, _CELLS = 12, 60
#: A start goes on where it comes within this factor of the error reached elsewhere.
_NEAR = 1.5


def greedy_rows(target: Target, unit: Unit, n: int, draw: np.random.Generator) -> Rows:
    """Rows of n neurons, each the best of many drawn ones, refined before the next."""
    a, b = target.domain[0]
    x = torch.from_numpy(np.linspace(a, b, 2 * _POINTS + 1)[1::2])
    points = torch.stack([x, torch.ones_like(x)], dim=1)
    y = torch.from_numpy(target(x.numpy()))
    y = y / (float(y.abs().max()) or 1.0)
    rows = _drawn(unit, (a, b), 0, draw)
    for _ in range(n):
        pool = _drawn(unit, (a, b), _CANDIDATES, draw)
        best = torch.tensor(insertions(unit, points, y, rows, pool, 1, 1e-13))
        rows = rows.joined(pool.taken(best))
        rows = last(iterates(unit, x[:, None], y, rows, max_iterations=_STEPS)).rows
    return rows


def _drawn(unit: Unit, domain: tuple[float, float], count: int, draw: np.random.Generator) -> Rows:
    """Draw neurons with hinges inside, a fifth before the domain, and roots up to a length outside.

    A third of the roots is infinite: the neurons are those of a unit with a factor less.
    """
    a, b = domain
    signs, inside = np.resize([1.0, -1.0], count), draw.uniform(a, b, count)
    hinges = np.where(draw.random(count) < 0.8, inside, inside - signs * (b - a))

    def rows(slopes: np.ndarray, places: np.ndarray) -> Tensor:
        return torch.from_numpy(np.column_stack([slopes, -slopes * places]))

    factors, ones = [], np.ones(count)
    for _ in unit.factors[1:]:
        factors.append(rows(ones, draw.uniform(2 * a - b, 2 * b - a, count)))
        factors[-1][::3] = torch.tensor([0.0, 1.0], dtype=torch.float64)
    return Rows(rows(signs, hinges), tuple(factors))


def descend_on_target(
    target: Target, unit: Unit, starts: Iterable[Rows], max_iterations: int, reached: float
) -> ProjectedFit | None:
    """Descend on the integral from the start that is best after few steps, by variable projection.

    Return None where that one is still far above an error reached elsewhere.
    """
    cells = np.linspace(*target.domain[0], _CELLS + 1)
    x, y, weights = (torch.from_numpy(part) for part in quadrature(target, cells))

    def descend(rows: Rows, limit: int) -> ProjectedFit:
        return last(iterates(unit, x[:, None], y, rows, weights=weights, max_iterations=limit))

    fits = [descend(rows, min(_SCREENED, max_iterations)) for rows in starts]
    best = min(fits, key=lambda one: one.rmse)
    return descend(best.rows, max_iterations) if best.rmse <= _NEAR * reached else None
