"""The two-network map of the GELU-linearization paper (section 3), for many seeds.

Phi acts on rows of W, Psi on x: MLPs with one hidden layer of ReLU, whose dot product
is fitted to GELU(W x) by Adam, W and x standard normal. All S seeds are trained in one
set of batched tensors; data, initial weights and batch order are a seed's own.

Random numbers come from streams whose keys begin with what is drawn: 0 weights, 1
training pairs, 2 the order of batches, 3 (by callers) test pairs, 4 and 5 the points at
which last layers are fitted to the optimal map.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import gelu

from xsquared.features.optimal import OptimalMap

#: Pairs of a step, and Adam's rate: the paper's listing.
_BATCH = 64
_RATE = 1e-3


@dataclass(frozen=True)
class Protocol:
    """What is trained, with the paper's listing as default.

    Attributes:
        d: dimensions of a row of W and of x.
        m: features, outputs of both networks.
        n_pairs: training pairs, at least a batch; None draws a fresh batch for every
            step.
        decay: the rate falls to zero along half a cosine, instead of staying as it is.
        single: float32, torch's default, instead of float64.
    """

    d: int = 2
    m: int = 16
    n_pairs: int | None = 1024
    hidden: int = 64
    decay: bool = False
    single: bool = False

    @property
    def dtype(self) -> torch.dtype:
        """What the networks compute in."""
        return torch.float32 if self.single else torch.float64

    @property
    def steps_per_epoch(self) -> int:
        """Batches that see every training pair once."""
        return math.ceil((self.n_pairs or _BATCH) / _BATCH)


@dataclass(frozen=True)
class TwoNetworks:
    """Networks Phi and Psi for S seeds.

    Each has weight (S, d, hidden), bias (S, 1, hidden), weight (S, hidden, m), bias (S,
    1, m).
    """

    phi_layers: tuple[Tensor, ...]
    psi_layers: tuple[Tensor, ...]

    def predict(self, W: Tensor, x: Tensor) -> Tensor:
        """Multiply Phi(W) and Psi(x): (S, n, rows, d), (S, n, d) -> (S, n, rows).

        With Phi(w) = A'h(w) + a the product is h(w)'(A Psi(x)) + a'Psi(x): the last
        layer is applied to Psi(x), one vector a pair, not to every row.
        """
        first, first_bias, last, last_bias = self.psi_layers
        psi_hidden = torch.relu(torch.baddbmm(first_bias, x, first))
        psi = torch.baddbmm(last_bias, psi_hidden, last)  # (S, n, m)
        first, first_bias, last, last_bias = self.phi_layers
        rows = W.flatten(1, 2)
        phi_hidden = torch.relu(torch.baddbmm(first_bias, rows, first))
        lifted = torch.bmm(psi, last.transpose(1, 2))[:, :, None]  # (S, n, 1, hidden)
        product = (phi_hidden.unflatten(1, W.shape[1:3]) * lifted).sum(dim=3)
        return product + torch.bmm(psi, last_bias.transpose(1, 2))


def initial_networks(protocol: Protocol, seeds: Sequence[int]) -> TwoNetworks:
    """Draw untrained networks as torch.nn.Linear does: uniform in 1/sqrt(fan in)."""
    d, m, hidden = protocol.d, protocol.m, protocol.hidden
    shapes = [  # fan in and shape of a network's layers
        (d, (d, hidden)),
        (d, (1, hidden)),
        (hidden, (hidden, m)),
        (hidden, (1, m)),
    ]
    streams = [np.random.default_rng([0, seed]) for seed in seeds]
    layers = []
    for fan_in, shape in [*shapes, *shapes]:
        entries = [rng.uniform(-1, 1, shape) / math.sqrt(fan_in) for rng in streams]
        layers.append(torch.from_numpy(np.stack(entries)).to(protocol.dtype))
    return TwoNetworks(tuple(layers[:4]), tuple(layers[4:]))


def optimal_networks(protocol: Protocol, seeds: Sequence[int]) -> TwoNetworks:
    """Draw first layers and fit last ones to the optimal map's features.

    By least squares at 4,096 standard normal points.
    """
    drawn = initial_networks(protocol, seeds)
    best = OptimalMap(protocol.d, protocol.m)
    phi = _with_fitted_last(drawn.phi_layers, best.phi, [[4, seed] for seed in seeds])
    psi = _with_fitted_last(drawn.psi_layers, best.psi, [[5, seed] for seed in seeds])
    return TwoNetworks(phi, psi)


def _with_fitted_last(
    layers: Sequence[Tensor],
    features: Callable[[np.ndarray], np.ndarray],
    keys: Sequence[Sequence[int]],
) -> tuple[Tensor, ...]:
    """Fit a network's last layer to features (n, d) -> (n, m), a seed at a time."""
    first, first_bias, last, _ = layers
    solutions = []
    for weight, bias, key in zip(first, first_bias, keys, strict=True):
        points = np.random.default_rng(key).standard_normal((4096, len(weight)))
        values = torch.from_numpy(points) @ weight.double() + bias.double()
        design = np.column_stack([torch.relu(values).numpy(), np.ones(len(points))])
        solution, *_ = np.linalg.lstsq(design, features(points), rcond=1e-8)
        solutions.append(solution)
    fitted = torch.from_numpy(np.stack(solutions)).to(last.dtype)  # (S, hidden + 1, m)
    return first, first_bias, fitted[:, :-1].clone(), fitted[:, -1:].clone()


def draw_pairs(
    d: int, n: int, keys: Sequence[Sequence[int]]
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw n pairs for each of S streams of random numbers, seeded by the keys.

    Return standard normal W (S, n, d, d) and x (S, n, d), and GELU(W x) (S, n, d).
    """
    streams = [np.random.default_rng(key) for key in keys]
    numbers = np.stack([rng.standard_normal((n, d + 1, d)) for rng in streams])
    W = torch.from_numpy(numbers[:, :, :d])
    x = torch.from_numpy(numbers[:, :, d])
    return W, x, gelu((W @ x[..., None])[..., 0])


@dataclass(frozen=True)
class Training:
    """The result of training.

    Attributes:
        losses: of batches, (steps, S).
        measured: what ``measure`` returned, by step.
        networks: as trained.
    """

    losses: np.ndarray
    measured: dict[int, np.ndarray]
    networks: TwoNetworks


def pair_errors(networks: TwoNetworks, W: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return predictions less y, (S, n, d), on the same pairs for all seeds.

    W is (1, n, d, d), x and y are (1, n, d).
    """
    like = networks.psi_layers[0]
    W_of_each = W.to(like).expand(len(like), -1, -1, -1)
    x_of_each = x.to(like).expand(len(like), -1, -1)
    with torch.no_grad():
        return networks.predict(W_of_each, x_of_each).to(y) - y


def pair_rmse(networks: TwoNetworks, W: Tensor, x: Tensor, y: Tensor) -> np.ndarray:
    """Return the RMSE over each pair's outputs, the paper's measure: (S, n)."""
    return (pair_errors(networks, W, x, y) ** 2).mean(dim=2).sqrt().numpy()


def train(
    protocol: Protocol,
    seeds: Sequence[int],
    steps: int,
    measure: Callable[[TwoNetworks], np.ndarray],
    at_steps: Sequence[int],
    start: TwoNetworks | None = None,
) -> Training:
    """Train all seeds together by ``steps`` steps of Adam.

    Args:
        protocol: sizes, data, and whether the rate falls.
        seeds: of data, initial weights and the order of batches.
        steps: of Adam.
        measure: called with the networks, without gradients, after ``at_steps``.
        at_steps: counted from 1.
        start: networks to train on, which change; None draws them.
    """
    networks = initial_networks(protocol, seeds) if start is None else start
    parameters = [
        p.requires_grad_() for p in (*networks.phi_layers, *networks.psi_layers)
    ]
    optimiser = torch.optim.Adam(parameters, lr=_RATE, fused=True)
    losses = np.empty((steps, len(seeds)))
    measured = {}
    batches = islice(_batches(protocol, seeds), steps)
    for step, (W, x, y) in enumerate(batches, 1):
        if protocol.decay:
            share = (1 + math.cos(math.pi * (step - 1) / steps)) / 2
            optimiser.param_groups[0]["lr"] = _RATE * share
        optimiser.zero_grad()
        loss = ((networks.predict(W, x) - y) ** 2).mean(dim=(1, 2))
        loss.sum().backward()
        optimiser.step()
        losses[step - 1] = loss.detach().numpy()
        if step in at_steps:
            with torch.no_grad():
                measured[step] = measure(networks)
    for parameter in parameters:
        parameter.requires_grad_(False)
    return Training(losses, measured, networks)


def _batches(
    protocol: Protocol, seeds: Sequence[int]
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Generate batches W, x, y without end, all seeds stacked."""
    pairs = protocol.n_pairs
    if pairs is None:
        for step in count():
            keys = [[1, seed, step] for seed in seeds]
            yield _cast(draw_pairs(protocol.d, _BATCH, keys), protocol.dtype)
        return
    drawn = draw_pairs(protocol.d, pairs, [[1, seed] for seed in seeds])
    W, x, y = _cast(drawn, protocol.dtype)
    seed_index = torch.arange(len(seeds))[:, None]
    streams = [np.random.default_rng([2, seed]) for seed in seeds]
    while True:
        orders = np.stack([rng.permutation(pairs) for rng in streams])
        for chosen in torch.from_numpy(orders).split(_BATCH, dim=1):
            yield W[seed_index, chosen], x[seed_index, chosen], y[seed_index, chosen]


def _cast(
    tensors: tuple[Tensor, Tensor, Tensor], dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    W, x, y = tensors
    return W.to(dtype), x.to(dtype), y.to(dtype)
