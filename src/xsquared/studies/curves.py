"""Three units at equal parameters on six curves: the best weights found beside AdamW's.

Protocol of 2026-11-27, fixed before the first row. An MLP of 5k neurons, a GLU and a
SwiGLU of 3k have 15k + 1 parameters. Curves are six of the study ``trainers``, with its
points, AdamW and rates. Errors are on 10,000 points, in the curve's deviations, of the
weights as they are kept.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from xsquared.data.dataset import sampled
from xsquared.errors import sampled_rmse
from xsquared.functions import target
from xsquared.studies import rows
from xsquared.studies.experiment import make_trial
from xsquared.studies.sweep import Study, Trial
from xsquared.studies.trainers import KINDS, LATER, PROTOCOLS, drawn, trained
from xsquared.training import FreeKnots, Solver, VariableProjection, fit
from xsquared.training.adamw import as_parameters
from xsquared.units import GatedNetwork, build

#: Curves by their names in the study ``trainers``.
TEXTS = {name: KINDS[name][0] for name in ("smooth", "oscillating", "kinked")} | LATER
TARGETS = {name: target(text, (-1.0, 1.0)) for name, text in TEXTS.items()}
#: Neurons of each unit, to be multiplied by k from 1 to 8, and what searches for its
#: weights.
_UNITS = {"mlp": (5, "free_knots"), "glu": (3, "free_knots"), "swiglu": (3, "varpro")}
_SHARPEST = (4.0, 16.0, 64.0)
_SEARCHES: dict[str, list[Solver]] = {
    "free_knots": [FreeKnots()],
    "varpro": [
        VariableProjection(300, ridge=1e-14, sharpest=sharp) for sharp in _SHARPEST
    ],
}


def by_search(trial: Trial) -> Iterator[tuple[str, int, GatedNetwork]]:
    """Find weights of small error on every curve by four seeds of each search."""
    for name, curve in TARGETS.items():
        run = partial(fit, sampled(curve, 1000), trial["unit"], trial["n"])
        ways = _SEARCHES[trial["solver"]]
        runs = [run(solver=way, seed=seed) for way in ways for seed in range(4)]
        found = [done.network for done in runs if done.network]
        yield name, 0, min(found, key=partial(sampled_rmse, target=curve))


def by_adamw(trial: Trial) -> Iterator[tuple[str, int, GatedNetwork]]:
    """Train three seeds on every curve; their weights are for x and values as they are."""
    done = (
        rows("trainers").query("protocol == 'adamw' and size == 120").set_index("unit")
    )
    rates = (
        done[done["gate"] == trial["gate"]]
        .loc[trial["unit"]]
        .groupby("problem")["rate"]
        .max()
    )
    asked = [
        (name, seed, rates[f"{name}, 1 input"]) for name in TARGETS for seed in range(3)
    ]
    module = build(trial["unit"], 1, trial["n"])
    for (name, seed, _), row in zip(asked, trained(trial, module, asked), strict=True):
        data, own = drawn(name, "1 input", seed), as_parameters(module, row)
        for weight, bias in (("G", "g"), *module.unit.factors):
            own[weight].div_(float(data.feature_scale[0]))
            own[bias].sub_(own[weight][:, 0] * float(data.feature_mean[0]))
        own["D"].mul_(data.target_scale)
        own["d"].mul_(data.target_scale).add_(data.target_mean)
        vector_to_parameters(row, module.parameters())
        yield name, seed, module


def run_curves(trial: Trial) -> dict[str, list[Any]]:
    """Train a unit of n neurons on every curve; keep weights by as many digits as they
    need.
    """
    way, digits = {"best": (by_search, 13), "adamw": (by_adamw, 7)}[trial["protocol"]]
    made = []
    for name, seed, network in way(trial):
        kept = [
            f"{w:.{digits}g}"
            for w in parameters_to_vector(network.parameters()).tolist()
        ]
        weights = torch.tensor([*map(float, kept)], dtype=torch.float64)
        vector_to_parameters(weights, network.parameters())
        share = (
            sampled_rmse(network, TARGETS[name]) / sampled(TARGETS[name]).train.y.std()
        )
        made.append((name, seed, len(kept), share, share, " ".join(kept)))
    columns = ("problem", "seed", "parameters", "train_rmse", "test_rmse", "weights")
    return dict(zip(columns, map(list, zip(*made, strict=True)), strict=True))


def _all_trials() -> list[Trial]:
    return [
        make_trial("1 input", unit, k * n, way, "adamw" if way == "adamw" else "best")
        for unit, (n, search) in _UNITS.items()
        for way in (search, "adamw")
        for k in range(1, 9)
    ]


CURVES = Study(
    "MLP, GLU and SwiGLU at equal parameters on six curves, with their weights",
    {
        "best": "the best of four or twelve searches",
        "adamw": f"{PROTOCOLS['adamw']}; three seeds",
    },
    run_curves,
    _all_trials,
    lambda: _all_trials()[1:2],
)
