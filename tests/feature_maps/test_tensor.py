"""Tensor features against the polynomial itself and against numpy's Kronecker product."""

import math
from functools import reduce
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial.polynomial import polyval

from xsquared.feature_maps.polynomials import chebyshev_fit
from xsquared.feature_maps.series import series_coefficients, taylor_gelu
from xsquared.feature_maps.tensor import Kind, TensorMap, feature_dimension, multiplicities

KINDS: tuple[Kind, ...] = ("kronecker", "symmetric")


def draw(seed: int, d: int, rows: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    """Random W (rows, d) and x (5, d), scaled so that the largest sum of |w_i x_i| is 2.5."""
    rng = np.random.default_rng(seed)
    W, x = torch.from_numpy(rng.normal(size=(rows, d))), torch.from_numpy(rng.normal(size=(5, d)))
    return W, x * 2.5 / (x.abs() @ W.abs().T).max()


def test_the_papers_dimension_and_the_symmetric_one() -> None:
    powers = (1, 2, 4, 6, 8, 10)
    assert feature_dimension("kronecker", 3, powers) == 66432
    assert feature_dimension("symmetric", 3, powers) == 163
    assert TensorMap("kronecker", 3, series_coefficients(5)).dimension == 66432
    assert TensorMap("symmetric", 3, series_coefficients(5)).dimension == 163
    dimension: Any = np.int64(16)
    assert feature_dimension("kronecker", dimension, np.array([20])) == 16**20


def test_counts_of_small_integers_do_not_wrap() -> None:
    dimension: Any = np.uint8(200)
    powers: Any = np.array([100], np.uint8)
    assert feature_dimension("symmetric", dimension, powers) == math.comb(299, 100)


@pytest.mark.parametrize("kind", ["kronecker", "symmetric"])
def test_vectors_of_another_dimension_are_refused(kind: Kind) -> None:
    with pytest.raises(ValueError, match="vectors: expected 1 elements, got 3"):
        TensorMap(kind, 1, np.array([0.0, 0.0, 1.0])).psi(torch.ones(2, 3))
    with pytest.raises(ValueError, match="vectors: expected 1 elements, got a number"):
        TensorMap(kind, 1, np.ones(2)).phi(torch.tensor(1.0))
    with pytest.raises(ValueError, match="coefficients: expected one that is not zero"):
        TensorMap(kind, 1, np.zeros(3))
    bad: tuple[Any, ...] = ((1.5, [2]), (0, [2]), (2, [1.5]), (2, [-1]))
    for d, powers in bad:
        with pytest.raises(ValueError, match=r"^(d|powers): expected an integer >= "):
            feature_dimension(kind, d, powers)


def test_another_kind_is_refused() -> None:
    unknown: Any = "Symmetric"
    for call in (TensorMap, feature_dimension):
        with pytest.raises(ValueError, match=r"^unknown kind 'Symmetric'; known are kronecker, "):
            call(unknown, 3, np.ones(2))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("d", "n_terms"), [(1, 5), (2, 5), (3, 5), (4, 5), (5, 4), (6, 3)])
def test_features_are_the_series_to_1e_12(kind: Kind, d: int, n_terms: int) -> None:
    W, x = draw(d, d, rows=3)
    x = x[:2]
    expected = taylor_gelu((x @ W.T).numpy(), n_terms)
    product = TensorMap(kind, d, series_coefficients(n_terms)).product(W, x).numpy()
    assert np.linalg.norm(product - expected) <= 1e-12 * np.linalg.norm(expected)


@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 6),
    coefficients=st.lists(st.floats(-2, 2), min_size=1, max_size=6).filter(any),
    kind=st.sampled_from(KINDS),
)
def test_product_is_the_polynomial(
    seed: int, d: int, coefficients: list[float], kind: Kind
) -> None:
    """Within rounding of the sum of absolute values, as terms may cancel."""
    W, x = draw(seed, d)
    c = np.array(coefficients)
    features = TensorMap(kind, d, c)
    scale = polyval((x.abs() @ W.abs().T).numpy(), np.abs(c))
    error = np.abs(features.product(W, x).numpy() - polyval((x @ W.T).numpy(), c))
    assert (error <= 1e-13 * scale + 1e-300).all()
    assert features.phi(W).shape == (4, features.dimension)
    assert features.psi(x).shape == (5, features.dimension)


@pytest.mark.parametrize("p", [1, 2, 5])
def test_kronecker_features_are_numpys(p: int) -> None:
    vector = np.random.default_rng(p).normal(size=3)
    features = TensorMap("kronecker", 3, np.eye(p + 1)[p]).psi(torch.from_numpy(vector))
    expected: np.ndarray = reduce(np.kron, [vector] * p)
    np.testing.assert_allclose(features.numpy(), expected, rtol=1e-14)


@pytest.mark.parametrize(("d", "p"), [(1, 7), (2, 4), (3, 5), (5, 3)])
def test_multiplicities_count_the_kronecker_features(d: int, p: int) -> None:
    counts = multiplicities(d, p).numpy()
    assert counts.sum() == d**p
    assert len(counts) == math.comb(d + p - 1, p)
    primes = torch.tensor([2.0, 3, 5, 7, 11][:d], dtype=torch.float64)
    full = TensorMap("kronecker", d, np.eye(p + 1)[p]).psi(primes).numpy()
    short = TensorMap("symmetric", d, np.eye(p + 1)[p]).psi(primes).numpy()
    values, times = np.unique(full, return_counts=True)
    assert dict(zip(values, times, strict=True)) == dict(zip(short, counts, strict=True))


def test_batches_of_weight_matrices() -> None:
    rng = np.random.default_rng(0)
    W = torch.from_numpy(rng.normal(size=(6, 3, 3)))
    x = torch.from_numpy(rng.normal(size=(6, 3)))
    features = TensorMap("symmetric", 3, chebyshev_fit(6, 3.0))
    product = torch.einsum("bim,bm->bi", features.phi(W), features.psi(x))
    expected = polyval(torch.einsum("bij,bj->bi", W, x).numpy(), chebyshev_fit(6, 3.0))
    np.testing.assert_allclose(product.numpy(), expected, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_do_as_well_as_tensors_which_keep_their_gradient(kind: Kind) -> None:
    features = TensorMap(kind, 3, series_coefficients(2))
    W, x = (part.numpy() for part in draw(3, 3))
    arrays: Any = (W, x)
    torch.testing.assert_close(
        features.product(*arrays), features.product(*map(torch.tensor, (W, x)))
    )
    w = torch.tensor(W[0], requires_grad=True)
    (features.phi(w) @ features.psi(x[0])).backward()
    slope = 0.5 + 2 * series_coefficients(2)[2] * W[0] @ x[0]
    slope += 4 * series_coefficients(2)[4] * (W[0] @ x[0]) ** 3
    np.testing.assert_allclose(w.grad, slope * x[0])


@pytest.mark.parametrize(
    "vectors",
    [torch.ones(2, 2) * 1j, np.ma.array(np.ones((2, 2)), mask=True), np.ones((2, 2), dtype=bool)],
    ids=["complex", "masked", "bool"],
)
def test_vectors_that_are_no_real_numbers_are_refused(vectors: Any) -> None:
    with pytest.raises(ValueError, match="vectors: expected real numbers"):
        TensorMap("symmetric", 2, np.array([1.0, 2.0])).psi(vectors)


@pytest.mark.parametrize("coefficients", [{1: 2}, np.ones((2, 2)), ["a"], [1j], [np.nan], None])
def test_coefficients_that_are_no_finite_numbers_are_refused(coefficients: Any) -> None:
    with pytest.raises(ValueError, match="coefficients: expected"):
        TensorMap("symmetric", 2, coefficients)
