"""Students that imitate a transformer's layer, or a synthetic one, beside a linear map.

Protocol, fixed before the first row of this study; a prototype's numbers were known, and pilots on
one layer, the second model's in the middle, had chosen the optimiser and the numbers of steps.

Pairs of inputs and outputs of three layers of both models, each context's first token left out:
25 contexts of 512 tokens from each of eight plays train, 16 of The Tempest choose rates, 16 of
Hamlet are judged. Inputs and outputs are centred and divided by one number each.

A student adds to an affine map a network of one unit with 1/128, 1/64, ..., 1/8 of the teacher's
weights. The map starts as linear regression, the network at zero. Adam, 128 tokens a step; its rate
climbs for a twentieth of the steps and falls along a line over the last half; the map's is a tenth.
All units take as many steps, 3,600 at 1/8 and in proportion to the root of the network's size
below. Then the gates stay as they are, and map and readout are solved for by least squares on all
tokens that train.

Each unit is tuned at each size and layer: with seed 0 and an eighth of the steps at the rates 0.004
and half and twice that, and on past the better end until the best has a worse one on both sides, or
five were tried. Judged is the chosen rate with three seeds. With seed 0 half the steps are tried.

Closed forms beside them: reduced-rank regression with as many weights as the network, and an affine
map with the products of the first principal components, as many as have the network's weights. A
synthetic teacher, at three sizes, stands for MiniLM's middle layer had it learnt nothing: inputs
are normal with the real ones' mean and covariance, rows of the weights are random and as long as
the layer's, and outputs are turned to have the real ones' covariance.

Larger students came after the rows of the small ones had been read, with the claims and thresholds
made for those: 1/8, 1/4, 1/2 and all of the weights, twice the steps, and a synthetic
teacher for SmolLM2's middle layer as well. They need a GPU, whose products of matrices have eleven
bits (TF32) while students are trained, and all bits where map and readout are solved for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from math import nan, sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor

from xsquared.units import GatedNetwork, parameter_count
from xsquared_studies.gates_replaced import LAYERS, beginning, layer_trial, through
from xsquared_studies.language_models import FeedForward, model, moved
from xsquared_studies.pairs import (
    Pairs,
    error,
    pairs_of,
    products,
    reduced,
    solved,
    split,
    unreachable,
)
from xsquared_studies.small_models import LANGUAGE_UNITS, rates_tried
from xsquared_studies.students import Course, trained
from xsquared_studies.trial import Scalar, Trial

#: The network's weights are this part of the teacher's: one over these.
PARTS = (128, 64, 32, 16, 8)
_STEPS, _SEEDS, _RATE = 3600, 3, 0.004
#: Large students take so many times the steps.
_TIMES = 2
#: Plays, and contexts from each.
_PLAYS = {
    "train": (
        *("as_you_like_it", "julius_caesar", "lear", "macbeth", "much_ado_about_nothing"),
        *("othello", "romeo_and_juliet", "twelfth_night"),
    ),
    "valid": ("tempest",),
    "test": ("hamlet",),
}
_CONTEXTS = {"train": 25, "valid": 16, "test": 16}
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
_ERRORS = "; errors are shares of the outputs' deviation"
DISTILLED_PROTOCOLS = {
    "layer": f"students of a layer, judged on Hamlet{_ERRORS}",
    "synthetic": f"students of a random layer, its inputs and outputs with a layer's mean and "
    f"covariance{_ERRORS}",
}
LARGE_PROTOCOLS = {f"large-{name}": text for name, text in DISTILLED_PROTOCOLS.items()}


def distilled_trials() -> tuple[Trial, ...]:
    """Every student of every teacher with up to an eighth of its weights, and closed forms."""
    return _trials(
        (*LANGUAGE_UNITS, ("reduced-rank", ""), ("products", "")),
        layer=(LAYERS, PARTS),
        synthetic=({"minilm": (2,)}, (128, 32, 8)),
    )


def large_trials() -> tuple[Trial, ...]:
    """Every student with up to all of its teacher's weights, and products."""
    return _trials(
        (*LANGUAGE_UNITS, ("products", "")),
        **{
            "large-layer": (LAYERS, (8, 4, 2, 1)),
            "large-synthetic": ({"minilm": (2,), "smollm2": (15,)}, (8, 2)),
        },
    )


def _trials(
    students: Sequence[tuple[str, str]],
    **teachers: tuple[Mapping[str, Sequence[int]], Sequence[int]],
) -> tuple[Trial, ...]:
    """By protocol: layers of each model, and parts of their weights; the smaller model first."""
    return tuple(
        Trial(
            unit,
            neurons(unit, name, part),
            expression=gate,
            domain=((-8.0, 8.0),),
            solver="adam",
            settings=(("model", name), ("layer", layer), ("part", part)),
            protocol=protocol,
        )
        if gate
        else layer_trial(name, unit, protocol, layer=layer, part=part)
        for name in ("minilm", "smollm2")
        for protocol, (layers, parts) in teachers.items()
        for layer in layers.get(name, ())
        for part in parts
        for unit, gate in students
    )


#: By model: numbers in and out of a layer, and its weights.
_WEIGHTS = {"minilm": (384, 2 * 384 * 1536), "smollm2": (576, 3 * 576 * 1536)}


def neurons(unit: str, name: str, part: int) -> int:
    """As many as give a network this part of the teacher's weights, to the nearest."""
    d, weights = _WEIGHTS[name]
    return round(weights / part / (parameter_count(unit, d, 1, d) - d))


@lru_cache(1)
def _here(name: str) -> Any:
    return moved(model(name), DEVICE)


@lru_cache(1)
@torch.no_grad()
def _inputs(name: str) -> dict[int, dict[str, Tensor]]:
    """(tokens, d) Inputs by layer and part."""
    of, found = _here(name), {layer: dict[str, Tensor]() for layer in LAYERS[name]}
    for part, plays in _PLAYS.items():
        seen: dict[int, list[Tensor]] = {layer: [] for layer in LAYERS[name]}

        def feed(k: int, x: Tensor, seen: dict[int, list[Tensor]] = seen) -> Tensor:
            if k in seen:
                seen[k].append(x[:, 1:].flatten(0, 1))
            return of.feed[k](x, of.gate)

        for play in plays:
            tokens = beginning(name, f"texts/{play}_gut.txt", _CONTEXTS[part]).to(DEVICE)
            through(of, tokens, feed, max(seen) + 1)
        for layer in found:
            found[layer][part] = torch.cat(seen.pop(layer))
    return found


@lru_cache(1)
@torch.no_grad()
def pairs(name: str, layer: int, protocol: str) -> Pairs:
    """The pairs of a layer, or of the synthetic one in its place."""
    of, x = _here(name), _inputs(name)[layer]
    feed: FeedForward = of.feed[layer]
    y = {part: _made(feed, of.gate, inputs) for part, inputs in x.items()}
    return pairs_of(*(synthetic(feed, of.gate, x, y) if protocol.endswith("synthetic") else (x, y)))


def _made(feed: FeedForward, gate: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return torch.cat([feed(part, gate) for part in split(x)])


def synthetic(
    feed: FeedForward,
    gate: Callable[[Tensor], Tensor],
    x: dict[str, Tensor],
    y: dict[str, Tensor],
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Normal inputs and a random layer's outputs, with the covariances of what trains in x and y.

    The outputs' covariance is that of x and y exactly, the inputs' that of a sample.
    """
    draw = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=draw).to(feed.W.device)

    def random(rows: Tensor) -> Tensor:
        made = normal(*rows.shape)
        return made * (rows.norm(dim=1) / made.norm(dim=1))[:, None]

    V = None if feed.V is None else random(feed.V)
    layer = FeedForward(random(feed.W), normal(*feed.D.shape), V, feed.b)
    mean, root = x["train"].mean(0), _root(x["train"])
    inputs = {part: mean + normal(*of.shape) @ root for part, of in x.items()}
    outputs = {part: _made(layer, gate, of) for part, of in inputs.items()}
    turn = torch.linalg.solve(_root(outputs["train"]), _root(y["train"]))
    return inputs, {part: of @ turn for part, of in outputs.items()}


def _root(of: Tensor) -> Tensor:
    """The symmetric root of the covariance."""
    values, vectors = torch.linalg.eigh(torch.cov(of.double().T))
    return (vectors * values.clamp(min=1e-12 * values.max()).sqrt() @ vectors.T).float()


def _judged(of: Pairs, student: GatedNetwork, parts: Iterable[str]) -> list[float]:
    """Its errors on these parts; no numbers where training went astray."""
    if not all(bool(one.isfinite().all()) for one in student.parameters()):
        return [nan for _ in parts]
    skip, readout = solved(of, student.hidden)
    return [error(of, part, skip, student.hidden, readout) for part in parts]


def run_distilled(trial: Trial) -> dict[str, Scalar]:
    """Tune a student and train it with every seed, or solve a closed form.

    Returns:
        Errors as shares of the outputs' deviation: by seed, ``train_rmse[seed=0]`` and so on; that
        of linear regression, what cannot be reached with so many features, and of seed 0 what half
        the steps leave; the best rate and how many were tried; parameters with the map's.
    """
    asked: dict[str, Any] = dict(trial.settings)
    of = pairs(asked["model"], asked["layer"], trial.protocol)
    d, weights = _WEIGHTS[asked["model"]]
    row: dict[str, Scalar] = {"linear_rmse": error(of, "test", of.skip.float())}
    if trial.solver == "reduced-rank":
        rank = round(weights / asked["part"] / (2 * d))
        skip = reduced(of, rank)
        ends = {f"{part}_rmse": error(of, part, skip) for part in ("train", "test")}
        return {"status": "completed", "parameters": 2 * d * rank + d, **row, **ends}
    if trial.solver == "products":
        features = products(of, round(weights / asked["part"] / d))
        skip, readout = solved(of, features)
        ends = {f"{p}_rmse": error(of, p, skip, features, readout) for p in ("train", "test")}
        return {
            "status": "completed",
            "parameters": readout.numel() + skip.numel(),
            "unreachable_rmse": unreachable(of, "test", len(readout)),
            **row,
            **ends,
        }
    times = _TIMES if trial.protocol in LARGE_PROTOCOLS else 1
    steps = round(times * _STEPS * sqrt(PARTS[-1] / asked["part"]))

    def errors(parts: tuple[str, ...], courses: Iterable[Course]) -> list[list[float]]:
        students = trained(of, trial.unit, trial.n_hidden, [*courses])
        return [_judged(of, student, parts) for student in students]

    def validated(rates: Sequence[float]) -> list[float]:
        return [loss for (loss,) in errors(("valid",), (Course(0, r, steps // 8) for r in rates))]

    tried = rates_tried(_RATE, validated)
    rate = min(tried, key=lambda one: tried[one])
    whole = [Course(seed, rate, steps) for seed in range(_SEEDS)]
    *found, (_, half) = errors(("train", "test"), [*whole, Course(0, rate, steps // 2)])
    return {
        "status": "completed" if np.isfinite([*found, (half, half)]).all() else "diverged",
        "parameters": parameter_count(trial.record, d, trial.n_hidden, d) + (d + 1) * d - d,
        "rate": rate,
        "rates": len(tried),
        "half_rmse": half,
        "unreachable_rmse": unreachable(of, "test", trial.n_hidden),
        **row,
        **{
            f"{part}_rmse[seed={seed}]": value
            for seed, values in enumerate(found)
            for part, value in zip(("train", "test"), values, strict=True)
        },
    }
