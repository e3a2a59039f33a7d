"""The two-network map of the GELU-linearization paper's section 3, many seeds at a
time.

Phi acts on rows of W, Psi on x: MLPs with one hidden layer of ReLU, whose dot product
is fitted to GELU(W x) by Adam, W and x standard normal. All S seeds are trained in one
set of batched tensors; data, initial weights and batch order are a seed's own.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import gelu

from xsquared.features.optimal import OptimalMap


@dataclass(frozen=True)
class Protocol:
    """What is trained, with the paper's listing as default, in d dimensions with m
    features.

    Attributes:
        n_pairs: training pairs, at least a batch; None draws a fresh batch for every
            step.
        decay: the rate falls to zero along half a cosine, instead of staying as it is.
        single: float32, torch's default, instead of float64.
    """

    d: int = 2
    m: int = 16
    n_pairs: int | None = 1024
    batch: int = 64
    hidden: int = 64
    rate: float = 1e-3
    decay: bool = False
    single: bool = False

    @property
    def dtype(self) -> torch.dtype:
        """What the networks compute in."""
        return torch.float32 if self.single else torch.float64

    @property
    def steps_per_epoch(self) -> int:
        """Batches that see every training pair once."""
        return math.ceil((self.n_pairs or self.batch) / self.batch)


@dataclass(frozen=True)
class TwoNetworks:
    """Networks Phi and Psi for S seeds.

    Each has weight (S, d, hidden), bias (S, 1, hidden), weight (S, hidden, m), bias (S,
    1, m).
    """

    phi_layers: tuple[Tensor, ...]
    psi_layers: tuple[Tensor, ...]

    def predict(self, W: Tensor, x: Tensor) -> Tensor:
        """Multiply Phi(W) and Psi(x), for W (S, n, rows, d) and x (S, n, d): (S, n,
        rows).

        The last layer of Phi is applied to Psi(x), one vector a pair, not to every row.
        """
        one, bias_one, two, bias_two = self.psi_layers
        psi = torch.baddbmm(bias_two, torch.relu(torch.baddbmm(bias_one, x, one)), two)
        one, bias_one, two, bias_two = self.phi_layers
        hidden = torch.relu(torch.baddbmm(bias_one, W.flatten(1, 2), one))
        lifted = torch.bmm(psi, two.transpose(1, 2))
        product = (hidden.unflatten(1, W.shape[1:3]) * lifted[:, :, None]).sum(dim=3)
        return product + torch.bmm(psi, bias_two.transpose(1, 2))


def initial_networks(protocol: Protocol, seeds: Sequence[int]) -> TwoNetworks:
    """Draw untrained networks: entries uniform within 1/sqrt(fan in), as in
    ``torch.nn.Linear``.
    """
    d, m, hidden = protocol.d, protocol.m, protocol.hidden
    shapes = [
        (d, (d, hidden)),
        (d, (1, hidden)),
        (hidden, (hidden, m)),
        (hidden, (1, m)),
    ]
    streams = [np.random.default_rng([0, seed]) for seed in seeds]
    stacked = []
    for fan_in, shape in 2 * shapes:
        drawn = np.stack(
            [rng.uniform(-1, 1, shape) / math.sqrt(fan_in) for rng in streams]
        )
        stacked.append(torch.from_numpy(drawn).to(protocol.dtype))
    return TwoNetworks(tuple(stacked[:4]), tuple(stacked[4:]))


def optimal_networks(protocol: Protocol, seeds: Sequence[int]) -> TwoNetworks:
    """Fit the last layers to the optimal map's features by least squares, first layers
    as drawn.
    """
    drawn, best = initial_networks(protocol, seeds), OptimalMap(protocol.d, protocol.m)
    fitted = []
    for key, layers, features in (
        (4, drawn.phi_layers, best.phi),
        (5, drawn.psi_layers, best.psi),
    ):
        solutions = []
        for one, two, seed in zip(layers[0], layers[1], seeds, strict=True):
            v = np.random.default_rng([key, seed]).standard_normal((4096, protocol.d))
            hidden = torch.relu(
                torch.from_numpy(v) @ one.double() + two.double()
            ).numpy()
            design = np.column_stack([hidden, np.ones(len(v))])
            solutions.append(np.linalg.lstsq(design, features(v), rcond=1e-8)[0])
        last = torch.from_numpy(np.stack(solutions)).to(protocol.dtype)
        fitted.append((*layers[:2], last[:, :-1].clone(), last[:, -1:].clone()))
    return TwoNetworks(*fitted)


def draw_pairs(
    d: int, n: int, keys: Sequence[Sequence[int]]
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw n pairs for each of S streams of random numbers, seeded by the keys.

    Return standard normal W (S, n, d, d) and x (S, n, d), and GELU(W x) (S, n, d).
    """
    numbers = np.stack(
        [np.random.default_rng(key).standard_normal((n, d + 1, d)) for key in keys]
    )
    W, x = torch.from_numpy(numbers[:, :, :d]), torch.from_numpy(numbers[:, :, d])
    return W, x, gelu((W @ x[..., None])[..., 0])


@dataclass(frozen=True)
class Training:
    """What training left: batch losses (steps, S), what was measured by step, the
    networks.
    """

    losses: np.ndarray
    measured: dict[int, np.ndarray]
    networks: TwoNetworks


def pair_errors(networks: TwoNetworks, W: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return predictions less y on the same W (1, n, d, d), x and y (1, n, d): (S, n,
    d).
    """
    like = networks.psi_layers[0]
    W, x = (
        W.to(like).expand(len(like), -1, -1, -1),
        x.to(like).expand(len(like), -1, -1),
    )
    with torch.no_grad():
        return networks.predict(W, x).to(y) - y


def pair_rmse(networks: TwoNetworks, W: Tensor, x: Tensor, y: Tensor) -> np.ndarray:
    """Return the RMSE over the outputs of each test pair, the paper's measure: (S, n)."""
    return (pair_errors(networks, W, x, y) ** 2).mean(dim=2).sqrt().numpy()


def train(
    protocol: Protocol,
    seeds: Sequence[int],
    steps: int,
    measure: Callable[[TwoNetworks], np.ndarray],
    at_steps: Sequence[int],
    start: TwoNetworks | None = None,
) -> Training:
    """Train all seeds together for so many Adam steps, on from ``start`` (changed)
    where given.

    ``measure`` is called without gradients after the steps that ``at_steps`` lists,
    from 1.
    """
    networks = initial_networks(protocol, seeds) if start is None else start
    parameters = [
        p.requires_grad_() for p in (*networks.phi_layers, *networks.psi_layers)
    ]
    optimiser = torch.optim.Adam(parameters, lr=protocol.rate, fused=True)
    losses, measured = np.empty((steps, len(seeds))), {}
    for step, (W, x, y) in zip(
        range(1, steps + 1), _batches(protocol, seeds), strict=False
    ):
        if protocol.decay:
            share = (1 + math.cos(math.pi * (step - 1) / steps)) / 2
            optimiser.param_groups[0]["lr"] = protocol.rate * share
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
    """Generate batches without end, all seeds stacked."""
    size, step = protocol.n_pairs, 0
    while size is None:
        W, x, y = draw_pairs(
            protocol.d, protocol.batch, [[1, seed, step] for seed in seeds]
        )
        yield W.to(protocol.dtype), x.to(protocol.dtype), y.to(protocol.dtype)
        step += 1
    drawn = draw_pairs(protocol.d, size, [[1, seed] for seed in seeds])
    W, x, y = (part.to(protocol.dtype) for part in drawn)
    rank = torch.arange(len(seeds))[:, None]
    orders = [np.random.default_rng([2, seed]) for seed in seeds]
    while True:
        order = torch.from_numpy(np.stack([rng.permutation(size) for rng in orders]))
        for chosen in order.split(protocol.batch, dim=1):
            yield W[rank, chosen], x[rank, chosen], y[rank, chosen]
