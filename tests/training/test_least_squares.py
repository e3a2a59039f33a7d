"""Least squares against numpy's, for matrices of any rank."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from xsquared.training.least_squares import gram_matrix, solve, solve_ridge


def both(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Our coefficients and basis, and numpy's coefficients on columns of unit length."""
    ours = solve(torch.from_numpy(a), torch.from_numpy(b))
    length = np.linalg.norm(a, axis=0)
    scale = np.divide(1, length, out=np.zeros_like(length), where=length > 0)
    c, *_ = np.linalg.lstsq(a * scale, b, rcond=1e-13)
    return ours.coefficients.numpy(), ours.basis.numpy(), c * scale


def check(a: np.ndarray, b: np.ndarray, rank: int, tolerance: float = 1e-10) -> None:
    coefficients, basis, expected = both(a, b)
    np.testing.assert_allclose(coefficients, expected, atol=tolerance, rtol=tolerance)
    assert basis.shape == (len(a), rank)
    np.testing.assert_allclose(basis.T @ basis, np.eye(rank), atol=1e-12)
    # The basis spans the range: the projection of A is A, that of b is A c.
    np.testing.assert_allclose(basis @ (basis.T @ a), a, atol=1e-12 * max(1, abs(a).max()))
    np.testing.assert_allclose(basis @ (basis.T @ b), a @ coefficients, atol=tolerance)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 12), st.integers(0, 10**6))
def test_matrices_of_any_shape_and_rank(rows: int, columns: int, rank: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    rank = min(rank, rows, columns)
    left = np.linalg.qr(draw.standard_normal((rows, rank)))[0]
    right = np.linalg.qr(draw.standard_normal((columns, rank)))[0]
    a = left * draw.uniform(0.5, 2, rank) @ right.T
    check(a, draw.standard_normal(rows), rank, 1e-7)


def test_zero_columns_get_zero_coefficients() -> None:
    draw = np.random.default_rng(2)
    a, b = draw.standard_normal((15, 5)), draw.standard_normal(15)
    a[:, [0, 3]] = 0
    check(a, b, 3)
    check(0 * a, b, 0)
    coefficients = solve(torch.from_numpy(a), torch.from_numpy(b)).coefficients
    assert coefficients[[0, 3]].tolist() == [0, 0]


def test_duplicated_columns_share_their_coefficient() -> None:
    """Where torch's own driver for matrices of full rank answers with 2e15."""
    draw = np.random.default_rng(3)
    a, b = draw.standard_normal((15, 4)), draw.standard_normal(15)
    a[:, 3] = a[:, 1]
    check(a, b, 3)
    coefficients = solve(torch.from_numpy(a), torch.from_numpy(b)).coefficients
    assert math.isclose(coefficients[1], coefficients[3], rel_tol=1e-10)


def test_least_length_is_measured_among_scaled_coefficients() -> None:
    """The second column is twice the first: both contribute equally to the value."""
    a, b = np.array([[1.0, 2.0], [1.0, 2.0]]), np.array([4.0, 4.0])
    coefficients = solve(torch.from_numpy(a), torch.from_numpy(b)).coefficients.numpy()
    np.testing.assert_allclose(coefficients, [2.0, 1.0], rtol=1e-12)


@pytest.mark.parametrize("size", [1e-100, 1e100])
def test_columns_of_any_length_are_solved_for(size: float) -> None:
    draw = np.random.default_rng(4)
    a, b = draw.standard_normal((10, 3)), draw.standard_normal(10)
    coefficients = solve(
        torch.from_numpy(a * np.array([1.0, size, 1.0])), torch.from_numpy(b)
    ).coefficients.numpy()
    expected = np.linalg.lstsq(a, b, rcond=None)[0]
    np.testing.assert_allclose(coefficients * [1.0, size, 1.0], expected, rtol=1e-11)


def test_accuracy_is_not_that_of_normal_equations() -> None:
    """A Vandermonde matrix of condition 1e9: a consistent system keeps its residual at rounding."""
    a = np.vander(np.linspace(0, 1, 60), 12)
    coefficients = solve(torch.from_numpy(a), torch.from_numpy(a @ np.ones(12))).coefficients
    np.testing.assert_allclose(a @ coefficients.numpy(), a @ np.ones(12), rtol=1e-13)
    np.testing.assert_allclose(coefficients, np.ones(12), rtol=1e-5)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("side", ["matrix", "right"])
def test_numbers_that_are_not_finite_are_noticed(bad: float, side: str) -> None:
    a, b = torch.ones(4, 2, dtype=torch.float64), torch.ones(4, dtype=torch.float64)
    (a if side == "matrix" else b)[1] = bad
    with pytest.raises(FloatingPointError, match="not finite"):
        solve(a, b)
    with pytest.raises(FloatingPointError, match="not finite"):
        solve_ridge(a, b, 1.0)


def augmented(matrix: np.ndarray, right: np.ndarray, ridge: float) -> np.ndarray:
    """The same minimum by numpy, from rows below the matrix; of one right side or of several."""
    m = matrix.shape[1]
    penalty = np.diag([ridge**0.5] * (m - 1) + [0.0])
    whole = np.vstack([matrix, penalty])
    zeros = np.zeros((m, *right.shape[1:]))
    return np.linalg.lstsq(whole, np.concatenate([right, zeros]), rcond=None)[0]


@given(st.integers(1, 6), st.integers(0, 10**6), st.sampled_from([1e-6, 1e-2, 1.0]))
def test_ridge_is_least_squares_on_more_rows(m: int, seed: int, ridge: float) -> None:
    draw = np.random.default_rng(seed)
    matrix = np.column_stack([draw.standard_normal((20, m)), np.ones(20)])
    right, others = draw.standard_normal(20), draw.standard_normal((20, 3))
    made = solve_ridge(torch.from_numpy(matrix), torch.from_numpy(right), ridge)
    np.testing.assert_allclose(made.coefficients, augmented(matrix, right, ridge), atol=1e-9)
    left = others - matrix @ augmented(matrix, others, ridge)
    np.testing.assert_allclose(
        made.reduced_gram(torch.from_numpy(others)), others.T @ left, atol=1e-11
    )


@pytest.mark.parametrize("gap", [0.0, 1e-9])
def test_ridge_survives_columns_that_are_nearly_equal(gap: float) -> None:
    """Here the Cholesky factor has too few digits, and the factorisation by rows takes over."""
    draw = np.random.default_rng(1)
    column = draw.standard_normal(50)
    matrix = np.column_stack([column, column + gap * draw.standard_normal(50), np.ones(50)])
    right = 3 * column + 1
    made = solve_ridge(torch.from_numpy(matrix), torch.from_numpy(right), 1e-18)
    np.testing.assert_allclose(matrix @ made.coefficients.numpy(), right, atol=1e-6)
    left = made.reduced_gram(torch.from_numpy(matrix))
    np.testing.assert_allclose(left, np.zeros((3, 3)), atol=1e-11)


def test_by_rows_the_ridge_holds_every_coefficient_but_the_constants() -> None:
    """Four equal columns share their weight, which least squares alone would leave open."""
    draw = np.random.default_rng(5)
    matrix = np.column_stack([*[draw.standard_normal(30)] * 4, np.ones(30)])
    matrix[:, 1:4] += 1e-11 * draw.standard_normal((30, 3))
    right = 2 * matrix[:, 0] + 100
    made = solve_ridge(torch.from_numpy(matrix), torch.from_numpy(right), 1e-14)
    assert made.factor is None
    np.testing.assert_allclose(made.coefficients, [0.5] * 4 + [100], atol=1e-4)
    assert len(made.basis) == 30


def test_a_zero_column_gets_no_weight() -> None:
    matrix = torch.tensor([[0.0, 1.0], [0.0, 1.0]], dtype=torch.float64)
    made = solve_ridge(matrix, torch.tensor([1.0, 3.0], dtype=torch.float64), 1e-3)
    np.testing.assert_allclose(made.coefficients, [0, 2])


def test_without_a_ridge_the_reduced_gram_matrix_is_that_of_what_is_left() -> None:
    draw = np.random.default_rng(2)
    matrix, others = draw.standard_normal((20, 4)), draw.standard_normal((20, 3))
    made = solve(torch.from_numpy(matrix), torch.from_numpy(others[:, 0]))
    left = others - matrix @ np.linalg.lstsq(matrix, others, rcond=None)[0]
    np.testing.assert_allclose(
        made.reduced_gram(torch.from_numpy(others)), left.T @ left, atol=1e-12
    )


@pytest.mark.parametrize("m", [1, 47, 48, 49, 100, 300, 301])
def test_gram_matrix_in_blocks_is_the_product(m: int) -> None:
    matrix = torch.from_numpy(np.random.default_rng(m).standard_normal((7, m)))
    np.testing.assert_allclose(gram_matrix(matrix), matrix.T @ matrix, atol=1e-13)
