"""Solving for linear weights finds what the spaces of stacked networks contain."""

import pytest
import torch

from tests.training.test_adamw import COUNT, POINTS, UNITS, drawn
from xsquared.studies.solved_readout import (
    averaged_losses,
    hinge_start,
    resolved,
    solved_losses,
)
from xsquared.training.adamw import as_parameters, batch_losses, outputs, torch_start
from xsquared.units import build


@UNITS
def test_solved_linear_weights_find_a_network_with_the_same_gates(name: str) -> None:
    module, (x, _) = build(name, 2, 5), drawn()
    weights = torch_start(module, range(COUNT)).double()
    y = outputs(module, weights, x)
    last = {"d", "D", *sum(module.unit.factors[-1:], ())}
    lost = weights.clone()
    for letter in last:
        as_parameters(module, lost)[letter].fill_(0.3)
    assert float(batch_losses(module, x, y, None)(lost)) > 0.01
    (found,) = resolved(module, lost, x, y, [0.0])
    torch.testing.assert_close(outputs(module, found, x), y, rtol=0, atol=1e-10)
    for letter in ("d", "D"):
        as_parameters(module, weights)[letter].fill_(0.3)
    (found,) = resolved(module, weights, x, y, [0.0], factor=False)
    torch.testing.assert_close(outputs(module, found, x), y, rtol=0, atol=1e-10)
    assert float(solved_losses(module, x, y, 1)(lost)) < 1e-9


@UNITS
def test_a_solve_at_every_step_leaves_the_gradient_of_the_reduced_error(
    name: str,
) -> None:
    module, (x, y) = build(name, 2, 3), drawn()
    weights = torch_start(module, range(COUNT)).double().requires_grad_()
    loss = solved_losses(module, x, y, 1)
    (slope,) = torch.autograd.grad(loss(weights), weights)
    step = 1e-6 * torch.ones_like(slope)
    with torch.no_grad():
        change = loss(weights + step) - loss(weights - step)
    assert float(change) == pytest.approx(2 * float((slope * step).sum()), rel=1e-3)


def test_an_average_of_all_points_is_the_readout_solved_on_them() -> None:
    module, (x, y) = build("swiglu", 2, 3), drawn()
    weights = torch_start(module, range(COUNT)).double()
    losses = (
        averaged_losses(module, x, y, POINTS, 0.9),
        solved_losses(module, x, y, 1),
    )
    for _ in range(2):  # the second average holds the same points twice
        averaged, solved = (float(loss(weights)) for loss in losses)
        assert averaged == pytest.approx(solved, rel=1e-8)


def test_hinges_start_on_training_points_with_the_lengths_said() -> None:
    x, _ = drawn()
    for name, longest in (("glu", 1.0), ("swiglu", 8.0)):
        module = build(name, 2, 6)
        own = as_parameters(module, hinge_start(module, range(COUNT), x))
        for weight, bias in (("G", "g"), ("U", "u")):
            at = x @ own[weight].mT + own[bias][:, None]
            assert at.abs().min(dim=1).values.max() < 1e-12
            lengths = own[weight].norm(dim=2)
            assert (
                lengths.min() > 1 - 1e-6
            )  # torch draws directions in single precision
            assert lengths.max() < (longest if weight == "G" else 1.0) + 1e-6
