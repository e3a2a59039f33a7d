"""The regression problems of section 4.3 of the gated-units paper, by name.

Planar targets on [-1, 1]^2, Friedman's three functions (scikit-learn's generators, no noise),
Airfoil Self-Noise and California Housing. The file of the latter runs county by county: its first
rows are a few counties and no sample of it.

References:
    Friedman, Ann. Statist. 19 (1991), for problem 1; Breiman, Machine Learning 24 (1996), for the
    forms of all three that scikit-learn generates. ``data/DATA.md`` for the tables.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal

import numpy as np

from xsquared.checks import check_choice
from xsquared.data.dataset import (
    DEFAULT_POINTS,
    Dataset,
    Generator,
    Split,
    from_arrays,
    from_generator,
    from_target,
)
from xsquared.data.tables import TABLES, read
from xsquared.functions import Target, target


@dataclass(frozen=True)
class Problem:
    """A regression problem, by name for :func:`load` and by title for tables and figures.

    It has ``dim`` features; a planar target's expression is empty for the other kinds.
    """

    name: str
    title: str
    dim: int
    kind: Literal["planar", "friedman", "table"]
    expression: str = ""

    @property
    def target(self) -> Target:
        """The planar target as a function on [-1, 1]^2."""
        return target(self.expression, (-1.0, 1.0), self.title)


_PLANAR = {
    "sine": ("sin(4x)sin(4y)", "sin(4*x)*sin(4*y)"),
    "cosine": ("cos(4x)cos(4y)", "cos(4*x)*cos(4*y)"),
    "sine_bowl": ("sin(4x)sin(4y)(x²+y²)", "sin(4*x)*sin(4*y)*(x**2 + y**2)"),
    "witch": ("1/(1+x²+y²)", "1/(1 + x**2 + y**2)"),
    "runge": ("1/(1+9x²+9y²)", "1/(1 + 9*x**2 + 9*y**2)"),
    "arctan": ("atan(x)+atan(y)", "atan(x) + atan(y)"),
    "squares": ("x²+y²", "x**2 + y**2"),
    "cubes": ("x³+y³", "x**3 + y**3"),
    "kink": ("|x+y²-1/2|", "abs(x + y**2 - 1/2)"),
}
_FRIEDMAN = {
    "friedman1": ("Friedman 1", 5),
    "friedman1_10": ("Friedman 1 and five inputs without effect", 10),
    "friedman2": ("Friedman 2", 4),
    "friedman3": ("Friedman 3", 4),
}
_REAL = {"airfoil": ("Airfoil Self-Noise", 5), "housing": ("California Housing", 8)}

#: Every problem by name.
PROBLEMS: dict[str, Problem] = (
    {name: Problem(name, title, 2, "planar", text) for name, (title, text) in _PLANAR.items()}
    | {name: Problem(name, title, dim, "friedman") for name, (title, dim) in _FRIEDMAN.items()}
    | {name: Problem(name, title, dim, "table") for name, (title, dim) in _REAL.items()}
)


def load(name: str, seed: int = 0, split: Split = "held-out", points: int | None = None) -> Dataset:
    """A problem's points, drawn or shuffled by the seed.

    Training points, where None are asked for: 2,000; of a table, held out, every row that is not
    held out; of the airfoils, which have fewer, every row.

    Raises:
        ValueError: an unknown problem or split, a bad seed, or too many or too few points.
    """
    problem = find_problem(name)
    if problem.kind == "planar":
        return from_target(problem.target, seed, split, points, name)
    if problem.kind == "friedman":
        return from_generator(name, _friedman(name), seed, split, points)
    table = _housing() if name == "housing" else read(name)
    if points is None and split == "paper":
        points = min(DEFAULT_POINTS, TABLES[name].rows)
    return from_arrays(table[:, :-1], table[:, -1], seed, split, points, name)


def find_problem(name: str) -> Problem:
    """The problem of that name; a ValueError where there is none."""
    return PROBLEMS[check_choice("problem", name, PROBLEMS)]


def _friedman(name: str) -> Generator:
    """scikit-learn's generator of a Friedman problem, without noise."""
    # Imported here: it takes as long as all else, and most processes draw no such points.
    from sklearn import datasets

    # Of the first one's features only five have an effect.
    features = {"n_features": find_problem(name).dim} if name.startswith("friedman1") else {}
    make = functools.partial(getattr(datasets, f"make_{name.partition('_')[0]}"), **features)
    return lambda count, seed: make(n_samples=count, random_state=seed)


def _housing() -> np.ndarray:
    """California Housing with scikit-learn's features: averages, and values in 1e5 dollars.

    The operations are scikit-learn's, in its order, so that the last digits agree.
    """
    longitude, latitude, age, rooms, bedrooms, people, households, income, value = read("housing").T
    columns = [income, age, rooms / households, bedrooms / households, people]
    return np.stack([*columns, people / households, latitude, longitude, value / 100000.0], axis=1)
