"""Stacks of networks whose outer weights are solved for, during training or after it.

As in :mod:`xsquared.training.adamw` weights are (K, P), points (K, N, d), and values
(K, N, outputs). A network is linear in its outer weights, the readout (D, d), or, where
the last factor is solved for as well, (D U, D u) and d: its value is phi(x) c with
features phi (m,) and outer weights c (m, outputs).
"""

from collections.abc import Callable, Sequence
from itertools import count

import torch
from torch import Tensor

from xsquared.training.adamw import as_parameters, shuffled, torch_start
from xsquared.units import GatedNetwork

#: Ridge of the solve at every step, on features scaled to length one.
RIDGE = 1e-11
#: Added to the length of a feature that vanishes on all points.
_LEAST_LENGTH = 1e-30
#: Slopes with which smooth gates start, at most.
_STEEPEST = 8.0


def hinge_start(module: GatedNetwork, seeds: Sequence[int], x: Tensor) -> Tensor:
    """Draw weights (K, P) whose gates and factors vanish at points of x (K, N, d).

    Their directions are uniform, of length 1, those of a gate without hinge of length 1
    to 8.
    """
    weights = torch_start(module, seeds).to(x)
    for row, points, seed in zip(weights, x, seeds, strict=True):
        parameters = as_parameters(module, row)
        generator = torch.Generator().manual_seed(seed)
        for weight, bias in (("G", "g"), *module.unit.factors):
            direction = torch.randn(parameters[weight].shape, generator=generator)
            direction /= direction.norm(dim=1, keepdim=True)
            n = len(direction)
            if weight == "G" and not module.gate.hinged:
                share = torch.rand(n, 1, generator=generator)
                direction *= 1 + (_STEEPEST - 1) * share
            chosen = torch.randint(len(points), (n,), generator=generator)
            parameters[weight].copy_(direction)
            offset = (parameters[weight] * points[chosen]).sum(dim=1)
            parameters[bias].copy_(-offset)
    return weights


def solved_losses(
    module: GatedNetwork, x: Tensor, y: Tensor, every: int
) -> Callable[[Tensor], Tensor]:
    """Make a loss of weights (K, P), outer ones solved at calls 1, 1 + every, ...

    It is the sum of mean squared errors on all points. Its derivative by the outer
    weights is zero at the solution, so that the gradient is that of the reduced error.
    """
    calls = count()
    outer = torch.empty(0)

    def loss(weights: Tensor) -> Tensor:
        nonlocal outer
        phi = _features(module, weights, x)
        if next(calls) % every == 0:
            with torch.no_grad():
                size = phi.norm(dim=1, keepdim=True) + _LEAST_LENGTH
                scaled = phi / size
                gram = scaled.mT @ scaled
                gram.diagonal(dim1=1, dim2=2).add_(RIDGE)
                outer = torch.linalg.solve(gram, scaled.mT @ y) / size.mT
        return (phi @ outer - y).square().mean(dim=(1, 2)).sum()

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
    """Make a loss on batches, outer weights solved from averaged normal equations.

    Each call takes Gram matrix and right side ``keep`` times, and adds those of its own
    points.
    """
    batches = shuffled(x, y, batch, seed)
    gram = x.new_zeros(())
    right = x.new_zeros(())

    def loss(weights: Tensor) -> Tensor:
        nonlocal gram, right
        points, values = next(batches)
        phi = _features(module, weights, points, factor)
        with torch.no_grad():
            gram = keep * gram + phi.mT @ phi
            right = keep * right + phi.mT @ values
            squares = gram.diagonal(dim1=1, dim2=2)
            size = squares.sqrt()[..., None] + _LEAST_LENGTH
            scaled = gram / size / size.mT
            scaled.diagonal(dim1=1, dim2=2).add_(RIDGE)
            outer = torch.linalg.solve(scaled, right / size) / size
        return (phi @ outer - values).square().mean(dim=(1, 2)).sum()

    return loss


def _features(
    module: GatedNetwork, weights: Tensor, x: Tensor, factor: bool = True
) -> Tensor:
    """Compute what the outer weights multiply, (K, N, m), the constant last.

    With ``factor`` the last factor, if any, is among them: neurons times (x, 1).
    """
    factors = list(module.unit.factors)
    solves_factor = bool(factors) and factor
    if solves_factor:
        factors.pop()

    def of_network(parameters: dict[str, Tensor], points: Tensor) -> Tensor:
        constant = points.new_ones(len(points), 1)
        z = points @ parameters["G"].T + parameters["g"]
        value = module.gate.value(z)  # (N, n)
        for weight, bias in factors:
            value = value * (points @ parameters[weight].T + parameters[bias])
        if module.unit.paired:
            value = torch.cat([value, z * value], 1)
        if solves_factor:
            behind = torch.cat([points, constant], 1)  # (N, d + 1)
            value = (value[:, :, None] * behind[:, None]).flatten(1)
        return torch.cat([value, constant], 1)

    return torch.vmap(of_network)(as_parameters(module, weights), x)


def resolved(
    module: GatedNetwork,
    weights: Tensor,
    x: Tensor,
    y: Tensor,
    ridges: Sequence[float],
    factor: bool = True,
) -> list[Tensor]:
    """Solve for the outer weights of networks (K, P), by each ridge on scaled features.

    With the singular values s and vectors of the features, c = V s U'y / (s^2 + ridge).
    """
    phi = _features(module, weights, x, factor)
    size = phi.norm(dim=1, keepdim=True) + _LEAST_LENGTH
    left, singular, right = torch.linalg.svd(phi / size, full_matrices=False)
    singular = singular[..., None]
    projected = left.mT @ y * singular
    solutions = []
    for ridge in ridges:
        outer = right.mT @ (projected / (singular**2 + ridge)) / size.mT
        solutions.append(_with_outer(module, weights, outer, factor))
    return solutions


def _with_outer(
    module: GatedNetwork, weights: Tensor, outer: Tensor, factor: bool
) -> Tensor:
    """Replace the outer weights of networks (K, P) by those of their features.

    They are (K, m, outputs), with one output where a factor is among them, whose rows
    they then are, of a readout of ones.
    """
    weights = weights.clone()
    parameters = as_parameters(module, weights)
    parameters["d"].copy_(outer[:, -1])
    if module.unit.factors and factor:
        weight, bias = module.unit.factors[-1]
        rows = outer[:, :-1, 0].unflatten(1, (module.n_hidden, -1))  # (K, n, d + 1)
        parameters["D"].fill_(1.0)
        parameters[weight].copy_(rows[..., :-1])
        parameters[bias].copy_(rows[..., -1])
    else:
        parameters["D"].copy_(outer[:, :-1].mT)
    return weights
