"""Three units at equal parameters on curves: the best weights found beside AdamW's, all kept.

An MLP of 5k neurons, a GLU and a SwiGLU of 3k have 15k + 1 parameters. Errors are in units of the
curve's deviation. AdamW is that of the study ``trainers``, with the rates that its pilots chose.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from xsquared.data.dataset import sampled
from xsquared.errors import sampled_rmse
from xsquared.functions import target
from xsquared.training import FreeKnots, VariableProjection, fit
from xsquared.units import GatedNetwork, build, parameter_count
from xsquared_studies import batched, rows
from xsquared_studies.declared import Study
from xsquared_studies.experiment import make_trial
from xsquared_studies.sweep import Trial
from xsquared_studies.trainers import KINDS, LATER, drawn, trained

#: Curves by their names in the study ``trainers``.
_TEXTS = {name: KINDS[name][0] for name in ("smooth", "oscillating", "kinked")} | LATER
TARGETS = {name: target(text, (-1.0, 1.0)) for name, text in _TEXTS.items()}
#: Neurons of each unit, to be multiplied by k from 1 to 8.
NEURONS = {"mlp": 5, "glu": 3, "swiglu": 3}


def best(name: str, unit: str, n: int) -> GatedNetwork:
    """Find weights of small error: by free knots, or by twelve runs where gates are smooth."""
    if unit != "swiglu":
        return FreeKnots().fit_target(TARGETS[name], unit, n).network
    data = sampled(TARGETS[name], 1000)
    ways = [VariableProjection(300, ridge=1e-14, sharpest=sharp) for sharp in (4.0, 16.0, 64.0)]
    found = [fit(data, unit, n, solver=way, seed=seed).network for way in ways for seed in range(4)]
    return min(filter(None, found), key=lambda one: sampled_rmse(one, TARGETS[name]))


def by_adamw(trial: Trial) -> Iterator[tuple[str, int, GatedNetwork]]:
    """Train three seeds on every curve; their weights are for x and values as they are."""
    done = rows("trainers").query("protocol == 'adamw' and size == 120")
    done = done[(done["unit"] == trial["unit"]) & (done["gate"] == trial["gate"])]
    rates = done.groupby("problem")["rate"].first()
    asked = [(name, seed, rates[f"{name}, 1 input"]) for name in TARGETS for seed in range(3)]
    module = build(trial["unit"], 1, trial["n"])
    for (name, seed, _), row in zip(asked, trained(trial, module, asked), strict=True):
        data, own = drawn(name, "1 input", seed), batched.named(module, row)
        for weight, bias in (("G", "g"), *module.unit.factors):
            own[weight].div_(float(data.feature_scale[0]))
            own[bias].sub_(own[weight][:, 0] * float(data.feature_mean[0]))
        own["D"].mul_(data.target_scale)
        own["d"].mul_(data.target_scale).add_(data.target_mean)
        vector_to_parameters(row, module.parameters())
        yield name, seed, module


def run_curves(trial: Trial) -> dict[str, Any]:
    """Train a unit of n neurons on every curve; keep weights by the fewest digits that do."""
    unit, n, made = trial["unit"], trial["n"], list[dict[str, Any]]()
    networks = by_adamw(trial)
    if trial["protocol"] == "best":
        networks = ((name, 0, best(name, unit, n)) for name in TARGETS)
    for name, seed, network in networks:
        curve, exact = TARGETS[name], parameters_to_vector(network.parameters()).tolist()
        size, error = sampled(curve).train.y.std(), sampled_rmse(network, curve)
        for digits in (5, 7, 9, 12, 17):
            texts = [f"{weight:.{digits}g}" for weight in exact]
            kept = torch.tensor([float(text) for text in texts], dtype=torch.float64)
            vector_to_parameters(kept, network.parameters())
            if abs(sampled_rmse(network, curve) - error) <= 1e-3 * error:
                break
        share = sampled_rmse(network, curve) / size
        found = {"problem": name, "seed": seed, "parameters": parameter_count(unit, 1, n)}
        made.append(
            found | dict.fromkeys(("train_rmse", "test_rmse"), share) | {"weights": " ".join(texts)}
        )
    return {name: [row[name] for row in made] for name in made[0]}


def _all_trials() -> list[Trial]:
    best = dict.fromkeys(NEURONS, "free_knots") | {"swiglu": "varpro"}
    ways = [(unit, solver, "best") for unit, solver in best.items()]
    ways += [(unit, "adamw", "adamw") for unit in NEURONS]
    return [
        make_trial("1 input", unit, k * NEURONS[unit], solver, protocol)
        for unit, solver, protocol in ways
        for k in range(1, 9)
    ]


CURVES = Study(
    "MLP, GLU and SwiGLU at equal parameters on six curves, with their weights",
    {
        "best": "free knots; of SwiGLU the best of twelve runs of variable projection",
        "adamw": "three seeds of the study trainers' way, with its rates",
    },
    run_curves,
    _all_trials,
    lambda: _all_trials()[:1],
)
