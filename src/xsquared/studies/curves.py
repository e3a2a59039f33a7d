"""Three units at equal parameters on six curves: least errors beside AdamW's.

Protocol of 2026-11-27, fixed before the first row. An MLP of 5k neurons, a GLU and a
SwiGLU of 3k have 15k + 1 parameters. Curves are six of the study ``trainers``, with its
points and AdamW, at the rates that it chose. Errors are on 10,000 points, in the
curve's deviations, of the weights as they are kept.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from xsquared.data import Dataset, sampled
from xsquared.errors import sampled_rmse
from xsquared.functions import target
from xsquared.studies.experiment import make_trial
from xsquared.studies.sweep import Study, Trial
from xsquared.studies.trainers import KINDS, LATER, PROTOCOLS, draw_points, train
from xsquared.training import FreeKnots, Solver, VariableProjection, fit
from xsquared.training.adamw import as_parameters
from xsquared.units import GatedNetwork, build

_TEXTS = {name: KINDS[name][0] for name in ("smooth", "oscillating", "kinked")} | LATER
#: Curves by their names in the study ``trainers``.
TARGETS = {name: target(text, (-1.0, 1.0)) for name, text in _TEXTS.items()}
#: Neurons of each unit, to be multiplied by k from 1 to 8, and what searches for its
#: weights.
_UNITS = {"mlp": (5, "free_knots"), "glu": (3, "free_knots"), "swiglu": (3, "varpro")}
#: AdamW's rates by unit and curve: what ``trainers`` chose at 120 parameters.
_RATES = {
    unit: dict(zip(TARGETS, rates, strict=True))
    for unit, rates in {
        "mlp": (0.03, 0.003, 0.003, 0.003, 0.003, 0.01),
        "glu": (0.01, 0.1, 0.1, 0.01, 0.03, 0.01),
        "swiglu": (0.01, 0.3, 0.1, 0.03, 0.03, 0.01),
    }.items()
}
#: Greatest slopes of a smooth gate, of which the best is taken.
_SHARPEST = (4.0, 16.0, 64.0)
_SEARCHES: dict[str, list[Solver]] = {
    "free_knots": [FreeKnots()],
    "varpro": [
        VariableProjection(300, ridge=1e-14, sharpest=sharp) for sharp in _SHARPEST
    ],
}
#: Significant digits of weights: what single and double precision need here.
_DIGITS = {"adamw": 7, "best": 13}


def _by_search(trial: Trial) -> Iterator[tuple[str, int, GatedNetwork]]:
    """Find weights of small error on every curve by four seeds of each search."""
    for name, curve in TARGETS.items():
        data = sampled(curve, 1000)
        networks = []
        for solver in _SEARCHES[trial["solver"]]:
            for seed in range(4):
                result = fit(data, trial["unit"], trial["n"], solver=solver, seed=seed)
                if result.network:
                    networks.append(result.network)
        yield name, 0, min(networks, key=partial(sampled_rmse, target=curve))


def _by_adamw(trial: Trial) -> Iterator[tuple[str, int, GatedNetwork]]:
    """Train three seeds on every curve by AdamW."""
    rates = _RATES[trial["unit"]]
    cases = [(name, seed, rates[name]) for name in TARGETS for seed in range(3)]
    module = build(trial["unit"], 1, trial["n"])
    stack = train(trial, module, cases)
    for (name, seed, _), weights in zip(cases, stack, strict=True):
        _unscale(module, weights, draw_points(name, "1 input", seed))
        vector_to_parameters(weights, module.parameters())
        yield name, seed, module


def _unscale(module: GatedNetwork, weights: torch.Tensor, data: Dataset) -> None:
    """Change weights (P,) in place from standardised points to points as they are.

    With x = mean + scale z a gate G z + g is (G / scale) x + g - mean G / scale.
    """
    parameters = as_parameters(module, weights)
    for weight, bias in (("G", "g"), *module.unit.factors):
        parameters[weight].div_(float(data.feature_scale[0]))
        parameters[bias].sub_(parameters[weight][:, 0] * float(data.feature_mean[0]))
    parameters["D"].mul_(data.target_scale)
    parameters["d"].mul_(data.target_scale).add_(data.target_mean)


def _run_curves(trial: Trial) -> dict[str, list[Any]]:
    """Train a unit of n neurons on every curve; keep the weights as text."""
    protocol = trial["protocol"]
    search = _by_adamw if protocol == "adamw" else _by_search
    networks = []
    for name, seed, network in search(trial):
        vector = parameters_to_vector(network.parameters()).tolist()
        kept = [f"{weight:.{_DIGITS[protocol]}g}" for weight in vector]
        weights = torch.tensor([*map(float, kept)], dtype=torch.float64)
        vector_to_parameters(weights, network.parameters())
        deviation = sampled(TARGETS[name]).train.y.std()
        error = sampled_rmse(network, TARGETS[name]) / deviation
        networks.append(
            {
                "problem": name,
                "seed": seed,
                "parameters": len(kept),
                "train_rmse": error,
                "test_rmse": error,
                "weights": " ".join(kept),
            }
        )
    return {name: [network[name] for network in networks] for name in networks[0]}


def _all_trials() -> list[Trial]:
    trials: list[Trial] = []
    for unit, (n, search) in _UNITS.items():
        for solver, protocol in ((search, "best"), ("adamw", "adamw")):
            trials += [
                make_trial("1 input", unit, k * n, solver, protocol)
                for k in range(1, 9)
            ]
    return trials


CURVES = Study(
    "MLP, GLU and SwiGLU at equal parameters on six curves, with their weights",
    {
        "best": "the best of four or twelve searches",
        "adamw": f"{PROTOCOLS['adamw']}; three seeds",
    },
    _run_curves,
    _all_trials,
    lambda: _all_trials()[1:2],
)
