"""Layers of two transformers with another gate in place of their own, and along
segments of inputs.

Protocol, fixed before the first row; a prototype's numbers were known. Text for fitting
are 16 contexts of 512 tokens of four plays; held out are eight of another play and
eight of an article of 1911, and where all layers are replaced the first four of both.
Each context's first token is left out of fits, errors and counts, and keeps the model's
own gate but by the protocol ``everywhere``. The protocol ``more``, of all sixteen, came
after the others' rows.

A gate is replaced by a ReLU, by the other model's gate, or by the combination of a few
functions of z that has the least squares for the neuron's output on the text for
fitting, in the model as it is.

Controls, fixed on 2026-11-27 before their first row; other studies' rows and the losses
of three steps that were timed were known. ``bend``: gates at the model's inputs with
entries of the layer's rows permuted, or normal rows as long; biases stay. ``one-``: a
layer's neurons share the function that has the least squares for its output. ``tuned``:
SmolLM2's feed-forward layers alone train on: AdamW, its rate falling along a line from
1e-4 to zero, each step on two new contexts of 256 tokens of the plays for fitting. Said
beforehand: with normal rows, too, most gates work in their bend; one hinge a layer
costs at most 0.1 nats a token more than hinges; tuning wins back half of ReLU's cost.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import gelu, relu, silu

from xsquared.studies.experiment import make_trial
from xsquared.studies.language_models import (
    FeedForward,
    Gate,
    Model,
    missing,
    model,
    read_text,
)
from xsquared.studies.sweep import Study, Trial

#: By model: the layers looked into.
LAYERS = {"minilm": (0, 2, 5), "smollm2": (3, 15, 27)}
PLACES = [(name, layer) for name, layers in LAYERS.items() for layer in layers]
#: By model: its gate as an expression, the unit's name, and the gate's where it is not
#: the unit's.
GATES = {
    "smollm2": ("x/(1 + exp(-x))", "swiglu", ""),
    "minilm": ("x*(1 + erf(x/sqrt(2)))/2", "mlp", "gelu"),
}
#: What replaces a gate: the functions of z that each neuron combines, by their place in
#: `_basis`.
FITTED = {
    "line": (0, 1),
    "parabola": (0, 1, 2),
    "cubic": (0, 1, 2, 3),
    "hinge": (0, 1, 4),
}
SHARED = {"one-parabola": (0, 1, 2), "one-hinge": (0, 1, 4), "one-scale": (4,)}
REPLACED = ("relu", "other", *FITTED)
#: Tokens a context, contexts, neurons of the layers of both models; degrees along
#: segments.
CONTEXT, CONTEXTS, NEURONS, _DEGREES = 512, 16, 1536, 6
_PLAYS = ("as_you_like_it", "macbeth", "julius_caesar", "othello")
_TEXTS = {
    "train": [f"texts/{play}_gut.txt" for play in _PLAYS],
    "test": ["texts/hamlet_gut.txt", "ancillary/britannica-11th.txt"],
}


def replaced_trials() -> list[Trial]:
    """List every replacement in every layer that is looked into."""
    return [
        layer_trial(name, g, "layer", layer=k) for name, k in PLACES for g in REPLACED
    ]


def model_trials() -> list[Trial]:
    """List every replacement in all layers, and the language model as it is."""
    bent = ("relu", "parabola", "hinge")
    return [
        *(layer_trial(name, gate, "all") for name in GATES for gate in REPLACED),
        layer_trial("smollm2", "own", "all"),
        *(layer_trial(name, gate, "everywhere") for name in GATES for gate in bent),
        *(layer_trial("smollm2", gate, "more") for gate in bent[1:]),
    ]


def control_trials() -> list[Trial]:
    """List controls of single layers, then those of the whole language model."""
    single = [
        ("permuted", "bend"),
        ("normal", "bend"),
        *((gate, "layer") for gate in SHARED),
    ]
    return [
        *(
            layer_trial(name, of, how, layer=k)
            for name, k in PLACES
            for of, how in single
        ),
        *(layer_trial("smollm2", gate, "all") for gate in SHARED),
        *(layer_trial("smollm2", gate, "tuned", steps=80) for gate in ("relu", "own")),
    ]


def segment_trials() -> list[Trial]:
    """List every degree for the model's own gate and for ReLU in its place."""
    return [
        layer_trial(name, gate, "segments", layer=layer, degree=degree)
        for name, layer in PLACES
        for gate in ("own", "relu")
        for degree in range(1, _DEGREES + 1)
    ]


def layer_trial(name: str, gate: str, protocol: str, **settings: int | str) -> Trial:
    """Describe what is done to a model's layer, as a trial on the gate of its neurons."""
    expression, unit, own = GATES[name]
    same: Any = {
        "domain": ((-8, 8),),
        "gate": own,
        "settings": {"model": name, **settings},
    }
    return make_trial(expression, unit, NEURONS, gate, protocol, **same)


@cache
def contexts(name: str, part: str, count: int = CONTEXTS) -> Tensor:
    """Read (count, 512) tokens for fitting, ``"train"``, or held-out, behind lists of
    persons.
    """
    each, found = count // len(_TEXTS[part]), []
    for file in _TEXTS[part]:
        text = read_text(file)[10_000:]
        tokens = model(name).tokens(text[: 10 * each * CONTEXT])[: each * CONTEXT]
        found.append(torch.tensor(tokens).reshape(each, CONTEXT))
    return torch.cat(found)


@dataclass(frozen=True)
class Activations:
    """Layers' inputs and the stream behind the last layer, (16, 512, d).

    Shares, (2, 16), are of gates with abs(z) < 1 and with z < -3 by context.
    """

    inputs: dict[tuple[str, int], Tensor]
    shares: dict[int, np.ndarray]
    last: dict[str, Tensor]


@cache
def activations(name: str) -> Activations:
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
                z = of.feed[k].gates(x[:, 1:])
                counted = [
                    one.float().mean((1, 2)).numpy() for one in (z.abs() < 1, z < -3)
                ]
                shares[k].append(np.array(counted))
            return of.feed[k](x, of.gate)

        last[part] = forward(of, contexts(name, part), feed)
    joined = {k: np.concatenate(values, axis=1) for k, values in shares.items()}
    return Activations(
        {place: torch.cat(values) for place, values in inputs.items()}, joined, last
    )


def forward(of: Model, tokens: Tensor, feed: Callable[..., Tensor]) -> Tensor:
    """Compute the stream behind the last layer, two contexts at a time."""
    return torch.cat([of.stream(part, feed) for part in tokens.split(2)])


@cache
def gate_moments(name: str) -> dict[int, tuple[Tensor, Tensor]]:
    """Sum by layer (n, 5, 5) products of functions of z and factor, and (n, 5) with the
    gate.
    """
    of: Model = model(name)
    found: dict[int, tuple[Tensor, Tensor]] = {}

    def feed(k: int, x: Tensor) -> Tensor:
        layer, inputs = of.feed[k], x[:, 1:].flatten(0, 1)
        z, factor = layer.gates(inputs), torch.as_tensor(layer.factor(inputs)).double()
        basis = torch.stack(_basis(z.double())) * factor  # (5, tokens, n)
        old = found.get(k, (0.0, 0.0))
        found[k] = (
            old[0] + torch.einsum("itn,jtn->nij", basis, basis),
            old[1] + torch.einsum("itn,tn->ni", basis, of.gate(z).double() * factor),
        )
        return layer(x, of.gate)

    forward(of, contexts(name, "train"), feed)
    return found


@cache
def shared_moments(name: str) -> dict[int, tuple[Tensor, Tensor]]:
    """Sum the same of what functions of z give as the layer's output, as of one neuron."""
    of: Model = model(name)
    found: dict[int, tuple[Tensor, Tensor]] = {}

    def feed(k: int, x: Tensor) -> Tensor:
        layer, inputs, y = of.feed[k], x[:, 1:], of.feed[k](x, of.gate)
        z, factor = layer.gates(inputs), layer.factor(inputs)
        made = (
            torch.stack([(f * factor) @ layer.D.T for f in _basis(z)])
            .double()
            .flatten(1)
        )
        own, old = (y[:, 1:] - layer.c).double().flatten(), found.get(k, (0.0, 0.0))
        found[k] = (old[0] + (made @ made.T)[None], old[1] + (made @ own)[None])
        return y

    forward(of, contexts(name, "train"), feed)
    return found


def _basis(z: Tensor) -> list[Tensor]:
    return [torch.ones_like(z), z, z**2, z**3, relu(z)]


def replacement(name: str, layer: int, gate: str) -> Gate:
    """Fit what stands in place of a layer's gate."""
    of = model(name)
    if gate not in FITTED | SHARED:
        return {
            "own": of.gate,
            "relu": relu,
            "other": gelu if of.gate is silu else silu,
        }[gate]
    moments = gate_moments if gate in FITTED else shared_moments
    chosen, (gram, right) = list((FITTED | SHARED)[gate]), moments(name)[layer]
    gram, right = gram[:, chosen][:, :, chosen], right[:, chosen]
    size = (
        gram.diagonal(dim1=1, dim2=2).sqrt().clamp(min=1e-30)
    )  # zero where no gate ever opens
    gram = gram / size[:, :, None] / size[:, None] + 1e-12 * torch.eye(len(chosen))
    weights = (torch.linalg.solve(gram, right / size) / size).float()
    return lambda z: sum(_basis(z)[j] * weights[:, k] for k, j in enumerate(chosen))


def layer_with_gate(
    feed: FeedForward, own: Gate, other: Gate, everywhere: bool = False
) -> Any:
    """Make a layer with another gate, a function of its inputs (contexts, tokens, d)."""

    def made(x: Tensor) -> Tensor:
        y = feed(x, other)
        if not everywhere:
            y[:, :1] = feed(x[:, :1], own)
        return y

    return made


@torch.enable_grad()
def tuned(of: Any, other: Gate, text: Tensor) -> list[Any]:
    """Train copies of a language model's layers with another gate, one step a context."""
    layers: list[Any] = [
        FeedForward(f.W.clone(), f.D.clone(), f.V.clone()) for f in of.feed
    ]
    weights = [p.requires_grad_() for f in layers for p in (f.W, f.D, f.V)]
    changed = [layer_with_gate(layer, of.gate, other) for layer in layers]
    optimizer = torch.optim.AdamW(weights, betas=(0.9, 0.95), fused=True)
    halves = text.reshape(2 * len(text), -1)
    order = torch.randperm(len(halves), generator=torch.Generator().manual_seed(0))
    for step, passages in enumerate(halves[order].split(2)):
        optimizer.param_groups[0]["lr"] = 1e-4 * (1 - step / len(text))
        made = of.stream(passages, lambda k, x: changed[k](x))
        optimizer.zero_grad()
        of.nats(made, passages)[:, 1:].mean().backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
    return layers


@torch.no_grad()
def run_replaced(trial: Trial) -> dict[str, Any]:
    """Put another gate into one layer; by held-out context errors and the state of its
    gates.
    """
    name, layer = trial["settings"]["model"], trial["settings"]["layer"]
    of, there = model(name), activations(name)
    other = layer_with_gate(
        of.feed[layer], of.gate, replacement(name, layer, trial["solver"])
    )
    x, fitted = there.inputs["test", layer], there.inputs["train", layer]
    own = of.feed[layer](x, of.gate)
    missed = _errors(other(fitted), of.feed[layer](fitted, of.gate), own)
    state = _state(there.shares[layer], own)
    return _row(of, [layer], missed, test_rmse=_errors(other(x), own, own), **state)


@torch.no_grad()
def run_model(trial: Trial) -> dict[str, Any]:
    """Put another gate into all layers; as of one, and of a language model the nats a
    token.
    """
    name = trial["settings"]["model"]
    of, there = model(name), activations(name)
    layers = range(len(of.feed))
    each = CONTEXTS // 2 if trial["protocol"] == "more" else 4
    chosen = [half + k for half in (0, CONTEXTS // 2) for k in range(each)]
    everywhere = trial["protocol"] == "everywhere"
    gates = [replacement(name, k, trial["solver"]) for k in layers]
    steps = trial["settings"].get("steps")
    feed = tuned(of, gates[0], contexts(name, "train", steps)) if steps else of.feed
    changed = [layer_with_gate(feed[k], of.gate, gates[k], everywhere) for k in layers]
    tokens, own = contexts(name, "test")[chosen], there.last["test"][chosen]
    made = forward(of, tokens, lambda k, x: changed[k](x))
    fitted = forward(of, contexts(name, "train")[:2], lambda k, x: changed[k](x))
    missed = _errors(fitted, there.last["train"][:2], own)
    state = _state(np.mean([there.shares[k] for k in layers], axis=0)[:, chosen], own)
    if of.nats:
        both = zip(made, tokens, strict=True)
        nats = [float(of.nats(h[None], t[None])[:, 1:].mean()) for h, t in both]
        state["nats"] = np.array(nats)
    return _row(of, layers, missed, test_rmse=_errors(made, own, own), **state)


@torch.no_grad()
def run_control(trial: Trial) -> dict[str, Any]:
    """Count by held-out context other rows' gates in their bend and far below; or run
    the rest.
    """
    name, asked = trial["settings"]["model"], trial["settings"]
    if trial["protocol"] != "bend":
        return (run_replaced if trial["protocol"] == "layer" else run_model)(trial)
    feed, x = (
        model(name).feed[asked["layer"]],
        activations(name).inputs["test", asked["layer"]],
    )
    drawn = torch.randn(
        feed.W.shape, generator=torch.Generator().manual_seed(asked["layer"])
    )
    if trial["solver"] == "permuted":
        W = feed.W.gather(1, drawn.argsort(1))
    else:
        W = drawn * (feed.W.norm(dim=1) / drawn.norm(dim=1))[:, None]
    z = x[:, 1:] @ W.T + feed.b
    shares = {"bent": z.abs() < 1, "flat": z < -3}
    counted = {key: share.float().mean((1, 2)).numpy() for key, share in shares.items()}
    return {"parameters": W.numel(), "seed": list(range(len(z))), **counted}


def _errors(made: Tensor, true: Tensor, held_out: Tensor) -> np.ndarray:
    """Measure errors by context, without first tokens, as shares of the held-out
    deviation.
    """
    kept = held_out[:, 1:].double()
    deviation = (kept - kept.mean((0, 1))).square().sum(-1).mean()
    missed = (made - true)[:, 1:].double().square().sum(-1).mean(1)
    return (missed / deviation).sqrt().numpy()


def _state(shares: np.ndarray, own: Tensor) -> dict[str, np.ndarray]:
    squares = own.double().square().sum(-1)
    first = (squares[:, 0] / squares.sum(1)).numpy()
    return {"bent": shares[0], "flat": shares[1], "first": first}


def _row(
    of: Model, layers: Sequence[int], missed: np.ndarray, **measured: Any
) -> dict[str, Any]:
    weights = [
        p for k in layers for p in vars(of.feed[k]).values() if isinstance(p, Tensor)
    ]
    return {
        "parameters": sum(p.numel() for p in weights),
        "train_rmse": float(np.sqrt((missed**2).mean())),
        "seed": list(range(len(measured["test_rmse"]))),  # which stands for the context
        **measured,
    }


@cache
def _along(name: str, layer: int, gate: str) -> tuple[np.ndarray, np.ndarray]:
    """Sum squares left along segments, by context and degree, and share gates that
    turn.
    """
    of = model(name)
    feed, act = of.feed[layer], of.gate if gate == "own" else relu
    whole = FeedForward(
        *(p.double() if isinstance(p, Tensor) else p for p in vars(feed).values())
    )
    t, weights = np.polynomial.legendre.leggauss(64)
    norms = np.arange(_DEGREES + 1) + 0.5  # one over the Legendre polynomials' squares
    legendre = np.polynomial.legendre.legvander(t, _DEGREES)
    onto = torch.from_numpy(legendre * weights[:, None] * np.sqrt(norms)).T
    place, weight = torch.from_numpy(t)[:, None], torch.from_numpy(weights)[:, None]
    left, turned = [], []
    inputs = activations(name).inputs["test", layer][:, 1:].double()
    for k, block in enumerate(inputs):
        drawn = np.random.default_rng(k).permutation(len(block))[:32]
        a, b = block[drawn[:16]], block[drawn[16:]]
        y = whole(a[:, None] + (place + 1) / 2 * (b - a)[:, None], act)  # (16, 64, d)
        y = y - y[:, :1]
        parts = ((onto @ y) ** 2).sum((0, 2)).cumsum(0)
        left.append(((weight * y**2).sum() - parts).numpy())
        turned.append(
            float(((whole.gates(a) > 0) != (whole.gates(b) > 0)).double().mean())
        )
    return np.array(left), np.array(turned)


@torch.no_grad()
def run_segments(trial: Trial) -> dict[str, Any]:
    """Measure what polynomials of one degree leave of a layer's output between tokens."""
    asked = trial["settings"]
    left, turned = _along(asked["model"], asked["layer"], trial["solver"])
    errors = np.sqrt(np.maximum(left[:, asked["degree"]], 0) / left[:, 0].mean())
    return _row(
        model(asked["model"]), [asked["layer"]], errors, test_rmse=errors, turned=turned
    )


GATES_REPLACED = Study(
    "Feed-forward layers of two transformers with another gate in place of their own",
    {
        "layer": "one layer's gates replaced; errors of its output as shares of its deviation"
    },
    run_replaced,
    replaced_trials,
    lambda: [
        trial for trial in replaced_trials()[:6] if trial["solver"] in ("line", "cubic")
    ],
    missing,
)
MODELS_REPLACED = Study(
    "Two transformers with other gates in all layers",
    {
        "all": "the gates of all layers replaced, but at each context's first token",
        "everywhere": "there, too",
        "more": "as all, on all held-out contexts",
    },
    run_model,
    model_trials,
    lambda: [layer_trial("minilm", "cubic", "all")],
    missing,
)
SEGMENTS = Study(
    "Polynomials along segments between a transformer's tokens, in place of a layer",
    {
        "segments": "what polynomials leave along 16 segments a context, 64 Gauss points each"
    },
    run_segments,
    segment_trials,
    lambda: segment_trials()[2:3],
    missing,
)
CONTROLS = Study(
    "Controls for two transformers' gates: untrained rows, one function a layer, fine-tuning",
    {
        "bend": "where gates work with rows that are permuted or normal",
        "layer": "one function for all neurons of a layer in place of its gates",
        "all": "the same in all layers, but at each context's first token",
        "tuned": "feed-forward layers trained on with this gate, but at first tokens",
    },
    run_control,
    control_trials,
    lambda: control_trials()[:2],
    missing,
)
