"""The map: does multiplying pay, by target, size, depth and trainer?

Protocol of 2026-11-28, fixed before the first row.

*Question.* What a factor buys is taken apart in triples of one gate: the gate alone;
the gate with a second number, z times its value (ReLU beside its square, SiLU(z) beside
z SiLU(z)); the gate with an affine factor. The error of the first over the second is
the effect of *curvature*, of the second over the third that of a *direction*, and only
that is multiplying. *Units*: these triples of ReLU, GELU and SiLU, the squared ReLU,
tanh, and SiLU with two factors.

*Size rule.* One hidden layer of about 240, 1,000 and 4,000 parameters, so many neurons
as come nearest: with d inputs and one output a neuron has d + 2 parameters, d + 3 with
a second number, and d + 1 more for each factor. Numbers differ by up to a tenth at 240
in 16 inputs, by 2% from 1,000 on. Or two residual blocks
(:mod:`xsquared.studies.blocks`) on a stream of 15 numbers, about 4,000 parameters, or
of 39, about 25,000; a block has four neurons a number of the stream, 8/3 with a second
number or a factor, 2 with two factors. Steps are equal, not time.

*Targets.* :mod:`xsquared.studies.map_targets` has formulas, domains and points: 32,768
to train on, eight for each of 4,000 parameters, so that spaces and trainers are
compared and not what few points leave open; tables have what they have. No noise.
Values are standardised.

*Trainers* start as torch.nn.Linear does, take 4,000 steps of 256 points, the same ones
for all units, in float32, at rates that rise over the first fiftieth of the steps and
fall along half a cosine; nothing decays. ``adamw``; ``soap``; ``muon``, on the matrices
inside blocks, all else by Adam at the same rate; ``solved``, AdamW of gates and factors
in float64 with the readout solved at each step from averaged Gram matrices, one layer
of 240 and 1,000.

*Rates.* For each unit, target, size and trainer, by the mean log validation error of
the seeds that are judged, on a grid of half decades that begins with four (RATES) and
grows, one at a time, until neither end is chosen. A rate at which a seed diverged is
not chosen; where all are so, rows say "diverged". The second-best rate and how much
worse it is stand beside the rate.

*Judged* are the forward passes of the torch modules in float64, on points not seen, as
root mean squares over the deviation of the training values, predictions confined to the
training values' range and a tenth. Three seeds of function, points and start; five
where a claim rests on it. A step of the triple pays where the geometric mean of the
errors' ratio over the seeds is at least 1.1 and every seed's is above 1; it costs where
the inverse does.

*Order.* One target a kind first. What does not fit falls in this order: Muon, the
solved readout, GELU's triple, the check of 1,000 and 16,000 steps; never a target,
4,000 parameters or SOAP, but their one cell of two inputs, whose thousand neurons take
SOAP hours, is the very last.

*Pilot* of the same day, before the first row: Friedman's function, 1,000 parameters,
ReLU's and SiLU's gate alone and with a second number, as the machine was loaded: the
pilot was cut short there. Rates half a step beside the grid's best change errors by 4
to 12%, which is what 1.1 has to bear. SOAP with bases updated every 50 steps was mended
to every 10. Products by SOAP have no floor from single precision: 0.0012 in it, 0.0014
in double (GLU, as seeds scatter).

*Predictions* of the same day: :mod:`xsquared.studies.map_words`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from xsquared.data import Dataset
from xsquared.studies.blocks import ResidualNetwork, block_neurons
from xsquared.studies.map_targets import FIRST, TARGETS, draw_points, find_target
from xsquared.studies.optimisers import Muon, Soap
from xsquared.studies.solved_readout import RIDGE, averaged_losses, resolved
from xsquared.studies.sweep import Study, Trial
from xsquared.training.adamw import (
    Adam,
    Optimiser,
    batch_losses,
    outputs,
    torch_start,
    train_stack,
)
from xsquared.units import GatedNetwork, build, find_unit, parameter_count

#: The triples: a gate alone, with a second number, with a factor; a name or
#: ``name:gate``.
TRIPLES: Mapping[str, Sequence[str]] = {
    "relu": ("mlp", "pair", "glu"),
    "silu": ("mlp:silu", "pair:silu", "swiglu"),
    "gelu": ("mlp:gelu", "pair:gelu", "geglu"),
}
#: Units that are in no triple.
_OTHERS = ("relu2_mlp", "mlp:tanh", "gqu:silu")
#: What is trained everywhere, and in the larger blocks.
_CORE = (*TRIPLES["relu"], *TRIPLES["silu"], *_OTHERS)
FEW = (*TRIPLES["relu"], *TRIPLES["silu"])
#: Numbers of the stream, by residual blocks and about how many parameters that makes.
_STREAMS = {(2, 4000): 15, (2, 25_000): 39, (1, 4000): 21, (6, 4000): 9}
#: Residual blocks, where there are any.
BLOCKS = 2
STEPS = 4000
#: Points of a step, where a trial names no other number.
BATCH = 256
SEEDS = 3
#: Where grids begin, for one layer and for blocks; the rate is 10 ** (entry / 2).
RATES: Mapping[str, tuple[Sequence[int], Sequence[int]]] = {
    "adamw": ((-4, -3, -2, -1), (-5, -4, -3, -2)),
    "soap": ((-6, -5, -4, -3), (-6, -5, -4, -3)),
    "muon": ((), (-5, -4, -3, -2)),
    "solved": ((-4, -3, -2, -1), ()),
}
#: The ends beyond which no grid grows: rates of a millionth and of a hundred.
_LEAST = -12
_MOST = 4
#: What remains of averaged Gram matrices at each step of ``solved``.
_KEEP = 0.99
#: Points of one forward pass of a stack.
_ROWS = 1024
PROTOCOLS = {
    "adamw": "AdamW without decay, 4,000 steps of 256 points, rate to zero by a cosine",
    "soap": "as adamw by SOAP, bases updated every 10 steps",
    "muon": "as adamw by Muon on the matrices inside blocks, the rest by Adam",
    "solved": "as adamw, float64, readout solved at each step from averaged Gram"
    " matrices",
}


def map_trial(
    problem: str,
    unit: str,
    protocol: str,
    size: int,
    blocks: int = 0,
    steps: int = STEPS,
    **settings: Any,
) -> Trial:
    """Describe a stack: a unit on a target, by a trainer and at a size.

    Args:
        problem: the target's name.
        unit: a name or ``name:gate``.
        protocol: the trainer, of :data:`PROTOCOLS`.
        size: about how many parameters a network has.
        blocks: residual blocks; none is one hidden layer.
        steps: of training.
        settings: ``rates`` to begin with, ``seeds`` and points of a ``batch``, where
            other than usual.
    """
    record = find_unit(unit)
    target = find_target(problem)
    if blocks:
        neurons = block_neurons(record, _STREAMS[blocks, size])
    else:
        one_neuron = parameter_count(record, target.inputs, 1, target.outputs)
        price = one_neuron - target.outputs  # the readout's constants are no neuron's
        neurons = max(1, round((size - target.outputs) / price))
    return {
        "problem": problem,
        "unit": record.name,
        "gate": record.activation,
        "n": neurons,
        "protocol": protocol,
        "size": size,
        "blocks": blocks,
        "steps": steps,
        "settings": settings,
        "seed": 0,
    }


def network_of(trial: Trial) -> GatedNetwork | ResidualNetwork:
    """Make the module whose forward pass a trial trains and judges."""
    unit = find_unit(trial["unit"], trial["gate"])
    target = find_target(trial["problem"])
    if not trial["blocks"]:
        return build(unit, target.inputs, trial["n"], target.outputs)
    stream = _STREAMS[trial["blocks"], trial["size"]]
    return ResidualNetwork(
        unit, target.inputs, stream, trial["n"], trial["blocks"], target.outputs
    )


def run_map(trial: Trial) -> dict[str, Any]:
    """Train a stack at rates that grow until the best is inside, and judge it there."""
    settings = trial["settings"]
    module = network_of(trial)
    seeds = range(settings.get("seeds", SEEDS))
    data = [draw_points(trial["problem"], seed) for seed in seeds]
    weights: dict[int, Tensor] = {}
    errors: dict[int, np.ndarray] = {}
    missing = list(settings.get("rates", RATES[trial["protocol"]][trial["blocks"] > 0]))
    while missing:
        stack = _trained(trial, module, data, missing)
        for rate, networks in zip(missing, stack.split(len(seeds)), strict=True):
            weights[rate] = networks
            errors[rate] = judged(module, networks, data, "validation")
        scores = {rate: np.log(judgement).mean() for rate, judgement in errors.items()}
        missing = beyond(scores)
    best, second = sorted(scores, key=lambda rate: scores[rate])[:2]
    test = judged(module, weights[best], data, "test")
    return {
        "seed": list(seeds),
        "rate": 10 ** (best / 2),
        "second_rate": 10 ** (second / 2),
        "second_gain": float(np.exp(scores[second] - scores[best])),
        "parameters": sum(p.numel() for p in module.parameters()),
        "train_rmse": judged(module, weights[best], data, "train"),
        "validation_rmse": errors[best],
        "test_rmse": test,
        "status": ["completed" if np.isfinite(error) else "diverged" for error in test],
    }


def beyond(scores: Mapping[int, float]) -> list[int]:
    """Name the rate beyond the grid's end if that end is best; none if it is inside."""
    best = min(scores, key=lambda rate: scores[rate])
    if best == min(scores) and best > _LEAST:
        return [best - 1]
    if best == max(scores) and best < _MOST:
        return [best + 1]
    return []


def _trained(
    trial: Trial,
    module: GatedNetwork | ResidualNetwork,
    data: Sequence[Dataset],
    rates: Sequence[int],
) -> Tensor:
    """Train a network for each rate and seed, in this order.

    Returns:
        Weights (K, P) in float64, a row a network in the order of its parameters.
    """
    protocol = trial["protocol"]
    layer = (
        module if protocol == "solved" and isinstance(module, GatedNetwork) else None
    )
    kind = torch.float64 if layer else torch.float32
    x = torch.tensor(np.stack([points.train.x for points in data]), dtype=kind)
    y = torch.tensor(np.stack([points.train.y for points in data]), dtype=kind)
    x, y = x.repeat(len(rates), 1, 1), y.repeat(len(rates), 1, 1)
    each = torch.tensor([10 ** (rate / 2) for rate in rates for _ in data], dtype=kind)
    start = torch_start(module, range(len(data))).to(kind).repeat(len(rates), 1)
    batch = trial["settings"].get("batch", BATCH)
    losses = batch_losses(module, x, y, batch)
    if layer:
        losses = averaged_losses(layer, x, y, batch, _KEEP, factor=False)
    optimiser: Optimiser = Adam(start)
    if protocol == "soap":
        optimiser = Soap(module)
    elif protocol == "muon":
        optimiser = Muon(module, start)
    weights = train_stack(start, losses, each, trial["steps"], 0.0, optimiser)
    if layer:  # one network at a time, as all its points are held
        for k in weights.isfinite().all(dim=1).nonzero()[:, 0].tolist():
            at = slice(k, k + 1)
            ridges = [RIDGE]
            weights[at] = resolved(layer, weights[at], x[at], y[at], ridges, False)[0]
    return weights.double()


def judged(
    module: GatedNetwork | ResidualNetwork,
    weights: Tensor,
    data: Sequence[Dataset],
    part: str,
) -> np.ndarray:
    """Compute the errors (K,) of networks (K, P), each on points of its own.

    An error that is not finite is infinite. Outputs are confined to the training
    values' range and a tenth.
    """
    x = torch.tensor(np.stack([getattr(dataset, part).x for dataset in data]))
    y = torch.tensor(np.stack([getattr(dataset, part).y for dataset in data]))
    low, high = torch.tensor([dataset.limits() for dataset in data]).T[:, :, None, None]
    squares = torch.zeros(len(weights))
    with torch.no_grad():
        for at, wanted in zip(x.split(_ROWS, 1), y.split(_ROWS, 1), strict=True):
            values = outputs(module, weights, at)
            squares = squares + (values.clamp(low, high) - wanted).square().sum(
                dim=(1, 2)
            )
    errors = (squares / y[0].numel()).sqrt().numpy()
    return np.where(np.isfinite(errors), errors, np.inf)


def _trials(
    problems: Sequence[str],
    units: Sequence[str],
    protocols: Sequence[str],
    sizes: Sequence[int],
    blocks: int = 0,
    steps: int = STEPS,
) -> list[Trial]:
    """Describe the trials of a stage, target by target."""
    return [
        map_trial(problem, unit, protocol, size, blocks, steps)
        for problem in problems
        for size in sizes
        for protocol in protocols
        for unit in units
    ]


def _sample() -> list[Trial]:
    settings: Any = {"seeds": 2, "rates": [-5, -4, -3]}
    return [map_trial("airfoil", "pair:silu", "adamw", 240, steps=100, **settings)]


def _all_trials() -> list[Trial]:
    """List all trials in the order in which they run: what may fall comes last."""
    rest = [name for name in TARGETS if name not in FIRST]
    every = [*FIRST, *rest]
    main = ("adamw", "soap")
    full = (*_CORE, *TRIPLES["gelu"])
    trials = [
        *_sample(),
        *_trials(FIRST, _CORE, main, [1000]),
        *_trials(FIRST, _CORE, main, [4000], BLOCKS),
        *_trials(rest, _CORE, main, [1000]),
        *_trials(FIRST, _CORE, main, [4000, 240]),
        *_trials(rest, _CORE, main, [4000], BLOCKS),
        *_trials(rest, _CORE, main, [4000, 240]),
        *_trials(FIRST, FEW, main, [25_000], BLOCKS),
        *_trials(FIRST, FEW, main, [1000], steps=1000),
        *_trials(FIRST, FEW, main, [1000], steps=16_000),
        *_trials(every, TRIPLES["gelu"], main, [1000, 4000, 240]),
        *_trials(every, TRIPLES["gelu"], main, [4000], BLOCKS),
        *_trials(every, full, ("solved",), [240, 1000]),
        *_trials(every, full, ("muon",), [4000], BLOCKS),
        *_trials(FIRST, FEW, ("muon",), [25_000], BLOCKS),
    ]
    slowest = ("ridges2", "soap", 4000, 0)
    return sorted(
        trials,
        key=lambda t: (t["problem"], t["protocol"], t["size"], t["blocks"]) == slowest,
    )


MAP = Study(
    "Does multiplying pay? Triples of units by target, size, depth and trainer",
    PROTOCOLS,
    run_map,
    _all_trials,
    _sample,
)
