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
from xsquared.units import PAPER_UNITS, parameter_count
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
#: By how much the second derivative jumps.
JUMPS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


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


def jumping(ratio: float) -> str:
    """A target whose second derivative is 1 left of 0.1234 and the ratio right of it."""
    return f"x**2/2 + {(ratio - 1) / 4:.6g}*((x - 0.1234)**2 + (x - 0.1234)*abs(x - 0.1234))"


def best_trials(
    targets: tuple[str, ...], cells: tuple[int, ...], units: tuple[str, ...] = PAPER_UNITS
) -> tuple[Trial, ...]:
    """A trial for every target, unit and number of cells."""
    return tuple(
        Trial(unit, n, expression=text, domain=((-1.0, 1.0),), solver="search", split="paper",
              protocol="search")
        for text in targets for unit in units for n in cells
    )  # fmt: skip


def beyond() -> tuple[str, ...]:
    """The targets outside the theorem's hypotheses."""
    near = [make(s) for make in (merging, near_an_end) for s in DISTANCES]
    return (*near, *map(jumping, JUMPS))


def run_search(trial: Trial) -> dict[str, Scalar]:
    """Search for the best spline of n cells."""
    unit = trial.record
    order = unit.order
    _, error = global_search(trial.target, order, trial.n_hidden, {2: 0, 3: 0, 4: 1}[order])
    return {
        "parameters": parameter_count(unit, 1, trial.n_hidden),
        "train_rmse": error,
        "test_rmse": error,
    }
