"""Errors of networks against the optimal map's, for a network known exactly."""

import numpy as np
import pytest
import torch

from xsquared.features.learned import Protocol, TwoNetworks, initial_networks
from xsquared.features.optimal import best_mse, second_moment
from xsquared.studies.learned_maps import _measure_against_optimal


@pytest.mark.parametrize(("d", "m"), [(2, 2), (4, 4)])
def test_a_network_of_zeros_misses_gelu_by_its_second_moment(d: int, m: int) -> None:
    networks = initial_networks(Protocol(d, m), [0, 1])
    zeros = [torch.zeros_like(layer) for layer in networks.psi_layers]
    nothing = TwoNetworks(networks.phi_layers, tuple(zeros))
    errors = _measure_against_optimal(d, m)(nothing)
    moment = second_moment(d)
    assert float(best_mse(d, m)) > 0.2 * moment
    np.testing.assert_allclose(errors, moment, rtol=0.08)
