"""Six units at equal parameters on six curves: least errors beside AdamW's.

Protocol of 2026-11-29, fixed before the first row; that of 2026-11-27 had three units,
three seeds and torch's decay. *Units*: ReLU and SiLU, each alone, with a second number
of its own (z times the gate's value) and with a factor. With k from 1 to 8 they have
15k + 1 parameters, those with a second number to within two. *Curves* are six of the
study ``trainers``, with its points.

*Best*: splines with free knots, four seeds, for the ReLU's units; what a GLU finds is
rewritten for the ReLU beside its square, which with one input has the same pieces.
Variable projection, four seeds at each of three greatest slopes, for SiLU's.

*AdamW* as in ``trainers`` without decay: torch's start, batches of 64 of 1,000 points,
10,000 steps, a rate that falls to zero by a cosine. Rates are chosen for each unit and
curve at k = 4, by that study's two pilots and its grid that grows; ten other seeds are
judged.

Errors are on 10,000 points, in the curve's deviations, of the weights as they are kept:
by AdamW those of the seed of median error alone.

*Predicted* the same day, at k = 8 on the five curves without a kink. By AdamW, medians:
the ReLU's second number gains at least 1.5 on three of them, and a factor in its place
at most 1.5 over it on each; SiLU alone is ahead of the ReLU's GLU on three; SiLU's
second number and SwiGLU are within 3 of SiLU alone on three. By the best weights ReLU
beside its square is ahead of the GLU on each.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from xsquared.data import Dataset, sampled
from xsquared.errors import sampled_rmse
from xsquared.functions import target
from xsquared.studies.experiment import make_trial, unit_of
from xsquared.studies.sweep import Study, Trial
from xsquared.studies.trainer_targets import KINDS, LATER, draw_points
from xsquared.studies.trainers import choose_rates, train
from xsquared.training import FreeKnots, Solver, VariableProjection, fit
from xsquared.training.adamw import as_parameters
from xsquared.units import GatedNetwork, Unit, build, find_unit, parameter_count

_TEXTS = {name: KINDS[name][0] for name in ("smooth", "oscillating", "kinked")} | LATER
#: Curves by their names in the study ``trainers``.
_TARGETS = {name: target(text, (-1.0, 1.0)) for name, text in _TEXTS.items()}
#: What the figure that moves calls them.
_TITLES = {
    "smooth": "a bump: 1/(1 + 9x²)",
    "oscillating": "a wave: sin 6x",
    "kinked": "a kink: |x − 0.3| + sin 3x",
    "later 1": "two waves and a bump",
    "later 2": "steeper waves",
    "later 3": "falling waves",
}
#: Each unit, a name or ``name:gate``, and what searches for its best weights.
UNITS: Mapping[str, str] = {
    "mlp": "free_knots",
    "pair": "free_knots",
    "glu": "free_knots",
    "mlp:silu": "varpro",
    "pair:silu": "varpro",
    "swiglu": "varpro",
}
SIZES = range(1, 9)
#: Parameters from one size to the next: fives of an MLP's neurons, threes of a GLU's.
_STEP = 15
#: The size at which AdamW's rates are chosen.
_MIDDLE = 4
_SEEDS = 10
#: Greatest slopes of a smooth gate, of which the best is taken.
_SHARPEST = (4.0, 16.0, 64.0)
_SEARCHES: dict[str, list[Solver]] = {
    "free_knots": [FreeKnots()],
    "varpro": [
        VariableProjection(300, ridge=1e-14, sharpest=sharp) for sharp in _SHARPEST
    ],
}
#: Seeds of each search.
_STARTS = 4
#: Significant digits of weights: what single and double precision need here.
_DIGITS = {"undecayed": 7, "best": 13}


def neurons(unit: str | Unit, size: int) -> int:
    """Count the neurons that have about 15 parameters times the size."""
    one_neuron = parameter_count(unit, 1, 1) - 1  # less the constant of the readout
    return round(_STEP * size / one_neuron)


def pair_from_glu(glu: GatedNetwork) -> GatedNetwork:
    """Write a GLU (1 -> n -> 1) as the same function of ReLUs beside their squares.

    Where a gate is z = G x + g, its factor U x + u is (U / G) z + u - U g / G.
    """
    G, g, U, u, D, d = (p.detach() for p in glu.parameters())
    slope = U[:, 0] / G[:, 0]  # (n,), of the factor as a function of z
    numbers = torch.cat([D[0] * (u - slope * g), D[0] * slope])  # (2n,)
    pair = build("pair", 1, glu.n_hidden)
    vector_to_parameters(torch.cat([G[:, 0], g, numbers, d]), pair.parameters())
    return pair


def _by_search(trial: Trial) -> Iterator[tuple[dict[str, Any], GatedNetwork]]:
    """Find weights of small error on every curve by four seeds of each search."""
    unit, solvers = unit_of(trial), _SEARCHES[trial["solver"]]
    from_glu = unit == find_unit("pair")
    searched = find_unit("glu") if from_glu else unit
    for name, curve in _TARGETS.items():
        data = sampled(curve, 1000)
        networks = []
        for solver in solvers:
            for seed in range(_STARTS):
                result = fit(data, searched, trial["n"], solver=solver, seed=seed)
                if result.network:
                    networks.append(result.network)
        best = min(networks, key=partial(sampled_rmse, target=curve))
        yield {"problem": name}, pair_from_glu(best) if from_glu else best


def _by_adamw(trial: Trial) -> Iterator[tuple[dict[str, Any], GatedNetwork]]:
    """Train all seeds on every curve, at every size, at rates chosen at one."""
    unit = unit_of(trial)
    rates = choose_rates(trial, build(unit, 1, neurons(unit, _MIDDLE)))
    cases = [
        (name, seed, rate) for name, rate in rates.items() for seed in range(_SEEDS)
    ]
    for size in trial["settings"]["sizes"]:
        module = build(unit, 1, neurons(unit, size))
        stack = train(trial, module, cases)
        for (name, seed, rate), weights in zip(cases, stack, strict=True):
            _unscale(module, weights, draw_points(name, "1 input", seed))
            network = build(unit, 1, module.n_hidden)
            vector_to_parameters(weights, network.parameters())
            yield {"problem": name, "seed": seed, "rate": rate}, network


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
    """Train a unit on every curve; keep the weights of median error as text."""
    protocol = trial["protocol"]
    search = _by_search if protocol == "best" else _by_adamw
    networks = []
    for known, network in search(trial):
        curve = _TARGETS[known["problem"]]
        vector = parameters_to_vector(network.parameters()).tolist()
        kept = [f"{weight:.{_DIGITS[protocol]}g}" for weight in vector]
        weights = torch.tensor([*map(float, kept)], dtype=torch.float64)
        vector_to_parameters(weights, network.parameters())
        measured = {
            "n": network.n_hidden,
            "parameters": len(kept),
            "test_rmse": sampled_rmse(network, curve) / sampled(curve).train.y.std(),
            "weights": " ".join(kept),
        }
        networks.append(known | measured)
    _forget_all_but_medians(networks)
    return {name: [network[name] for network in networks] for name in networks[0]}


def _forget_all_but_medians(networks: list[dict[str, Any]]) -> None:
    """Empty the weights of all seeds of a curve and width but the median one's."""
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for network in networks:
        groups.setdefault((network["problem"], network["n"]), []).append(network)
    for group in groups.values():
        group.sort(key=lambda network: network["test_rmse"])
        median = group[len(group) // 2]
        for network in group:
            if network is not median:
                network["weights"] = ""


def _adamw_trial(unit: str, sizes: list[int], **settings: Any) -> Trial:
    """Describe the training of a unit on all curves and at all sizes."""
    settings = {"targets": [*_TARGETS], "sizes": sizes} | settings
    return make_trial("1 input", unit, 0, "adamw", "undecayed", settings=settings)


def _sample() -> list[Trial]:
    beyond = max(SIZES) + 1  # a size that no other row has
    return [
        make_trial("1 input", "glu", neurons("glu", 2), "free_knots", "best"),
        _adamw_trial("pair:silu", [beyond], targets=["smooth"], steps=200),
    ]


def _all_trials() -> list[Trial]:
    best = [
        make_trial("1 input", unit, neurons(unit, size), solver, "best")
        for unit, solver in UNITS.items()
        for size in SIZES
    ]
    adamw = [_adamw_trial(unit, [*SIZES]) for unit in UNITS]
    return [*_sample()[1:], *best, *adamw]


CURVES = Study(
    "Six units at equal parameters on six curves, with their weights",
    {
        "best": "the best of four or twelve searches",
        "undecayed": "AdamW without decay from torch's start, batches of 64, 10,000"
        " steps, rate to zero by a cosine, chosen at 61 parameters; ten seeds",
    },
    _run_curves,
    _all_trials,
    _sample,
)


def curve_data(networks: pd.DataFrame) -> dict[str, Any]:
    """Collect each curve's values, and networks by way of training and unit.

    By AdamW the seed of median error stands for all; of the others the range is kept.

    Args:
        networks: rows of the study.

    Returns:
        By curve: ``title``, ``values`` at equidistant points, and by ``best`` or
        ``adamw`` and unit, as ``glu:relu``, a list of ``[parameters, error, weights,
        least error, greatest error]``, by size.
    """
    units = [find_unit(unit) for unit in UNITS]
    widths = {(unit, neurons(unit, size)) for unit in units for size in SIZES}
    data: dict[str, Any] = {}
    for name, title in _TITLES.items():
        values = _TARGETS[name](np.linspace(-1, 1, 241)).round(6)
        data[name] = {"title": title, "values": values.tolist()}
        for way in ("best", "adamw"):
            data[name][way] = {f"{unit.name}:{unit.activation}": [] for unit in units}
    by_network = networks.groupby(["problem", "protocol", "unit", "gate", "n"])
    for (name, protocol, unit, gate, n), seeds in by_network:
        if (find_unit(unit, gate), n) not in widths:  # the sample that tests repeat
            continue
        errors = seeds["test_rmse"]
        shown = seeds[seeds["weights"].notna()].iloc[0]
        entry = [
            int(shown["parameters"]),
            float(shown["test_rmse"]),
            shown["weights"],
            float(errors.min()),
            float(errors.max()),
        ]
        way = "best" if protocol == "best" else "adamw"
        data[name][way][f"{unit}:{gate}"].append(entry)
    return data
