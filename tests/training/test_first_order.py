"""AdamW and L-BFGS: what they train, what they record, how they end."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from xsquared.training import first_order
from xsquared.training.first_order import adamw, lbfgs
from xsquared.units import GatedNetwork, build, set_parameters

METHODS = {"adamw": adamw, "lbfgs": lbfgs}
X = torch.linspace(-1, 1, 50, dtype=torch.float64)[:, None]
Y = torch.sin(3 * X[:, 0])


def ticks():
    counter = itertools.count()
    return lambda: float(next(counter))


def network_of(unit: str = "glu", n: int = 4) -> GatedNetwork:
    draw = np.random.default_rng(0)
    network = build(unit, 1, n)
    set_parameters(
        network, **{k: draw.standard_normal(tuple(p.shape)) for k, p in network.named_parameters()}
    )
    return network


def loss_of(network: GatedNetwork) -> float:
    with torch.no_grad():
        return float(torch.mean((network(X)[:, 0] - Y) ** 2))


@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize("unit", ["mlp", "glu", "gqu"])
def test_the_loss_falls_and_is_that_of_the_network(method: str, unit: str) -> None:
    network = network_of(unit)
    before = loss_of(network)
    letters = [name for name, _ in network.named_parameters()]
    run = METHODS[method](network, X, Y, letters, 100, ticks())
    assert math.isclose(run.losses[0], before, rel_tol=1e-12)
    assert math.isclose(run.losses[-1], loss_of(network), rel_tol=1e-12)
    assert run.losses[-1] < 0.5 * before
    assert len(run.seconds) == len(run.losses)
    assert (np.diff(run.seconds) > 0).all()
    assert run.seconds[0] <= 1


@pytest.mark.parametrize("method", list(METHODS))
def test_only_the_named_letters_move(method: str) -> None:
    network = network_of()
    before = {name: p.detach().clone() for name, p in network.named_parameters()}
    METHODS[method](network, X, Y, ("D", "d", "u"), 20, ticks())
    moved = {name for name, p in network.named_parameters() if not torch.equal(p, before[name])}
    assert moved == {"D", "d", "u"}


def test_lbfgs_reaches_the_minimum_of_a_linear_problem() -> None:
    network = network_of("mlp")
    matrix = np.column_stack([network.hidden(X).detach(), np.ones(len(X))])
    c, *_ = np.linalg.lstsq(matrix, Y.numpy(), rcond=None)
    expected = np.mean((matrix @ c - Y.numpy()) ** 2)
    run = lbfgs(network, X, Y, ("D", "d"), 500, ticks())
    assert run.status == "converged"
    assert math.isclose(run.losses[-1], expected, rel_tol=1e-6)
    assert run.iterations < 500


def test_lbfgs_never_raises_the_loss() -> None:
    run = lbfgs(network_of(), X, Y, ("D", "d", "U", "u"), 200, ticks())
    assert (np.diff(run.losses) <= 0).all()


def test_adamw_takes_torchs_steps_along_a_half_cosine() -> None:
    """By hand: moments, bias correction, and no decay of weights."""
    network = network_of("mlp", 2)
    d, first, second, steps = float(network.d.detach()), 0.0, 0.0, 8
    rest = network(X).detach()[:, 0] - d
    for step in range(steps):
        slope = float(2 * torch.mean(rest + d - Y))
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        rate = first_order._LEARNING_RATE * (1 + math.cos(math.pi * step / steps)) / 2
        corrected = math.sqrt(second / (1 - 0.999 ** (step + 1)))
        d -= rate * first / (1 - 0.9 ** (step + 1)) / (corrected + 1e-8)
    run = adamw(network, X, Y, ("d",), steps, ticks())
    assert math.isclose(float(network.d.detach()), d, rel_tol=1e-10)
    assert (run.iterations, run.status) == (steps, "iterations")


@pytest.mark.parametrize(("steps", "records"), [(1, 2), (150, 151), (500, 251)])
def test_adamw_keeps_some_hundred_records(steps: int, records: int) -> None:
    assert len(adamw(network_of(), X, Y, ("d",), steps, ticks()).losses) == records


def test_the_limit_of_iterations_is_reported() -> None:
    run = lbfgs(network_of(), X, Y, ("D", "d", "U", "u", "G", "g"), 20, ticks())
    assert (run.status, run.iterations, len(run.losses)) == ("iterations", 20, 2)


@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize("size", [1e200, math.nan])
def test_a_loss_that_is_not_finite_is_a_divergence(method: str, size: float) -> None:
    run = METHODS[method](network_of(), X, size * Y, ("D", "d"), 60, ticks())
    assert run.status == "diverged"
    assert run.iterations < 60
    assert not np.isfinite(run.losses[-1])


@pytest.mark.parametrize("method", list(METHODS))
def test_bad_arguments_are_refused(method: str) -> None:
    for letters, limit, message in (
        (("D",), 0, "max_iterations must be at least 1, got 0"),
        (("D", "Q"), 5, r"expected letters among G, g, U, u, D, d, got \['D', 'Q'\]"),
        ((), 5, r"expected letters among G, g, U, u, D, d, got \[\]"),
    ):
        with pytest.raises(ValueError, match=message):
            METHODS[method](network_of(), X, Y, letters, limit, ticks())
