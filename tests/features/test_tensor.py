"""Tensor features against the polynomial itself and against numpy's Kronecker product."""

import math
from functools import reduce

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial.polynomial import polyval

from xsquared.features.polynomials import series_coefficients
from xsquared.features.tensor import Kind, TensorMap, feature_dimension, multiplicities

KINDS: tuple[Kind, ...] = ("kronecker", "symmetric")


def test_the_papers_dimension_and_the_symmetric_one() -> None:
    for kind, count in zip(KINDS, (66432, 163), strict=True):
        assert feature_dimension(kind, 3, (1, 2, 4, 6, 8, 10)) == count
        assert TensorMap(kind, 3, series_coefficients(5)).dimension == count


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
    rng, c = np.random.default_rng(seed), np.array(coefficients)
    W, x = rng.normal(size=(4, d)), rng.normal(size=(5, d))
    features = TensorMap(kind, d, c)
    scale = polyval(np.abs(x) @ np.abs(W).T, np.abs(c))
    error = np.abs(features.product(W, x).numpy() - polyval(x @ W.T, c))
    assert (error <= 1e-13 * scale + 1e-300).all()
    assert features.phi(W).shape == (4, features.dimension)
    assert features.psi(x[None]).shape == (1, 5, features.dimension)


@pytest.mark.parametrize(("d", "p"), [(1, 7), (2, 4), (3, 5), (5, 3)])
def test_symmetric_features_are_those_of_numpys_kronecker_power_each_once(
    d: int, p: int
) -> None:
    primes, power = np.array([2.0, 3, 5, 7, 11][:d]), np.eye(p + 1)[p]
    full: np.ndarray = reduce(np.kron, [primes] * p)
    np.testing.assert_allclose(
        TensorMap("kronecker", d, power).psi(primes).numpy(), full
    )
    short = TensorMap("symmetric", d, power).psi(primes).numpy()
    counts = multiplicities(d, p).numpy()
    assert len(counts) == math.comb(d + p - 1, p)
    values, times = np.unique(full, return_counts=True)
    assert dict(zip(values, times, strict=True)) == dict(
        zip(short, counts, strict=True)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_tensors_keep_their_gradient(kind: Kind) -> None:
    features, rng = TensorMap(kind, 3, series_coefficients(2)), np.random.default_rng(3)
    w, x = torch.tensor(rng.normal(size=3), requires_grad=True), rng.normal(size=3)
    (features.phi(w) @ features.psi(x)).backward()
    z, c = float(w.detach() @ torch.from_numpy(x)), series_coefficients(2)
    np.testing.assert_allclose(w.grad, (c[1] + 2 * c[2] * z + 4 * c[4] * z**3) * x)
