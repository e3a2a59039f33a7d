"""The regression problems of section 4.3 of the gated-units paper, by name.

Planar targets on [-1, 1]^2, Friedman's functions (in the forms of Breiman, Machine
Learning 24, 1996; no noise), Airfoil Self-Noise and California Housing, whose first
rows are no sample of it. Both tables are shipped; ``DATA.md`` beside this module has
their origin.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from xsquared.data import dataset
from xsquared.data.dataset import Dataset, Generator, Split
from xsquared.functions import Target, target


@dataclass(frozen=True)
class Problem:
    """A problem's title and features, and for a planar one its target's expression."""

    title: str
    dim: int
    kind: Literal["planar", "friedman", "table"]
    expression: str = ""

    @property
    def target(self) -> Target:
        """The planar target as a function on [-1, 1]^2."""
        return target(self.expression, (-1.0, 1.0), self.title)


#: Every problem by name.
PROBLEMS = {
    "sine": Problem("sin(4x)sin(4y)", 2, "planar", "sin(4*x)*sin(4*y)"),
    "cosine": Problem("cos(4x)cos(4y)", 2, "planar", "cos(4*x)*cos(4*y)"),
    "sine_bowl": Problem(
        "sin(4x)sin(4y)(x²+y²)", 2, "planar", "sin(4*x)*sin(4*y)*(x**2 + y**2)"
    ),
    "witch": Problem("1/(1+x²+y²)", 2, "planar", "1/(1 + x**2 + y**2)"),
    "runge": Problem("1/(1+9x²+9y²)", 2, "planar", "1/(1 + 9*x**2 + 9*y**2)"),
    "arctan": Problem("atan(x)+atan(y)", 2, "planar", "atan(x) + atan(y)"),
    "squares": Problem("x²+y²", 2, "planar", "x**2 + y**2"),
    "cubes": Problem("x³+y³", 2, "planar", "x**3 + y**3"),
    "friedman1": Problem("Friedman 1", 5, "friedman"),
    "friedman1_10": Problem(
        "Friedman 1 and five inputs without effect", 10, "friedman"
    ),
    "friedman2": Problem("Friedman 2", 4, "friedman"),
    "friedman3": Problem("Friedman 3", 4, "friedman"),
    "airfoil": Problem("Airfoil Self-Noise", 5, "table"),
    "housing": Problem("California Housing", 8, "table"),
}

#: Files of the tables, in this folder, by the name of their problem; the last column is
#: the target.
FILES = {"airfoil": "airfoil_self_noise.dat.gz", "housing": "cal_housing.csv.gz"}


def load(
    name: str, seed: int = 0, split: Split = "held-out", points: int | None = None
) -> Dataset:
    """Draw or shuffle the points of a problem of :data:`PROBLEMS` by the seed.

    ``points`` are to train on; where None, 2,000, but of a table every row that is not
    held out.

    Raises:
        ValueError: no such problem.
    """
    if name not in PROBLEMS:
        known = ", ".join(PROBLEMS)
        raise ValueError(
            f"unknown problem {name!r}; known are {known}; a formula needs a domain"
        )
    problem = PROBLEMS[name]
    if problem.kind == "planar":
        return dataset.from_target(problem.target, seed, split, points)
    if problem.kind == "friedman":
        return dataset.from_generator(_friedman(name, problem.dim), seed, split, points)
    if points is None and split == "paper":
        points = dataset.DEFAULT_POINTS
    table = _housing() if name == "housing" else read_table(name)
    return dataset.from_arrays(table[:, :-1], table[:, -1], seed, split, points)


def read_table(name: str) -> np.ndarray:
    """Read a shipped table (rows, columns), in the units of its source."""
    path = Path(__file__).with_name(FILES[name])
    return np.loadtxt(path, delimiter="," if ".csv" in path.suffixes else "\t")


def _friedman(name: str, dim: int) -> Generator:
    """Find scikit-learn's generator of a Friedman problem, without noise."""
    from sklearn import datasets  # slow to import, and most processes draw none

    make = getattr(datasets, f"make_{name.partition('_')[0]}")
    # Of the first function alone the number of inputs is free; five have an effect.
    features = {"n_features": dim} if name.startswith("friedman1") else {}
    return lambda count, seed: make(n_samples=count, random_state=seed, **features)


def _housing() -> np.ndarray:
    """Compute scikit-learn's features of California Housing from the shipped sums.

    By its operations in its order, so that every bit is as there; the value, in
    100,000 dollars, is the last of nine columns.
    """
    columns = read_table("housing").T
    longitude, latitude, age, rooms, bedrooms, people, households, income, value = (
        columns
    )
    features = [
        income,
        age,
        rooms / households,
        bedrooms / households,
        people,
        people / households,
        latitude,
        longitude,
    ]
    return np.stack([*features, value / 100000.0], axis=1)
