"""Which unit for which target: ten units, five kinds of target, at equal numbers of parameters.

A target is a profile phi of one variable. With d inputs, x uniform on [-1, 1]^d, it is phi(x) for
d = 1, and for more inputs a sum of three ridges, phi(w x) for three unit vectors w that the seed
draws, or, smooth ones only, radial as well, phi(norm(x)). Of one seed all units and sizes have the
same points. A nominal size stands for the number of neurons whose parameters come closest to it.

The protocol was fixed before the first row, but for what followed a first edition of five seeds
with one input and two with more: ``longer``, further seeds, most of AdamW and L-BFGS. A pilot of
one seed chose sizes and seeds by cost, and AdamW's rates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from xsquared.data.dataset import Dataset, Points, from_generator
from xsquared.training import Fit, Solver, VariableProjection, fit, solver_from
from xsquared.units import find_unit, parameter_count
from xsquared_studies.declared import Study
from xsquared_studies.experiment import make_trial, target_of, unit_of, values_of
from xsquared_studies.sweep import Trial

#: By a target's kind: its profile and the noise of its training values.
KINDS = {
    "smooth": ("1/(1 + 9*x**2)", 0.0),
    "oscillating": ("sin(6*x)", 0.0),
    "kinked": ("abs(x - 0.3) + sin(3*x)", 0.0),
    "jump": ("(x - pi/20)/abs(x - pi/20) + sin(3*x)", 0.0),
    "noisy": ("1/(1 + 9*x**2)", 0.1),
}
#: A name or ``name:gate`` with another gate.
COMPARED = (
    *("mlp", "relu2_mlp", "relu3_mlp", "bilinear", "glu", "gqu"),
    *("mlp:gelu", "mlp:silu", "geglu", "swiglu"),
)
SMOOTH_GATES = COMPARED[-4:]
#: By the number of inputs.
SIZES: Mapping[int, Sequence[int]] = {
    1: (50, 70, 85, 106, 142, 211),
    2: (50, 70, 92, 120, 161, 223),
    5: (78, 132, 172, 210, 233, 251),
}
SEEDS = 10
PROTOCOLS = {
    "bounded": "variable projection, at most 80 iterations, smooth gates no sharper than 8",
    "unbounded": "the same without a bound on sharpness",
    "longer": "as bounded, with at most 320 iterations",
    "adamw": "2,000 steps of AdamW at the best of three learning rates",
    "lbfgs": "at most 1,000 iterations of L-BFGS",
}
#: Of every network; half as many iterations where it is asked whether it has converged.
SETTINGS = VariableProjection(max_iterations=80, starts=3, ridge=1e-14)
_FIRST_ORDER: Mapping[str, Sequence[Mapping[str, float]]] = {
    "adamw": [{"learning_rate": rate, "max_iterations": 2000} for rate in (0.03, 0.1, 0.3)],
    "lbfgs": [{"max_iterations": 1000}],
}


def which_trials(
    units: Sequence[str] = COMPARED,
    kinds: Sequence[str] = tuple(KINDS),
    sizes: Mapping[int, Sequence[int]] = SIZES,
    seeds: int = SEEDS,
    protocol: str = "bounded",
) -> list[Trial]:
    """Describe a trial for every unit, kind, shape, inputs and size, seed after seed."""
    solver = protocol if protocol in _FIRST_ORDER else "varpro"

    def describe(unit: str, size: int, seed: int, settings: Mapping[str, Any]) -> Trial:
        name, _, gate = unit.partition(":")
        one = parameter_count(find_unit(*unit.split(":")), settings["inputs"], 1) - 1
        n, said = max(1, round((size - 1) / one)), {"size": size, **settings}
        text, box = KINDS[settings["kind"]][0], ((-3, 3),)
        return make_trial(
            text, name, n, solver, protocol, domain=box, gate=gate, settings=said, seed=seed
        )

    trials = [
        describe(unit, size, seed, {"inputs": inputs, "kind": kind, "shape": shape, **own})
        for inputs in sizes
        for kind in kinds
        for shape in ("ridges", "radial")
        if shape == "ridges" or (inputs > 1 and kind == "smooth" and solver == "varpro")
        for unit in units
        for size in sizes[inputs]
        for seed in range(seeds)
        for own in _FIRST_ORDER.get(solver, [{}])
    ]
    return sorted(trials, key=lambda trial: trial["seed"])


def points(trial: Trial) -> Dataset:
    """Draw the points of a trial, the noise in the training values alone."""
    settings, seed, profile = trial["settings"], trial["seed"], target_of(trial)
    inputs = settings["inputs"]

    def generate(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        draw = np.random.default_rng(seed)
        ways = draw.normal(size=(3 if inputs > 1 else 1, inputs))
        ways = ways / np.linalg.norm(ways, axis=1, keepdims=True) if inputs > 1 else ways**0
        x = draw.uniform(-1, 1, (count, inputs))
        along = np.linalg.norm(x, axis=1)[:, None] if settings["shape"] == "radial" else x @ ways.T
        return x, np.stack([profile(t) for t in along.T]).sum(axis=0)

    data = from_generator(generate, seed, points=1000 * min(inputs, 2))
    noise = np.random.default_rng((seed, 1)).normal(size=len(data.train))
    values = data.train.y + KINDS[settings["kind"]][1] * noise
    return replace(data, train=Points(data.train.x, values))


def run_which(trial: Trial) -> dict[str, Any]:
    """Train one network, and where it stopped for want of iterations once more for half as long."""
    data, unit, n, settings = points(trial), unit_of(trial), trial["n"], trial["settings"]
    first_order = _FIRST_ORDER.get(trial["solver"])
    most = SETTINGS.max_iterations * (4 if trial["protocol"] == "longer" else 1)

    def trained(iterations: int) -> Fit:
        sharpest = None if trial["protocol"] == "unbounded" else 8.0
        solver: Solver = replace(SETTINGS, max_iterations=iterations, sharpest=sharpest)
        if first_order:
            solver = solver_from(trial["solver"], {name: settings[name] for name in first_order[0]})
        return fit(data, unit, n, solver=solver, seed=trial["seed"])

    done, moved = trained(most), None if first_order else 0.0
    if done.status == "iterations" and not first_order:
        moved = 1 - done.train_rmse / trained(most // 2).train_rmse
    weights = done.network.parameters() if done.network else ()
    return {
        **values_of(unit, n, data, done),
        "largest_weight": max((float(p.detach().abs().max()) for p in weights), default=None),
        "moved": moved,
        "validation_rmse": data.error(done.network, data.validation) if done.network else None,
    }


def _narrow_trials() -> list[Trial]:
    return which_trials(kinds=("smooth",), sizes={1: (11,)}, seeds=1)


def _all_trials() -> list[Trial]:
    kinds, few = ("smooth", "kinked"), 3
    trials = _narrow_trials() + which_trials()
    trials += which_trials(SMOOTH_GATES, (*kinds, "jump"), {1: (50, 85, 142)}, few, "unbounded")
    for protocol in _FIRST_ORDER:
        trials += which_trials(COMPARED, ("smooth",), {1: (106,), 2: (120,)}, few, protocol)
    return trials + which_trials(COMPARED, kinds, {2: (120,), 5: (172,)}, few, "longer")


WHICH_UNIT = Study(
    "Ten units on five kinds of target at equal numbers of parameters",
    PROTOCOLS,
    run_which,
    _all_trials,
    lambda: _narrow_trials()[:7],  # an MLP with SiLU, the next, ends elsewhere without AVX
)
