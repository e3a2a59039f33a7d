"""AdamW in batches, as most networks are trained, for stacks of networks of one shape.

The weights of K networks are a matrix (K, P), a row a network in the order of its
module's parameters; ``torch.vmap`` maps the module itself over the rows. Points are
(K, N, d), values (K, N, outputs): each network has points of its own. Device and
precision are those of the tensors given. The solver trains a stack of one.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.utils import vector_to_parameters

from xsquared.data.dataset import Dataset
from xsquared.training.result import Fit, Gates
from xsquared.training.start import start
from xsquared.units import Unit

#: Turns the gradients (K, P) of a step into directions (K, P), which are subtracted.
Optimiser = Callable[[Tensor], Tensor]

#: Points of a batch, as in the study ``trainers``.
_BATCH = 64
#: Rates rise in the first of so many equal parts of the steps, as in that study.
_PARTS = 50
#: Decay of Adam's average of gradients, and of that of their squares: torch's.
_FIRST = 0.9
_SECOND = 0.999
#: What Adam adds to the root of the squares: torch's.
_LEAST_SCALE = 1e-8


@dataclass(frozen=True)
class AdamW:
    """Minimise the mean square error by torch's AdamW, batch after batch.

    Weights start as ``torch.nn.Linear`` draws them, frozen gates where
    :func:`xsquared.training.start.start` puts them. Batches of 64 points are cut from
    shuffled epochs; the rate rises over the first fiftieth of the steps and falls to
    zero along half a cosine. This is the trainer that the book calls AdamW, in float64.

    Attributes:
        max_iterations: the steps taken, a batch each.
        learning_rate: the highest rate; the default is the one that the study
            ``trainers`` chose most often without decay. Worth a search.
        decay: of the weights, times the rate at each step.
    """

    name: ClassVar[str] = "adamw"
    max_iterations: int = 10_000
    learning_rate: float = 0.03
    decay: float = 0.0

    def train(
        self, data: Dataset, unit: Unit, n_hidden: int, gates: Gates, seed: int
    ) -> Fit:
        """Train any unit with any gate."""
        network = start(data, unit, n_hidden, seed)
        weights = torch_start(network, [seed]).double()
        rates = torch.full_like(weights, self.learning_rate)
        if gates == "frozen":
            for letter in ("G", "g"):
                frozen = getattr(network, letter).detach()
                as_parameters(network, weights)[letter].copy_(frozen)
                as_parameters(network, rates)[letter].zero_()
        x = torch.tensor(data.train.x)[None]
        y = torch.tensor(data.train.y)[None, :, None]
        losses = batch_losses(network, x, y, _BATCH, seed)
        (row,) = train_stack(weights, losses, rates, self.max_iterations, self.decay)
        vector_to_parameters(row, network.parameters())
        return Fit(network, "iterations", self.max_iterations)


def as_parameters(module: nn.Module, weights: Tensor) -> dict[str, Tensor]:
    """View weights (..., P) as the module's parameters by their names."""
    shapes = {name: p.shape for name, p in module.named_parameters()}
    sizes = [shape.numel() for shape in shapes.values()]
    pieces = weights.split(sizes, dim=-1)
    return {
        name: piece.unflatten(-1, shapes[name])
        for name, piece in zip(shapes, pieces, strict=True)
    }


def outputs(module: nn.Module, weights: Tensor, x: Tensor) -> Tensor:
    """Compute the forward passes (K, N, outputs) of weights (K, P) at x (K, N, d)."""

    def forward(parameters: dict[str, Tensor], points: Tensor) -> Tensor:
        return functional_call(module, parameters, (points,))

    return torch.vmap(forward)(as_parameters(module, weights), x)


def torch_start(module: nn.Module, seeds: Sequence[int]) -> Tensor:
    """Draw weights (K, P) as ``torch.nn.Linear`` does, uniform up to 1 / sqrt(inputs).

    The module's parameters are pairs of a weight (outputs, inputs) and a bias
    (outputs,).
    """
    layers = [p.shape for p in module.parameters()][::2]
    inputs = torch.cat([torch.full((m * (n + 1),), n) for m, n in layers])
    bounds = inputs**-0.5
    draws = [
        torch.rand(len(bounds), generator=torch.Generator().manual_seed(seed))
        for seed in seeds
    ]
    return bounds * (2 * torch.stack(draws) - 1)


def batch_losses(
    module: nn.Module, x: Tensor, y: Tensor, batch: int | None, seed: int = 0
) -> Callable[[Tensor], Tensor]:
    """Make a function from weights (K, P) to the sum of their mean squared errors.

    Each call takes the next ``batch`` points of shuffled epochs of x (K, N, d) and y
    (K, N, outputs), or all points where it is None.
    """

    def error(weights: Tensor, points: Tensor, values: Tensor) -> Tensor:
        difference = outputs(module, weights, points) - values
        return difference.square().mean(dim=(1, 2)).sum()

    if batch is None:
        return lambda weights: error(weights, x, y)
    batches = shuffled(x, y, batch, seed)
    return lambda weights: error(weights, *next(batches))


def shuffled(
    x: Tensor, y: Tensor, batch: int, seed: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Cut shuffled epochs of x (K, N, d) and y (K, N, outputs) into batches, endlessly.

    All networks have the same order of points; what is left of an epoch is dropped.
    """
    generator = torch.Generator().manual_seed(seed)
    count = y.shape[1]
    size = min(batch, count)
    while True:
        order = torch.randperm(count, generator=generator).to(x.device)
        xs, ys = x[:, order], y[:, order]
        for begin in range(0, count - size + 1, size):
            yield xs[:, begin : begin + size], ys[:, begin : begin + size]


def train_stack(
    weights: Tensor,
    loss: Callable[[Tensor], Tensor],
    rates: Tensor,
    steps: int,
    decay: float,
    optimiser: Optimiser | None = None,
) -> Tensor:
    """Train weights (K, P) by AdamW, or by the directions of another optimiser.

    Rates are (K,), or (K, P) with zeros for weights that stay. They rise over the
    first fiftieth of the steps, and fall to zero along half a cosine. A step is
    w - share rate (decay w + direction), as torch's AdamW takes it.
    """
    weights = weights.clone().requires_grad_()
    rates = rates.reshape(len(weights), -1)
    direction = optimiser or Adam(weights.detach())
    for step in range(1, steps + 1):
        (gradient,) = torch.autograd.grad(loss(weights), weights)
        rise = min(1.0, _PARTS * step / steps)
        share = rise * (1 + math.cos(math.pi * (step - 1) / steps)) / 2
        with torch.no_grad():
            weights.mul_(1 - decay * share * rates)
            weights.sub_(share * rates * direction(gradient))
    return weights.detach()


class Adam:
    """Adam's direction, with torch's constants."""

    def __init__(self, weights: Tensor) -> None:
        self.steps = 0
        self.mean = torch.zeros_like(weights)
        self.square = torch.zeros_like(weights)

    def __call__(self, gradient: Tensor) -> Tensor:
        """Divide the mean of gradients (K, P) by the root of that of their squares."""
        self.steps += 1
        self.mean.lerp_(gradient, 1 - _FIRST)
        self.square.mul_(_SECOND).addcmul_(gradient, gradient, value=1 - _SECOND)
        unbiased = self.square / (1 - _SECOND**self.steps)
        scale = unbiased.sqrt_().add_(_LEAST_SCALE)
        return self.mean / scale / (1 - _FIRST**self.steps)
