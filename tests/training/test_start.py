"""Where networks start: the paper's hinges on a line, normal weights elsewhere."""

import numpy as np
import pytest
import torch

from xsquared.data.dataset import from_arrays, from_target, sampled
from xsquared.functions import PAPER_TARGET, target
from xsquared.geometry import knots, spline_gates
from xsquared.training.start import start
from xsquared.units import UNITS, build, find_unit


def drawn(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_gates_alternate_on_equidistant_hinges(n: int) -> None:
    (slope,), bias = (part.T for part in spline_gates(n, (-1.0, 2.0), "alternating"))
    np.testing.assert_array_equal(slope, (-1.0) ** np.arange(n))
    np.testing.assert_allclose(-bias / slope, np.linspace(-1, 2, n), atol=1e-15)


@pytest.mark.parametrize("unit", sorted(UNITS))
def test_on_a_line_the_gates_span_the_training_points(unit: str) -> None:
    x = np.random.default_rng(0).uniform(2, 5, (40, 1))
    scattered = from_arrays(x, x[:, 0] ** 2)
    for data in (sampled(PAPER_TARGET, 20), scattered):
        network = start(data, find_unit(unit), 4, seed=1)
        places = -network.g.detach().numpy() / network.G.detach().numpy()[:, 0]
        ends = data.train.x.min(), data.train.x.max()
        np.testing.assert_allclose(
            places, np.linspace(*ends, 4), rtol=1e-13, atol=1e-13
        )
        if network.unit.gate.hinged:
            np.testing.assert_allclose(knots(network), np.sort(places))


@pytest.mark.parametrize("unit", sorted(UNITS))
def test_elsewhere_every_weight_is_normal_and_the_seeds(unit: str) -> None:
    data = from_target(target("x*y"), points=20)
    network, expected = (
        start(data, find_unit(unit), 4, 7),
        build(unit, 2, 4, generator=drawn(7)),
    )
    for letter, values in network.named_parameters():
        assert torch.equal(values, getattr(expected, letter))
    assert not torch.equal(network.D, start(data, find_unit(unit), 4, 8).D)
