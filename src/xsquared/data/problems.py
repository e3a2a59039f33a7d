"""The regression problems of section 4.3 of the gated-units paper, and how their points are split.

Planar targets on [-1, 1]^2, Friedman's three functions (scikit-learn's generators, no noise),
Airfoil Self-Noise and California Housing. Two protocols share everything else:

- ``"paper"``: the training points are the test points, as in the paper. Synthetic problems draw
  2,000 points; the tables give their first 2,000 rows in the file's own order, as the paper's code
  does. California Housing runs county by county, so those are a few counties, no sample of it.
- ``"held-out"``: training, validation and test points are disjoint. Synthetic problems draw fresh
  points, 10,000 of them for the test, so that the test error stands for the integral to about one
  per cent. Tables are shuffled by the seed and cut: a fifth for the test, a fifth of the rest for
  validation.

Features and target are standardised with mean and deviation of the training points, so nothing of
the others leaks in. Errors are thus in units of the target's deviation; times ``target_scale``, in
its own.

References:
    Friedman, Ann. Statist. 19 (1991), for problem 1; Breiman, Machine Learning 24 (1996), for the
    forms of all three that scikit-learn generates. ``data/DATA.md`` for the tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from xsquared.data.tables import TABLES, read
from xsquared.functions import Target, target

#: How points are split into training, validation and test.
PROTOCOLS = ("paper", "held-out")
#: Training points where none are asked for.
DEFAULT_POINTS = 2000
#: Fresh test points of a synthetic problem: the mean square error is known to about 2 %.
_TEST_POINTS = 10_000
#: The part of a table held out for the test, and the part of the rest held out for validation.
_HELD_OUT = 0.2
#: A column whose deviation is below this multiple of its size is constant up to rounding.
_CONSTANT = 1e-12

Generator = Callable[[int, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Problem:
    """A regression problem by name.

    Attributes:
        name: how :func:`load` knows it.
        title: how tables and figures call it.
        dim: number of features.
        kind: ``"planar"``, ``"friedman"`` or ``"table"``.
        expression: of a planar target; empty otherwise.
    """

    name: str
    title: str
    dim: int
    kind: Literal["planar", "friedman", "table"]
    expression: str = ""

    @property
    def target(self) -> Target:
        """The planar target as a function on [-1, 1]^2.

        Raises:
            ValueError: a problem that is not planar.
        """
        if self.kind != "planar":
            raise ValueError(f"{self.name} is not given by an expression")
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
}
_FRIEDMAN = {
    "friedman1": ("Friedman 1", 5),
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


@dataclass(frozen=True)
class Points:
    """Some points of a problem, standardised and read-only.

    Attributes:
        x: (m, dim) features.
        y: (m,) target.
    """

    x: np.ndarray
    y: np.ndarray

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class Dataset:
    """A problem's points, split by a protocol.

    Attributes:
        name: of the problem.
        protocol: one of :data:`PROTOCOLS`.
        train: the points to fit.
        validation: the points to choose on; the training points under ``"paper"``.
        test: the points to judge on; the training points under ``"paper"``.
        feature_mean: (dim,) subtracted from the features.
        feature_scale: (dim,) divided out of the features.
        target_mean: subtracted from the target.
        target_scale: divided out of the target; an error times it is in the target's units.
    """

    name: str
    protocol: str
    train: Points
    validation: Points
    test: Points
    feature_mean: np.ndarray
    feature_scale: np.ndarray
    target_mean: float
    target_scale: float

    @property
    def dim(self) -> int:
        """Number of features."""
        return self.train.x.shape[1]

    def standardise(self, x: ArrayLike) -> np.ndarray:
        """Features in the problem's units, (m, dim), as a network of this data takes them.

        Raises:
            ValueError: a wrong shape.
        """
        array = np.asarray(x, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != self.dim:
            raise ValueError(f"expected features of shape (m, {self.dim}), got {array.shape}")
        return (array - self.feature_mean) / self.feature_scale


def load(
    name: str, seed: int = 0, protocol: str = "held-out", points: int | None = None
) -> Dataset:
    """A problem's points.

    Args:
        name: one of :data:`PROBLEMS`.
        seed: of drawing synthetic points and of shuffling tables.
        protocol: one of :data:`PROTOCOLS`.
        points: training points. Where None: 2,000; of a table, under ``"held-out"``, every row that
            is not held out; of the airfoils, which have fewer, every row.

    Raises:
        ValueError: an unknown problem or protocol, a negative seed, or more points than a table
            has, or too few to fit.
    """
    problem = find_problem(name)
    if problem.kind == "planar":
        return from_target(problem.target, seed, protocol, points, name=name)
    if problem.kind == "friedman":
        _check(seed, protocol)
        return _draw(name, _friedman(name), seed, protocol, points)
    table = _housing() if name == "housing" else read(name)
    if points is None and protocol == "paper":
        points = min(DEFAULT_POINTS, TABLES[name].rows)
    return from_arrays(table[:, :-1], table[:, -1], seed, protocol, points, name=name)


def find_problem(name: str) -> Problem:
    """The problem of that name.

    Raises:
        ValueError: an unknown name.
    """
    if name not in PROBLEMS:
        raise ValueError(f"unknown problem {name!r}; known are {', '.join(PROBLEMS)}")
    return PROBLEMS[name]


def from_target(
    function: Target,
    seed: int = 0,
    protocol: str = "held-out",
    points: int | None = None,
    name: str = "",
) -> Dataset:
    """Points of a target function, uniform on its domain; arguments and errors as for :func:`load`.

    Args:
        function: any target.
        name: how to call the data; the target's own name where empty.
    """
    _check(seed, protocol)
    low, high = np.asarray(function.domain).T

    def generate(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        x = np.random.default_rng(seed).uniform(low, high, (count, function.dim))
        return x, function(*x.T)

    return _draw(name or function.name, generate, seed, protocol, points)


def from_arrays(
    features: ArrayLike,
    target_values: ArrayLike,
    seed: int = 0,
    protocol: str = "held-out",
    points: int | None = None,
    name: str = "table",
) -> Dataset:
    """A table of one's own, split as the shipped ones are.

    Args:
        features: (rows, dim).
        target_values: (rows,).
        seed: of the shuffle; the paper's protocol keeps the order of the rows.
        protocol: one of :data:`PROTOCOLS`.
        points: training points; all that there are where None.
        name: how errors call the table.

    Raises:
        ValueError: shapes that do not fit, values that are NaN or infinite, a constant column, more
            points than rows, or too few.
    """
    _check(seed, protocol)
    x = np.asarray(features, dtype=np.float64)
    y = np.asarray(target_values, dtype=np.float64)
    if x.ndim != 2 or y.shape != x.shape[:1] or x.shape[1] == 0:
        raise ValueError(
            f"{name}: expected features (rows, dim) and a target (rows,), got {x.shape}, {y.shape}"
        )
    rows, held, kept = len(y), 0, 0
    if protocol == "held-out":
        order = np.random.default_rng(seed).permutation(rows)
        x, y = x[order], y[order]
        held = round(_HELD_OUT * rows)
        kept = round(_HELD_OUT * (rows - held))
    available = rows - held - kept
    count = available if points is None else points
    _check_points(name, count, x.shape[1])
    if count > available:
        raise ValueError(
            f"{name} has {rows} rows, {available} of them for training: {count} points are too many"
        )
    start = held + kept
    train = (x[start : start + count], y[start : start + count])
    if protocol == "paper":
        return _standardised(name, protocol, train)
    validation, test = (x[held:start], y[held:start]), (x[:held], y[:held])
    return _standardised(name, protocol, train, validation, test)


def _friedman(name: str) -> Generator:
    """scikit-learn's generator of a Friedman problem, without noise."""
    # Imported here: it takes as long as all else, and most processes draw no such points.
    from sklearn.datasets import make_friedman1, make_friedman2, make_friedman3

    makers = {"friedman2": make_friedman2, "friedman3": make_friedman3}

    def generate(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        if name == "friedman1":
            # Ten features by default, five of them without effect.
            return make_friedman1(n_samples=count, n_features=5, random_state=seed)
        return makers[name](n_samples=count, random_state=seed)

    return generate


def _draw(name: str, generate: Generator, seed: int, protocol: str, points: int | None) -> Dataset:
    """Fresh points of a synthetic problem; the training points come first, whatever follows."""
    count = DEFAULT_POINTS if points is None else points
    dim = generate(1, seed)[0].shape[1]
    _check_points(name, count, dim)
    if protocol == "paper":
        train = generate(count, seed)
        return _standardised(name, protocol, train)
    kept = max(count // 4, 1)
    x, y = generate(count + kept + _TEST_POINTS, seed)
    cuts = [slice(count), slice(count, count + kept), slice(count + kept, None)]
    train, validation, test = ((x[cut], y[cut]) for cut in cuts)
    return _standardised(name, protocol, train, validation, test)


def _housing() -> np.ndarray:
    """California Housing with scikit-learn's features: averages, and values in 1e5 dollars.

    The operations are scikit-learn's, in its order, so that the last digits agree.
    """
    longitude, latitude, age, rooms, bedrooms, people, households, income, value = read("housing").T
    columns = [income, age, rooms / households, bedrooms / households, people]
    return np.stack([*columns, people / households, latitude, longitude, value / 100000.0], axis=1)


def _standardised(name: str, protocol: str, *parts: tuple[np.ndarray, np.ndarray]) -> Dataset:
    """Check the raw parts, standardise them by the first, and freeze them; one part plays all."""
    for x, y in parts:
        for values, what in ((x, "features"), (y, "target")):
            if not np.isfinite(values).all():
                bad = values[~np.isfinite(values)]
                raise ValueError(
                    f"{name}: expected finite {what}, got {len(bad)} that are not, such as {bad[0]}"
                )
    x, y = parts[0]
    mean, scale = x.mean(axis=0), x.std(axis=0)
    constant = np.flatnonzero(scale <= _CONSTANT * np.abs(x).max(axis=0))
    if len(constant):
        raise ValueError(
            f"{name}: feature column {constant[0]} is constant over the {len(x)} training points"
        )
    target_mean, target_scale = float(y.mean()), float(y.std())
    if target_scale <= _CONSTANT * np.abs(y).max():
        raise ValueError(f"{name}: the target is constant over the {len(y)} training points")
    points = [
        Points(_frozen((x - mean) / scale), _frozen((y - target_mean) / target_scale))
        for x, y in parts
    ]
    train, validation, test = points if len(points) == 3 else points * 3
    return Dataset(
        name,
        protocol,
        train,
        validation,
        test,
        _frozen(mean),
        _frozen(scale),
        target_mean,
        target_scale,
    )


def _frozen(array: np.ndarray) -> np.ndarray:
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array


def _check(seed: int, protocol: str) -> None:
    if protocol not in PROTOCOLS:
        raise ValueError(f"unknown protocol {protocol!r}; known are {', '.join(PROTOCOLS)}")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**32:
        raise ValueError(f"seed must be an integer from 0 to 2**32 - 1, got {seed!r}")


def _check_points(name: str, count: int, dim: int) -> None:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < dim + 2:
        raise ValueError(
            f"{name} has {dim} features and needs at least {dim + 2} training points, got {count!r}"
        )
