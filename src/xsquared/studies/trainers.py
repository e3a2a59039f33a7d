"""The space or the trainer? Twelve units by ways of training, on targets and tables.

Protocol of 2026-11-27, fixed before the first row. Targets are those of
:mod:`xsquared.studies.trainer_targets`; Friedman's second and third function, the twin
and LATER came the same day, after predictions. All networks of one trial have the same
unit, inputs and number of points, and are stacked. Learning rates are chosen for each
unit, target and way at the middle size, by the mean log validation error of two seeds
that are not judged, from a grid that grows until its ends are not chosen. Ten seeds of
points, splits and starts are then judged at every size.

Every network is judged as trained, and once more with its linear weights solved (ridge
chosen on validation points).

Later parts, each fixed on the same day before its rows: six or five units at
the middle size with one thing changed at a time, and 1,000 parameters; solves in
batches, whose Gram matrices are averaged; AdamW without weight decay, with rates chosen
at each of two sizes. The claims of the appendix on the map have what was
predicted of each.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from xsquared.data import Dataset, Points
from xsquared.studies.experiment import make_trial, unit_of
from xsquared.studies.solved_readout import (
    RIDGE,
    averaged_losses,
    hinge_start,
    resolved,
    solved_losses,
)
from xsquared.studies.sweep import Study, Trial
from xsquared.studies.trainer_targets import GROUPS, LATER, draw_points
from xsquared.training import LBFGS, Growth, Solver, VariableProjection, fit
from xsquared.training.adamw import (
    as_parameters,
    batch_losses,
    torch_start,
    train_stack,
)
from xsquared.units import GatedNetwork, build, parameter_count

#: A name, or ``name:gate`` with another gate.
UNITS = (
    "mlp",
    "relu2_mlp",
    "relu3_mlp",
    "mlp:tanh",
    "mlp:gelu",
    "mlp:silu",
    "bilinear",
    "glu",
    "gqu",
    "geglu",
    "swiglu",
    "glu:relu2",
)
SIX = ("mlp", "mlp:tanh", "mlp:gelu", "glu", "swiglu", "relu2_mlp")
FIVE = SIX[:-1]
_EIGHT = (*SIX, "mlp:silu", "geglu")
#: Numbers of parameters.
SIZES = (60, 120, 240)
MIDDLE = 120
LARGEST = 240
_FEW = {"1 input": ("smooth",), "2 inputs": ("smooth", "kinked", "noisy")}
_SMOOTH = {"1 input": ("smooth",), "2 inputs": ("smooth",)}
_SOLVABLE: Mapping[str, Sequence[str]] = {
    "2 inputs": ("smooth",),
    "5 inputs": ("friedman1",),
}
_HARDER = {"5 inputs": ("friedman1",), "2 inputs": ("noisy",), "airfoil": ("airfoil",)}
_UNDECAYED = {"1 input": ("smooth",), **_HARDER, "2 inputs": ("smooth", "noisy")}
#: All targets that are not in _UNDECAYED.
_REST = {
    "4 inputs": GROUPS["4 inputs"],
    "housing": GROUPS["housing"],
    "diabetes": GROUPS["diabetes"],
    "1 input": GROUPS["1 input"][1:],
    "2 inputs": (*GROUPS["2 inputs"][1:4], "radial", "elevation"),
    "5 inputs": GROUPS["5 inputs"][:-1],
}
#: Targets on which other ways of training are compared, with five seeds at MIDDLE.
COMPARED: Mapping[str, Mapping[str, Sequence[str]]] = {
    "hinges": _FEW,
    "readout": _SMOOTH,
    "varpro": _FEW,
}
#: What was tried besides: protocol, units, targets and size, with five seeds.
_TRIED: Sequence[tuple[str, Sequence[str], Mapping[str, Sequence[str]], int]] = (
    *((protocol, UNITS, targets, MIDDLE) for protocol, targets in COMPARED.items()),
    ("unsolved", SIX, _SMOOTH, MIDDLE),
    ("unsolved", FIVE, {"5 inputs": ("friedman1",)}, MIDDLE),
    ("readout", SIX, _HARDER, MIDDLE),
    ("lbfgs", FIVE, {**_SMOOTH, "5 inputs": ("friedman1",)}, MIDDLE),
    ("tenth", FIVE, _SMOOTH, MIDDLE),
    ("growth", FIVE, _SOLVABLE, MIDDLE),
    ("full", FIVE, {"2 inputs": ("smooth",)}, MIDDLE),
    ("averaged", FIVE, _SOLVABLE, MIDDLE),
    ("varpro", FIVE, {"5 inputs": ("friedman1",), "airfoil": ("airfoil",)}, MIDDLE),
    ("adamw", UNITS, {"1 input": tuple(LATER)}, MIDDLE),
    ("varpro", UNITS, {"1 input": tuple(LATER)}, MIDDLE),
    ("adamw", FIVE, {"5 inputs": ("smooth", "noisy", "friedman1")}, 1000),
    ("adamw", FIVE, {"2 inputs": ("smooth", "noisy")}, 1000),
    ("retuned", _EIGHT, _SOLVABLE, LARGEST),
    ("undecayed", _EIGHT, _UNDECAYED, MIDDLE),
    ("undecayed", _EIGHT, _UNDECAYED, LARGEST),
    ("undecayed", _EIGHT, _REST, LARGEST),
)
#: Where grids of learning rates begin.
_RATES = (0.003, 0.01, 0.03, 0.1)
#: The ends beyond which no grid grows.
_LEAST_RATE = 1e-5
_GREATEST_RATE = 10.0
#: Seeds that choose rates.
_PILOTS = (1000, 1001)
#: Ridges of a solve after training, of which validation points choose.
_RIDGES = (1e-14, 1e-8, 1e-4, 1e-2)
_FROM_HINGES = {
    "steps": 3_000,
    "batch": None,
    "start": "hinges",
    "dtype": torch.float64,
}
#: What the protocols by AdamW set: steps, points of a batch (all where None), decay
#: (0.01 where it is not named), start and precision; ``every``, after how many steps
#: linear weights are solved; ``keep``, what stays of averaged Gram matrices each step.
_ADAMW: Mapping[str, Mapping[str, Any]] = {
    "adamw": {"steps": 10_000, "batch": 64},
    "retuned": {"steps": 10_000, "batch": 64},
    "undecayed": {"steps": 10_000, "batch": 64, "decay": 0.0},
    "full": {"steps": 10_000, "batch": None},
    "hinges": {"steps": 10_000, "batch": 64, "start": "hinges"},
    "unsolved": _FROM_HINGES,
    "readout": {**_FROM_HINGES, "every": 1},
    "tenth": {**_FROM_HINGES, "every": 10},
    "averaged": {**_FROM_HINGES, "steps": 10_000, "batch": 64, "keep": 0.99},
}
_SOLVERS: Mapping[str, Solver] = {
    "varpro": VariableProjection(
        max_iterations=80, starts=3, ridge=1e-14, sharpest=8.0
    ),
    "lbfgs": LBFGS(),
    "growth": Growth(),
}
_PROTOCOLS = {
    "adamw": (
        "AdamW with decay 0.01 from torch's start, batches of 64, 10,000 steps, "
        "rate to zero by a cosine"
    ),
    "readout": (
        "as adamw from hinges through points, float64, all points, 3,000 steps, "
        "linear weights solved at each"
    ),
    "hinges": "as adamw from hinges through points",
    "varpro": (
        "variable projection, three starts, at most 80 iterations, "
        "gates no sharper than 8"
    ),
    "unsolved": "as readout, but no weight is solved",
    "tenth": "as readout, linear weights solved at every tenth step and kept between",
    "averaged": (
        "as readout, 10,000 steps, batches of 64, averaged Gram matrices, "
        "then all points"
    ),
    "full": "as adamw with all points at each step",
    "retuned": "as adamw with the rate chosen at the size itself",
    "undecayed": "as retuned without weight decay",
    "lbfgs": (
        "L-BFGS from normal weights or the line's start, 2,000 steps at most, "
        "all points"
    ),
    "growth": "networks grown neuron by neuron, joint steps of variable projection",
}


def trainer_trials(
    units: Sequence[str] = UNITS,
    groups: Mapping[str, Sequence[str]] = GROUPS,
    sizes: Sequence[int] = SIZES,
    seeds: int = 10,
    protocol: str = "adamw",
    **settings: Any,
) -> list[Trial]:
    """Describe a trial for every group of targets and unit."""
    solver = protocol if protocol in _SOLVERS else "adamw"
    trials: list[Trial] = []
    for group, targets in groups.items():
        for unit in units:
            every_setting = {
                "targets": [*targets],
                "sizes": [*sizes],
                "seeds": seeds,
                **settings,
            }
            trials.append(
                make_trial(group, unit, 0, solver, protocol, settings=every_setting)
            )
    return trials


def _run_trainers(trial: Trial) -> dict[str, Any]:
    """Choose rates, train all networks of a trial, judge them as trained and solved."""
    unit, group, settings = unit_of(trial), trial["problem"], trial["settings"]
    targets, seeds = settings["targets"], range(settings["seeds"])
    dim = draw_points(targets[0], group, 0).dim
    # Of one neuron; the readout's constant is the same for all widths.
    price = parameter_count(unit, dim, 1) - 1
    widths = {size: max(1, round((size - 1) / price)) for size in settings["sizes"]}
    rates = dict.fromkeys(targets, 0.0)
    if trial["solver"] == "adamw":
        middle = min(widths, key=lambda size: abs(size - MIDDLE))
        rates = choose_rates(trial, build(unit, dim, widths[middle]))
    networks = []
    for size, n in widths.items():
        module = build(unit, dim, n)
        cases = [(name, seed, rates[name]) for name in targets for seed in seeds]
        stack = train(trial, module, cases)
        for (name, seed, rate), weights in zip(cases, stack, strict=True):
            data = draw_points(name, group, seed)
            network = {
                "problem": f"{name}, {group}" if "input" in group else name,
                "n": n,
                "size": size,
                "seed": seed,
                "rate": rate,
                "points": len(data.train),
                "parameters": price * n + 1,
            }
            network |= _judge(module, weights, data)
            networks.append(network | {"ran_on": _device()})
    return {name: [network[name] for network in networks] for name in networks[0]}


def choose_rates(trial: Trial, module: GatedNetwork) -> dict[str, float]:
    """Choose each target's rate by its pilots' mean log error on validation points.

    The grid grows by factors of three until no target's rate is at one of its ends.
    """
    group, targets = trial["problem"], trial["settings"]["targets"]
    missing = trial["settings"].get("rates", _RATES)
    scores: dict[float, np.ndarray] = {}  # of the targets, by rate
    while missing:
        cases = [
            (name, seed, rate)
            for rate in missing
            for name in targets
            for seed in _PILOTS
        ]
        errors = []
        stack = train(trial, module, cases)
        for weights, (name, seed, _) in zip(stack, cases, strict=True):
            data = draw_points(name, group, seed)
            errors.append(_error(module, weights, data, data.validation))
        logs = np.log(np.reshape(errors, (len(missing), len(targets), len(_PILOTS))))
        scores |= dict(zip(missing, logs.mean(axis=2), strict=True))
        grid = sorted(scores)
        best = np.argmin([scores[rate] for rate in grid], axis=0)
        missing = []
        if 0 in best and grid[0] / 3 > _LEAST_RATE:
            missing.append(grid[0] / 3)
        if len(grid) - 1 in best and grid[-1] * 3 < _GREATEST_RATE:
            missing.append(grid[-1] * 3)
    return {name: grid[k] for name, k in zip(targets, best, strict=True)}


def train(
    trial: Trial, module: GatedNetwork, cases: Sequence[tuple[str, int, float]]
) -> torch.Tensor:
    """Train a stack of networks, each for a target, seed and rate.

    Returns:
        Their weights (K, P) in float64, for standardised features and values.
    """
    group = trial["problem"]
    if trial["solver"] != "adamw":
        solver = _SOLVERS[trial["solver"]]
        weights = []
        for name, seed, _ in cases:
            data = draw_points(name, group, seed)
            weights.append(_train_alone(solver, module, data, seed))
        return torch.stack(weights)
    seeds = [seed for _, seed, _ in cases]
    training = [draw_points(name, group, seed).train for name, seed, _ in cases]
    settings = {**_ADAMW[trial["protocol"]], **trial["settings"]}
    options = {"dtype": settings.get("dtype", torch.float32), "device": _device()}
    x = torch.tensor(np.array([points.x for points in training]), **options)
    y = torch.tensor(np.array([points.y for points in training]), **options)
    y = y[..., None]  # (K, N, 1) at x (K, N, d)
    rates = torch.tensor([rate for *_, rate in cases], **options)
    module = build(module.unit, module.n_in, module.n_hidden).to(x)
    start = torch_start(module, seeds).to(x)
    if settings.get("start") == "hinges":
        start = hinge_start(module, seeds, x)
    every, keep = settings.get("every"), settings.get("keep")
    batch = settings["batch"]
    if every:
        losses = solved_losses(module, x, y, every)
    elif keep:
        losses = averaged_losses(module, x, y, batch, keep, seed=seeds[0])
    else:
        losses = batch_losses(module, x, y, batch, seed=seeds[0])
    decay = settings.get("decay", 0.01)
    stack = train_stack(start, losses, rates, settings["steps"], decay).double()
    if every or keep:
        (stack,) = resolved(module, stack, x, y, [RIDGE])
    return stack.cpu()


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def _train_alone(
    solver: Solver, module: GatedNetwork, data: Dataset, seed: int
) -> torch.Tensor:
    """Train one network by a solver of the package; its weights are (P,)."""
    result = fit(data, module.unit, module.n_hidden, solver=solver, seed=seed)
    network = result.network or module
    return torch.cat([p.detach().flatten() for p in network.parameters()])


def _error(
    module: GatedNetwork, weights: torch.Tensor, data: Dataset, points: Points
) -> float:
    """Compute the error at points of the forward pass with weights (P,)."""
    network = build(module.unit, module.n_in, module.n_hidden)
    network.load_state_dict(as_parameters(module, weights))
    return data.error(network, points)


def _judge(
    module: GatedNetwork, weights: torch.Tensor, data: Dataset
) -> dict[str, float]:
    """Compute errors of a network as trained, and once more with a solved readout.

    The solve's ridge is the one of least error on validation points.
    """
    errors = {
        "train_rmse": _error(module, weights, data, data.train),
        "validation_rmse": _error(module, weights, data, data.validation),
        "test_rmse": _error(module, weights, data, data.test),
    }
    solved = [weights]
    if weights.isfinite().all():
        x = torch.tensor(data.train.x)[None]
        y = torch.tensor(data.train.y)[None, :, None]
        stacks = resolved(module, weights[None], x, y, _RIDGES)
        solved = [stack[0] for stack in stacks]
    best = min(solved, key=lambda row: _error(module, row, data, data.validation))
    return {**errors, "solved_rmse": _error(module, best, data, data.test)}


def _sample() -> list[Trial]:
    short: Any = {"steps": 300, "rates": [0.01]}
    targets = {"1 input": ("smooth",)}
    return trainer_trials(("mlp", "swiglu"), targets, (20,), 2, **short)


def _all_trials() -> list[Trial]:
    trials = [
        *_sample(),
        *trainer_trials(),
        *trainer_trials(groups={"5 inputs": ("twin",)}),
    ]
    for protocol, units, targets, size in _TRIED:
        trials += trainer_trials(units, targets, (size,), 5, protocol)
    return trials


TRAINERS = Study(
    "Twelve units by ways of training, at equal numbers of parameters",
    _PROTOCOLS,
    _run_trainers,
    _all_trials,
    _sample,
)
