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
made for those: 1/8, 1/4, 1/2 and all of the weights, three times the steps, and a synthetic
teacher for SmolLM2's middle layer as well. They need a GPU, whose products of matrices have eleven
bits (TF32) while students are trained, and all bits where map and readout are solved for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import nan, sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import pad

from xsquared.units import GatedNetwork, build, find_unit
from xsquared_studies.gates_replaced import LAYERS, beginning, layer_trial, through
from xsquared_studies.language_models import FeedForward, model, moved
from xsquared_studies.small_models import LANGUAGE_UNITS, rates_tried
from xsquared_studies.trial import Scalar, Trial

#: The network's weights are this part of the teacher's: one over these.
PARTS = (128, 64, 32, 16, 8)
_STEPS, _BATCH, _SEEDS, _RATE = 3600, 128, 3, 0.004
#: Large students take so many times the steps.
_TIMES = 3
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
#: Of inputs (tokens, d): features (tokens, n) of a student.
Features = Callable[[Tensor], Tensor]


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


@dataclass(frozen=True)
class Course:
    """How a student is trained: its seed, its largest rate, and how many steps."""

    seed: int
    rate: float
    steps: int


class _Student:
    """A network at zero and its affine map at regression, and the tokens that come next."""

    def __init__(self, of: Pairs, unit: str, n: int, course: Course) -> None:
        self.course, d = course, of.skip.shape[1]
        self.draw = torch.Generator().manual_seed(course.seed)
        self.network = build(unit, d, n, d, generator=self.draw).float()
        with torch.no_grad():
            for name, weights in self.network.named_parameters():
                weights.mul_(name.isupper() and name != "D").div_(sqrt(d))
        self.network.to(of.skip.device)
        self.weights = dict(self.network.named_parameters())
        self.skip = nn.Parameter(of.skip.float())
        self.places = torch.empty(0, dtype=torch.long, device=of.skip.device)

    def rates(self) -> list[dict[str, Any]]:
        """Groups of parameters, each with its largest rate."""
        groups = (
            ([*self.weights.values()], self.course.rate),
            ([self.skip], 0.1 * self.course.rate),
        )
        return [{"params": of, "lr": most, "most": most, "of": self.course} for of, most in groups]

    def tokens(self, count: int) -> Tensor:
        """The next of a random order of the tokens that train."""
        if len(self.places) < _BATCH:
            self.places = torch.randperm(count, generator=self.draw).to(self.places.device)
        here, self.places = self.places[:_BATCH], self.places[_BATCH:]
        return here


def trained(of: Pairs, unit: str, n: int, courses: Sequence[Course]) -> list[GatedNetwork]:
    """Students' networks, each trained beside an affine map of its own, all in one pass."""
    x, y = of.x["train"], of.y["train"]
    students = [_Student(of, unit, n, course) for course in courses]
    groups = [group for student in students for group in student.rates()]
    optimizer = torch.optim.Adam(groups, betas=(0.9, 0.97), fused=True)
    alike = torch.vmap(partial(functional_call, students[0].network))
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    for step in range(max(course.steps for course in courses)):
        live = [student for student in students if step < student.course.steps]
        for group in optimizer.param_groups:
            steps = group["of"].steps
            share = min(20 * (step + 1) / steps, 2 * (steps - step) / steps, 1.0)
            group["lr"] = max(share, 0.0) * group["most"]
        here = torch.stack([student.tokens(len(x)) for student in live])
        inputs = x[here]  # (live, batch, d)
        weights = {
            name: torch.stack([student.weights[name] for student in live])
            for name in live[0].weights
        }
        skips = torch.stack([student.skip for student in live])
        left = alike(weights, (inputs,)) + _affine(inputs) @ skips - y[here]
        optimizer.zero_grad()
        left.square().mean((1, 2)).sum().backward()
        optimizer.step()
    torch.backends.cuda.matmul.fp32_precision = "ieee"
    return [student.network for student in students]


def _judged(of: Pairs, student: GatedNetwork, parts: Iterable[str]) -> list[float]:
    """Its errors on these parts; no numbers where training went astray."""
    if not all(bool(one.isfinite().all()) for one in student.parameters()):
        return [nan for _ in parts]
    skip, readout = solved(of, student.hidden)
    return [error(of, part, skip, student.hidden, readout) for part in parts]


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
