"""Datasets: the same points however they come, no leaks, the way back, and what is refused."""

import math
import time
from collections import UserList, deque
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data import raw
from xsquared.data.dataset import (
    SPLITS,
    Dataset,
    Points,
    Split,
    from_arrays,
    from_file,
    from_frame,
    from_target,
    sampled,
)
from xsquared.functions import PAPER_TARGET, target
from xsquared.training import VariableProjection, fit
from xsquared.units import build, predict

PARTS = ("train", "validation", "test")


def same(one: Dataset, other: Dataset) -> bool:
    points = [[getattr(d, part) for part in PARTS] for d in (one, other)]
    equal = [
        np.array_equal(a.x, b.x) and np.array_equal(a.y, b.y) for a, b in zip(*points, strict=True)
    ]
    return all(equal) and one.features == other.features and one.split == other.split


class ArrowStream:
    """A frame as polars has it since 2.0: columns, and Arrow's protocol alone."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.columns = [*frame.columns]
        self.__arrow_c_stream__ = pa.Table.from_pandas(frame).__arrow_c_stream__


@pytest.fixture
def frame() -> pd.DataFrame:
    draw = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": draw.integers(0, 90, 50),
            "price": draw.lognormal(3, 1, 50),
            "area": draw.uniform(20, 200, 50).astype(np.float32),
        }
    )


def test_points_of_one_dimension_are_the_papers() -> None:
    f = target("exp(x)", (-1.0, 2.0))
    data = sampled(f, 7)
    np.testing.assert_array_equal(data.train.x[:, 0], np.linspace(-1, 2, 7))
    np.testing.assert_allclose(data.train.y, np.exp(np.linspace(-1, 2, 7)), rtol=1e-15)
    assert data.test is data.train
    assert data.validation is data.train
    assert (data.name, data.target, data.dim, data.split) == ("exp(x)", f, 1, "paper")
    np.testing.assert_array_equal(data.inverse(data.train.y), data.train.y)
    np.testing.assert_array_equal(data.standardise(data.train.x), data.train.x)
    assert sampled(PAPER_TARGET).train.x.shape == (10_000, 1)


def test_points_of_more_dimensions_are_independent_draws_from_the_box() -> None:
    box = ((0.0, 1.0), (5.0, 9.0))
    f = target("x + y**2", box)
    data = from_target(f, seed=3)
    assert (data.dim, data.target, data.name) == (2, f, f.name)
    assert [len(getattr(data, part)) for part in PARTS] == [2000, 500, 10_000]
    for part in ("train", "test"):
        x, y = raw(data, part)
        np.testing.assert_allclose(y, x[:, 0] + x[:, 1] ** 2, rtol=1e-12)
        for column, (low, high) in zip(x.T, box, strict=True):
            assert low <= column.min() < low + 0.01 * (high - low)
            assert high - 0.01 * (high - low) < column.max() <= high * (1 + 1e-12)
            assert abs(column.mean() - (low + high) / 2) < 0.03 * (high - low)
    assert not np.isin(data.train.x, data.test.x).any()
    assert abs(np.corrcoef(data.train.x[:, 0], data.train.x[:, 1])[0, 1]) < 0.1


@pytest.mark.parametrize("split", SPLITS)
def test_scaled_values_are_still_the_targets(split: Split) -> None:
    for f in (target("100 + x"), target("1000000*x*y", ((0, 1e-3), (1e3, 2e3)))):
        data = from_target(f, 1, split, 50)
        assert data.target is f
        np.testing.assert_allclose([data.train.y.mean(), data.train.y.std()], [0, 1], atol=1e-9)


def test_frame_arrays_and_both_files_are_equal_datasets(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    frame.to_csv(tmp_path / "mine.csv", index=False)
    frame.to_parquet(tmp_path / "mine.parquet")
    for split in SPLITS:
        options: Any = {"seed": 3, "split": split, "points": 20}
        made = from_arrays(frame[["age", "area"]], frame["price"], **options)
        assert same(made, from_frame(frame, "price", **options))
        # A column's place does not matter, that of the others does.
        assert same(made, from_frame(frame[["price", "age", "area"]], "price", **options))
        for suffix in ("csv", "parquet"):
            path = tmp_path / f"mine.{suffix}"
            for given_path in (path, str(path)):
                read = from_file(given_path, "price", **options)
                assert read.name == f"mine.{suffix}"
                np.testing.assert_allclose(read.train.x, made.train.x, rtol=1e-6)
                np.testing.assert_allclose(read.test.y, made.test.y, rtol=1e-12)
                assert read.features == ("age", "area")
        assert same(made, from_file(tmp_path / "mine.parquet", "price", **options))


def test_numbers_of_any_kind_become_float64(frame: pd.DataFrame) -> None:
    data = from_frame(frame, "price")
    assert {data.train.x.dtype, data.train.y.dtype} == {np.dtype(np.float64)}
    x, y = np.arange(20).reshape(10, 2) % 7, np.arange(10)
    made = from_arrays(x, y)
    assert same(made, from_arrays(x.astype(np.float32), y.astype(np.float16)))
    assert same(made, from_arrays(x.tolist(), list(map(float, y))))
    assert Points(x.astype(np.float32), y).x.dtype == np.float64


@pytest.mark.parametrize(
    ("column", "what"),
    [
        *(([True, False] * 25, "bool"), ([1j] * 50, "complex128"), (["a"] * 50, "object")),
        *(([1.0, None] * 25, "nan at"), (pd.array([1, None] * 25, dtype="Int64"), "nan at")),
    ],
    ids=["bool", "complex", "text", "missing", "nullable"],
)
def test_a_bad_column_is_named(frame: pd.DataFrame, column: Any, what: str) -> None:
    for name in ("area", "price"):
        with pytest.raises(ValueError, match=f"frame, column {name}: expected .*{what}"):
            from_frame(frame.assign(**{name: column}), "price")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["age", "price", "age"], "expected every column once, got"),
        (["Unnamed: 0", "price", "area"], "for every column, got 'Unnamed: 0': drop an index"),
        (["age", "price", " "], "a name for every column, got ' '"),
        (["3.5", "-2e3", ".25"], r"names in the header, got numbers, \['3.5'"),
        (["age", "price", math.nan], "columns named by texts, got nan"),
        ([False, "price", True], "columns named by texts, got False"),
        (["age", "price", ("area", "m2")], r"columns named by texts, got \('area'"),
        (["age", "cost", "area"], r"frame: expected a column 'price', got \['age', 'cost'"),
    ],
)
def test_columns_without_a_name_of_their_own_are_refused(
    frame: pd.DataFrame, names: list, message: str
) -> None:
    named = frame.set_axis(pd.Index(names, dtype=object, tupleize_cols=False), axis=1)
    with pytest.raises(ValueError, match=message) as refused:
        from_frame(named, "price")
    assert "\n" not in str(refused.value)


def test_a_name_with_a_line_break_is_told_in_one_line(frame: pd.DataFrame) -> None:
    named = frame.assign(area="many").rename(columns={"area": "area\nin m2"})
    with pytest.raises(ValueError, match="column area in m2: expected real numbers"):
        from_frame(named, "price")


def test_the_values_are_no_feature(frame: pd.DataFrame) -> None:
    """pandas calls the second column y of a file y.1: the answer among the questions."""
    doubled = frame.assign(**{"price.1": frame["price"]})
    with pytest.raises(ValueError, match=r"frame: .* column 'price.1' is 'price' once more"):
        from_frame(doubled, "price")
    with pytest.raises(ValueError, match=r"expected features \(rows, dim\) .* \(50, 0\)"):
        from_frame(frame[["price"]], "price")
    with pytest.raises(ValueError, match=r"frame: expected rows below the names .*, got none"):
        from_frame(frame[:0], "price")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("a,y,y", r"mine.csv: expected every column once, got \['a', 'y', 'y'\]"),
        *(
            (f"a,y{blank}", "expected rows as long as the header, got 2 names over 3 fields")
            for blank in ("", "\n", "\n \t", "\n,,")
        ),
        *(
            (row, "mine.csv: expected names in the header, got numbers")
            for row in ("1,2,3", "1,NA,inf")
        ),
        (",".join(f"c{i}" for i in range(100_000)), "expected at most 10000 columns, got 100000"),
        ('a,b,y\n"', "cannot read .*mine.csv': "),
        ("", "cannot read .*mine.csv': "),
    ],
)
def test_headers_that_shift_or_leak_are_refused(tmp_path: Path, header: str, message: str) -> None:
    rows = [f"{i},{i * i},{i**3}" for i in range(30)] if header else []
    (tmp_path / "mine.csv").write_text("\n".join([header, *rows]))
    start = time.perf_counter()
    with pytest.raises(ValueError, match=message) as refused:
        from_file(tmp_path / "mine.csv", "y")
    assert "\n" not in str(refused.value)
    assert time.perf_counter() - start < 5


def test_a_thousand_columns_are_read_and_a_hundred_thousand_refused(tmp_path: Path) -> None:
    x = np.random.default_rng(0).random((1700, 1000))
    wide = pd.DataFrame(x, columns=[f"c{i}" for i in range(1000)])
    assert from_frame(wide, "c0").dim == 999
    pq.write_table(pa.table({f"c{i}": [1.0] for i in range(10_001)}), tmp_path / "mine.parquet")
    with pytest.raises(ValueError, match="expected at most 10000 columns, got 10001"):
        from_file(tmp_path / "mine.parquet", "c0")


@pytest.mark.parametrize(
    "as_given",
    [
        lambda frame: frame.convert_dtypes(),
        lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
        lambda frame: frame.astype({"age": "Int64", "price": "Float64"}),
        lambda frame: frame.map(lambda number: Decimal(float(number))),
        pa.Table.from_pandas,
        ArrowStream,
    ],
    ids=["nullable", "arrow", "mixed", "decimal", "table", "stream"],
)
def test_numbers_in_any_frame_fit_and_predict(
    frame: pd.DataFrame, as_given: Callable[[pd.DataFrame], Any]
) -> None:
    plain, given_frame = from_frame(frame, "price"), as_given(frame)
    data, network = from_frame(given_frame, "price"), build("glu", 2, 3)
    assert same(plain, data)
    expected = plain.predict(network, frame)
    np.testing.assert_array_equal(data.predict(network, given_frame), expected)


def test_kinds_that_numpy_has_not_are_refused(frame: pd.DataFrame) -> None:
    spans = pa.array([pa.MonthDayNano([1, n, 1]) for n in range(len(frame))])
    with pytest.raises(ValueError, match="frame, column age: expected real numbers, got "):
        from_frame(frame.assign(age=pd.array(spans, dtype=pd.ArrowDtype(spans.type))), "price")


def test_narrow_kinds_of_parquet_are_read(frame: pd.DataFrame, tmp_path: Path) -> None:
    exact = pd.DataFrame(
        {"half": np.arange(50.0), "cents": np.arange(50.0) ** 2 / 4, "y": frame["price"]}
    )
    narrow = exact.astype({"half": np.float16}).assign(cents=[Decimal(c) for c in exact["cents"]])
    narrow.to_parquet(tmp_path / "mine.parquet")
    assert same(from_file(tmp_path / "mine.parquet", "y"), from_frame(exact, "y"))


def test_columns_may_be_called_by_numbers(frame: pd.DataFrame) -> None:
    numbered = frame.set_axis([0, 1, 2], axis=1)
    data = from_frame(numbered, numbered.columns.astype("int64")[1])  # numpy's
    network = build("mlp", 2, 3)
    expected = from_frame(frame, "price").predict(network, frame)
    np.testing.assert_array_equal(data.predict(network, numbered), expected)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["absent", "s3://bucket/mine", "a\0b", "\ud800", "two\nlines"])
def test_what_is_no_file_of_this_machine_is_one_line(name: str, suffix: str) -> None:
    with pytest.raises(OSError, match=f"^cannot read '.*{suffix}': there is no such file$"):
        from_file(f"{name}.{suffix}", "price")
    with pytest.raises(OSError, match=f"^cannot read 'a+[.]{{3}}a+.{suffix}': File name too long$"):
        from_file(f"{5000 * 'a'}.{suffix}", "price")


def test_a_path_that_looks_like_an_address_is_a_path(
    frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    other = frame.assign(price=frame["age"] ** 2)
    for folder, table in ((f"file:{tmp_path}/there", frame), ("there", other), ("here", frame)):
        Path(folder).mkdir(parents=True)
        Path(folder, "mine.csv").write_text(table.to_csv(index=False))
    read = from_file(f"file:{tmp_path}/there/mine.csv", "price")
    assert same(read, from_file("here/mine.csv", "price"))
    assert not same(read, from_file("there/mine.csv", "price"))


def test_an_index_with_a_name_is_a_column_of_either_file(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    indexed = frame.set_index("age")
    indexed.to_csv(tmp_path / "mine.csv")
    indexed.to_parquet(tmp_path / "mine.parquet")
    read = [from_file(path, "price") for path in sorted(tmp_path.iterdir())]
    assert {data.features for data in read} == {("age", "area"), ("area", "age")}


@pytest.mark.parametrize("name", ["Unnamed: 0", "__index_level_0__"])
def test_an_index_without_a_name_is_neither_a_feature_nor_dropped(
    name: str, frame: pd.DataFrame, tmp_path: Path
) -> None:
    frame.sort_values("age").to_csv(tmp_path / "index.csv")
    frame.sort_values("age").to_parquet(tmp_path / "index.parquet")
    frame.rename(columns={"age": name}).to_csv(tmp_path / "column.csv", index=False)
    frame.rename(columns={"age": name}).to_parquet(tmp_path / "column.parquet")
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(ValueError, match=r"a name for every column, got '.*': drop an index"):
            from_file(path, "price")


def test_an_index_with_a_name_is_a_column_or_refused(frame: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    frame.rename_axis("day").sort_values("age").to_parquet(path)
    assert "day" in from_file(path, "price").features
    frame.rename_axis("day").to_parquet(path)  # a range: three numbers, and no column
    with pytest.raises(ValueError, match=r"with a name as a column, got the range \['day'\]"):
        from_file(path, "price")


def test_a_damaged_parquet_file_is_one_line(frame: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    frame.to_parquet(path)
    whole = path.read_bytes()
    for place in range(4, 400, 9):  # some damage arrow tells in several lines
        path.write_bytes(whole[:place] + bytes(20) + whole[place + 20 :])
        with suppress(ValueError, OSError):
            from_file(path, "price")
            continue
        with pytest.raises((ValueError, OSError)) as raised:
            from_file(path, "price")
        assert "\n" not in str(raised.value)


def test_an_index_of_arrows_table_is_a_column(frame: pd.DataFrame) -> None:
    """Found by a tester: where pandas had noted that it was one, the feature was lost."""
    table = pa.Table.from_pandas(frame.set_index("age"))
    data = from_frame(table, "price")
    assert data.features == ("area", "age")
    assert data.standardise(table).shape == (50, 2)


def test_a_parquet_file_is_read_whatever_its_metadata_say(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    lying = pa.Table.from_pandas(frame).replace_schema_metadata({"pandas": "{no json"})
    pq.write_table(lying, tmp_path / "mine.parquet")
    assert same(from_file(tmp_path / "mine.parquet", "price"), from_frame(frame, "price"))
    named = frame.rename(columns={"age": "__index_level_of_water"})
    named.to_parquet(tmp_path / "mine.parquet")
    assert same(from_file(tmp_path / "mine.parquet", "price"), from_frame(named, "price"))


def test_predictions_are_those_that_were_judged() -> None:
    """Heavy tails: a gated unit far from its points predicts anything."""
    draw = np.random.default_rng(1)
    x = draw.standard_t(1.5, (120, 2))
    data = from_arrays(x, np.sin(x[:, 0]) + 0.1 * x[:, 1])
    made = fit(data, "gqu", 6, solver=VariableProjection(max_iterations=20))
    test_x, test_y = raw(data, "test")
    low, high = raw(data, "train")[1].min(), raw(data, "train")[1].max()

    def error(**how: bool) -> float:
        away = data.predict(made.network, test_x, **how) - test_y
        return float(np.sqrt(np.mean(away**2))) / data.target_scale

    assert error() == pytest.approx(made.test_rmse, rel=1e-9)
    assert error(confined=True) == error()
    assert error(confined=False) > 2 * error()
    far = data.predict(made.network, 1e6 * test_x)
    np.testing.assert_allclose(
        [far.min(), far.max()], [1.1 * low - 0.1 * high, 1.1 * high - 0.1 * low]
    )
    # The paper's split judges on its training points, as they are.
    data = from_arrays(x, data.inverse(np.resize(data.train.y, 120)), split="paper")
    far = data.predict(made.network, 1e6 * test_x)
    np.testing.assert_array_equal(far, data.predict(made.network, 1e6 * test_x, confined=False))
    assert (far > data.train.y.max() * 1.1 * data.target_scale + data.target_mean).any()


def test_predictions_are_in_the_units_of_the_data(frame: pd.DataFrame) -> None:
    data = from_frame(frame, "price", seed=1)
    network = build("glu", 2, 3)
    x = frame[["age", "area"]].to_numpy(np.float64)
    scaled = (x - data.feature_mean) / data.feature_scale
    expected = predict(network, scaled) * data.target_scale + data.target_mean
    np.testing.assert_allclose(data.predict(network, x, confined=False), expected, rtol=1e-13)
    # By the names of the columns, whatever their order and whatever else is there.
    for shown in (frame, frame[["area", "age"]], frame.assign(colour="red")):
        found = data.predict(network, shown, confined=False)
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_features_of_one_dimension_may_be_a_vector() -> None:
    data = from_arrays(np.arange(10.0)[:, None] ** 2, np.arange(10.0))
    np.testing.assert_array_equal(data.standardise([1.0, 2.0]), data.standardise([[1.0], [2.0]]))


def test_a_frame_without_a_feature_or_with_a_bad_one_is_refused(frame: pd.DataFrame) -> None:
    data = from_frame(frame, "price")
    with pytest.raises(ValueError, match=r"frame: expected a column 'area', got \['age', 'pri"):
        data.standardise(frame[["age", "price"]])
    with pytest.raises(ValueError, match="features, column age: expected real numbers"):
        data.standardise(frame.assign(age="old"))


@given(rows=st.integers(20, 200), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_held_out_rows_are_disjoint_and_complete(rows: int, seed: int) -> None:
    x = np.stack([np.arange(rows), np.arange(rows) ** 2 % 7], axis=1)
    data = from_arrays(x, np.arange(rows), seed)
    found = [np.rint(raw(data, part)[1]) for part in PARTS]
    np.testing.assert_array_equal(np.sort(np.concatenate(found)), np.arange(rows))


def test_labels_that_differ_are_different_groups() -> None:
    """Found by a tester: an array made of them held 1 and "1" as the same text."""
    x = np.random.default_rng(0).normal(size=(40, 2))
    y = x[:, 0] * x[:, 1]
    for labels in (["a", "a\0", "b", "c"], [2**53, 2**53 + 1, 0.5, 1.5]):
        assert len(from_arrays(x, y, groups=[labels[k % 4] for k in range(40)]).test) == 10
    mixed = [str(k % 4) if k % 2 else k % 4 for k in range(40)]
    for groups in (mixed, deque(mixed), UserList(mixed), np.ones(40, "i8, i8")):
        with pytest.raises(ValueError, match="expected groups that can be sorted"):
            from_arrays(x, y, groups=groups)


def test_rows_of_a_group_stay_together() -> None:
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 30, 200)
    x, y = rng.normal(size=(200, 2)), np.arange(200.0)
    data = from_arrays(x, y, 1, groups=groups)
    parts = [groups[np.rint(raw(data, part)[1]).astype(int)] for part in PARTS]
    assert sum(map(len, parts)) == 200
    assert [len(set(part)) for part in parts] == [19, 5, 6]
    assert len(set(np.concatenate([np.unique(part) for part in parts]))) == 30
    with pytest.raises(ValueError, match=r"expected a group for each of 200 rows, got \(9,\)"):
        from_arrays(x, y, groups=groups[:9])
    few = from_arrays(x, y, 1, points=60, groups=groups)  # of every group that may train
    drawn = groups[np.rint(raw(few, "train")[1]).astype(int)]
    assert len(drawn) == 60
    assert len({*drawn}) > 0.8 * len({*parts[0]})
    with pytest.raises(ValueError, match="groups to split: expected an integer >= 4, got 3"):
        from_arrays(x, y, groups=groups % 3)
    several: tuple[Any, ...] = ([1, None], [[1], [1, 2]], [Decimal("NaN"), Decimal(1)])
    followed = torch.ones(200, requires_grad=True)
    for unsorted in (followed, *(pair * 100 for pair in several)):
        with pytest.raises(ValueError, match="table: expected groups that can be sorted"):
            from_arrays(x, y, groups=unsorted)
    with pytest.raises(ValueError, match="expected groups of which each two can be sorted"):
        from_arrays(x, y, groups=np.array([frozenset([g]) for g in groups]))
    dates = np.array(["2026-01-01", "NaT"] * 100, dtype="datetime64[D]")
    masked = np.ma.masked_equal(groups, 3)
    nan = np.where(groups == 3, np.nan, groups)
    for lacking, got in ((nan, "nan"), (dates, "NaT"), (masked, "3")):
        with pytest.raises(ValueError, match=f"table: expected a group for each row, got {got}"):
            from_arrays(x, y, groups=lacking)


def test_a_frame_beside_values_keeps_its_names(frame: pd.DataFrame) -> None:
    data = from_arrays(frame[["age", "area"]], frame["price"])
    network = fit(data, "mlp", 2).network
    assert network is not None
    found = data.predict(network, frame[["age", "area"]])
    np.testing.assert_array_equal(data.predict(network, frame[["area", "age"]]), found)
    with pytest.raises(ValueError, match="expected every column once"):
        from_arrays(pd.concat([frame[["age"]]] * 2, axis=1), frame["price"])


def test_arrays_are_read_only_copies_of_what_they_are_made_of() -> None:
    x, y = np.ones((3, 2)), np.ones(3)
    points = Points(x, y)
    x[0], y[0] = 7, 7
    assert points.x.max() == points.y.max() == 1
    for data in (sampled(PAPER_TARGET, 10), from_target(PAPER_TARGET, points=10)):
        for array in (points.x, data.train.x, data.test.y, data.feature_mean, data.feature_scale):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0


@pytest.mark.parametrize("value", [0.0, 0.1, -1e9])
def test_constant_columns_are_refused(value: float) -> None:
    x, y = np.random.default_rng(0).random((30, 3)), np.arange(30.0)
    with pytest.raises(ValueError, match="the values are constant over the 30 training points"):
        from_arrays(x, np.full(30, value), split="paper")
    x[:, 2] = value
    with pytest.raises(ValueError, match="feature column 2 is constant over the 30 "):
        from_arrays(x, y, split="paper")
    with pytest.raises(ValueError, match="feature column 'c' is constant over the 30 training"):
        from_frame(pd.DataFrame(x, columns=[*"abc"]).assign(y=y), "y", split="paper")


@pytest.mark.parametrize("size", [1e-250, 1e-180, 1e200, 1e307])
def test_sizes_whose_squares_float64_does_not_hold_are_standardised(size: float) -> None:
    draw = np.random.default_rng(0)
    x, y = draw.random((30, 2)), draw.random(30)
    plain, sized = from_arrays(x, y), from_arrays(size * x, size * y)
    np.testing.assert_allclose(sized.train.x, plain.train.x, rtol=1e-9)
    np.testing.assert_allclose(sized.test.y, plain.test.y, rtol=1e-9)
    assert sized.target_scale == pytest.approx(size * plain.target_scale)


def test_counts_of_small_integers_are_those_counts() -> None:
    small: Any = np.int8(50)
    x, y = np.random.default_rng(0).random((300, 2)), np.arange(300.0)
    assert len(from_arrays(x, y, points=small).train) == 50
    many: Any = np.uint16(50_000)
    data = from_target(target("sin(x)"), points=many)
    assert [len(part) for part in (data.train, data.validation)] == [50_000, 12_500]
    hidden: Any = np.int8(2)
    once = VariableProjection(starts=1, max_iterations=1)
    assert fit(data, "glu", hidden, solver=once).network.n_hidden == 2


def test_more_points_than_rows_are_refused() -> None:
    x, y = np.random.default_rng(0).random((50, 2)), np.arange(50.0)
    message = "table has 50 rows: expected at most 32 for training, got 33"
    with pytest.raises(ValueError, match=message):
        from_arrays(x, y, points=33)
    message = "table has 2 features; training points: expected an integer >= 4, got 3"
    with pytest.raises(ValueError, match=message):
        from_arrays(x[:5], y[:5])
