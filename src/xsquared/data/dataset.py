"""What a network is trained on: points and values, split, standardised, with the way back.

However data come, from arrays, a frame, a file, a target or a problem's name, they end as one
:class:`Dataset`. Two splits share everything else:

- ``"paper"``: the training points are the validation and test points too, as in the gated-units
  paper (section 4.3). Tables give their first rows in their own order.
- ``"held-out"``: training, validation and test points are disjoint. Tables are shuffled by the seed
  and cut: a fifth for the test, a fifth of the rest for validation.

Features and values are standardised with mean and deviation of the training points, so nothing of
the others leaks in. Errors are thus in units of the values' deviation; times ``target_scale``, in
their own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from xsquared.checks import check_choice, check_finite_array, check_integer, check_size, quoted
from xsquared.functions import Target, interval_of
from xsquared.units import GatedNetwork, predict

if TYPE_CHECKING:
    import pandas as pd

Split = Literal["paper", "held-out"]

#: How points are split into training, validation and test.
SPLITS: tuple[Split, ...] = get_args(Split)
#: Training points of a synthetic problem where none are asked for.
DEFAULT_POINTS = 2000
#: Fresh test points of a synthetic problem: the mean square error is known to about 2 %.
TEST_POINTS = 10_000
#: The part of a table held out for the test, and the part of the rest held out for validation.
HELD_OUT = 0.2
#: A column whose deviation is below this multiple of its size is constant up to rounding.
_ROUNDING = 1e-12
#: Points this far outside a domain, in widths of it, and values this far from their target, in
#: sizes of it, have moved by rounding, as points that were scaled and scaled back do.
_POINTS_MOVED, _VALUES_MOVED = 1e-9, 1e-6

Generator = Callable[[int, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Points:
    """Features x (m, dim) and values y (m,), in a network's units and read-only.

    Raises:
        ValueError: shapes that do not fit, no point, or numbers that are not finite.
    """

    x: np.ndarray
    y: np.ndarray

    def __post_init__(self) -> None:
        x, y = check_finite_array("points", self.x), check_finite_array("values", self.y)
        if x.ndim != 2 or y.shape != x.shape[:1] or x.size == 0:
            raise ValueError(f"expected points (m, dim) and values (m,), got {x.shape}, {y.shape}")
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y)

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Points split for training, choosing and judging; make one with the functions of this module.

    Attributes:
        name: how tables and errors call it.
        split: one of :data:`SPLITS`.
        train: the points to fit.
        validation: the points to choose on.
        test: the points to judge on.
        feature_mean: (dim,) subtracted from the features.
        feature_scale: (dim,) divided out of the features.
        target_mean: subtracted from the values.
        target_scale: divided out of the values; an error times it is in the values' own units.
        features: names of the columns, where they have names.
        target: the function behind the values, where it is known; a solver that minimises an
            integral needs it.

    Raises:
        ValueError: an unknown split, parts of different dimension, values that are not the
            target's, or points outside its domain.
    """

    name: str
    split: Split
    train: Points
    validation: Points
    test: Points
    feature_mean: np.ndarray
    feature_scale: np.ndarray
    target_mean: float
    target_scale: float
    features: tuple[str, ...] = ()
    target: Target | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_choice("split", self.split, SPLITS)
        for part in (self.validation, self.test):
            if part.x.shape[1] != self.dim:
                found = f"training points have {self.dim} features, others {part.x.shape[1]}"
                raise ValueError(f"{self.name}: {found}")
        if self.target is None:
            return
        if self.target.dim != self.dim:
            found = f"points have {self.dim} features, the target has {self.target.dim} variables"
            raise ValueError(f"{self.name}: {found}")
        low, high = np.array(self.target.domain).T
        for part in (self.train, self.validation, self.test):
            x = part.x * self.feature_scale + self.feature_mean
            slack = _POINTS_MOVED * (high - low)
            if (x < low - slack).any() or (x > high + slack).any():
                raise ValueError(f"{self.name}: some points lie outside {self.target.domain}")
            gap = np.abs(self.inverse(part.y) - self.target(*np.clip(x, low, high).T))
            if gap.max() > _VALUES_MOVED * max(np.abs(self.inverse(part.y)).max(), 1e-300):
                place = int(gap.argmax())
                raise ValueError(
                    f"{self.name}: expected the values of its target, got one that is off by "
                    f"{gap[place]:.3g} at {x[place].tolist()}; leave the target out to fit the "
                    "values as they are"
                )

    @property
    def dim(self) -> int:
        """Number of features."""
        return self.train.x.shape[1]

    def standardise(self, x: ArrayLike) -> np.ndarray:
        """Features in their own units, (m, dim) or a frame, as a network of this data takes them.

        Raises:
            ValueError: a wrong shape, a missing column, or values that are no finite numbers.
        """
        columns = getattr(x, "columns", None)
        if columns is not None and self.features:
            if missing := [name for name in self.features if name not in columns]:
                raise ValueError(f"{self.name}: expected a column {missing[0]!r}, got {[*columns]}")
            frame: Any = x
            x = frame[list(self.features)]
        array = check_finite_array("features", _plain(x))
        if array.ndim == 1 and self.dim == 1:
            array = array[:, None]
        if array.ndim != 2 or array.shape[1] != self.dim:
            raise ValueError(f"expected features of shape (m, {self.dim}), got {array.shape}")
        return (array - self.feature_mean) / self.feature_scale

    def inverse(self, y: np.ndarray) -> np.ndarray:
        """A network's values in the units of the data."""
        return y * self.target_scale + self.target_mean

    def predict(self, network: GatedNetwork, x: ArrayLike) -> np.ndarray:
        """A trained network's values (m,) at features that :meth:`standardise` takes."""
        return self.inverse(predict(network, self.standardise(x)))


def sampled(target: Target, n_points: int = 10_000) -> Dataset:
    """The gated-units paper's points in one dimension (section 4.1), as they are.

    Equidistant, ends included, for training and for testing alike, since so many of them stand for
    the integral. In more dimensions points are drawn: :func:`from_target`.

    Raises:
        ValueError: several variables, or fewer than two points.
    """
    interval, count = interval_of(target), check_integer("n_points", n_points, 2, 10**7)
    x = np.linspace(*interval, count)
    points = Points(_frozen(x[:, None]), _frozen(target(x)))
    one, zero = _frozen(np.ones(1)), _frozen(np.zeros(1))
    return Dataset(target.name, "paper", points, points, points, zero, one, 0.0, 1.0, target=target)


def from_target(
    target: Target,
    seed: int = 0,
    split: Split = "held-out",
    points: int | None = None,
    name: str = "",
) -> Dataset:
    """Noise-free values of a target at points drawn uniformly from its domain.

    Args:
        target: any target.
        seed: of the draw.
        split: one of :data:`SPLITS`.
        points: training points; :data:`DEFAULT_POINTS` where None. A held-out split draws a quarter
            as many for validation and :data:`TEST_POINTS` for the test.
        name: of the data; the target's own where empty.

    Raises:
        ValueError: an unknown split, a negative seed, or too few points to fit.
    """
    if not isinstance(target, Target):
        raise TypeError(f"expected a Target, got {quoted(target)}")
    low, high = np.asarray(target.domain).T

    def generate(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        x = np.random.default_rng(seed).uniform(low, high, (count, target.dim))
        return x, target(*x.T)

    return from_generator(name or target.name, generate, seed, split, points, target)


def from_generator(
    name: str,
    generate: Generator,
    seed: int = 0,
    split: Split = "held-out",
    points: int | None = None,
    target: Target | None = None,
) -> Dataset:
    """Points and values that ``generate(count, seed)`` draws; else as :func:`from_target`.

    The training points come first, whatever follows.
    """
    _check(seed, split)
    count = DEFAULT_POINTS if points is None else points
    dim = generate(1, seed)[0].shape[1]
    _check_points(name, count, dim)
    check_size("points", count + count // 4 + TEST_POINTS, dim)
    if split == "paper":
        return _standardised(name, split, [generate(count, seed)], target=target)
    kept = max(count // 4, 1)
    x, y = generate(count + kept + TEST_POINTS, seed)
    cuts = [slice(count), slice(count, count + kept), slice(count + kept, None)]
    return _standardised(name, split, [(x[cut], y[cut]) for cut in cuts], target=target)


def from_arrays(
    x: ArrayLike,
    y: ArrayLike,
    seed: int = 0,
    split: Split = "held-out",
    points: int | None = None,
    name: str = "table",
    features: Sequence[str] = (),
) -> Dataset:
    """A table of one's own, split as the shipped ones are.

    Args:
        x: (rows, dim) features.
        y: (rows,) values.
        seed: of the shuffle; the paper's split keeps the order of the rows.
        split: one of :data:`SPLITS`.
        points: training points; all that there are where None.
        name: of the data.
        features: names of the columns, where they have names.

    Raises:
        ValueError: shapes that do not fit, values that are no finite numbers, a constant column,
            more points than rows, or too few.
    """
    _check(seed, split)
    x = check_finite_array(f"{name}, features", x)
    y = check_finite_array(f"{name}, values", y)
    if x.ndim != 2 or y.shape != x.shape[:1] or x.shape[1] == 0:
        wanted = "expected features (rows, dim) and values (rows,)"
        raise ValueError(f"{name}: {wanted}, got {x.shape}, {y.shape}")
    rows, held, kept = len(y), 0, 0
    if split == "held-out":
        order = np.random.default_rng(seed).permutation(rows)
        x, y = x[order], y[order]
        held = round(HELD_OUT * rows)
        kept = round(HELD_OUT * (rows - held))
    available = rows - held - kept
    count = available if points is None else points
    _check_points(name, count, x.shape[1])
    if count > available:
        raise ValueError(
            f"{name} has {rows} rows: expected at most {available} for training, got {count}"
        )
    start = held + kept
    parts = [(x[start : start + count], y[start : start + count])]
    if split == "held-out":
        parts += [(x[held:start], y[held:start]), (x[:held], y[:held])]
    return _standardised(name, split, parts, tuple(features))


def from_frame(
    frame: pd.DataFrame,
    y: str,
    seed: int = 0,
    split: Split = "held-out",
    points: int | None = None,
    name: str = "frame",
) -> Dataset:
    """A pandas frame: column y to predict, all others as features; else as :func:`from_arrays`.

    Raises:
        ValueError: a column that is missing, stands twice or holds no numbers.
    """
    if not hasattr(frame, "columns"):
        raise TypeError(f"{name}: expected a pandas frame, got {quoted(frame)}")
    if not isinstance(y, Hashable) or y not in frame.columns:
        raise ValueError(f"{name}: expected a column {quoted(y)}, got {quoted([*frame.columns])}")
    if not frame.columns.is_unique:
        raise ValueError(f"{name}: expected every column once, got {quoted([*frame.columns])}")
    features = [column for column in frame.columns if column != y]
    columns = [check_finite_array(f"{name}, column {c}", _plain(frame[c])) for c in features]
    values = check_finite_array(f"{name}, column {y}", _plain(frame[y]))
    table = np.stack(columns, axis=1) if columns else np.empty((len(frame), 0))
    return from_arrays(table, values, seed, split, points, name, features)


def from_file(
    path: Path | str,
    y: str,
    seed: int = 0,
    split: Split = "held-out",
    points: int | None = None,
) -> Dataset:
    """A csv or parquet file with named columns; else as :func:`from_frame`.

    Raises:
        OSError: the file cannot be read.
        ValueError: neither csv nor parquet.
    """
    import pandas as pd  # a second that only tables of one's own need

    if not isinstance(path, str | Path):
        raise TypeError(f"expected the path of a file, got {quoted(path)}")
    path = Path(path)
    readers = {".csv": pd.read_csv, ".parquet": pd.read_parquet}
    if path.suffix not in readers:
        raise ValueError(f"expected a file {' or '.join(readers)}, got {path.name}")
    try:
        frame = readers[path.suffix](path)
    except OSError as error:
        raise OSError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:  # pandas' and pyarrow's own are some
        raise ValueError(f"cannot read {path}: {quoted(str(error))}") from error
    return from_frame(frame, y, seed, split, points, path.name)


def _plain(values: object) -> object:
    """A frame or one of its columns as an array of numpy's own kinds where pandas has one."""
    return values.to_numpy() if hasattr(values, "to_numpy") else values


def _standardised(
    name: str,
    split: Split,
    parts: list[tuple[np.ndarray, np.ndarray]],
    features: tuple[str, ...] = (),
    target: Target | None = None,
) -> Dataset:
    """Standardise the raw parts by the first, and freeze them; one part plays all."""
    x, y = parts[0]
    with np.errstate(over="ignore", invalid="ignore"):
        mean, scale = x.mean(axis=0), x.std(axis=0)
        target_mean, target_scale = float(y.mean()), float(y.std())
    if not np.isfinite([*scale, target_scale]).all():
        raise ValueError(f"{name}: expected numbers whose squares float64 holds, got larger ones")
    constant = np.flatnonzero(scale <= _ROUNDING * np.abs(x).max(axis=0))
    over = f"constant over the {len(x)} training points"
    if len(constant):
        column = repr(features[constant[0]]) if features else constant[0]
        raise ValueError(f"{name}: expected columns that vary, feature column {column} is {over}")
    if target_scale <= _ROUNDING * np.abs(y).max():
        raise ValueError(f"{name}: expected values that vary, the values are {over}")
    points = [
        Points(_frozen((x - mean) / scale), _frozen((y - target_mean) / target_scale))
        for x, y in parts
    ]
    train, validation, test = points if len(points) == 3 else points * 3
    scaling = (_frozen(mean), _frozen(scale), target_mean, target_scale)
    return Dataset(name, split, train, validation, test, *scaling, features, target)


def _frozen(array: np.ndarray) -> np.ndarray:
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array


def _check(seed: int, split: str) -> None:
    check_choice("split", split, SPLITS)
    check_integer("seed", seed, 0, 2**32 - 1)


def _check_points(name: str, count: int, dim: int) -> None:
    check_integer(f"{name} has {dim} features; training points", count, dim + 2)
