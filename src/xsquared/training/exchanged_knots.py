"""A knot of a fitted spline put elsewhere: starts from which a local fit leaves its optimum (ours).

A damped Newton step never lets a knot pass another one. So where a local optimum has a knot too
many in one place and one too few in another, only a jump helps. What it costs to take a knot out,
and what a knot more gains in each of some places, are linear problems; their sum says which of all
exchanges are worth a fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from xsquared.functions import Target
from xsquared.splines.free_knots import LEAST_WIDTH, FreeKnotSpline, Model, cell_errors
from xsquared.splines.spaces import Space

#: Places of a knot in a cell, in shares of its width. Two knots that all but meet, their gates open
#: to either side, imitate a jump: some best networks have one.
_SHARES = np.array([0.05, 0.35, 0.65, 0.95])
#: Exchanges of which the linear problem is solved as well, those fitted for a few steps, and steps.
_PAIRS, _FITTED, _STEPS = 12, 4, 8

#: A fit from knots with gates in these directions, of so many iterations at most.
Fit = Callable[[np.ndarray, np.ndarray | None, int], FreeKnotSpline]


def exchanged(target: Target, shape: Space, spline: FreeKnotSpline, fit: Fit) -> FreeKnotSpline:
    """The best of short fits with one knot elsewhere, its gate open to either side.

    Its iterations are those of all. The spline has at least one knot inside.
    """
    knots, gates = spline.knots, spline.directions
    model = Model(target, shape, None)
    inner = range(1, len(knots) - 1)
    removed = np.array([model.project(np.delete(knots, j)).loss for j in inner])
    widths = np.diff(knots)[:, None]
    wide = widths[:, 0] * _SHARES[0] > LEAST_WIDTH * (knots[-1] - knots[0])
    places = (knots[:-1, None] + widths * _SHARES)[wide].ravel()
    added = np.array([model.project(np.sort(np.append(knots, place))).loss for place in places])
    made: list[FreeKnotSpline] = []
    for pair in np.argsort((removed[:, None] + added).ravel(), kind="stable")[:_PAIRS]:
        j, i = divmod(int(pair), len(places))
        rest = np.delete(knots, j + 1)
        at = int(np.searchsorted(rest, places[i]))
        moved = np.insert(rest, at, places[i])
        choices: list[np.ndarray | None] = [None]
        if gates is not None:
            choices = [np.insert(np.delete(gates, j), at - 1, side) for side in (-1, 1)]
        made += [fit(moved, choice, 0) for choice in choices]
    made.sort(key=lambda one: one.rmse)
    fits = [fit(one.knots, one.directions, _STEPS) for one in made[:_FITTED]]
    best = min(fits, key=lambda one: one.rmse)
    return replace(best, iterations=sum(one.iterations for one in fits))


def with_a_knot_moved(target: Target, spline: FreeKnotSpline) -> np.ndarray:
    """Knots with the least useful one put into the middle of the worst cell, by cells' errors."""
    errors, knots = cell_errors(target, spline), spline.knots
    worst = int(np.argmax(errors))
    together = errors[:-1] + errors[1:]
    together[max(worst - 1, 0) : worst + 1] = np.inf
    least = int(np.argmin(together)) + 1
    middle = (knots[worst] + knots[worst + 1]) / 2
    return np.sort(np.append(np.delete(knots, least), middle))
