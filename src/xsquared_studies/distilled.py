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
the layer's, and outputs are turned to have the real ones' covariance. Larger students, and a
synthetic SmolLM2, were left out for want of machine time before any row was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import nan, sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from xsquared.units import GatedNetwork, build, find_unit
from xsquared_studies.gates_replaced import LAYERS, beginning, layer_trial, through
from xsquared_studies.language_models import FeedForward, model
from xsquared_studies.small_models import LANGUAGE_UNITS, rates_tried
from xsquared_studies.trial import Scalar, Trial

#: The network's weights are this part of the teacher's: one over these.
PARTS = (128, 64, 32, 16, 8)
_SYNTHETIC_PARTS, _SYNTHETIC_LAYERS = (128, 32, 8), {"minilm": (2,)}
_STEPS, _BATCH, _SEEDS, _RATE = 3600, 128, 3, 0.004
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
_ERRORS = "; errors are shares of the outputs' deviation"
DISTILLED_PROTOCOLS = {
    "layer": f"students of a layer, judged on Hamlet{_ERRORS}",
    "synthetic": f"students of a random layer, its inputs and outputs with a layer's mean and "
    f"covariance{_ERRORS}",
}
#: Of inputs (tokens, d): features (tokens, n) of a student.
Features = Callable[[Tensor], Tensor]


def distilled_trials() -> tuple[Trial, ...]:
    """Every student of every teacher, the smaller model's first."""
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
        for protocol, layers, parts in (
            ("layer", LAYERS[name], PARTS),
            ("synthetic", _SYNTHETIC_LAYERS.get(name, ()), _SYNTHETIC_PARTS),
        )
        for layer in layers
        for part in parts
        for unit, gate in (*LANGUAGE_UNITS, ("reduced-rank", ""), ("products", ""))
    )


#: By model: numbers in and out of a layer, and its weights.
_WEIGHTS = {"minilm": (384, 2 * 384 * 1536), "smollm2": (576, 3 * 576 * 1536)}


def neurons(unit: str, name: str, part: int) -> int:
    """As many as give a network this part of the teacher's weights, to the nearest."""
    d, weights = _WEIGHTS[name]
    return round(weights / part / (find_unit(unit).parameter_count(d, 1, d) - d))


@dataclass(frozen=True)
class Pairs:
    """What students learn, by part, and linear regression on what trains.

    Attributes:
        x, y: (tokens, d) inputs and outputs, centred, with root mean square 1 where they train.
        moments: (d + 1, d + 1) products of inputs and 1, summed.
        skip: (d + 1, d) the affine map of least squares.
    """

    x: dict[str, Tensor]
    y: dict[str, Tensor]
    moments: Tensor
    skip: Tensor


def pairs_of(x: dict[str, Tensor], y: dict[str, Tensor]) -> Pairs:
    """Pairs, from inputs and outputs as they come."""
    x, y = ({part: _scaled(of[part], of["train"]) for part in of} for of in (x, y))
    moments, right = _sums(
        (_affine(a), b) for a, b in zip(_split(x["train"]), _split(y["train"]), strict=True)
    )
    moments += torch.diag(1e-6 * moments.diagonal())
    return Pairs(x, y, moments, torch.linalg.solve(moments, right))


def _scaled(of: Tensor, train: Tensor) -> Tensor:
    mean = train.mean(0)
    return (of - mean) / (train - mean).square().mean().sqrt()


def _affine(x: Tensor) -> Tensor:
    return pad(x, (0, 1), value=1.0)


def _split(x: Tensor) -> tuple[Tensor, ...]:
    return x.split(4096)


def _sums(parts: Iterable[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Sums over the tokens of all parts: products of a with itself, and of a with b."""
    own, both = (
        torch.stack(sums).sum(0)
        for sums in zip(*(((a.T @ a).double(), (a.T @ b).double()) for a, b in parts), strict=True)
    )
    return own, both


@lru_cache(1)
@torch.no_grad()
def _inputs(name: str) -> dict[int, dict[str, Tensor]]:
    """(tokens, d) Inputs by layer and part."""
    of, found = model(name), {layer: dict[str, Tensor]() for layer in LAYERS[name]}
    for part, plays in _PLAYS.items():
        seen: dict[int, list[Tensor]] = {layer: [] for layer in LAYERS[name]}

        def feed(k: int, x: Tensor, seen: dict[int, list[Tensor]] = seen) -> Tensor:
            if k in seen:
                seen[k].append(x[:, 1:].flatten(0, 1))
            return of.feed[k](x, of.gate)

        for play in plays:
            tokens = beginning(name, f"texts/{play}_gut.txt", _CONTEXTS[part])
            through(of, tokens, feed, max(seen) + 1)
        for layer in found:
            found[layer][part] = torch.cat(seen.pop(layer))
    return found


@lru_cache(1)
@torch.no_grad()
def pairs(name: str, layer: int, protocol: str) -> Pairs:
    """The pairs of a layer, or of the synthetic one in its place."""
    of, x = model(name), _inputs(name)[layer]
    feed: FeedForward = of.feed[layer]
    y = {part: _made(feed, of.gate, inputs) for part, inputs in x.items()}
    return pairs_of(*(synthetic(feed, of.gate, x, y) if protocol == "synthetic" else (x, y)))


def _made(feed: FeedForward, gate: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return torch.cat([feed(part, gate) for part in _split(x)])


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
        return torch.randn(*shape, generator=draw)

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


@torch.no_grad()
def solved(of: Pairs, features: Features) -> tuple[Tensor, Tensor]:
    """(d + 1, d) Affine map and (n, d) readout of least squares on the tokens that train.

    Pairs' moments are used again: eliminating the map leaves n equations.
    """
    tokens = zip(_split(of.x["train"]), _split(of.y["train"]), strict=True)
    skip = of.skip.float()
    made = ((features(x), _affine(x), y) for x, y in tokens)
    gram, both = _sums((h, torch.cat([wide, y - wide @ skip], dim=1)) for h, wide, y in made)
    beside, right = both.split([len(of.skip), of.skip.shape[1]], dim=1)
    inside = torch.linalg.solve(of.moments, beside.T)
    gram += torch.diag(1e-6 * gram.diagonal() + 1e-12)  # also where a gate never opens
    readout = torch.linalg.solve(gram - beside @ inside, right)
    return (of.skip - inside @ readout).float(), readout.float()


@torch.no_grad()
def error(
    of: Pairs, part: str, skip: Tensor, features: Features | None = None, readout: Any = None
) -> float:
    """Root mean square of what is left, as a share of the outputs' deviation."""
    left, y = 0.0, of.y[part]
    for x, wanted in zip(_split(of.x[part]), _split(y), strict=True):
        made = _affine(x) @ skip
        if features:
            made += features(x) @ readout
        left += float((wanted - made).square().sum())
    return sqrt(left / float((y - y.mean(0)).square().sum()))


@torch.no_grad()
def unreachable(of: Pairs, part: str, n: int) -> float:
    """What every affine map with n features of any kind leaves on these very tokens, at least.

    The outputs beside their regression, here, lie in d directions, and n features reach n of them.
    """
    x, y = _affine(of.x[part]).double(), of.y[part].double()
    moments = x.T @ x
    moments += torch.diag(1e-9 * moments.diagonal())
    beside = y - x @ torch.linalg.solve(moments, x.T @ y)
    values = torch.linalg.eigvalsh(beside.T @ beside)  # rising
    left = values[: max(len(values) - n, 0)].clamp(min=0).sum()
    return sqrt(float(left / (y - y.mean(0)).square().sum()))


def trained(of: Pairs, unit: str, n: int, rate: float, seed: int, steps: int) -> GatedNetwork:
    """A student's network, trained beside its affine map."""
    x, y = of.x["train"], of.y["train"]
    count, d = x.shape
    draw = torch.Generator().manual_seed(seed)
    network = build(unit, d, n, y.shape[1], generator=draw).float()
    with torch.no_grad():
        for name, weights in network.named_parameters():
            weights.mul_(name.isupper() and name != "D").div_(sqrt(d))
    skip = nn.Parameter(of.skip.float())
    groups = [(list(network.parameters()), rate), ([skip], 0.1 * rate)]
    optimizer = torch.optim.Adam(
        [{"params": weights, "lr": most, "most": most} for weights, most in groups],
        betas=(0.9, 0.97),
        fused=True,
    )
    places = torch.empty(0, dtype=torch.long)
    for step in range(steps):
        share = min(20 * (step + 1) / steps, 2 * (steps - step) / steps, 1.0)
        for group in optimizer.param_groups:
            group["lr"] = share * group["most"]
        if len(places) < _BATCH:
            places = torch.randperm(count, generator=draw)
        here, places = places[:_BATCH], places[_BATCH:]
        inputs = x[here]
        loss = (network(inputs) + _affine(inputs) @ skip - y[here]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network


def products(of: Pairs, n: int) -> Features:
    """The products of the inputs' first principal components, as many as come to n or just more."""
    k = round((sqrt(8 * n + 1) - 1) / 2)
    x = of.x["train"]
    first = torch.linalg.eigh(torch.cov(x.double().T))[1][:, -k:].float()
    size = (x @ first).std(0)
    rows, columns = torch.triu_indices(k, k)

    def features(x: Tensor) -> Tensor:
        z = x @ first / size
        return z[:, rows] * z[:, columns]

    return features


def reduced(of: Pairs, rank: int) -> Tensor:
    """(d + 1, d) The affine map of this rank of least squares."""
    covariance = of.skip.T @ of.moments @ of.skip
    first = torch.linalg.eigh(covariance)[1][:, -rank:]
    return (of.skip @ first @ first.T).float()


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
    steps = round(_STEPS * sqrt(PARTS[-1] / asked["part"]))

    def errors(rate: float, seed: int, count: int, *parts: str) -> list[float]:
        student = trained(of, trial.unit, trial.n_hidden, rate, seed, count)
        if not all(bool(one.isfinite().all()) for one in student.parameters()):
            return [nan] * len(parts)
        skip, readout = solved(of, student.hidden)
        return [error(of, part, skip, student.hidden, readout) for part in parts]

    tried = rates_tried(_RATE, lambda rate: errors(rate, 0, steps // 8, "valid")[0])
    rate = min(tried, key=lambda one: tried[one])
    found = [errors(rate, seed, steps, "train", "test") for seed in range(_SEEDS)]
    (half,) = errors(rate, 0, steps // 2, "test")
    return {
        "status": "completed" if np.isfinite([*found, (half, half)]).all() else "diverged",
        "parameters": trial.record.parameter_count(d, trial.n_hidden, d) + (d + 1) * d - d,
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
