"""Least squares against numpy's, for matrices of any rank, in blocks of rows."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from xsquared.training.least_squares import Solution, solve


def solved(
    a: np.ndarray, b: np.ndarray, ridge: float = 0.0, blocks: int = 1
) -> Solution:
    pairs = zip(np.array_split(a, blocks), np.array_split(b, blocks), strict=True)
    parts = [(torch.from_numpy(p), torch.from_numpy(q)) for p, q in pairs]
    return solve(lambda: parts, ridge)


def check(
    a: np.ndarray, b: np.ndarray, ridge: float = 0.0, tolerance: float = 1e-9
) -> None:
    """Coefficients, and what is left of other columns, beside numpy's."""
    m = a.shape[1]
    below = np.diag([ridge**0.5] * (m - 1) + [0.0])
    whole, right = np.vstack([a, below]), np.concatenate([b, np.zeros(m)])
    length = np.linalg.norm(whole, axis=0)
    scale = np.divide(1, length, out=np.zeros_like(length), where=length > 0)
    expected = scale * np.linalg.lstsq(whole * scale, right, rcond=1e-13)[0]
    others = np.random.default_rng(0).standard_normal((len(a), 3))
    left = (
        others
        - a @ (scale * (np.linalg.pinv(whole * scale, 1e-13)[:, : len(a)] @ others).T).T
    )
    for blocks in (1, 3):
        made = solved(a, b, ridge, blocks)
        np.testing.assert_allclose(
            made.coefficients, expected, atol=tolerance, rtol=tolerance
        )
        inner = made.whiten(torch.from_numpy(a.T @ others)).numpy()
        np.testing.assert_allclose(
            others.T @ others - inner.T @ inner, others.T @ left, atol=tolerance
        )


@given(
    st.tuples(*[st.integers(1, 12)] * 3),
    st.integers(0, 10**6),
    st.sampled_from([0, 1e-6, 1.0]),
)
def test_matrices_of_any_shape_and_rank(
    size: tuple[int, int, int], seed: int, ridge: float
) -> None:
    rows, columns, rank = size
    draw, rank = np.random.default_rng(seed), min(size)
    left = np.linalg.qr(draw.standard_normal((rows, rank)))[0]
    right = np.linalg.qr(draw.standard_normal((columns, rank)))[0]
    a = left * draw.uniform(0.5, 2, rank) @ right.T
    check(a, draw.standard_normal(rows), ridge, 1e-6)


def test_zero_and_equal_columns() -> None:
    """A zero column gets no weight, equal ones share theirs."""
    draw = np.random.default_rng(2)
    a, b = draw.standard_normal((15, 5)), draw.standard_normal(15)
    a[:, 0] = 0
    check(a, b)
    assert solved(a, b).coefficients[0] == 0
    a[:, 3] = a[:, 1]
    check(a, b)


@pytest.mark.parametrize("size", [1e-100, 1e100])
def test_columns_of_any_length_are_solved_for(size: float) -> None:
    draw, sizes = np.random.default_rng(4), np.array([1.0, size, 1.0])
    a, b = draw.standard_normal((10, 3)), draw.standard_normal(10)
    expected = np.linalg.lstsq(a, b, rcond=None)[0]
    np.testing.assert_allclose(
        solved(a * sizes, b).coefficients.numpy() * sizes, expected, rtol=1e-11
    )


@pytest.mark.parametrize("blocks", [1, 5])
def test_no_condition_is_squared(blocks: int) -> None:
    """Of condition 1e9: a consistent system keeps its residual at rounding."""
    a = np.vander(np.linspace(0, 1, 60), 12)
    coefficients = solved(a, a @ np.ones(12), blocks=blocks).coefficients.numpy()
    np.testing.assert_allclose(a @ coefficients, a @ np.ones(12), rtol=1e-13)
    np.testing.assert_allclose(coefficients, np.ones(12), rtol=1e-5)


@pytest.mark.parametrize("gap", [1e-3, 1e-4, 1e-5, 1e-7, 1e-9])
def test_nearly_equal_columns_are_told_apart_as_far_as_float64_can(gap: float) -> None:
    """On either side of the pivot at which a factorisation by rows takes over."""
    draw = np.random.default_rng(1)
    column = draw.standard_normal(50)
    a = np.column_stack([column, column + gap * draw.standard_normal(50), np.ones(50)])
    made = solved(a, a @ np.array([3.0, -2.0, 1.0]))
    np.testing.assert_allclose(made.coefficients, [3, -2, 1], atol=1e-14 / gap)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("side", [0, 1])
def test_numbers_that_are_not_finite_are_noticed(bad: float, side: int) -> None:
    parts = [np.ones((4, 2)), np.ones(4)]
    parts[side][1] = bad
    with pytest.raises(FloatingPointError, match="not finite"):
        solved(parts[0], parts[1])
