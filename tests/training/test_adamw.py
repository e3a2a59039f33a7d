"""AdamW: stacked networks train as torch trains each alone, the solver's as well."""

import math

import pytest
import torch
from torch import Tensor

from xsquared.data.dataset import from_target
from xsquared.functions import target
from xsquared.training import AdamW, Gates, fit
from xsquared.training.adamw import (
    as_parameters,
    batch_losses,
    torch_start,
    train_stack,
)
from xsquared.training.start import start
from xsquared.units import GatedNetwork, build, find_unit

COUNT, POINTS = 3, 100
#: Rates rise over the first three steps.
STEPS, BATCH = 150, 32
UNITS = pytest.mark.parametrize("name", ["mlp", "bilinear", "swiglu", "gqu", "pair"])


def drawn(dim: int = 2) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(COUNT, POINTS, dim, generator=draw, dtype=torch.float64)
    return x, torch.sin(2 * x).sum(dim=2, keepdim=True)


def train_by_torch(
    network: GatedNetwork,
    x: Tensor,
    y: Tensor,
    rate: float,
    seed: int,
    batch: int,
    decay: float,
) -> None:
    """Train a network in place by torch's own optimiser and schedule."""
    draw = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: (
            min(1.0, 50 * (step + 1) / STEPS)
            * (1 + math.cos(math.pi * step / STEPS))
            / 2
        ),
    )
    epoch: list[Tensor] = []
    for _ in range(STEPS):
        if not epoch:
            order = torch.randperm(len(x), generator=draw)
            epoch = [part for part in order.split(batch) if len(part) == batch]
        rows = epoch.pop(0)
        optimizer.zero_grad()
        (network(x[rows]) - y[rows]).square().mean().backward()
        optimizer.step()
        schedule.step()


@UNITS
def test_a_stack_trains_as_torch_trains_each_network(name: str) -> None:
    module, (x, y) = build(name, 2, 5), drawn()
    begun = torch_start(module, range(COUNT)).double()
    rates = torch.tensor([0.003, 0.01, 0.1], dtype=torch.float64)
    losses = batch_losses(module, x, y, BATCH, seed=7)
    ended = train_stack(begun, losses, rates, STEPS, decay=0.01)
    for k, rate in enumerate(rates.tolist()):
        network = build(name, 2, 5)
        network.load_state_dict(as_parameters(module, begun[k]))
        train_by_torch(network, x[k], y[k], rate, 7, BATCH, decay=0.01)
        for letter, weight in as_parameters(module, ended[k]).items():
            torch.testing.assert_close(
                weight, getattr(network, letter).data, rtol=0, atol=1e-11
            )


@pytest.mark.parametrize("gates", ["trained", "frozen"])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_the_solver_trains_torchs_layers_as_torch_does(
    decay: float, gates: Gates
) -> None:
    data = from_target(target("sin(2*x)*y"), points=150)
    solver = AdamW(max_iterations=STEPS, learning_rate=0.02, decay=decay)
    trained = fit(data, "swiglu", 4, solver=solver, gates=gates, seed=3).network
    expected = start(data, find_unit("swiglu"), 4, 3)
    drawn_weights = torch_start(expected, [3]).double()[0]
    for letter, weight in as_parameters(expected, drawn_weights).items():
        parameter = getattr(expected, letter)
        if letter in ("G", "g") and gates == "frozen":
            parameter.requires_grad_(False)
        else:
            parameter.data.copy_(weight)
    x, y = torch.tensor(data.train.x), torch.tensor(data.train.y)[:, None]
    train_by_torch(expected, x, y, 0.02, 3, 64, decay=decay)
    for letter, weight in trained.named_parameters():
        wanted = getattr(expected, letter).detach()
        torch.testing.assert_close(weight.detach(), wanted, rtol=0, atol=1e-11)


def test_starts_are_torchs_of_a_linear_layer() -> None:
    module = build("glu", 3, 2000)
    own = as_parameters(module, torch_start(module, [1])[0])
    for letter, inputs in (("G", 3), ("g", 3), ("U", 3), ("D", 2000)):
        bound = inputs**-0.5
        assert float(own[letter].abs().max()) == pytest.approx(bound, rel=0.01)
        assert float(own[letter].std()) == pytest.approx(bound / 3**0.5, rel=0.05)
