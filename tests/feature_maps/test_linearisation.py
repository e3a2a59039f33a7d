"""First order at a point: exact there, second order away from it, within the proved bound."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from xsquared.feature_maps.linearisation import Form, PointMap, linearisation_bound
from xsquared.feature_maps.series import gelu, gelu_tanh

VALUE = {"erf": gelu, "tanh": gelu_tanh}


def problem(seed: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(d, d)), rng.normal(size=d), rng.normal(size=(7, d))


@pytest.mark.parametrize("form", ["erf", "tanh"])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_product_is_the_stated_expansion(form: Form, d: int) -> None:
    W, x0, x = problem(d, d)
    features = PointMap(x0, form)
    product = features.psi(x) @ features.phi(W).T
    z0 = torch.from_numpy(W @ x0).requires_grad_()
    value = torch.nn.functional.gelu(z0, approximate="none" if form == "erf" else "tanh")
    value.sum().backward()
    assert z0.grad is not None
    expected = value.detach().numpy() + z0.grad.numpy() * ((x - x0) @ W.T)
    np.testing.assert_allclose(product, expected, atol=1e-12)


@pytest.mark.parametrize("form", ["erf", "tanh"])
def test_exact_at_the_reference(form: Form) -> None:
    W, x0, _ = problem(3, 4)
    features = PointMap(x0, form)
    np.testing.assert_allclose(features.phi(W) @ features.psi(x0), VALUE[form](W @ x0), atol=1e-14)


@given(st.integers(0, 10**6), st.integers(1, 6), st.floats(0.01, 5))
def test_error_is_within_the_bound(seed: int, d: int, scale: float) -> None:
    W, x0, x = problem(seed, d)
    features = PointMap(x0)
    points = x0 + scale * x
    error = np.abs(features.psi(points) @ features.phi(W).T - gelu(points @ W.T))
    assert (error <= linearisation_bound((points - x0) @ W.T) + 1e-12).all()


def test_shapes() -> None:
    features = PointMap(np.zeros(3))
    assert features.phi(np.ones((5, 3))).shape == (5, 4)
    assert features.psi(np.ones((2, 7, 3))).shape == (2, 7, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PointMap(np.zeros((2, 2))), r"finite vector as reference, got shape \(2, 2\)"),
        (lambda: PointMap(np.array([np.nan])), "finite vector"),
        (lambda: PointMap(np.zeros(2), "relu"), "form must be one of erf, tanh, got 'relu'"),
        (lambda: PointMap(np.zeros(2)).phi(np.ones((2, 3))), r"W of shape \(rows, 2\), got \(2, 3"),
        (lambda: PointMap(np.zeros(2)).psi(np.ones(3)), r"x of shape \(\.\.\., 2\), got \(3,\)"),
    ],
)
def test_bad_input_is_refused(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
