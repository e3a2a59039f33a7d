"""AdamW and L-BFGS: what they train, what they record, how they end."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from tests.training.test_newton import X, Y, loss_of, losses, network_of
from xsquared.training.first_order import LBFGS, AdamW, trained
from xsquared.training.result import Fit
from xsquared.units import UNITS, GatedNetwork

METHODS = {"adamw": AdamW, "lbfgs": LBFGS}
every_method = pytest.mark.parametrize("method", list(METHODS))


def run_of(
    method: str,
    network: GatedNetwork,
    letters: Any,
    steps: int,
    y: Any = Y,
    **settings: Any,
) -> Fit:
    return trained(
        METHODS[method](max_iterations=steps, **settings), network, X, y, letters
    )


@every_method
@pytest.mark.parametrize("unit", sorted(UNITS))
def test_the_loss_falls_and_is_that_of_the_network(method: str, unit: str) -> None:
    network = network_of(unit)
    before = loss_of(network)
    letters = [name for name, _ in network.named_parameters()]
    run = run_of(method, network, letters, 100)
    assert math.isclose(losses(run)[0], before, rel_tol=1e-12)
    assert math.isclose(losses(run)[-1], loss_of(network), rel_tol=1e-12)
    assert losses(run)[-1] < 0.5 * before
    assert run.network is network
    seconds = run.history[:, 0]
    assert (np.diff(seconds) > 0).all()
    assert seconds[0] == 0


def test_lbfgs_reaches_the_minimum_of_a_linear_problem() -> None:
    network = network_of("mlp")
    matrix = np.column_stack([network.hidden(X).detach(), np.ones(len(X))])
    c, *_ = np.linalg.lstsq(matrix, Y.numpy(), rcond=None)
    expected = np.mean((matrix @ c - Y.numpy()) ** 2)
    run = run_of("lbfgs", network, ("D", "d"), 500)
    assert run.status == "converged"
    assert math.isclose(losses(run)[-1], expected, rel_tol=1e-6)
    assert run.iterations < 500


def test_adamw_takes_torchs_steps_along_a_half_cosine() -> None:
    """By hand: moments, bias correction, and no decay of weights."""
    network = network_of("mlp", 2)
    d, first, second, steps = float(network.d.detach()), 0.0, 0.0, 8
    rest = network(X).detach()[:, 0] - d
    for step in range(steps):
        slope = float(2 * torch.mean(rest + d - Y))
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        rate = 0.03 * (1 + math.cos(math.pi * step / steps)) / 2
        corrected = math.sqrt(second / (1 - 0.999 ** (step + 1)))
        d -= rate * first / (1 - 0.9 ** (step + 1)) / (corrected + 1e-8)
    run = run_of("adamw", network, ("d",), steps, learning_rate=0.03)
    assert math.isclose(float(network.d.detach()), d, rel_tol=1e-10)
    assert (run.iterations, run.status) == (steps, "iterations")


@pytest.mark.parametrize("steps", [3, 25, 40])
def test_lbfgs_takes_no_more_iterations_than_it_may(steps: int) -> None:
    network, other = network_of("glu"), network_of("glu")
    run = run_of("lbfgs", network, [*dict(network.named_parameters())], steps)
    assert (run.iterations, len(run.history)) == (steps, 1 + -(-steps // 20))
    run_of("lbfgs", other, [*dict(other.named_parameters())], 20)
    assert (loss_of(network) < loss_of(other)) == (steps > 20)
