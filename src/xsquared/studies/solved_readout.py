"""Stacks of networks whose linear weights are solved for, during training or after it.

As in :mod:`xsquared.training.adamw` weights are (K, P), points (K, N, d), and values
(K, N, outputs).
"""

from collections.abc import Callable, Sequence
from itertools import count

import torch
from torch import Tensor

from xsquared.training.adamw import as_parameters, shuffled, torch_start
from xsquared.units import GatedNetwork

#: Ridge of the solve at every step, on features scaled to length one.
RIDGE = 1e-11


def hinge_start(module: GatedNetwork, seeds: Sequence[int], x: Tensor) -> Tensor:
    """Draw weights (K, P) whose gates and factors vanish at points of x (K, N, d).

    Their directions are uniform, of length 1, those of a gate without hinge of length 1
    to 8.
    """
    weights = torch_start(module, seeds).to(x)
    for row, points, seed in zip(weights, x, seeds, strict=True):
        own, draw = as_parameters(module, row), torch.Generator().manual_seed(seed)
        for weight, bias in (("G", "g"), *module.unit.factors):
            way = torch.randn(own[weight].shape, generator=draw)
            way /= way.norm(dim=1, keepdim=True)
            if weight == "G" and not module.gate.hinged:
                way *= 1 + 7 * torch.rand(len(way), 1, generator=draw)
            through = points[torch.randint(len(points), (len(way),), generator=draw)]
            own[weight].copy_(way)
            own[bias].copy_(-(own[weight] * through).sum(dim=1))
    return weights


def solved_losses(
    module: GatedNetwork, x: Tensor, y: Tensor, every: int = 1
) -> Callable[[Tensor], Tensor]:
    """As :func:`~xsquared.training.adamw.batch_losses` on all points, with the linear weights solved at calls 1,
    1 + every.

    Their derivative is zero at the solution, so that the gradient is that of the
    reduced error.
    """
    calls, linear = count(), torch.empty(0)

    def loss(weights: Tensor) -> Tensor:
        nonlocal linear
        made = features(module, weights, x)
        if next(calls) % every == 0:
            with torch.no_grad():
                size = made.norm(dim=1, keepdim=True) + 1e-30
                scaled = made / size
                gram = scaled.mT @ scaled
                gram.diagonal(dim1=1, dim2=2).add_(RIDGE)
                linear = torch.linalg.solve(gram, scaled.mT @ y) / size.mT
        return (made @ linear - y).square().mean(dim=(1, 2)).sum()

    return loss


def averaged_losses(
    module: GatedNetwork,
    x: Tensor,
    y: Tensor,
    batch: int,
    keep: float,
    seed: int = 0,
    factor: bool = True,
) -> Callable[[Tensor], Tensor]:
    """As :func:`~xsquared.training.adamw.batch_losses`, with linear weights solved from a Gram matrix averaged
    over calls.

    Each call takes it and the right side ``keep`` times, and adds those of its own
    points.
    """
    turn = shuffled(x, y, batch, seed)
    gram, right = x.new_zeros(()), x.new_zeros(())

    def loss(weights: Tensor) -> Tensor:
        nonlocal gram, right
        points, wanted = next(turn)
        made = features(module, weights, points, factor)
        with torch.no_grad():
            gram, right = keep * gram + made.mT @ made, keep * right + made.mT @ wanted
            size = gram.diagonal(dim1=1, dim2=2).sqrt()[..., None] + 1e-30
            scaled = gram / size / size.mT
            scaled.diagonal(dim1=1, dim2=2).add_(RIDGE)
            linear = torch.linalg.solve(scaled, right / size) / size
        return (made @ linear - wanted).square().mean(dim=(1, 2)).sum()

    return loss


def features(
    module: GatedNetwork, weights: Tensor, x: Tensor, factor: bool = True
) -> Tensor:
    """Compute what the linear weights multiply, (K, N, m), the constant last.

    Of a unit with factors the last one is linear, where it is to be solved for: (U, u)
    times D is.
    """
    linear = len(module.unit.factors) - bool(module.unit.factors and factor)
    inner, last = module.unit.factors[:linear], module.unit.factors[linear:]

    def one(own: dict[str, Tensor], at: Tensor) -> Tensor:
        z, constant = at @ own["G"].T + own["g"], at.new_ones(len(at), 1)
        value = module.gate.value(z)
        for weight, bias in inner:
            value = value * (at @ own[weight].T + own[bias])
        if module.unit.paired:
            value = torch.cat([value, z * value], 1)
        if last:
            value = (value[:, :, None] * torch.cat([at, constant], 1)[:, None]).flatten(
                1
            )
        return torch.cat([value, constant], 1)

    return torch.vmap(one)(as_parameters(module, weights), x)


def resolved(
    module: GatedNetwork,
    weights: Tensor,
    x: Tensor,
    y: Tensor,
    ridges: Sequence[float],
    factor: bool = True,
) -> list[Tensor]:
    """Solve for the linear weights of networks (K, P), by each ridge on scaled
    features.
    """
    made = features(module, weights, x, factor)
    size = made.norm(dim=1, keepdim=True) + 1e-30
    left, singular, right = torch.linalg.svd(made / size, full_matrices=False)
    singular = singular[..., None]
    seen = left.mT @ y * singular
    linear = [right.mT @ (seen / (singular**2 + ridge)) / size.mT for ridge in ridges]
    return [with_linear(module, weights, part, factor) for part in linear]


def with_linear(
    module: GatedNetwork, weights: Tensor, linear: Tensor, factor: bool = True
) -> Tensor:
    """Replace the linear weights of networks (K, P) by those of their :func:`features`.

    They are (K, m, outputs), with one output where a factor is among them.
    """
    weights = weights.clone()
    own = as_parameters(module, weights)
    own["d"].copy_(linear[:, -1])
    if not (module.unit.factors and factor):
        own["D"].copy_(linear[:, :-1].mT)
        return weights
    own["D"].fill_(1.0)
    weight, bias = module.unit.factors[-1]
    parts = linear[:, :-1, 0].unflatten(1, (module.n_hidden, -1))
    own[weight].copy_(parts[..., :-1])
    own[bias].copy_(parts[..., -1])
    return weights
