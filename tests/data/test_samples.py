"""Problems: what is refused, where sampled points lie, what the error of a network is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xsquared.data.samples import Samples, sampled

from xsquared.errors import rmse
from xsquared.functions import PAPER_TARGET, target
from xsquared.units import build, predict, set_parameters


def test_points_of_one_dimension_are_the_papers() -> None:
    f = target("exp(x)", (-1.0, 2.0))
    problem = sampled(f, 7)
    np.testing.assert_array_equal(problem.x_train[:, 0], np.linspace(-1, 2, 7))
    np.testing.assert_allclose(problem.y_train, np.exp(np.linspace(-1, 2, 7)), rtol=1e-15)
    np.testing.assert_array_equal(problem.x_test, problem.x_train)
    np.testing.assert_array_equal(problem.y_test, problem.y_train)
    assert (problem.name, problem.target, problem.dim) == ("exp(x)", f, 1)


def test_the_paper_has_ten_thousand_points() -> None:
    assert sampled(PAPER_TARGET).x_train.shape == (10_000, 1)


def test_points_of_more_dimensions_are_independent_draws_from_the_box() -> None:
    box = ((0.0, 1.0), (5.0, 9.0))
    f = target("x + y**2", box)
    problem = sampled(f, 2000, seed=3)
    assert problem.dim == 2
    for x, y in ((problem.x_train, problem.y_train), (problem.x_test, problem.y_test)):
        assert x.shape == (2000, 2)
        np.testing.assert_allclose(y, x[:, 0] + x[:, 1] ** 2, rtol=1e-14)
        for column, (low, high) in zip(x.T, box, strict=True):
            assert low <= column.min() < low + 0.01 * (high - low)
            assert high - 0.01 * (high - low) < column.max() <= high
            assert abs(column.mean() - (low + high) / 2) < 0.03 * (high - low)
    assert not np.isin(problem.x_train, problem.x_test).any()
    assert abs(np.corrcoef(problem.x_train[:, 0], problem.x_train[:, 1])[0, 1]) < 0.1


def test_the_seed_decides_the_draw() -> None:
    f = target("x*y")
    one, same, other = (sampled(f, 20, seed).x_train for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert (one != other).all()


@pytest.mark.parametrize("n", [1, 0, -3])
def test_fewer_than_two_points_are_refused(n: int) -> None:
    with pytest.raises(ValueError, match=f"expected at least 2 points, got {n}"):
        sampled(PAPER_TARGET, n)


GOOD_X, GOOD_Y = np.zeros((3, 2)), np.zeros(3)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.zeros(3), GOOD_Y, r"points \(N, d\) and values \(N,\), got \(3,\) and \(3,\)"),
        (GOOD_X, np.zeros((3, 1)), r"got \(3, 2\) and \(3, 1\)"),
        (GOOD_X, np.zeros(4), r"got \(3, 2\) and \(4,\)"),
        (np.zeros((0, 2)), np.zeros(0), r"got \(0, 2\) and \(0,\)"),
        (GOOD_X, np.array([0, math.nan, 0]), "points and values, got NaN or infinity"),
        (np.full((3, 2), math.inf), GOOD_Y, "points and values, got NaN or infinity"),
    ],
)
@pytest.mark.parametrize("part", ["training", "test"])
def test_bad_points_are_refused(x: np.ndarray, y: np.ndarray, message: str, part: str) -> None:
    arrays = (x, y, GOOD_X, GOOD_Y) if part == "training" else (GOOD_X, GOOD_Y, x, y)
    with pytest.raises(ValueError, match=f"expected (finite )?{part}.*{message}"):
        Samples("bad", *arrays)


def test_dimensions_must_agree() -> None:
    with pytest.raises(ValueError, match="training points have 2 features, test points 1"):
        Samples("bad", GOOD_X, GOOD_Y, np.zeros((3, 1)), GOOD_Y)
    with pytest.raises(ValueError, match="points have 2 features, the target 1 variables"):
        Samples("bad", GOOD_X, GOOD_Y, GOOD_X, GOOD_Y, PAPER_TARGET)


@given(st.integers(1, 5), st.integers(0, 10**6))
def test_rmse_is_that_of_the_forward_pass(dim: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    x, y = draw.standard_normal((9, dim)), draw.standard_normal(9)
    network = build("glu", dim, 3)
    expected = math.sqrt(sum((predict(network, x) - y) ** 2) / 9)
    assert math.isclose(rmse(network, x, y), expected, rel_tol=1e-12)


@pytest.mark.parametrize("size", [1e200, 1e308])
def test_an_error_that_overflows_is_infinite(size: float) -> None:
    """Without a warning: at 1e200 the square overflows, at 1e308 the pass itself."""
    network = build("mlp", 1, 1)
    set_parameters(network, G=[[size]], g=[0.0], D=[[10.0]], d=[0.0])
    assert rmse(network, np.ones((2, 1)), np.zeros(2)) == math.inf
