"""What a network is trained on: points and values, split, standardised, with the way back.

Arrays, frames, files, targets and named problems all become one :class:`Dataset`. Its split is one
of two:

- ``"paper"``: the training points are the validation and test points too, as in the gated-units
  paper (section 4.3). Tables give their first rows in their own order.
- ``"held-out"``: training, validation and test points are disjoint. Tables are shuffled by the seed
  and cut: a fifth for the test, a fifth of the rest for validation.

Features and values are standardised with mean and deviation of the training points. Errors are in
units of the values' deviation; times ``target_scale``, in the data's own.

A gated unit grows like the square or the cube of the distance from the points it has seen. On a
held-out split its predictions are therefore confined to the range of the training values, widened
by a tenth of it at either end (:data:`MARGIN`). Errors are those of these predictions.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
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
#: Share of the training values' range by which a prediction for a point not seen may leave it.
MARGIN = 0.1
#: Columns of a table of one's own: reading many more takes minutes and all memory.
MOST_COLUMNS = 10_000
#: A column whose deviation is below this multiple of its size is constant up to rounding.
_ROUNDING = 1e-12
#: What no header has: a number, or a word for none. Rows without a header begin so.
_NUMBER = re.compile(r"[-+.]*\d[-+.\deE]*|[-+]?(inf|nan|na|null)", re.IGNORECASE)
#: What an index without a name is called in a csv or parquet file.
_INDEX = re.compile(r"Unnamed: |__index_level_\d+__$")

Generator = Callable[[int, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Points:
    """Features x (m, dim) and values y (m,) in a network's units: read-only copies."""

    x: np.ndarray
    y: np.ndarray

    def __post_init__(self) -> None:
        for name in ("x", "y"):
            object.__setattr__(self, name, _frozen(np.array(getattr(self, name), np.float64)))

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
    features: tuple[str | int, ...] = ()
    target: Target | None = field(default=None, repr=False)

    @property
    def dim(self) -> int:
        """Number of features."""
        return self.train.x.shape[1]

    def standardise(self, x: ArrayLike) -> np.ndarray:
        """Features in their own units, (m, dim) or a frame, as a network of this data takes them.

        Raises:
            ValueError: a wrong shape, a missing column, or values that are no finite numbers.
        """
        frame = _as_pandas(x)
        if frame is not None and self.features:
            if missing := [name for name in self.features if name not in frame.columns]:
                found = quoted([*frame.columns])
                raise ValueError(f"{self.name}: expected a column {missing[0]!r}, got {found}")
            frame = frame.loc[:, list(self.features)]
        array = _numbers("features", x if frame is None else frame)
        if array.ndim == 1 and self.dim == 1:
            array = array[:, None]
        if array.ndim != 2 or array.shape[1] != self.dim:
            raise ValueError(f"expected features of shape (m, {self.dim}), got {array.shape}")
        return (array - self.feature_mean) / self.feature_scale

    def inverse(self, y: np.ndarray) -> np.ndarray:
        """A network's values in the units of the data."""
        return y * self.target_scale + self.target_mean

    def predict(self, network: GatedNetwork, x: ArrayLike, *, confined: bool = True) -> np.ndarray:
        """A trained network's values (m,) at features that :meth:`standardise` takes.

        On a held-out split they are confined to the widened range of the training values, as errors
        are judged; ``confined=False`` leaves them as the network gives them.
        """
        return self.inverse(self._values(network, self.standardise(x), confined))

    def error(self, network: GatedNetwork, points: Points) -> float:
        """Root mean square error of the predictions at points in a network's units."""
        with np.errstate(over="ignore", invalid="ignore"):
            squares = (self._values(network, points.x) - points.y) ** 2
        return error if math.isfinite(error := float(np.sqrt(np.mean(squares)))) else math.inf

    def _values(self, network: GatedNetwork, x: np.ndarray, confined: bool = True) -> np.ndarray:
        """x (m, dim) -> y (m,), both in the network's units."""
        y = predict(network, x)
        if self.split == "paper" or not confined:
            return y
        low, high = self.train.y.min(), self.train.y.max()
        room = MARGIN * (high - low)
        return np.clip(y, low - room, high + room)


def sampled(target: Target, n_points: int = 10_000) -> Dataset:
    """The gated-units paper's points in one dimension (section 4.1), as they are.

    Equidistant, ends included, for training and for testing alike, since so many of them stand for
    the integral. In more dimensions points are drawn: :func:`from_target`.

    Raises:
        ValueError: several variables, or fewer than two points.
    """
    interval, count = interval_of(target), check_integer("n_points", n_points, 2, 10**7)
    x = np.linspace(*interval, count)
    points = Points(x[:, None], target(x))
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
        TypeError: no target.
        ValueError: an unknown split, a bad seed, or too few points to fit.
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
    dim = generate(1, seed)[0].shape[1]
    count = _check_points(name, DEFAULT_POINTS if points is None else points, dim)
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
    groups: ArrayLike | None = None,
) -> Dataset:
    """A table of one's own, split as the shipped ones are.

    Args:
        x: (rows, dim) features; a frame's have the names of its columns.
        y: (rows,) values.
        seed: of the shuffle; the paper's split keeps the order of the rows.
        split: one of :data:`SPLITS`.
        points: training points, of all groups; all that there are where None.
        name: of the data.
        groups: (rows,) labels, at least four of them for a held-out split, which shuffles and cuts
            the groups, so that rows of one group stay together. Labels that are ``==`` are one
            group, as 1 and 1.0; each row is its own where None.

    Raises:
        ValueError: shapes that do not fit, values that are no finite numbers, a constant column,
            more points than rows, or too few; labels without an order.
    """
    _check(seed, split)
    frame = _as_pandas(x)
    features = () if frame is None else (*frame.columns,)
    _check_names(name, features)
    x = _numbers(f"{name}, features", x if frame is None else frame)
    y = _numbers(f"{name}, values", y)
    if x.ndim != 2 or y.shape != x.shape[:1] or x.shape[1] == 0:
        wanted = "expected features (rows, dim) and values (rows,)"
        raise ValueError(f"{name}: {wanted}, got {x.shape}, {y.shape}")
    rows, held, kept = len(y), 0, 0
    try:
        labels = np.arange(rows) if groups is None else np.asarray(groups)
        # Of what was no array yet, one of 1 and "1" holds the same text twice.
        if not (groups is None or hasattr(groups, "dtype")):
            labels = np.asarray(groups, dtype=object)
        found, label = np.unique(labels, return_inverse=True)
        ordered = np.all(found[:-1] < found[1:])
    except (TypeError, ValueError, ArithmeticError, RuntimeError) as error:
        reason = quoted(str(error))
        raise ValueError(f"{name}: expected groups that can be sorted: {reason}") from None
    if label.shape != (rows,):
        raise ValueError(f"{name}: expected a group for each of {rows} rows, got {label.shape}")
    if len(missing := labels[(labels != labels) | np.ma.asarray(groups).mask]):  # NaN, NaT, masked
        raise ValueError(f"{name}: expected a group for each row, got {missing[0]}")
    if not ordered:  # as of sets: sorting does not bring equal ones together
        raise ValueError(f"{name}: expected groups of which each two can be sorted")
    if split == "held-out":
        count = check_integer(f"{name}, groups to split", len(found), 4)
        place = np.argsort(np.random.default_rng(seed).permutation(count))[label]
        order = np.argsort(place, kind="stable")
        x, y = x[order], y[order]
        tested = round(HELD_OUT * count)
        held = int(np.sum(place < tested))
        kept = int(np.sum(place < tested + round(HELD_OUT * (count - tested)))) - held
    available = rows - held - kept
    count = _check_points(name, available if points is None else points, x.shape[1])
    if count > available:
        wanted = f"expected at most {available} for training, got {count}"
        raise ValueError(f"{name} has {rows} rows: {wanted}")
    trained = np.arange(held + kept, rows)
    if groups is not None and split == "held-out":  # the first rows would be a few groups'
        trained = np.random.default_rng(seed).permutation(trained)
    trained = np.sort(trained[:count])
    parts = [(x[trained], y[trained])]
    if split == "held-out":
        parts += [(x[held : held + kept], y[held : held + kept]), (x[:held], y[:held])]
    return _standardised(name, split, parts, features)


def from_frame(
    frame: pd.DataFrame | object,
    y: str | int,
    seed: int = 0,
    split: Split = "held-out",
    points: int | None = None,
    name: str = "frame",
) -> Dataset:
    """A frame: column y to predict, all others as features; else as :func:`from_arrays`.

    Frames of polars or pyarrow come by Arrow's protocol. An index is no column.

    Raises:
        TypeError: no frame.
        ValueError: no rows, or a column that is missing, has no name of its own, holds no numbers,
            or is the column to predict once more.
    """
    table = _as_pandas(frame)
    if table is None:
        raise TypeError(f"{name}: expected a frame of named columns, got {quoted(frame)}")
    _check_names(name, [*table.columns])
    if not isinstance(y, str | int | np.integer) or y not in table.columns:
        raise ValueError(f"{name}: expected a column {quoted(y)}, got {quoted([*table.columns])}")
    if not len(table):
        raise ValueError(f"{name}: expected rows below the names of the columns, got none")
    columns = {column: _numbers(f"{name}, column {column}", table[column]) for column in table}
    values = columns.pop(y)
    if copies := [column for column, found in columns.items() if np.array_equal(found, values)]:
        raise ValueError(f"{name}: expected features, column {copies[0]!r} is {y!r} once more")
    return from_arrays(table.drop(columns=[y]), values, seed, split, points, name)


def from_file(
    path: Path | str,
    y: str,
    seed: int = 0,
    split: Split = "held-out",
    points: int | None = None,
) -> Dataset:
    """A csv or parquet file; an index with a name is a column. Else as :func:`from_frame`.

    Raises:
        OSError: the file cannot be read.
        ValueError: neither csv nor parquet, or rows longer than the header of a csv.
    """
    import pandas as pd  # a second that only tables of one's own need
    from pyarrow import ArrowException, parquet

    if not isinstance(path, str | Path):
        raise TypeError(f"expected the path of a file, got {quoted(path)}")
    path, shown = Path(path), quoted(str(path))
    if path.suffix not in (".csv", ".parquet"):
        raise ValueError(f"expected a file .csv or .parquet, got {quoted(path.name)}")
    parsing = csv.Error, UnicodeError, pd.errors.EmptyDataError, pd.errors.ParserError
    try:
        if not path.is_file():  # a device or a pipe may have no end
            raise OSError("there is no such file")
        if path.suffix == ".csv":
            with path.open(encoding="utf-8-sig", newline="") as file:
                # As pandas, which skips empty lines and those of blanks.
                lines = (row for row in csv.reader(file) if len(row) > 1 or "".join(row).strip())
                header, first = next(lines, []), next(lines, [])
            _check_names(path.name, header)
            if len(first) > len(header):
                found = f"{len(header)} names over {len(first)} fields"
                raise ValueError(f"{path.name}: expected rows as long as the header, got {found}")
            frame = pd.read_csv(path.absolute())  # pandas takes a path that begins file: for a URL
        else:
            with parquet.ParquetFile(path) as file:
                _check_names(path.name, file.schema_arrow.names)
                frame = file.read()
            _check_index(path.name, frame.schema)
    except OSError as error:
        reason = error.strerror or " ".join(str(error).split())  # arrow's has several lines
        raise OSError(f"cannot read {shown}: {reason}") from error
    except (*parsing, ArrowException) as error:
        raise ValueError(f"cannot read {shown}: {quoted(str(error).strip())}") from error
    return from_frame(frame, y, seed, split, points, path.name)


def _check_index(name: str, schema: Any) -> None:
    """Refuse a parquet file whose index has a name and no column: pandas keeps a range so."""
    lost = []
    with suppress(ValueError, KeyError, TypeError):  # written otherwise, or not by pandas
        indices = schema.pandas_metadata["index_columns"]
        lost = [index["name"] for index in indices if isinstance(index, dict) and index["name"]]
    if lost:
        raise ValueError(f"{name}: expected an index with a name as a column, got the range {lost}")


def _check_names(name: str, columns: Sequence[object]) -> None:
    """Refuse a table whose columns cannot be told apart by names of their own."""
    if len(columns) > MOST_COLUMNS:
        raise ValueError(f"{name}: expected at most {MOST_COLUMNS} columns, got {len(columns)}")
    for n in columns:
        if isinstance(n, bool) or not isinstance(n, str | int | np.integer):
            raise ValueError(f"{name}: expected columns named by texts, got {quoted(n)}")
        if isinstance(n, str) and (not n.strip() or _INDEX.match(n)):
            raise ValueError(f"{name}: expected a name for every column, got {n!r}: drop an index")
    texts = [n for n in columns if isinstance(n, str)]
    if texts and all(_NUMBER.fullmatch(text.strip()) for text in texts):
        raise ValueError(f"{name}: expected names in the header, got numbers, {quoted(texts)}")
    if len(set(columns)) < len(columns):
        raise ValueError(f"{name}: expected every column once, got {quoted([*columns])}")


def _as_pandas(table: Any) -> pd.DataFrame | None:
    """A frame of any library as one of pandas; None for what is no frame."""
    if not hasattr(table, "__arrow_c_stream__") or not hasattr(table, "columns"):  # as a series
        return None
    import pandas as pd
    import pyarrow as pa

    if isinstance(table, pd.DataFrame):
        return table
    return pa.table(table).replace_schema_metadata(None).to_pandas()  # else columns become indices


def _numbers(what: str, values: Any) -> np.ndarray:
    """An array, column or frame as float64; decimals and pandas' nullable kinds are numbers."""
    what = " ".join(what.split())  # a column's name may have line breaks
    if hasattr(values, "columns"):
        columns = [_numbers(f"{what}, column {c}", column) for c, column in values.items()]
        return np.stack(columns, axis=1) if columns else np.empty((len(values), 0))
    if hasattr(values, "to_numpy"):
        try:
            values = values.to_numpy()
        except NotImplementedError as error:  # of arrow, whose intervals numpy has not
            raise ValueError(f"{what}: expected real numbers, got {error}") from None
        if values.dtype == object and all(isinstance(value, Decimal) for value in values.flat):
            values = values.astype(np.float64)
    return check_finite_array(what, values)


def _standardised(
    name: str,
    split: Split,
    parts: list[tuple[np.ndarray, np.ndarray]],
    features: tuple[str | int, ...] = (),
    target: Target | None = None,
) -> Dataset:
    """Parts x (m, dim), y (m,), standardised by the first; a single part serves as all three."""
    x, y = parts[0]
    mean, scale = _moments(x)
    target_mean, target_scale = _moments(y)
    constant = np.flatnonzero(scale <= _ROUNDING * np.abs(x).max(axis=0))
    over = f"constant over the {len(x)} training points"
    if len(constant):
        column = repr(features[constant[0]]) if features else constant[0]
        raise ValueError(f"{name}: expected columns that vary, feature column {column} is {over}")
    if target_scale <= _ROUNDING * np.abs(y).max():
        raise ValueError(f"{name}: expected values that vary, the values are {over}")
    points = [Points((x - mean) / scale, (y - target_mean) / target_scale) for x, y in parts]
    train, validation, test = points if len(points) == 3 else points * 3
    scaling = (_frozen(mean), _frozen(scale), float(target_mean), float(target_scale))
    return Dataset(name, split, train, validation, test, *scaling, features, target)


def _moments(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation over the rows, of numbers whose squares float64 need not hold."""
    power = np.frexp(np.abs(x).max(axis=0))[1]  # dividing by a power of two is exact
    scaled = np.ldexp(x, -power)
    return np.ldexp(scaled.mean(axis=0), power), np.ldexp(scaled.std(axis=0), power)


def _frozen(array: np.ndarray) -> np.ndarray:
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array


def _check(seed: int, split: str) -> None:
    check_choice("split", split, SPLITS)
    check_integer("seed", seed, 0, 2**32 - 1)


def _check_points(name: str, count: int, dim: int) -> int:
    return check_integer(f"{name} has {dim} features; training points", count, dim + 2)
