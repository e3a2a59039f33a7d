"""Layers of two transformers with other gates in place of their own.

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

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from xsquared.studies.experiment import make_trial
from xsquared.studies.gate_fits import (
    CONTEXTS,
    FITTED,
    LAYERS,
    SHARED,
    activations,
    contexts,
    forward,
    gate_shares,
    layer_with_gate,
    replacement,
)
from xsquared.studies.language_models import FeedForward, Gate, Model, missing, model
from xsquared.studies.sweep import Study, Trial

PLACES = [(name, layer) for name, layers in LAYERS.items() for layer in layers]
#: By model: its gate as an expression, the unit's name, and the gate's where it is not
#: the unit's.
_GATES = {
    "smollm2": ("x/(1 + exp(-x))", "swiglu", ""),
    "minilm": ("x*(1 + erf(x/sqrt(2)))/2", "mlp", "gelu"),
}
#: What replaces a gate.
_REPLACED = ("relu", "other", *FITTED)
#: Neurons of the layers of both models.
_NEURONS = 1536
#: Held-out contexts of each text where all layers are replaced.
_FEW = 4
#: The rate of fine-tuning at its first step.
_TUNING_RATE = 1e-4


def _replaced_trials() -> list[Trial]:
    """List every replacement in every layer that is looked into."""
    return [
        layer_trial(name, gate, "layer", layer=layer)
        for name, layer in PLACES
        for gate in _REPLACED
    ]


def _model_trials() -> list[Trial]:
    """List every replacement in all layers, and the language model as it is."""
    trials = [layer_trial(name, gate, "all") for name in _GATES for gate in _REPLACED]
    trials.append(layer_trial("smollm2", "own", "all"))
    trials += [
        layer_trial(name, gate, "everywhere")
        for name in _GATES
        for gate in ("relu", "parabola", "hinge")
    ]
    trials += [layer_trial("smollm2", gate, "more") for gate in ("parabola", "hinge")]
    return trials


def _control_trials() -> list[Trial]:
    """List controls of single layers, then those of the whole language model."""
    single = [("permuted", "bend"), ("normal", "bend")]
    single += [(gate, "layer") for gate in SHARED]
    trials = [
        layer_trial(name, rows_or_gate, protocol, layer=layer)
        for name, layer in PLACES
        for rows_or_gate, protocol in single
    ]
    trials += [layer_trial("smollm2", gate, "all") for gate in SHARED]
    tuned_gates = ("relu", "own")
    trials += [layer_trial("smollm2", gate, "tuned", steps=80) for gate in tuned_gates]
    return trials


def layer_trial(name: str, gate: str, protocol: str, **settings: int | str) -> Trial:
    """Describe what is done to a model's layer, as a trial on its neurons' gate."""
    expression, unit, own_gate = _GATES[name]
    return make_trial(
        expression,
        unit,
        _NEURONS,
        gate,
        protocol,
        domain=((-8, 8),),
        gate=own_gate,
        settings={"model": name, **settings},
    )


@torch.no_grad()
def _run_replaced(trial: Trial) -> dict[str, Any]:
    """Put another gate into one layer: errors of its output by held-out context."""
    name = trial["settings"]["model"]
    layer = trial["settings"]["layer"]
    of = model(name)
    feed = of.feed[layer]
    other = layer_with_gate(feed, of.gate, replacement(name, layer, trial["solver"]))
    there = activations(name)
    x = there.inputs["test", layer]
    x_fitted = there.inputs["train", layer]
    y = feed(x, of.gate)
    fitted_errors = _errors(other(x_fitted), feed(x_fitted, of.gate), y)
    errors = _errors(other(x), y, y)
    state = _state(there.shares[layer], y)
    return error_columns(of, [layer], fitted_errors, errors) | state


@torch.no_grad()
def _run_model(trial: Trial) -> dict[str, Any]:
    """Put another gate into all layers: errors of the stream, and nats a token."""
    name = trial["settings"]["model"]
    of = model(name)
    there = activations(name)
    layers = range(len(of.feed))
    each = CONTEXTS // 2 if trial["protocol"] == "more" else _FEW
    chosen = [first + k for first in (0, CONTEXTS // 2) for k in range(each)]
    gates = [replacement(name, k, trial["solver"]) for k in layers]
    feed = of.feed
    if steps := trial["settings"].get("steps"):
        feed = tuned(of, gates[0], contexts(name, "train", steps))
    everywhere = trial["protocol"] == "everywhere"
    changed = [layer_with_gate(feed[k], of.gate, gates[k], everywhere) for k in layers]

    def run(tokens: Tensor) -> Tensor:
        return forward(of, tokens, lambda k, x: changed[k](x))

    tokens = contexts(name, "test")[chosen]
    stream = there.last["test"][chosen]
    changed_stream = run(tokens)
    fitted_stream = run(contexts(name, "train")[:2])
    shares = np.mean([there.shares[k] for k in layers], axis=0)[:, chosen]
    fitted_errors = _errors(fitted_stream, there.last["train"][:2], stream)
    errors = _errors(changed_stream, stream, stream)
    measured = error_columns(of, layers, fitted_errors, errors)
    measured |= _state(shares, stream)
    if of.nats:
        by_context = zip(changed_stream.split(1), tokens.split(1), strict=True)
        nats = [float(of.nats(h, context)[:, 1:].mean()) for h, context in by_context]
        measured["nats"] = np.array(nats)
    return measured


@torch.enable_grad()
def tuned(of: Model, other: Gate, text: Tensor) -> list[FeedForward]:
    """Train copies of a language model's layers with another gate, a step a context.

    The text (contexts, 512) is cut into halves, two of which make a step.
    """
    layers = []
    for feed in of.feed:
        assert feed.V is not None  # a language model's have a factor
        layers.append(FeedForward(feed.W.clone(), feed.D.clone(), feed.V.clone()))
    weights = [p for f in layers for p in (f.W, f.D, f.V) if p is not None]
    for weight in weights:
        weight.requires_grad_()
    changed = [layer_with_gate(layer, of.gate, other) for layer in layers]
    optimizer = torch.optim.AdamW(weights, betas=(0.9, 0.95), fused=True)
    halves = text.reshape(2 * len(text), -1)
    order = torch.randperm(len(halves), generator=torch.Generator().manual_seed(0))
    assert of.nats is not None
    for step, passages in enumerate(halves[order].split(2)):
        optimizer.param_groups[0]["lr"] = _TUNING_RATE * (1 - step / len(text))
        stream = of.stream(passages, lambda k, x: changed[k](x))
        optimizer.zero_grad()
        of.nats(stream, passages)[:, 1:].mean().backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
    return layers


@torch.no_grad()
def _run_control(trial: Trial) -> dict[str, Any]:
    """Run a control: other rows' gates by context, or another gate as the rest do."""
    if trial["protocol"] == "layer":
        return _run_replaced(trial)
    if trial["protocol"] != "bend":
        return _run_model(trial)
    name = trial["settings"]["model"]
    layer = trial["settings"]["layer"]
    feed = model(name).feed[layer]
    generator = torch.Generator().manual_seed(layer)
    normal = torch.randn(feed.W.shape, generator=generator)
    if trial["solver"] == "permuted":
        W = feed.W.gather(1, normal.argsort(1))
    else:
        W = normal * (feed.W.norm(dim=1) / normal.norm(dim=1))[:, None]
    x = activations(name).inputs["test", layer][:, 1:]
    bent, flat = gate_shares(x @ W.T + feed.b)
    return {
        "parameters": W.numel(),
        "seed": list(range(len(x))),  # which stands for the context
        "bent": bent,
        "flat": flat,
    }


def _errors(values: Tensor, true: Tensor, held_out: Tensor) -> np.ndarray:
    """Measure errors by context as shares of the held-out deviation.

    First tokens are left out; all are (contexts, tokens, d).
    """
    kept = held_out[:, 1:].double()
    variance = (kept - kept.mean((0, 1))).square().sum(-1).mean()
    squares = (values - true)[:, 1:].double().square().sum(-1).mean(1)
    return (squares / variance).sqrt().numpy()


def error_columns(
    of: Model, layers: Sequence[int], fitted: np.ndarray, held_out: np.ndarray
) -> dict[str, Any]:
    """Make columns of errors by context, for which the seed stands.

    ``parameters`` are those of the layers; contexts for fitting are pooled.
    """
    weights = [p for k in layers for p in vars(of.feed[k]).values()]
    return {
        "parameters": sum(p.numel() for p in weights if isinstance(p, Tensor)),
        "train_rmse": float(np.sqrt((fitted**2).mean())),
        "seed": list(range(len(held_out))),
        "test_rmse": held_out,
    }


def _state(shares: np.ndarray, y: Tensor) -> dict[str, np.ndarray]:
    """Make columns of gates' shares and of the first tokens' share of y's squares."""
    bent, flat = shares
    squares = y.double().square().sum(-1)
    first = (squares[:, 0] / squares.sum(1)).numpy()
    return {"bent": bent, "flat": flat, "first": first}


GATES_REPLACED = Study(
    "Feed-forward layers of two transformers with another gate in place of their own",
    {
        "layer": (
            "one layer's gates replaced; errors of its output as shares of its "
            "deviation"
        )
    },
    _run_replaced,
    _replaced_trials,
    lambda: [
        trial
        for trial in _replaced_trials()[:6]
        if trial["solver"] in ("line", "cubic")
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
    _run_model,
    _model_trials,
    lambda: [layer_trial("minilm", "cubic", "all")],
    missing,
)
CONTROLS = Study(
    "Controls for two transformers' gates: untrained rows, one function a layer, "
    "fine-tuning",
    {
        "bend": "where gates work with rows that are permuted or normal",
        "layer": "one function for all neurons of a layer in place of its gates",
        "all": "the same in all layers, but at each context's first token",
        "tuned": "feed-forward layers trained on with this gate, but at first tokens",
    },
    _run_control,
    _control_trials,
    lambda: _control_trials()[:2],
    missing,
)
