"""Stacked networks train as each would alone, and solving finds what their spaces
contain.
"""

import math

import pytest
import torch
from torch import Tensor

from xsquared.studies import batched
from xsquared.units import build

COUNT, POINTS, STEPS, BATCH = 3, 100, 40, 32
UNITS = pytest.mark.parametrize("name", ["mlp", "bilinear", "swiglu", "gqu", "pair"])


def drawn(dim: int = 2) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(COUNT, POINTS, dim, generator=draw, dtype=torch.float64)
    return x, torch.sin(2 * x).sum(dim=2, keepdim=True)


@UNITS
def test_a_stack_trains_as_torch_trains_each_network(name: str) -> None:
    module, (x, y) = build(name, 2, 5), drawn()
    begun = batched.torch_start(module, range(COUNT)).double()
    rates = torch.tensor([0.003, 0.01, 0.1], dtype=torch.float64)
    losses = batched.batch_losses(module, x, y, BATCH, seed=7)
    ended = batched.descend(begun, losses, rates, STEPS)
    for k, rate in enumerate(rates.tolist()):
        network, draw = build(name, 2, 5), torch.Generator().manual_seed(7)
        network.load_state_dict(batched.named(module, begun[k]))
        optimizer = torch.optim.AdamW(network.parameters(), lr=rate)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: (1 + math.cos(math.pi * step / STEPS)) / 2
        )
        epoch: list[Tensor] = []
        for _ in range(STEPS):  # the warm-up, a fiftieth of them, is over at once
            epoch = epoch or list(
                torch.randperm(POINTS, generator=draw).split(BATCH)[:3]
            )
            rows = epoch.pop(0)
            optimizer.zero_grad()
            (network(x[k, rows]) - y[k, rows]).square().mean().backward()
            optimizer.step()
            schedule.step()
        for letter, weight in batched.named(module, ended[k]).items():
            torch.testing.assert_close(
                weight, getattr(network, letter).data, rtol=0, atol=1e-12
            )


@UNITS
def test_solved_linear_weights_find_a_network_with_the_same_gates(name: str) -> None:
    module, (x, _) = build(name, 2, 5), drawn()
    weights = batched.torch_start(module, range(COUNT)).double()
    y = batched.values(module, weights, x)
    last = {"d", "D", *sum(module.unit.factors[-1:], ())}
    lost = weights.clone()
    for letter in last:
        batched.named(module, lost)[letter].fill_(0.3)
    assert float(batched.batch_losses(module, x, y)(lost)) > 0.01
    (found,) = batched.resolved(module, lost, x, y, [0.0])
    torch.testing.assert_close(batched.values(module, found, x), y, rtol=0, atol=1e-10)
    for letter in ("d", "D"):
        batched.named(module, weights)[letter].fill_(0.3)
    (found,) = batched.resolved(module, weights, x, y, [0.0], factor=False)
    torch.testing.assert_close(batched.values(module, found, x), y, rtol=0, atol=1e-10)
    assert float(batched.solved_losses(module, x, y)(lost)) < 1e-9


@UNITS
def test_a_solve_at_every_step_leaves_the_gradient_of_the_reduced_error(
    name: str,
) -> None:
    module, (x, y) = build(name, 2, 3), drawn()
    weights = batched.torch_start(module, range(COUNT)).double().requires_grad_()
    loss = batched.solved_losses(module, x, y)
    (slope,) = torch.autograd.grad(loss(weights), weights)
    step = 1e-6 * torch.ones_like(slope)
    with torch.no_grad():
        change = loss(weights + step) - loss(weights - step)
    assert float(change) == pytest.approx(2 * float((slope * step).sum()), rel=1e-3)


def test_an_average_of_all_points_is_the_readout_solved_on_them() -> None:
    module, (x, y) = build("swiglu", 2, 3), drawn()
    weights = batched.torch_start(module, range(COUNT)).double()
    losses = (
        batched.averaged_losses(module, x, y, POINTS, 0.9),
        batched.solved_losses(module, x, y),
    )
    for _ in range(2):  # the second average holds the same points twice
        averaged, solved = (float(loss(weights)) for loss in losses)
        assert averaged == pytest.approx(solved, rel=1e-8)


def test_hinges_start_on_training_points_with_the_lengths_said() -> None:
    x, _ = drawn()
    for name, longest in (("glu", 1.0), ("swiglu", 8.0)):
        module = build(name, 2, 6)
        own = batched.named(module, batched.hinge_start(module, range(COUNT), x))
        for weight, bias in (("G", "g"), ("U", "u")):
            at = x @ own[weight].mT + own[bias][:, None]
            assert at.abs().min(dim=1).values.max() < 1e-12
            lengths = own[weight].norm(dim=2)
            assert (
                lengths.min() > 1 - 1e-6
            )  # torch draws directions in single precision
            assert lengths.max() < (longest if weight == "G" else 1.0) + 1e-6
