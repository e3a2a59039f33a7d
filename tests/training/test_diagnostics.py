"""What the diagnostics predict is what the optimiser does."""

from __future__ import annotations

import time

import numpy as np
import pytest
import torch

from xsquared.errors import measured_rmse
from xsquared.functions import PAPER_TARGET, target
from xsquared.training.diagnostics import alternation_factor, gate_curvature
from xsquared.training.frozen_gates import alternating_gates, paper_start
from xsquared.training.newton import layers, newton
from xsquared.training.spline_network import train_spline_network
from xsquared.training.variable_projection import Rows, fit_rows
from xsquared.units import GLU, build

POINTS = np.linspace(-1, 1, 400)


def glu(n: int) -> GLU:
    torch.manual_seed(0)
    network = paper_start("glu", n, (-1.0, 1.0))
    assert isinstance(network, GLU)
    return network


@pytest.mark.parametrize("n", [5, 9, 13])
def test_factor_is_the_measured_one_at_odd_widths(n: int) -> None:
    network = glu(n)
    x = torch.from_numpy(POINTS)
    y = PAPER_TARGET.torch()(x)
    run = newton(network, x[:, None], y, layers(network, False), 15, time.perf_counter)
    gates = Rows(torch.from_numpy(alternating_gates(n, (-1.0, 1.0))))
    least = fit_rows("glu", x[:, None], y, gates, train_gates=False).rmse ** 2
    excess = run.losses[-2:] - least
    # D moves between sweeps, and the columns H with it: the factor is that of one moment.
    predicted = alternation_factor(network, POINTS)
    assert 0.9 < predicted < 1
    assert predicted == pytest.approx(excess[1] / excess[0], abs=0.002)


@pytest.mark.parametrize("n", [2, 6, 14])
def test_one_sweep_suffices_at_even_widths(n: int) -> None:
    assert alternation_factor(glu(n), POINTS) == 0.0


def test_autodiff_misses_what_hinges_contribute() -> None:
    network = train_spline_network(PAPER_TARGET, "mlp", 6, 0).network
    autodiff, true = np.array([gate_curvature(network, PAPER_TARGET, i) for i in range(6)]).T
    assert (np.abs(autodiff / true - 1) > 0.01).all()


def test_curvature_of_a_gate_far_from_any_error_agrees() -> None:
    # Where the network equals the target at the hinge, the hinge contributes nothing.
    network = build("mlp", 1, 1)
    with torch.no_grad():
        for name, value in (("G", 1.0), ("g", 0.0), ("D", 1.0), ("d", 0.0)):
            getattr(network, name).fill_(value)
    ramp = target("(x + abs(x))/2")
    autodiff, true = gate_curvature(network, ramp, 0)
    assert autodiff == pytest.approx(true, rel=2e-3)


def test_network_is_left_as_it_was() -> None:
    network = train_spline_network(PAPER_TARGET, "mlp", 4, 0).network
    before = measured_rmse(network, PAPER_TARGET)
    gate_curvature(network, PAPER_TARGET, 1)
    assert measured_rmse(network, PAPER_TARGET) == before


def test_unknown_neuron() -> None:
    with pytest.raises(ValueError, match="neuron from 0 to 3, got 4"):
        gate_curvature(build("mlp", 1, 4), PAPER_TARGET, 4)
