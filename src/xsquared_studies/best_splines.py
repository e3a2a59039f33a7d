"""Least errors of splines with free knots, by a search that shares nothing with the theory.

Targets are those of the chapter on order and constants, ten drawn at random that satisfy its
theorem's hypotheses, and three kinds that do not.

A cell's squared error is a quadratic form of what its two ends fix: the error and its first r
derivatives there. The form follows from the target's Legendre coefficients on the cell. So the best
chain of cells that ends at a given place is a quadratic form of the error at that end, and the next
cell extends it: add the cell's form, minimise over what both share. :func:`global_search` does so
over a fine grid of places, and then over ever smaller moves of the knots. Where pieces need not
meet this is exact on the grid; else one chain, the one of least error, is kept for each place. It
asks for no derivative, no zero of one, no start and no gradient.
"""

import math
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.polynomial import legendre

from xsquared.functions import PAPER_TARGET, Target, interval_of, target
from xsquared.quadrature import gauss_legendre
from xsquared.splines.bounds import sign_intervals
from xsquared.splines.density import equidistributed_knots
from xsquared.splines.spaces import Space
from xsquared.units import PAPER_UNITS, parameter_count
from xsquared_studies.declared import Study
from xsquared_studies.experiment import make_trial, target_of, unit_of
from xsquared_studies.sweep import Trial

#: Whose second to fourth derivatives have between none and eight zeros, all of them simple.
LAW_TARGETS = (
    *("exp(2*x)", "sin(4*x)", "tanh(4*x)", "1/(1+9*x**2)", "exp(-4*x**2)", "sin(2*(x+1.6)**2)"),
    str(PAPER_TARGET.expression),
)
#: Numbers of cells at which the law is checked, and the one for random targets and beyond the law.
CELLS, WIDE = (40, 80), 80
#: How far the zeros of x^2 - s^2 are from the middle, and that of x + 1 - s from the end.
DISTANCES = (0.02, 0.05, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3, 0.4, 0.5)
#: By how much the second derivative jumps.
JUMPS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
#: Legendre polynomials on a cell, panels of its composite rule and nodes in each.
_DEGREES, _PANELS, _NODES = 16, 3, 16
#: Grid cells for each cell, how many of them a cell may have, and how far a chain of j cells may
#: end from its share of the grid, in cells.
_FINE, _AWAY = 8, 3
#: Halvings of the grid's step around the knots found, places tried to either side of a knot, and
#: most rounds with a step: where cells merge at a kink it takes hundreds; thousands gain little.
_HALVINGS, _SIDE, _ROUNDS = 10, 2, 1000


@cache
def random_targets(count: int = 10) -> tuple[tuple[str, ...], int]:
    """Draw sums of three sines with zeros that lie five cells apart; and count all drawn."""
    draw, drawn = np.random.default_rng(0), 0
    found: list[str] = []
    while len(found) < count:
        drawn += 1
        terms = draw.uniform((0.5, 1.0, 0.0), (1.5, 6.0, 6.28), (3, 3))
        text = " + ".join(f"{a:.2f}*sin({w:.2f}*x + {p:.2f})" for a, w, p in terms)
        masses = [sign_intervals(target(text), k).masses for k in (2, 3, 4)]
        if all(WIDE * part.min() / part.sum() >= 5 for part in masses):
            found.append(text)
    return tuple(found), drawn


def best_trials(
    targets: Sequence[str], cells: Sequence[int], units: Sequence[str] = PAPER_UNITS
) -> list[Trial]:
    """List every target, unit and number of cells."""
    same: Any = {"domain": ((-1, 1),), "split": "paper"}
    return [
        make_trial(text, unit, n, "search", "search", **same)
        for text in targets
        for unit in units
        for n in cells
    ]


def beyond() -> tuple[str, ...]:
    """List targets outside the theorem: f'' is x^2 - s^2, x + 1 - s, or jumps from 1 to r."""
    step = "((x - 0.1234)**2 + (x - 0.1234)*abs(x - 0.1234))"
    return (
        *(f"x**4/12 - {s**2:.6g}*x**2/2" for s in DISTANCES),
        *(f"x**3/6 + {1 - s:.6g}*x**2/2" for s in DISTANCES),
        *(f"x**2/2 + {(r - 1) / 4:.6g}*{step}" for r in JUMPS),
    )


def run_search(trial: Trial) -> dict[str, Any]:
    """Search for the best spline of n cells."""
    unit, n = unit_of(trial), trial["n"]
    _, error = global_search(target_of(trial), unit.order, n, {2: 0, 3: 0, 4: 1}[unit.order])
    parameters = parameter_count(unit, 1, n)
    return {"parameters": parameters, "train_rmse": error, "test_rmse": error}


@cache
def _rule(order: int, shared: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Nodes, the matrix of Legendre coefficients, their values at the ends, the ends' form."""
    xi, weights = gauss_legendre(_NODES)
    nodes = ((np.arange(_PANELS)[:, None] + xi) / _PANELS).ravel()
    degrees = np.arange(_DEGREES)
    values = legendre.legvander(2 * nodes - 1, _DEGREES - 1)
    coefficients = np.tile(weights / _PANELS, _PANELS)[:, None] * values * (2 * degrees + 1)
    derivatives = [legendre.legder(np.eye(_DEGREES), m) for m in range(shared)]
    ends = np.array([legendre.legval(end, d) for end in (-1.0, 1.0) for d in derivatives])
    ends = ends.reshape(2 * shared, _DEGREES)
    low = ends[:, :order]
    form = np.linalg.inv((low * (2 * degrees[:order] + 1)) @ low.T) if shared else np.empty((0, 0))
    return nodes, coefficients[:, order:], ends[:, order:], form


def _forms(target: Target, order: int, shared: int, left: np.ndarray, h: np.ndarray) -> np.ndarray:
    """(..., 1 + 2 shared, 1 + 2 shared) squared errors as forms of (1, left end, right end)."""
    nodes, to_coefficients, ends, form = _rule(order, shared)
    high = target(left[..., None] + h[..., None] * nodes) @ to_coefficients
    norms = 2 * np.arange(order, _DEGREES) + 1
    scale = (h[..., None] / 2) ** np.tile(np.arange(shared), 2)
    fixed = np.zeros((*h.shape, 2 * shared, 1 + 2 * shared))
    fixed[..., 0] = -high @ ends.T
    fixed[..., np.arange(2 * shared), 1 + np.arange(2 * shared)] = scale
    made = fixed.mT @ form @ fixed
    made[..., 0, 0] += np.sum(high**2 / norms, axis=-1)
    return h[..., None, None] * made


def _eliminated(form: np.ndarray, shared: int) -> np.ndarray:
    """The form's least value over the unknowns behind the first one."""
    if not shared:
        return form
    one, rest = [0, *range(1 + shared, form.shape[-1])], slice(1, 1 + shared)
    kept, mixed = form[..., one, :][..., one], form[..., rest, :][..., one]
    return kept - mixed.mT @ np.linalg.solve(form[..., rest, rest], mixed)


def _futures(target: Target, order: int, shared: int, knots: np.ndarray) -> np.ndarray:
    """(n + 1, ...) least squared error to the right of each knot, as a form of the error there."""
    forms = _forms(target, order, shared, knots[:-1], np.diff(knots))
    # The right end's unknowns first, so that they are eliminated.
    turned = np.array([0, *range(1 + shared, 1 + 2 * shared), *range(1, 1 + shared)])
    made = [np.zeros((1 + shared, 1 + shared))]
    for cell in forms[:, turned][:, :, turned][::-1]:
        cell[: 1 + shared, : 1 + shared] += made[-1]
        made.append(_eliminated(cell, shared))
    return np.array(made[::-1])


def _best_chain(
    target: Target, order: int, shared: int, places: list[np.ndarray], old: np.ndarray | None
) -> tuple[np.ndarray, float]:
    """Of places (n + 1 ascending arrays) one of each: the knots of least squared error, and it."""
    chain, chosen = np.zeros((1, 1 + shared, 1 + shared)), []
    futures = None if old is None else _futures(target, order, shared, old)
    for before, after in pairwise(places):
        width = after - before[:, None]
        start, stop = np.nonzero(width > 0)
        cells = _forms(target, order, shared, before[start], width[start, stop])
        cells[:, : 1 + shared, : 1 + shared] += chain[start]
        extended = _eliminated(cells, shared)
        errors, forms = np.full(width.shape, np.inf), np.zeros((*width.shape, *chain.shape[1:]))
        ahead = 0.0
        if futures is not None:
            ahead = futures[np.abs(after[:, None] - old).argmin(axis=1)][stop]
        errors[start, stop] = _eliminated(extended + ahead, shared)[:, 0, 0]
        forms[start, stop] = extended
        chosen.append(errors.argmin(axis=0))
        chain = forms[chosen[-1], np.arange(len(after))]
        chain[np.isinf(errors.min(axis=0)), 0, 0] = np.inf
    last, path = 0, []
    for before, choice in zip(places[-2::-1], chosen[::-1], strict=True):
        last = choice[last]
        path.append(before[last])
    return np.array([*path[::-1], places[-1][0]]), float(errors[:, 0].min())


def global_search(
    target: Target, order: int, n_cells: int, continuity: int = -1
) -> tuple[np.ndarray, float]:
    """Search for the spline of least error, among all on a fine grid and then around it.

    Args:
        target: a function of one variable.
        order: k; the pieces have degree k - 1.
        n_cells: at least 2.
        continuity: continuous derivatives r at the knots, -1 where pieces need not meet; 2 (r + 1)
            is at most the order.

    Returns:
        (n_cells + 1,) knots, and the RMSE of the best spline with these knots.
    """
    a, b = interval_of(target)
    shared = continuity + 1
    grid = equidistributed_knots(target, Space(order - 1, 0), _FINE * n_cells)
    middle = _FINE * np.arange(1, n_cells)[:, None] + np.arange(-_AWAY * _FINE, _AWAY * _FINE + 1)
    inner = [grid[j[(j > 0) & (j < len(grid) - 1)]] for j in middle]
    ends = np.array([a]), np.array([b])
    places = [ends[0], *inner, ends[1]]
    knots, square = _best_chain(target, order, 0, places, None)
    if shared:
        knots, square = _best_chain(target, order, shared, places, knots)
        knots, square = _best_chain(target, order, shared, places, knots)
    moves = np.arange(-_SIDE, _SIDE + 1)
    for halving in range(_HALVINGS):
        for _ in range(_ROUNDS):
            h = np.diff(knots)
            step = np.minimum(h[1:], h[:-1]) / _FINE / 2**halving
            around = knots[1:-1, None] + step[:, None] * moves
            moved, lower = _best_chain(target, order, shared, [ends[0], *around, ends[1]], knots)
            if not lower < square - 1e-9 * abs(square):  # of a spline rounding's may be negative
                break
            knots, square = moved, lower
    return knots, math.sqrt(max(square, 0.0) / (b - a))


BEST_SPLINES = Study(
    "Least errors of splines with free knots, by dynamic programming",
    {"search": "the best spline of n cells for the unit's order and continuity"},
    run_search,
    lambda: [
        *best_trials(LAW_TARGETS[1:2], (4,)),
        *best_trials(LAW_TARGETS, CELLS),
        *best_trials(random_targets()[0], (WIDE,)),
        *best_trials(beyond(), (WIDE,), PAPER_UNITS[:1]),
    ],
    lambda: best_trials(LAW_TARGETS[1:2], (4,)),
)
