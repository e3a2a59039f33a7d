"""Curves: weights for points as they are predict what the trained ones do."""

import numpy as np
import pytest
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from xsquared.studies.curves import _unscale
from xsquared.studies.trainers import draw_points
from xsquared.units import build, predict


@pytest.mark.parametrize("unit", ["mlp", "glu", "swiglu"])
def test_unscaled_weights_predict_the_same_values(unit: str) -> None:
    data = draw_points("oscillating", "1 input", 2)
    network = build(unit, 1, 5, generator=torch.Generator().manual_seed(1))
    x = np.linspace(-1, 1, 101)[:, None]
    values = predict(network, data.standardise(x))
    wanted = values * data.target_scale + data.target_mean
    weights = parameters_to_vector(network.parameters()).detach()
    _unscale(network, weights, data)
    vector_to_parameters(weights, network.parameters())
    np.testing.assert_allclose(predict(network, x), wanted, rtol=1e-10, atol=1e-12)
