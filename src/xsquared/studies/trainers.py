"""The space or the trainer? Twelve units by four ways of training, on targets and real
tables.

Protocol of 2026-11-27, fixed before the first row. A target is a profile phi of one
variable: for x in [-1, 1]^d it is phi(x), for d > 1 a sum of three ridges phi(w x), or
radial; besides Friedman's first function and tables. His others, the twin and LATER
came the same day, after predictions. All networks of one trial have the same unit,
inputs and number of points, and are stacked. Learning rates are chosen for each unit,
target and way at the middle size, by the mean log validation error of two seeds that
are not judged, from a grid that grows until its ends are not chosen. Ten seeds of
points, splits and starts are then judged at every size. Noise is in training and
validation values.

Every network is judged as trained, and once more with its linear weights solved (ridge
chosen on validation points).

Later parts (TRIED), each fixed on the same day before its rows: six or five units at
the middle size with one thing changed at a time, and 1,000 parameters; solves in
batches, whose Gram matrices are averaged; AdamW without weight decay, with rates chosen
at each of two sizes. The claims of chapter 11 have what was predicted of each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import torch

from xsquared.data import Dataset, load
from xsquared.data.dataset import Points, from_arrays, from_generator
from xsquared.functions import target
from xsquared.studies.experiment import make_trial, unit_of
from xsquared.studies.solved_readout import (
    RIDGE,
    averaged_losses,
    hinge_start,
    resolved,
    solved_losses,
)
from xsquared.studies.sweep import Study, Trial
from xsquared.training import LBFGS, Growth, Solver, VariableProjection, fit
from xsquared.training.adamw import (
    as_parameters,
    batch_losses,
    torch_start,
    train_stack,
)
from xsquared.units import GatedNetwork, build, parameter_count

#: By a target's kind: its profile and the noise of its training and validation values.
KINDS = {
    "smooth": ("1/(1 + 9*x**2)", 0.0),
    "oscillating": ("sin(6*x)", 0.0),
    "kinked": ("abs(x - 0.3) + sin(3*x)", 0.0),
    "jump": ("(x - pi/20)/abs(x - pi/20) + sin(3*x)", 0.0),
    "noisy": ("1/(1 + 9*x**2)", 0.1),
}
#: Drawn after what AdamW loses was predicted from the kernel at the start.
LATER = {
    "later 1": "-0.93*sin(2.83*x + 1.81) + 0.68*sin(2.17*x + 2.36) + 0.91*sin(2.88*x + 0.52)"
    " + 1/(1 + 4.9*(x + 0.75)**2)",
    "later 2": "0.83*sin(6.22*x + 0.24) + 0.99*sin(5.55*x + 0.90) + 0.43*sin(6.94*x + 0.33)"
    " + 1/(1 + 17.6*(x - 0.03)**2)",
    "later 3": "0.15*sin(5.52*x + 4.07) + 0.50*sin(4.32*x + 0.21) - 0.94*sin(6.50*x + 4.72)"
    " + 1/(1 + 5.0*(x - 0.70)**2)",
}
_PROFILES = KINDS | {name: (text, 0.0) for name, text in LATER.items()}
#: A name, or ``name:gate`` with another gate.
UNITS = (
    *("mlp", "relu2_mlp", "relu3_mlp", "mlp:tanh", "mlp:gelu", "mlp:silu"),
    *("bilinear", "glu", "gqu", "geglu", "swiglu", "glu:relu2"),
)
#: What is stacked: targets of as many inputs and training points.
GROUPS: Mapping[str, Sequence[str]] = {
    "1 input": tuple(KINDS),
    "2 inputs": (*KINDS, "radial", "elevation"),
    "4 inputs": ("friedman2", "friedman3"),
    "5 inputs": (*KINDS, "radial", "friedman1"),
    **{table: (table,) for table in ("airfoil", "housing", "diabetes")},
}
_FEW = {"1 input": ("smooth",), "2 inputs": ("smooth", "kinked", "noisy")}
_SMOOTH = {"1 input": ("smooth",), "2 inputs": ("smooth",)}
#: Targets on which other ways of training are compared, with five seeds at the middle
#: size.
COMPARED: Mapping[str, Mapping[str, Sequence[str]]]
COMPARED = {"hinges": _FEW, "readout": _SMOOTH, "varpro": _FEW}
SIX = ("mlp", "mlp:tanh", "mlp:gelu", "glu", "swiglu", "relu2_mlp")
FIVE, EIGHT = SIX[:-1], (*SIX, "mlp:silu", "geglu")
_SOLVABLE: Mapping[str, Sequence[str]] = {
    "2 inputs": ("smooth",),
    "5 inputs": ("friedman1",),
}
_HARDER = {"5 inputs": ("friedman1",), "2 inputs": ("noisy",), "airfoil": ("airfoil",)}
_UNDECAYED = {"1 input": ("smooth",), **_HARDER, "2 inputs": ("smooth", "noisy")}
_REST = {name: GROUPS[name] for name in ("4 inputs", "housing", "diabetes")} | {
    "1 input": GROUPS["1 input"][1:],
    "2 inputs": (*GROUPS["2 inputs"][1:4], "radial", "elevation"),
    "5 inputs": GROUPS["5 inputs"][:-1],
}
SIZES, MIDDLE, LARGEST = (60, 120, 240), 120, 240
#: What was tried besides: protocol, units, targets and size, with five seeds.
TRIED: Sequence[tuple[str, Sequence[str], Mapping[str, Sequence[str]], int]] = (
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
    *(
        (protocol, UNITS, {"1 input": tuple(LATER)}, MIDDLE)
        for protocol in ("adamw", "varpro")
    ),
    ("adamw", FIVE, {"5 inputs": ("smooth", "noisy", "friedman1")}, 1000),
    ("adamw", FIVE, {"2 inputs": ("smooth", "noisy")}, 1000),
    ("retuned", EIGHT, _SOLVABLE, LARGEST),
    *(("undecayed", EIGHT, _UNDECAYED, size) for size in (MIDDLE, LARGEST)),
    ("undecayed", EIGHT, _REST, LARGEST),
)
RATES = (0.003, 0.01, 0.03, 0.1)
#: Seeds that choose rates.
_PILOTS = (1000, 1001)
_RIDGES = (1e-14, 1e-8, 1e-4, 1e-2)
_FROM_HINGES = {"steps": 3_000, "batch": None, "start": "hinges", "kind": torch.float64}
WAYS: Mapping[str, Mapping[str, Any]] = {
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
PROTOCOLS = {
    "adamw": "AdamW from torch's start, batches of 64, 10,000 steps, rate to zero by a cosine",
    "readout": "from hinges through points Adam, all points, linear weights solved at 3,000 steps",
    "hinges": "as adamw from hinges through points",
    "varpro": "variable projection, three starts, at most 80 iterations, gates no sharper than 8",
    "unsolved": "as readout, but no weight is solved: 3,000 steps of Adam, all points, from hinges",
    "tenth": "as readout, linear weights solved at every tenth step and kept between",
    "averaged": "as readout, 10,000 steps, batches of 64, averaged Gram matrices, then all points",
    "full": "as adamw with all points at each step",
    "retuned": "as adamw with the rate chosen at the size itself",
    "undecayed": "as retuned without weight decay",
    "lbfgs": "L-BFGS from normal weights or the line's start, 2,000 steps at most, all points",
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
    trials: list[Trial] = []
    for group, targets in groups.items():
        for unit in units:
            name, _, gate = unit.partition(":")
            said = {
                "targets": [*targets],
                "sizes": [*sizes],
                "seeds": seeds,
                **settings,
            }
            solver = protocol if protocol in _SOLVERS else "adamw"
            trials.append(
                make_trial(group, name, 0, solver, protocol, gate=gate, settings=said)
            )
    return trials


@cache
def drawn(name: str, group: str, seed: int) -> Dataset:
    """Draw a target's points or split a table by the seed."""
    if name == "twin":
        return from_generator(_twin, seed)
    if name in ("airfoil", "housing") or name.startswith("friedman"):
        return load(name, seed, points=None if name == "airfoil" else 2000)
    if not group.endswith(("input", "inputs")) or name == "elevation":
        return from_arrays(*_table(name), seed, most=2000)
    dim, (text, noise) = (
        int(group[0]),
        _PROFILES["smooth" if name == "radial" else name],
    )
    profile = target(text, (-3.0, 3.0))

    def generate(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        draw = np.random.default_rng(seed)
        ways = draw.normal(size=(3, dim)) if dim > 1 else np.ones((1, 1))
        ways /= np.linalg.norm(ways, axis=1, keepdims=True)
        x = draw.uniform(-1, 1, (count, dim))
        along = np.linalg.norm(x, axis=1)[:, None] if name == "radial" else x @ ways.T
        return x, profile(along).sum(axis=1)

    data, draw = from_generator(generate, seed, points=1000 * min(dim, 2)), (seed, 1)
    errors = noise * np.random.default_rng(draw).normal(
        size=len(data.train) + len(data.validation)
    )
    added = np.split(errors, [len(data.train)])
    noisy = [
        Points(p.x, p.y + e)
        for p, e in zip((data.train, data.validation), added, strict=True)
    ]
    return replace(data, train=noisy[0], validation=noisy[1])


def _twin(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Friedman's first function with a sum of two sines in the place of the sine of a
    product.
    """
    x = np.random.default_rng(seed).uniform(size=(count, 5))
    curved = 5 * np.sin(np.pi * x[:, :2]).sum(axis=1) + 20 * (x[:, 2] - 0.5) ** 2
    return x, curved + 10 * x[:, 3] + 5 * x[:, 4]


def _table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and values of a table that matplotlib or scikit-learn ships."""
    if name == "elevation":  # the ground near Jacksboro, Tennessee
        from matplotlib.cbook import get_sample_data

        sample: Any = get_sample_data("jacksboro_fault_dem.npz")
        height = sample["elevation"].astype(float)
        return np.argwhere(height == height).astype(float), height.ravel()
    from sklearn import datasets

    return datasets.load_diabetes(return_X_y=True)


def run_trainers(trial: Trial) -> dict[str, Any]:
    """Choose rates, train all networks of a trial, judge them as trained and solved."""
    unit, group, said = unit_of(trial), trial["problem"], trial["settings"]
    targets, seeds = said["targets"], range(said["seeds"])
    dim = drawn(targets[0], group, 0).dim
    one = parameter_count(unit, dim, 1) - 1
    widths = {size: max(1, round((size - 1) / one)) for size in said["sizes"]}
    rates = dict.fromkeys(targets, 0.0)
    if trial["solver"] == "adamw":
        middle = build(unit, dim, widths[min(widths, key=lambda s: abs(s - MIDDLE))])
        rates = _chosen(trial, middle)
    made = []
    for size, n in widths.items():
        module = build(unit, dim, n)
        asked = [(name, seed, rates[name]) for name in targets for seed in seeds]
        for (name, seed, rate), row in zip(
            asked, trained(trial, module, asked), strict=True
        ):
            data = drawn(name, group, seed)
            found = {
                "problem": f"{name}, {group}" if "input" in group else name,
                "n": n,
            }
            found |= {
                "size": size,
                "seed": seed,
                "rate": rate,
                "points": len(data.train),
            }
            found |= {
                "parameters": one * n + 1,
                **_judged(module, row, data),
                "ran_on": _device(),
            }
            made.append(found)
    return {name: [row[name] for row in made] for name in made[0]}


def _chosen(trial: Trial, module: GatedNetwork) -> dict[str, float]:
    """The learning rate of every target of a trial, by pilots of the middle size."""
    targets, rates = trial["settings"]["targets"], trial["settings"].get("rates", RATES)
    left: dict[float, np.ndarray] = {}
    while missing := [rate for rate in rates if rate not in left and 1e-5 < rate < 10]:
        asked = [
            (name, seed, rate)
            for rate in missing
            for name in targets
            for seed in _PILOTS
        ]
        errors = [
            _error(module, row, drawn(name, trial["problem"], seed), "validation")
            for row, (name, seed, _) in zip(
                trained(trial, module, asked), asked, strict=True
            )
        ]
        logs = np.log(np.reshape(errors, (len(missing), len(targets), -1))).mean(axis=2)
        left |= dict(zip(missing, logs, strict=True))
        grid = sorted(left)
        best = np.argmin([left[rate] for rate in grid], axis=0)
        rates = [
            *[grid[0] / 3] * (0 in best),
            *[grid[-1] * 3] * (len(grid) - 1 in best),
        ]
    return {name: grid[k] for name, k in zip(targets, best, strict=True)}


def trained(
    trial: Trial, module: GatedNetwork, asked: Sequence[tuple[str, int, float]]
) -> torch.Tensor:
    """Train a stack of networks, each for a target, seed and rate; weights in float64."""
    if trial["solver"] != "adamw":
        return torch.stack([_one(trial, module, name, seed) for name, seed, _ in asked])
    way = {**WAYS[trial["protocol"]], **trial["settings"]}
    data = [drawn(name, trial["problem"], seed).train for name, seed, _ in asked]
    kind, every = way.get("kind", torch.float32), way.get("every")
    x, y, rates = (
        torch.tensor(np.array(part), dtype=kind, device=_device())
        for part in (
            [p.x for p in data],
            [p.y for p in data],
            [rate for *_, rate in asked],
        )
    )
    y = y[..., None]
    module = build(module.unit, module.n_in, module.n_hidden).to(x)
    seeds = [seed for _, seed, _ in asked]
    start = torch_start(module, seeds).to(x)
    if way.get("start") == "hinges":
        start = hinge_start(module, seeds, x)
    if every:
        losses = solved_losses(module, x, y, every)
    elif keep := way.get("keep"):
        losses = averaged_losses(module, x, y, way["batch"], keep, seed=seeds[0])
    else:
        losses = batch_losses(module, x, y, way["batch"], seed=seeds[0])
    decay = way.get("decay", 0.01)
    weights = train_stack(start, losses, rates, way["steps"], decay).double()
    if every or way.get("keep"):
        (weights,) = resolved(module, weights, x, y, [RIDGE])
    return weights.cpu()


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def _one(trial: Trial, module: GatedNetwork, name: str, seed: int) -> torch.Tensor:
    """Weights (P,) of a network trained by itself, by a solver of the package."""
    data, solver = drawn(name, trial["problem"], seed), _SOLVERS[trial["solver"]]
    done = fit(data, module.unit, module.n_hidden, solver=solver, seed=seed)
    return torch.cat(
        [p.detach().flatten() for p in (done.network or module).parameters()]
    )


def _error(
    module: GatedNetwork, weights: torch.Tensor, data: Dataset, part: str
) -> float:
    network = build(module.unit, module.n_in, module.n_hidden)
    network.load_state_dict(as_parameters(module, weights))
    return data.error(network, getattr(data, part))


def _judged(
    module: GatedNetwork, weights: torch.Tensor, data: Dataset
) -> dict[str, float]:
    """Errors of a network as trained, and test error with its linear weights solved."""
    error = partial(_error, module, data=data)
    found = {
        f"{p}_rmse": error(weights, part=p) for p in ("train", "validation", "test")
    }
    rows, x, y = (
        weights[None],
        torch.tensor(data.train.x)[None],
        torch.tensor(data.train.y)[None],
    )
    tried = (
        resolved(module, rows, x, y[..., None], _RIDGES)
        if weights.isfinite().all()
        else [rows]
    )
    best = min((row[0] for row in tried), key=lambda row: error(row, part="validation"))
    return {**found, "solved_rmse": error(best, part="test")}


def _sample() -> list[Trial]:
    own: Any = {"sizes": (20,), "seeds": 2, "steps": 300, "rates": [0.01]}
    return trainer_trials(("mlp", "swiglu"), {"1 input": ("smooth",)}, **own)


def _all_trials() -> list[Trial]:
    trials = trainer_trials()
    trials += trainer_trials(groups={"5 inputs": ("twin",)})
    for protocol, some, targets, size in TRIED:
        trials += trainer_trials(some, targets, (size,), 5, protocol)
    return _sample() + trials


TRAINERS = Study(
    "Twelve units by ways of training, at equal numbers of parameters",
    PROTOCOLS,
    run_trainers,
    _all_trials,
    _sample,
)
