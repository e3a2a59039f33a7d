"""Datasets: the same points however they come, no leaks, the way back, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xsquared.data.dataset import (
    SPLITS,
    Dataset,
    Points,
    from_arrays,
    from_file,
    from_frame,
    from_target,
    sampled,
)
from xsquared.functions import PAPER_TARGET, target
from xsquared.units import build, predict

PARTS = ("train", "validation", "test")


def raw(data: Dataset, part: str) -> tuple[np.ndarray, np.ndarray]:
    """A part in the data's own units."""
    points = getattr(data, part)
    return points.x * data.feature_scale + data.feature_mean, data.inverse(points.y)


def by_hand(x: np.ndarray, y: np.ndarray, f=None, **changes: object) -> Dataset:
    """Unscaled points that play all parts."""
    points, dim = Points(x, y), x.shape[1]
    made = Dataset("mine", "paper", points, points, points, np.zeros(dim), np.ones(dim), 0.0, 1.0)
    return replace(made, target=f, **changes)


def same(one: Dataset, other: Dataset) -> bool:
    points = ((getattr(d, part) for part in PARTS) for d in (one, other))
    equal = [
        np.array_equal(a.x, b.x) and np.array_equal(a.y, b.y) for a, b in zip(*points, strict=True)
    ]
    return all(equal) and one.features == other.features and one.split == other.split


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


def test_the_paper_has_ten_thousand_points() -> None:
    assert sampled(PAPER_TARGET).train.x.shape == (10_000, 1)


def test_points_of_more_dimensions_are_independent_draws_from_the_box() -> None:
    box = ((0.0, 1.0), (5.0, 9.0))
    f = target("x + y**2", box)
    data = from_target(f, seed=3)
    assert (data.dim, data.target) == (2, f)
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


def test_the_seed_decides_the_draw() -> None:
    f = target("x*y")
    one, same_draw, other = (from_target(f, seed, points=20).train.x for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same_draw)
    assert (one != other).all()


@pytest.mark.parametrize("n", [1, 0, -3, 2.5, True])
def test_fewer_than_two_points_are_refused(n: object) -> None:
    with pytest.raises(
        ValueError, match=f"n_points: expected an integer from 2 to 10000000, got {n}"
    ):
        sampled(PAPER_TARGET, n)  # type: ignore[arg-type]


def test_the_papers_points_are_of_one_dimension() -> None:
    with pytest.raises(ValueError, match=r"one variable, x\*y has 2"):
        sampled(target("x*y"))


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ((3,), (3,), r"points \(m, dim\) and values \(m,\), got \(3,\), \(3,\)"),
        ((3, 2), (3, 1), r"got \(3, 2\), \(3, 1\)"),
        ((3, 2), (4,), r"got \(3, 2\), \(4,\)"),
        ((0, 2), (0,), r"got \(0, 2\), \(0,\)"),
    ],
)
def test_points_whose_shapes_do_not_fit_are_refused(x: tuple, y: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Points(np.zeros(x), np.zeros(y))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_points_that_are_not_finite_are_refused(bad: float) -> None:
    good, spoilt = np.zeros((3, 2)), np.zeros((3, 2))
    spoilt[1, 0] = bad
    with pytest.raises(ValueError, match=rf"points: expected finite .* got {bad} at index \(1, 0"):
        Points(spoilt, good[:, 0])
    with pytest.raises(ValueError, match=rf"values: expected finite .* got {bad} at index \(1,\)"):
        Points(good, spoilt[:, 0])


def test_parts_must_agree() -> None:
    x = np.linspace(-1, 1, 6)[:, None]
    good = by_hand(x, x[:, 0])
    for part in ("validation", "test"):
        with pytest.raises(ValueError, match="training points have 1 features, others 2"):
            replace(good, **{part: Points(np.ones((2, 2)), np.ones(2))})
    with pytest.raises(ValueError, match="points have 1 features, the target has 2 variables"):
        by_hand(x, x[:, 0], target("x*y"))
    with pytest.raises(ValueError, match="unknown split 'loo'; known are paper, held-out"):
        by_hand(x, x[:, 0], split="loo")


@pytest.mark.parametrize("part", PARTS)
def test_values_that_are_not_the_targets_are_refused(part: str) -> None:
    """Noise on values and a target beside them are two answers to one question."""
    f, x = target("x**2"), np.linspace(-1, 1, 9)[:, None]
    good = by_hand(x, x[:, 0] ** 2, f)
    noisy = x[:, 0] ** 2
    noisy[4] += 1e-3
    with pytest.raises(ValueError, match=r"one that is off by 0.001 at \[0.0\]; leave the target"):
        replace(good, **{part: Points(x, noisy)})
    assert replace(good, target=None, **{part: Points(x, noisy)}).target is None
    # Rounding is no disagreement.
    replace(good, **{part: Points(x, x[:, 0] ** 2 * (1 + 1e-12))})


@pytest.mark.parametrize("part", PARTS)
def test_points_outside_the_targets_domain_are_refused(part: str) -> None:
    f, x = target("x**2", (-1, 1)), np.linspace(-1, 1, 9)[:, None]
    good = by_hand(x, x[:, 0] ** 2, f)
    wide = 1.001 * x
    with pytest.raises(ValueError, match=r"some points lie outside \(\(-1.0, 1.0\),\)"):
        replace(good, **{part: Points(wide, wide[:, 0] ** 2)})


@pytest.mark.parametrize("split", SPLITS)
def test_scaled_values_are_still_the_targets(split) -> None:
    for f in (target("100 + x"), target("1000000*x*y", ((0, 1e-3), (1e3, 2e3)))):
        data = from_target(f, 1, split, 50)
        assert data.target is f
        np.testing.assert_allclose([data.train.y.mean(), data.train.y.std()], [0, 1], atol=1e-9)


def test_frame_arrays_and_both_files_are_equal_datasets(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    frame.to_csv(tmp_path / "mine.csv", index=False)
    frame.to_parquet(tmp_path / "mine.parquet")
    x = frame[["age", "area"]].to_numpy(np.float64)
    for split in SPLITS:
        options = {"seed": 3, "split": split, "points": 20}
        made = from_arrays(x, frame["price"], features=("age", "area"), **options)
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
    ("spoil", "what"),
    [
        (lambda v: v > v[0], "bool"),
        (lambda v: v + 1j, "complex128"),
        (lambda v: v.astype(object), "object"),
        (lambda v: v.astype(str), "<U"),
        (lambda v: np.ma.masked_less(v, 3.0), "a masked array"),
        (lambda v: np.where(v == v[4], np.nan, v), r"nan at index \(4"),
    ],
    ids=["bool", "complex", "object", "text", "masked", "nan"],
)
def test_what_is_no_finite_number_is_refused(spoil, what: str) -> None:
    draw = np.random.default_rng(0)
    x, y = draw.random((10, 2)), draw.random(10)
    with pytest.raises(ValueError, match=f"mine, features: expected finite real .* got {what}"):
        from_arrays(spoil(x), y, name="mine")
    with pytest.raises(ValueError, match=f"mine, values: expected finite real .* got {what}"):
        from_arrays(x, spoil(y), name="mine")


@pytest.mark.parametrize(
    ("column", "what"),
    [
        ([True, False] * 25, "bool"),
        ([1j] * 50, "complex128"),
        (["a"] * 50, "object"),
        ([1.0, None] * 25, "nan at index"),
        (pd.array([1, None] * 25, dtype="Int64"), "nan at index"),
    ],
    ids=["bool", "complex", "text", "missing", "nullable"],
)
def test_a_bad_column_is_named(frame: pd.DataFrame, column, what: str) -> None:
    for name in ("area", "price"):
        with pytest.raises(ValueError, match=f"frame, column {name}: expected finite .*{what}"):
            from_frame(frame.assign(**{name: column}), "price")


def test_columns_must_be_there_once(frame: pd.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"frame: expected a column 'cost', got \['age', 'price'"):
        from_frame(frame, "cost")
    doubled = frame.set_axis(["age", "price", "age"], axis=1)
    with pytest.raises(ValueError, match="frame: expected every column once, got"):
        from_frame(doubled, "price")
    with pytest.raises(ValueError, match=r"frame: expected features \(rows, dim\) .* \(50, 0\)"):
        from_frame(frame[["price"]], "price")
    frame.to_csv(tmp_path / "mine.csv", index=False)
    with pytest.raises(ValueError, match=r"mine.csv: expected a column 'cost'"):
        from_file(tmp_path / "mine.csv", "cost")


def test_columns_may_be_called_by_numbers(frame: pd.DataFrame) -> None:
    numbered = frame.set_axis([0, 1, 2], axis=1)
    data = from_frame(numbered, 1)  # type: ignore[arg-type]
    network = build("mlp", 2, 3)
    expected = from_frame(frame, "price").predict(network, frame)
    np.testing.assert_array_equal(data.predict(network, numbered), expected)


def test_only_csv_and_parquet_are_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expected a file \.csv or \.parquet, got mine\.xlsx"):
        from_file(tmp_path / "mine.xlsx", "price")
    for suffix in ("csv", "parquet"):
        with pytest.raises(OSError, match=f"cannot read .*absent.{suffix}: "):
            from_file(tmp_path / f"absent.{suffix}", "price")


def test_predictions_are_in_the_units_of_the_data(frame: pd.DataFrame) -> None:
    data = from_frame(frame, "price", seed=1)
    network = build("glu", 2, 3)
    x = frame[["age", "area"]].to_numpy(np.float64)
    scaled = (x - data.feature_mean) / data.feature_scale
    expected = predict(network, scaled) * data.target_scale + data.target_mean
    np.testing.assert_allclose(data.predict(network, x), expected, rtol=1e-13)
    # By the names of the columns, whatever their order and whatever else is there.
    for shown in (frame, frame[["area", "age"]], frame.assign(colour="red")):
        np.testing.assert_allclose(data.predict(network, shown), expected, rtol=1e-13)
    price = frame["price"].to_numpy()
    np.testing.assert_allclose(
        np.sort(np.concatenate([raw(data, p)[1] for p in PARTS])), np.sort(price), rtol=1e-12
    )


def test_features_of_one_dimension_may_be_a_vector() -> None:
    data = from_arrays(np.arange(10.0)[:, None] ** 2, np.arange(10.0))
    np.testing.assert_array_equal(data.standardise([1.0, 2.0]), data.standardise([[1.0], [2.0]]))


def test_standardise_refuses_what_the_network_cannot_take(frame: pd.DataFrame) -> None:
    data = from_frame(frame, "price")
    for call in (data.standardise, lambda x: data.predict(build("mlp", 2, 1), x)):
        with pytest.raises(ValueError, match=r"frame: expected a column 'area', got \['age', 'pri"):
            call(frame[["age", "price"]])
        with pytest.raises(ValueError, match=r"expected features of shape \(m, 2\), got \(3, 4\)"):
            call(np.ones((3, 4)))
        with pytest.raises(ValueError, match=r"expected features of shape \(m, 2\), got \(2,\)"):
            call(np.ones(2))
        with pytest.raises(ValueError, match="features: expected finite real numbers, got nan"):
            call([[1.0, math.nan]])
        with pytest.raises(ValueError, match="features: expected finite real numbers, got object"):
            call(frame.assign(age="old"))


@given(rows=st.integers(20, 200), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_held_out_rows_are_disjoint_and_complete(rows: int, seed: int) -> None:
    x = np.stack([np.arange(rows), np.arange(rows) ** 2 % 7], axis=1)
    data = from_arrays(x, np.arange(rows), seed)
    found = [np.rint(raw(data, part)[1]) for part in PARTS]
    np.testing.assert_array_equal(np.sort(np.concatenate(found)), np.arange(rows))


def test_arrays_are_read_only() -> None:
    for data in (sampled(PAPER_TARGET, 10), from_target(PAPER_TARGET, points=10)):
        for array in (data.train.x, data.test.y, data.feature_mean, data.feature_scale):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0


def test_targets_on_any_box() -> None:
    made = target("x*y + z", ((0, 2), (1, 3), (-1, 0)))
    data = from_target(made, seed=1, points=60)
    x, y = raw(data, "test")
    assert data.name == made.name
    np.testing.assert_allclose(y, x[:, 0] * x[:, 1] + x[:, 2], rtol=1e-10, atol=1e-10)
    assert (x.min(axis=0) >= [0, 1, -1]).all()
    assert (x.max(axis=0) <= [2, 3, 0]).all()


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


def test_numbers_whose_squares_overflow_are_refused() -> None:
    x, y = np.random.default_rng(0).random((30, 2)), np.arange(30.0)
    for big_x, big_y in ((1e200, 1.0), (1.0, 1e200), (1e308, 1e308)):
        with pytest.raises(ValueError, match="mine: expected numbers whose squares float64 holds"):
            from_arrays(big_x * x, big_y * (y / 30), name="mine")


def test_more_points_than_rows_are_refused() -> None:
    x, y = np.random.default_rng(0).random((50, 2)), np.arange(50.0)
    with pytest.raises(
        ValueError, match="table has 50 rows: expected at most 32 for training, got 33"
    ):
        from_arrays(x, y, points=33)
    message = "table has 2 features; training points: expected an integer >= 4, got 3"
    with pytest.raises(ValueError, match=message):
        from_arrays(x[:5], y[:5])


def test_unknown_splits_and_bad_seeds_are_refused() -> None:
    x, y = np.random.default_rng(0).random((30, 2)), np.arange(30.0)
    with pytest.raises(ValueError, match="unknown split 'loo'; known are paper, held-out"):
        from_arrays(x, y, split="loo")  # type: ignore[arg-type]
    for seed in (-1, 2**32, 1.0, True, None):
        with pytest.raises(ValueError, match="seed: expected an integer from 0 to 4294967295, got"):
            from_arrays(x, y, seed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("x", "y"), [((10,), (10,)), ((10, 2), (9,)), ((10, 0), (10,)), ((10, 2), (10, 1))]
)
def test_shapes_that_do_not_fit_are_refused(x: tuple, y: tuple) -> None:
    with pytest.raises(ValueError, match=r"expected features \(rows, dim\) and values \(rows,\)"):
        from_arrays(np.ones(x), np.ones(y))
