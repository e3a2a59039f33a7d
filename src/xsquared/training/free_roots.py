"""Narrow GQUs whose second factors have roots of their own: starts by the thousand (ours).

Two factors that vanish away from the hinge leave a jump of the slope there, so such a network is no
spline of the unit's space, and has many optima. Candidates are drawn, and each is a linear problem
on nodes that do not move; many small ones are solved at once. Those of least error, and others,
are descended from by variable projection: the best candidates are much alike.
"""

from __future__ import annotations

import numpy as np
import torch

from xsquared.functions import Target
from xsquared.quadrature import on_cells
from xsquared.training.variable_projection import ProjectedFit, Rows, iterates, last
from xsquared.units import Unit

#: Rows that are descended from, of networks of three neurons or more.
DRAWN_ROWS = 75
#: Candidates that are compared, and how many are solved at once, over the neurons.
_CANDIDATES, _AT_ONCE = 1000, 500
#: Of the interval's length: how near the given hinges one half of the candidates has its own, in
#: the root mean square, and how far roots may lie outside.
_NEAR, _OUTSIDE = 0.01, 0.25
#: Iterations of each fit in a round, and how many fits go on.
_ROUNDS = ((8, 12), (25, 3))
#: Cells of the rule.
_CELLS = 60


def _rule(target: Target) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (N,) and weights (N,) that sum to one."""
    x, weights = (part.ravel() for part in on_cells(np.linspace(*target.domain[0], _CELLS + 1)))
    return x, weights / weights.sum()


def drawn_rows(
    target: Target, hinges: np.ndarray, count: int, draw: np.random.Generator
) -> list[Rows]:
    """Random rows of a GQU, half of the candidates with hinges near the given.

    A quarter of those returned have the least errors; the others are as they come.

    Args:
        target: a function of one variable.
        hinges: (n,).
        count: how many to return.
        draw: where the rows are drawn from.
    """
    (a, b), n = target.domain[0], len(hinges)
    places, length = draw.uniform(a, b, (_CANDIDATES, n)), b - a
    places[::2] = hinges + length * draw.normal(0.0, _NEAR, places[::2].shape)
    sides = draw.choice((-1.0, 1.0), places.shape)
    roots = draw.uniform(a - _OUTSIDE * length, b + _OUTSIDE * length, places.shape)
    x, weights = _rule(target)
    root, explained = np.sqrt(weights), []
    goal = root * target(x)
    for part in np.array_split(np.arange(_CANDIDATES), max(_CANDIDATES * n // _AT_ONCE, 1)):
        neurons = np.maximum(sides[part, None] * (x[:, None] - places[part, None]), 0.0)
        neurons *= x[:, None] - roots[part, None]  # (part, N, n)
        columns = [np.ones((len(part), len(x), 1)), neurons, neurons * x[:, None]]
        basis = np.linalg.qr(root[:, None] * np.concatenate(columns, axis=2))[0]
        explained.append(np.sum((goal @ basis) ** 2, axis=1))
    best = np.argsort(-np.concatenate(explained), kind="stable")[: count // 4]
    best = np.append(best, np.arange(1, 2 * (count - len(best)), 2))
    gates = np.stack([sides, -sides * places], axis=2)[best]
    factors = np.stack([np.ones(roots.shape), -roots], axis=2)[best]
    return [
        Rows(torch.from_numpy(gate), (torch.from_numpy(factor),))
        for gate, factor in zip(gates, factors, strict=True)
    ]


def best_descent(
    target: Target, unit: Unit, starts: list[Rows], max_iterations: int
) -> tuple[ProjectedFit, int]:
    """The best fit from the starts, and all iterations: of each round the best ones go on.

    Args:
        target: a function of one variable.
        unit: with two factors.
        starts: rows to start from.
        max_iterations: of each fit.
    """
    x, weights = _rule(target)
    points, goal = torch.from_numpy(x)[:, None], torch.from_numpy(target(x))
    rule, spent = torch.from_numpy(weights), 0
    for rounds, kept in (*_ROUNDS, (max_iterations, 1)):
        limit = min(rounds, max_iterations)
        fits = [
            last(iterates(unit, points, goal, rows, weights=rule, max_iterations=limit))
            for rows in starts
        ]
        spent += sum(one.iterations for one in fits)
        fits = sorted(fits, key=lambda one: one.rmse)[:kept]
        starts = [one.rows for one in fits]
    return fits[0], spent
