"""The two-network map of the GELU-linearization paper's section 3, trained for many seeds at once.

Phi acts on rows of W and Psi on x; both are MLPs with one hidden layer of ReLU, and their dot
product is fitted to GELU(W x) by Adam on mini-batches. All seeds are trained in one set of batched
tensors. Adam works entry by entry and a seed's loss does not depend on the others, so each seed's
run is the one it would have alone.

Data, initial weights and batch order of a seed come from that seed alone. W and x are standard
normal, weights start as in ``torch.nn.Linear``. Arithmetic is float64, where the paper's listing
uses torch's default float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import gelu


@dataclass(frozen=True)
class Protocol:
    """What is trained, with the paper's listing as default.

    Attributes:
        d: dimension of x.
        m: number of features.
        n_pairs: training pairs; None draws a fresh batch for every step.
        batch: pairs per step.
        hidden: width of both networks.
        rate: Adam's learning rate.

    Raises:
        ValueError: a count below 1, fewer pairs than a batch holds, or a rate that is not positive.
    """

    d: int = 2
    m: int = 16
    n_pairs: int | None = 1024
    batch: int = 64
    hidden: int = 64
    rate: float = 1e-3

    def __post_init__(self) -> None:
        for name in ("d", "m", "batch", "hidden"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.n_pairs is not None and self.n_pairs < self.batch:
            raise ValueError(f"n_pairs must be at least a batch, {self.batch}, got {self.n_pairs}")
        if not self.rate > 0:
            raise ValueError(f"rate must be positive, got {self.rate}")

    @property
    def steps_per_epoch(self) -> int:
        """Batches that see every training pair once."""
        return math.ceil((self.n_pairs or self.batch) / self.batch)


@dataclass(frozen=True)
class TwoNetworks:
    """Networks Phi and Psi for S seeds.

    Attributes:
        phi_layers: weight (S, d, hidden), bias (S, 1, hidden), weight (S, hidden, m), bias.
        psi_layers: the same for Psi.
    """

    phi_layers: tuple[Tensor, ...]
    psi_layers: tuple[Tensor, ...]

    def phi(self, W: Tensor) -> Tensor:
        """Features of rows: (S, n, rows, d) -> (S, n, rows, m)."""
        _, _, weight, bias = self.phi_layers
        return self._hidden(W) @ weight[:, None] + bias[:, None]

    def psi(self, x: Tensor) -> Tensor:
        """Features of inputs: (S, n, d) -> (S, n, m)."""
        weight_one, bias_one, weight_two, bias_two = self.psi_layers
        hidden = torch.relu(torch.baddbmm(bias_one, x, weight_one))
        return torch.baddbmm(bias_two, hidden, weight_two)

    def predict(self, W: Tensor, x: Tensor) -> Tensor:
        """The product, for W (S, n, rows, d) and x (S, n, d): (S, n, rows).

        The last layer of Phi is linear, so it is applied to Psi(x), one vector per pair, instead of
        to every row. In the paper's listing the operands of the product are swapped.
        """
        _, _, weight, bias = self.phi_layers
        psi = self.psi(x)
        lifted = torch.bmm(psi, weight.transpose(1, 2))
        shift = torch.bmm(psi, bias.transpose(1, 2))
        return (self._hidden(W) @ lifted[..., None])[..., 0] + shift

    def _hidden(self, W: Tensor) -> Tensor:
        """Phi's hidden layer: (S, n, rows, d) -> (S, n, rows, hidden)."""
        seeds, n, rows, d = W.shape
        weight, bias, _, _ = self.phi_layers
        flat = torch.relu(torch.baddbmm(bias, W.reshape(seeds, n * rows, d), weight))
        return flat.reshape(seeds, n, rows, -1)


def initial_networks(protocol: Protocol, seeds: Sequence[int]) -> TwoNetworks:
    """Untrained networks: every entry uniform within 1/sqrt(fan in), as ``torch.nn.Linear`` has it.

    Raises:
        ValueError: no seeds.
    """
    if not seeds:
        raise ValueError("expected at least one seed, got none")
    shapes = [
        (protocol.d, (protocol.d, protocol.hidden)),
        (protocol.d, (1, protocol.hidden)),
        (protocol.hidden, (protocol.hidden, protocol.m)),
        (protocol.hidden, (1, protocol.m)),
    ] * 2
    per_seed = []
    for seed in seeds:
        rng = np.random.default_rng([0, seed])
        per_seed.append([
            torch.from_numpy(rng.uniform(-1, 1, shape) / math.sqrt(fan_in))
            for fan_in, shape in shapes
        ])  # fmt: skip
    stacked = [torch.stack(entries) for entries in zip(*per_seed, strict=True)]
    return TwoNetworks(tuple(stacked[:4]), tuple(stacked[4:]))


def draw_pairs(d: int, n: int, keys: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor, Tensor]:
    """Pairs for each of S streams of random numbers, and what is to be predicted.

    Args:
        d: dimension.
        n: pairs per stream.
        keys: a sequence of integers per stream, which seeds it.

    Returns:
        Standard normal W (S, n, d, d) and x (S, n, d), and GELU(W x) (S, n, d).

    Raises:
        ValueError: d or n below 1, or no keys.
    """
    if d < 1 or n < 1 or not keys:
        raise ValueError(f"expected d >= 1, n >= 1 and keys, got {d}, {n} and {len(keys)} keys")
    numbers = np.stack([np.random.default_rng(key).standard_normal((n, d + 1, d)) for key in keys])
    W, x = torch.from_numpy(numbers[:, :, :d]), torch.from_numpy(numbers[:, :, d])
    return W, x, gelu((W @ x[..., None])[..., 0])


@dataclass(frozen=True)
class Training:
    """What a training run left.

    Attributes:
        losses: (steps, S) batch losses, mean squared errors over pairs and outputs.
        measured: what ``measure`` returned after each of the asked-for steps.
        networks: the trained networks.
    """

    losses: np.ndarray
    measured: dict[int, np.ndarray]
    networks: TwoNetworks


def pair_rmse(networks: TwoNetworks, W: Tensor, x: Tensor, y: Tensor) -> np.ndarray:
    """RMSE over the outputs of each test pair, the paper's measure: (S, n).

    Args:
        networks: of S seeds.
        W: (1, n, d, d), the same pairs for every seed.
        x: (1, n, d).
        y: (1, n, d), what is to be predicted.
    """
    seeds = networks.psi_layers[0].shape[0]
    shared_W, shared_x = W.expand(seeds, -1, -1, -1), x.expand(seeds, -1, -1)
    return ((networks.predict(shared_W, shared_x) - y) ** 2).mean(dim=2).sqrt().numpy()


def train(
    protocol: Protocol,
    seeds: Sequence[int],
    steps: int,
    measure: Callable[[TwoNetworks], np.ndarray],
    at_steps: Sequence[int],
) -> Training:
    """Train all seeds together.

    Args:
        protocol: what to train.
        seeds: one independent run each: its data, initial weights and batch order.
        steps: number of Adam steps, at least 1.
        measure: called with the networks after the steps in ``at_steps``, without gradients.
        at_steps: when to measure, each from 1 to ``steps``.

    Raises:
        ValueError: no seeds, steps below 1, or a step to measure at that is never reached.
    """
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    if any(not 1 <= step <= steps for step in at_steps):
        raise ValueError(f"steps to measure at must lie in 1 to {steps}, got {list(at_steps)}")
    networks = initial_networks(protocol, seeds)
    parameters = [*networks.phi_layers, *networks.psi_layers]
    for parameter in parameters:
        parameter.requires_grad_()
    optimiser = torch.optim.Adam(parameters, lr=protocol.rate)
    losses = np.empty((steps, len(seeds)))
    measured = {}
    batches = _batches(protocol, seeds, steps)
    for step, (W, x, y) in enumerate(batches, start=1):
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
    protocol: Protocol, seeds: Sequence[int], steps: int
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """The batches of every step, all seeds stacked."""
    d, size = protocol.d, protocol.batch
    if protocol.n_pairs is None:
        for step in range(steps):
            yield draw_pairs(d, size, [[1, seed, step] for seed in seeds])
        return
    W, x, y = draw_pairs(d, protocol.n_pairs, [[1, seed] for seed in seeds])
    rank = torch.arange(len(seeds))[:, None]
    orders = [np.random.default_rng([2, seed]) for seed in seeds]
    done = 0
    while done < steps:
        order = torch.from_numpy(np.stack([rng.permutation(protocol.n_pairs) for rng in orders]))
        for chosen in order.split(size, dim=1):
            if done == steps:
                return
            done += 1
            yield W[rank, chosen], x[rank, chosen], y[rank, chosen]
