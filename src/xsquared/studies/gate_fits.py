"""Functions that stand in place of a transformer's gates, fitted on plays.

What is fitted is a combination of 1, z, z^2, z^3 and ReLU(z), for each neuron or one
for a layer, by least squares for the output that the model as it is has there.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import gelu, relu, silu

from xsquared.studies.language_models import (
    FeedForward,
    Gate,
    Model,
    model,
    read_text,
)

#: By model: the layers looked into.
LAYERS = {"minilm": (0, 2, 5), "smollm2": (3, 15, 27)}
#: What is fitted for each neuron: the functions of z combined, by place in `_basis`.
FITTED = {
    "line": (0, 1),
    "parabola": (0, 1, 2),
    "cubic": (0, 1, 2, 3),
    "hinge": (0, 1, 4),
}
#: What is fitted for all neurons of a layer.
SHARED = {"one-parabola": (0, 1, 2), "one-hinge": (0, 1, 4), "one-scale": (4,)}
#: Tokens a context.
_CONTEXT = 512
#: Contexts for fitting, and as many held out.
CONTEXTS = 16
#: Added to the diagonal of normal equations scaled to ones there.
_RIDGE = 1e-12
#: A function's least root of summed squares: it is zero where no gate ever opens.
_LEAST_SIZE = 1e-30
#: Letters at the start of each text that are skipped: lists of persons.
_SKIPPED = 10_000
#: Letters read for each token wanted: words have fewer.
_LETTERS = 10
_PLAYS = ("as_you_like_it", "macbeth", "julius_caesar", "othello")
_TEXTS = {
    "train": [f"texts/{play}_gut.txt" for play in _PLAYS],
    "test": ["texts/hamlet_gut.txt", "ancillary/britannica-11th.txt"],
}


@cache
def contexts(name: str, part: str, count: int = CONTEXTS) -> Tensor:
    """Read tokens (count, 512) of a part, ``"train"`` or ``"test"``, for a model."""
    files = _TEXTS[part]
    each = count // len(files)
    blocks = []
    for file in files:
        text = read_text(file)[_SKIPPED:]
        tokens = model(name).tokens(text[: _LETTERS * each * _CONTEXT])
        blocks.append(torch.tensor(tokens[: each * _CONTEXT]).reshape(each, _CONTEXT))
    return torch.cat(blocks)


@dataclass(frozen=True)
class _Activations:
    """What a model computes on the texts for fitting and judging.

    Attributes:
        inputs: of the layers looked into, (16, 512, d), by part and layer.
        shares: (2, 16) by layer, of held-out gates with abs(z) < 1 and with z < -3.
        last: the stream behind the last layer, (16, 512, d), by part.
    """

    inputs: dict[tuple[str, int], Tensor]
    shares: dict[int, np.ndarray]
    last: dict[str, Tensor]


@cache
def activations(name: str) -> _Activations:
    """Pass both texts through the model."""
    of: Model = model(name)
    last: dict[str, Tensor] = {}
    inputs: dict[tuple[str, int], list[Tensor]] = defaultdict(list)
    shares: dict[int, list[np.ndarray]] = defaultdict(list)
    for part in ("train", "test"):

        def feed(k: int, x: Tensor, part: str = part) -> Tensor:
            if k in LAYERS[name]:
                inputs[part, k].append(x)
            if part == "test":
                shares[k].append(gate_shares(of.feed[k].gates(x[:, 1:])))
            return of.feed[k](x, of.gate)

        last[part] = forward(of, contexts(name, part), feed)
    return _Activations(
        {place: torch.cat(blocks) for place, blocks in inputs.items()},
        {k: np.concatenate(blocks, axis=1) for k, blocks in shares.items()},
        last,
    )


def gate_shares(z: Tensor) -> np.ndarray:
    """Share gates (contexts, tokens, n) in the bend and far below it: (2, contexts)."""
    bent = (z.abs() < 1).float().mean((1, 2))
    flat = (z < -3).float().mean((1, 2))
    return np.array([bent.numpy(), flat.numpy()])


def forward(of: Model, tokens: Tensor, feed: Callable[..., Tensor]) -> Tensor:
    """Compute the stream behind the last layer, two contexts at a time."""
    return torch.cat([of.stream(block, feed) for block in tokens.split(2)])


def replacement(name: str, layer: int, gate: str) -> Gate:
    """Choose or fit what stands in place of a layer's gate."""
    of = model(name)
    if gate == "own":
        return of.gate
    if gate == "relu":
        return relu
    if gate == "other":
        return gelu if of.gate is silu else silu
    if gate in FITTED:
        chosen = list(FITTED[gate])
        gram, right = _gate_moments(name)[layer]
    else:
        chosen = list(SHARED[gate])
        gram, right = _shared_moments(name)[layer]
    weights = _solve(gram[:, chosen][:, :, chosen], right[:, chosen])

    def combination(z: Tensor) -> Any:
        basis = _basis(z)
        return sum(basis[j] * weights[:, k] for k, j in enumerate(chosen))

    return combination


def _solve(gram: Tensor, right: Tensor) -> Tensor:
    """Solve normal equations (n, k, k), (n, k), scaled to a diagonal of ones."""
    size = gram.diagonal(dim1=1, dim2=2).sqrt().clamp(min=_LEAST_SIZE)
    scaled = gram / size[:, :, None] / size[:, None]
    ridge = _RIDGE * torch.eye(gram.shape[-1])
    return (torch.linalg.solve(scaled + ridge, right / size) / size).float()


def _basis(z: Tensor) -> list[Tensor]:
    return [torch.ones_like(z), z, z**2, z**3, relu(z)]


@cache
def _gate_moments(name: str) -> dict[int, tuple[Tensor, Tensor]]:
    """Sum products for least squares neuron by neuron, by layer.

    Of functions of z times the factor: (n, 5, 5) with each other, (n, 5) with the
    gate's value times the factor.
    """
    of: Model = model(name)
    moments: dict[int, tuple[Tensor, Tensor]] = {}

    def feed(k: int, x: Tensor) -> Tensor:
        layer = of.feed[k]
        inputs = x[:, 1:].flatten(0, 1)
        z = layer.gates(inputs)
        factor = torch.as_tensor(layer.factor(inputs)).double()
        basis = torch.stack(_basis(z.double())) * factor  # (5, tokens, n)
        wanted = of.gate(z).double() * factor
        gram, right = moments.get(k, (0.0, 0.0))
        moments[k] = (
            gram + torch.einsum("itn,jtn->nij", basis, basis),
            right + torch.einsum("itn,tn->ni", basis, wanted),
        )
        return layer(x, of.gate)

    forward(of, contexts(name, "train"), feed)
    return moments


@cache
def _shared_moments(name: str) -> dict[int, tuple[Tensor, Tensor]]:
    """Sum products for the least squares of a layer's output, by layer.

    Of the outputs that functions of z give in place of its gate: (1, 5, 5) with each
    other, (1, 5) with the layer's own, as if it were one neuron.
    """
    of: Model = model(name)
    moments: dict[int, tuple[Tensor, Tensor]] = {}

    def feed(k: int, x: Tensor) -> Tensor:
        layer = of.feed[k]
        inputs = x[:, 1:]
        y = layer(x, of.gate)
        factor = layer.factor(inputs)
        basis = _basis(layer.gates(inputs))
        outputs = torch.stack([(f * factor) @ layer.D.T for f in basis])
        outputs = outputs.double().flatten(1)  # (5, tokens times d)
        wanted = (y[:, 1:] - layer.c).double().flatten()
        gram, right = moments.get(k, (0.0, 0.0))
        moments[k] = (
            gram + (outputs @ outputs.T)[None],
            right + (outputs @ wanted)[None],
        )
        return y

    forward(of, contexts(name, "train"), feed)
    return moments


def layer_with_gate(
    feed: FeedForward, own: Gate, other: Gate, everywhere: bool = False
) -> Callable[[Tensor], Tensor]:
    """Put another gate into a layer, a function of its inputs (contexts, tokens, d).

    Contexts' first tokens keep its own, unless ``everywhere``.
    """

    def replaced(x: Tensor) -> Tensor:
        y = feed(x, other)
        if not everywhere:
            y[:, :1] = feed(x[:, :1], own)
        return y

    return replaced
