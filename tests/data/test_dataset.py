"""Datasets: the papers' points, splits without leaks, confined predictions."""

import numpy as np
import pytest
import torch

from tests.data import raw
from xsquared.data.dataset import from_arrays, from_target, held_out, sampled
from xsquared.functions import target
from xsquared.units import build, predict

PARTS = ("train", "validation", "test")


def test_points_of_one_dimension_are_the_papers() -> None:
    f = target("exp(x)", (-1.0, 2.0))
    data = sampled(f, 7)
    np.testing.assert_array_equal(data.train.x[:, 0], np.linspace(-1, 2, 7))
    np.testing.assert_allclose(data.train.y, np.exp(np.linspace(-1, 2, 7)), rtol=1e-15)
    assert data.test is data.validation is data.train
    assert (data.target, data.dim, data.split) == (f, 1, "paper")
    np.testing.assert_array_equal(raw(data, "train")[1], data.train.y)
    assert sampled(f).train.x.shape == (10_000, 1)


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


def test_rows_are_held_out_once_each_and_no_others_where_fewer_train() -> None:
    x, y = np.random.default_rng(0).normal(size=(200, 2)), np.arange(200.0)
    data, few = from_arrays(x, y, 1), from_arrays(x, y, 1, points=60)
    rows = [np.rint(raw(data, part)[1]).astype(int) for part in PARTS]
    assert [len(part) for part in rows] == [128, 32, 40]
    np.testing.assert_array_equal(np.sort(np.concatenate(rows)), np.arange(200))
    for part, own in zip(PARTS, rows, strict=True):
        np.testing.assert_allclose(raw(data, part)[0], x[own], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(raw(few, "train")[1], rows[0][:60], atol=1e-9)
    np.testing.assert_allclose(raw(few, "test")[1], rows[2], atol=1e-9)
    assert [len(part) for part in held_out(106, 0)] == [21, 17, 68]


def test_predictions_are_confined_on_a_held_out_split_alone() -> None:
    f = target("x*y + y")
    network = build("glu", 2, 3, generator=torch.Generator().manual_seed(0))
    far = np.array([[1e3, 1e3], [-1e3, 1e3], [1e3, -1e3]])
    data, paper = from_target(f, 1, points=200), from_target(f, 1, "paper", 200)
    values = raw(data, "train")[1]
    room = 0.1 * np.ptp(values)
    plain = (
        predict(network, data.standardise(far)) * data.target_scale + data.target_mean
    )
    expected = np.clip(plain, values.min() - room, values.max() + room)
    np.testing.assert_allclose(data.predict(network, far), expected, rtol=1e-12)
    np.testing.assert_array_equal(paper.predict(network, far), plain)
    away = data.predict(network, raw(data, "test")[0]) - raw(data, "test")[1]
    error = np.sqrt(np.mean(away**2)) / data.target_scale
    assert data.error(network, data.test) == pytest.approx(error)
    with torch.no_grad():
        network.d.fill_(torch.nan)
    assert data.error(network, data.test) == np.inf


def test_a_constant_feature_is_named() -> None:
    x = np.column_stack([np.linspace(0, 1, 20), np.full(20, 0.1)])
    with pytest.raises(ValueError, match="feature 1 is constant"):
        from_arrays(x, x[:, 0])
