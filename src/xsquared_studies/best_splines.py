"""Least errors of splines with free knots, by a search that shares nothing with the theory.

The targets are those of the chapter on order and constants, ten drawn at random that satisfy its
theorem's hypotheses, and three kinds that do not: zeros of the second derivative that merge, a zero
near an end, and a jump.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from xsquared.functions import PAPER_TARGET, Target, target
from xsquared.splines.bounds import segments
from xsquared.splines.global_search import global_search
from xsquared.units import PAPER_UNITS
from xsquared_studies.trial import Scalar, Trial

#: Whose second to fourth derivatives have between none and eight zeros, all of them simple.
LAW_TARGETS = (
    "exp(2*x)",
    "sin(4*x)",
    "tanh(4*x)",
    "1/(1+9*x**2)",
    "exp(-4*x**2)",
    "sin(2*(x+1.6)**2)",
    str(PAPER_TARGET.expression),
)
#: Numbers of cells at which the law is checked, and the one for random targets and beyond the law.
CELLS, WIDE = (40, 80), 80
#: At that number, cells at least between zeros of a derivative, and between a zero and an end.
APART = 5.0
#: How far the zeros of x^2 - s^2 are from the middle, and that of x + 1 - s from the end.
DISTANCES = (0.02, 0.05, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3, 0.4, 0.5)
#: By how much the second derivative jumps, where, and at how many cells: few, so that the search
#: compares all ways to share them. The places run through a cell.
JUMPS, PLACES, NARROW = (2, 8, 32, 128), tuple(0.1234 + i / 80 for i in range(8)), 20


def cells_apart(f: Target, order: int, n_cells: int) -> float:
    """The least mass between neighbouring zeros of f^(k) and ends, in cells."""
    masses = segments(f, order).masses
    return float(n_cells * masses.min() / masses.sum())


@cache
def random_targets(count: int = 10) -> tuple[tuple[str, ...], int]:
    """Sums of three sines with zeros that lie apart, and how many had to be drawn."""
    draw, drawn = np.random.default_rng(0), 0
    found: list[str] = []
    while len(found) < count:
        drawn += 1
        terms = draw.uniform((0.5, 1.0, 0.0), (1.5, 6.0, 6.28), (3, 3))
        text = " + ".join(f"{a:.2f}*sin({w:.2f}*x + {p:.2f})" for a, w, p in terms)
        if min(cells_apart(target(text), k, WIDE) for k in (2, 3, 4)) >= APART:
            found.append(text)
    return tuple(found), drawn


def merging(distance: float) -> str:
    """A target whose second derivative is x^2 - s^2."""
    return f"x**4/12 - {distance**2:.6g}*x**2/2"


def near_an_end(distance: float) -> str:
    """A target whose second derivative is x + 1 - s."""
    return f"x**3/6 + {1 - distance:.6g}*x**2/2"


def jumping(ratio: float, place: float) -> str:
    """A target whose second derivative is 1 left of a place and the ratio right of it."""
    off = f"(x - {place:.6g})"
    return f"x**2/2 + {(ratio - 1) / 4:.6g}*({off}**2 + {off}*abs{off})"


def best_trials(
    targets: tuple[str, ...], cells: tuple[int, ...], units: tuple[str, ...] = PAPER_UNITS
) -> tuple[Trial, ...]:
    """A trial for every target, unit and number of cells."""
    return tuple(
        Trial(unit, n, expression=text, domain=((-1.0, 1.0),), solver="search", split="paper",
              protocol="search")
        for text in targets for unit in units for n in cells
    )  # fmt: skip


def zero_trials() -> tuple[Trial, ...]:
    """Zeros that merge or lie near an end, for lines."""
    texts = tuple(make(s) for make in (merging, near_an_end) for s in DISTANCES)
    return best_trials(texts, (WIDE,), ("mlp",))


def jump_trials() -> tuple[Trial, ...]:
    """Jumps of every size at every place, for lines."""
    texts = tuple(jumping(ratio, place) for ratio in JUMPS for place in PLACES)
    return best_trials(texts, (NARROW,), ("mlp",))


def run_search(trial: Trial) -> dict[str, Scalar]:
    """Search for the best spline of n cells."""
    unit = trial.record
    order = unit.order
    _, error = global_search(trial.target, order, trial.n_hidden, {2: 0, 3: 0, 4: 1}[order])
    return {
        "parameters": unit.parameter_count(1, trial.n_hidden),
        "train_rmse": error,
        "test_rmse": error,
    }
