"""Curves: weights that are rewritten predict what they did before."""

import numpy as np
import pytest
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from xsquared.studies.curves import SIZES, UNITS, _unscale, neurons, pair_from_glu
from xsquared.studies.trainer_targets import draw_points
from xsquared.units import build, parameter_count, predict


@pytest.mark.parametrize("unit", ["mlp", "pair:silu", "swiglu"])
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


def test_a_glu_is_relus_beside_their_squares() -> None:
    glu = build("glu", 1, 7, generator=torch.Generator().manual_seed(3))
    x = np.linspace(-2, 2, 101)
    wanted = predict(glu, x)
    np.testing.assert_allclose(predict(pair_from_glu(glu), x), wanted, atol=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_units_have_equally_many_parameters_to_within_two(size: int) -> None:
    counts = [parameter_count(unit, 1, neurons(unit, size)) for unit in UNITS]
    assert max(abs(count - 15 * size - 1) for count in counts) <= 2
