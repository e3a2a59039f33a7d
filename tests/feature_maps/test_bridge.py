"""An ungated GLU is linear in the symmetric features of degree two."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from xsquared.feature_maps.bridge import (
    gate_remainder,
    quadratic_features,
    quadratic_weights,
    ungated,
)
from xsquared.units import GLU


def network(n_in: int, n_hidden: int, n_out: int) -> GLU:
    torch.manual_seed(n_in + 10 * n_hidden)
    return GLU(n_in, n_hidden, n_out)


@pytest.mark.parametrize("shape", [(1, 3, 1), (2, 7, 2), (5, 40, 3)])
def test_ungated_network_is_a_quadratic_feature_map(shape: tuple[int, int, int]) -> None:
    glu = network(*shape)
    x = np.random.default_rng(0).normal(size=(11, shape[0]))
    features, weights = quadratic_features(x), quadratic_weights(glu)
    assert features.shape == (11, math.comb(shape[0] + 2, 2))
    assert weights.shape == (shape[2], math.comb(shape[0] + 2, 2))
    np.testing.assert_allclose(features @ weights.T, ungated(glu, x), atol=1e-11)


@pytest.mark.parametrize("shape", [(1, 3, 1), (4, 9, 2)])
def test_gate_is_half_open_and_half_absolute_value(shape: tuple[int, int, int]) -> None:
    glu = network(*shape)
    x = np.random.default_rng(1).normal(size=(11, shape[0]))
    with torch.no_grad():
        forward = glu(torch.from_numpy(x)).numpy()
    half = (ungated(glu, x) + glu.d.detach().numpy()) / 2
    np.testing.assert_allclose(half + gate_remainder(glu, x), forward, atol=1e-12)


def test_more_neurons_than_features_add_nothing() -> None:
    """The ungated hidden units of 40 neurons in 3 dimensions span no more than 10 features."""
    glu = network(3, 40, 1)
    x = np.random.default_rng(2).normal(size=(200, 3))
    hidden = (x @ glu.G.detach().numpy().T + glu.g.detach().numpy()) * (
        x @ glu.U.detach().numpy().T + glu.u.detach().numpy()
    )
    assert np.linalg.matrix_rank(hidden) == 10


def test_bad_points_are_refused() -> None:
    with pytest.raises(ValueError, match=r"points of shape \(N, 2\), got \(4, 3\)"):
        ungated(network(2, 3, 1), np.ones((4, 3)))
    with pytest.raises(ValueError, match=r"points of shape \(N, n_in\), got \(3,\)"):
        quadratic_features(np.ones(3))
