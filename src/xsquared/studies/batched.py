"""Many networks of one shape trained at once, each on points of its own.

The weights of K networks are a matrix (K, P), a row a network in the order of its module's
parameters; ``torch.vmap`` maps the module itself over the rows. Device and precision are those of
the tensors given. Outputs are one.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import count

import torch
from torch import Tensor
from torch.func import functional_call

from xsquared.units import GatedNetwork

#: Ridge of the solve at every step, on features scaled to length one.
RIDGE = 1e-11


def named(module: GatedNetwork, weights: Tensor) -> dict[str, Tensor]:
    """View weights (..., P) as the module's parameters by their letters."""
    shapes = {letter: p.shape for letter, p in module.named_parameters()}
    parts = weights.split([shape.numel() for shape in shapes.values()], dim=-1)
    return {k: part.unflatten(-1, shapes[k]) for k, part in zip(shapes, parts, strict=True)}


def values(module: GatedNetwork, weights: Tensor, x: Tensor) -> Tensor:
    """Compute the forward passes (K, N) of weights (K, P) at x (K, N, d)."""
    return torch.vmap(lambda own, at: functional_call(module, own, (at,))[:, 0])(
        named(module, weights), x
    )


def torch_start(module: GatedNetwork, seeds: Sequence[int]) -> Tensor:
    """Draw weights (K, P) as ``torch.nn.Linear`` does, uniform up to 1 / sqrt(inputs)."""
    fans = [module.n_hidden if k in "Dd" else module.n_in for k, _ in module.named_parameters()]
    counts = [p.numel() for p in module.parameters()]
    most = torch.repeat_interleave(torch.tensor(fans) ** -0.5, torch.tensor(counts))
    draws = [torch.rand(len(most), generator=torch.Generator().manual_seed(s)) for s in seeds]
    return most * (2 * torch.stack(draws) - 1)


def hinge_start(module: GatedNetwork, seeds: Sequence[int], x: Tensor) -> Tensor:
    """Draw weights (K, P) whose gates and factors vanish at points of x (K, N, d).

    Their directions are uniform, of length 1, those of a gate without hinge of length 1 to 8.
    """
    weights = torch_start(module, seeds).to(x)
    for row, points, seed in zip(weights, x, seeds, strict=True):
        own, draw = named(module, row), torch.Generator().manual_seed(seed)
        for weight, bias in (("G", "g"), *module.unit.factors):
            way = torch.randn(own[weight].shape, generator=draw)
            way /= way.norm(dim=1, keepdim=True)
            if weight == "G" and not module.gate.hinged:
                way *= 1 + 7 * torch.rand(len(way), 1, generator=draw)
            through = points[torch.randint(len(points), (len(way),), generator=draw)]
            own[weight].copy_(way)
            own[bias].copy_(-(own[weight] * through).sum(dim=1))
    return weights


def batch_losses(
    module: GatedNetwork, x: Tensor, y: Tensor, batch: int | None = None, seed: int = 0
) -> Callable[[Tensor], Tensor]:
    """Make a function from weights (K, P) to the sum of their mean squared errors.

    Each call takes the next ``batch`` points of shuffled epochs of x (K, N, d), y (K, N), or all
    points where it is None.
    """
    if batch is None:
        return lambda weights: (values(module, weights, x) - y).square().mean(dim=1).sum()
    turn = _shuffled(x, y, batch, seed)

    def loss(weights: Tensor) -> Tensor:
        points, wanted = next(turn)
        return (values(module, weights, points) - wanted).square().mean(dim=1).sum()

    return loss


def _shuffled(x: Tensor, y: Tensor, batch: int, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Cut epochs of x (K, N, d) and y (K, N), shuffled alike for all, into batches without end."""
    draw, size = torch.Generator().manual_seed(seed), min(batch, y.shape[1])
    while True:
        order = torch.randperm(y.shape[1], generator=draw).to(x.device)
        xs, ys = x[:, order], y[:, order]
        for begin in range(0, y.shape[1] - size + 1, size):
            yield xs[:, begin : begin + size], ys[:, begin : begin + size]


def solved_losses(
    module: GatedNetwork, x: Tensor, y: Tensor, every: int = 1
) -> Callable[[Tensor], Tensor]:
    """As :func:`batch_losses` on all points, with the linear weights solved at calls 1, 1 + every.

    Their derivative is zero at the solution, so that the gradient is that of the reduced error.
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
                linear = torch.linalg.solve(gram, scaled.mT @ y[..., None]) / size.mT
        return ((made @ linear)[..., 0] - y).square().mean(dim=1).sum()

    return loss


def averaged_losses(
    module: GatedNetwork, x: Tensor, y: Tensor, batch: int, keep: float, seed: int = 0
) -> Callable[[Tensor], Tensor]:
    """As :func:`batch_losses`, with linear weights solved from a Gram matrix averaged over calls.

    Each call takes it and the right side ``keep`` times, and adds those of its own points.
    """
    turn = _shuffled(x, y, batch, seed)
    gram, right = x.new_zeros(()), x.new_zeros(())

    def loss(weights: Tensor) -> Tensor:
        nonlocal gram, right
        points, wanted = next(turn)
        made = features(module, weights, points)
        with torch.no_grad():
            gram, right = keep * gram + made.mT @ made, keep * right + made.mT @ wanted[..., None]
            size = gram.diagonal(dim1=1, dim2=2).sqrt()[..., None] + 1e-30
            scaled = gram / size / size.mT
            scaled.diagonal(dim1=1, dim2=2).add_(RIDGE)
            linear = torch.linalg.solve(scaled, right / size) / size
        return ((made @ linear)[..., 0] - wanted).square().mean(dim=1).sum()

    return loss


def descend(
    weights: Tensor,
    loss: Callable[[Tensor], Tensor],
    rates: Tensor,
    steps: int,
    decay: float = 0.01,
) -> Tensor:
    """Train weights (K, P) by AdamW with learning rates (K,); betas and decay are torch's.

    Rates rise over the first fiftieth of the steps, and fall to zero along half a cosine.
    """
    weights = weights.clone().requires_grad_()
    mean, square, rates = torch.zeros_like(weights), torch.zeros_like(weights), rates[:, None]
    for step in range(1, steps + 1):
        (slope,) = torch.autograd.grad(loss(weights), weights)
        share = min(1.0, 50 * step / steps) * (1 + math.cos(math.pi * (step - 1) / steps)) / 2
        with torch.no_grad():
            mean.lerp_(slope, 0.1)
            square.mul_(0.999).addcmul_(slope, slope, value=0.001)
            scale = (square / (1 - 0.999**step)).sqrt_().add_(1e-8)
            weights.mul_(1 - decay * share * rates)
            weights.sub_(share / (1 - 0.9**step) * rates * mean / scale)
    return weights.detach()


def features(module: GatedNetwork, weights: Tensor, x: Tensor) -> Tensor:
    """Compute what the linear weights multiply, (K, N, m), the constant last.

    Of a unit with factors the last one is linear: (U, u) times D is solved for.
    """
    inner, last = module.unit.factors[:-1], module.unit.factors[-1:]

    def one(own: dict[str, Tensor], at: Tensor) -> Tensor:
        value, constant = module.gate.value(at @ own["G"].T + own["g"]), at.new_ones(len(at), 1)
        for weight, bias in inner:
            value = value * (at @ own[weight].T + own[bias])
        if last:
            value = (value[:, :, None] * torch.cat([at, constant], 1)[:, None]).flatten(1)
        return torch.cat([value, constant], 1)

    return torch.vmap(one)(named(module, weights), x)


def resolved(
    module: GatedNetwork, weights: Tensor, x: Tensor, y: Tensor, ridges: Sequence[float]
) -> list[Tensor]:
    """Solve for the linear weights of networks (K, P), by each ridge on scaled features."""
    made = features(module, weights, x)
    size = made.norm(dim=1, keepdim=True) + 1e-30
    left, singular, right = torch.linalg.svd(made / size, full_matrices=False)
    seen = (left.mT @ y[..., None])[..., 0] * singular
    linear = [
        (right.mT @ (seen / (singular**2 + r))[..., None])[..., 0] / size[:, 0] for r in ridges
    ]
    return [with_linear(module, weights, part) for part in linear]


def with_linear(module: GatedNetwork, weights: Tensor, linear: Tensor) -> Tensor:
    """Replace the linear weights of networks (K, P) by those of their :func:`features`, (K, m)."""
    weights = weights.clone()
    own = named(module, weights)
    own["d"].copy_(linear[:, -1:])
    own["D"].copy_(linear[:, None, :-1] if not module.unit.factors else torch.ones(()))
    for weight, bias in module.unit.factors[-1:]:
        parts = linear[:, :-1].unflatten(1, (module.n_hidden, -1))
        own[weight].copy_(parts[..., :-1])
        own[bias].copy_(parts[..., -1])
    return weights
