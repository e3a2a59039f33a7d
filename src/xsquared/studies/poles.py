"""Where trained gates have their poles, beside those of the target, with one input.

Protocol of 2026-11-28, fixed before the first row. The target has one pair of poles,
whose residue is neither real nor imaginary. *Units*, of 29 or 31 parameters: SiLU
alone, 10 neurons; SiLU(z) beside z SiLU(z), 7; SwiGLU, 6. *Points*: 400, equidistant,
for training and judging.

``varpro``: variable projection as in the study ``two_numbers``, from its eight starts.
``adamw``, ``soap`` and ``solved`` train the unit with two numbers of one gate: torch's
start, eight seeds, 4,000 batches of 64 points, the rate rising over the first fiftieth
of the steps and falling along half a cosine, nothing decays. ``solved`` is AdamW of the
gates with the readout solved at every step from Gram matrices averaged over steps, and
once on all points at the end. Rates are half decades from 0.01 to 10, a grid widened
after a first run in which its ends were chosen; the one with the least mean log error
is kept.

*Predicted before the first run.* AdamW leaves the nearest gate of its best network more
than 0.01 from the pole, and an error above 0.001 of the deviation. SOAP has at most a
third of AdamW's best error, a solved readout at most a tenth, and none comes within ten
times of variable projection.
"""

from typing import Any

import torch
from torch import Tensor

from xsquared.data import sampled
from xsquared.studies.experiment import make_trial, target_of, unit_of
from xsquared.studies.optimisers import Soap
from xsquared.studies.solved_readout import averaged_losses, resolved
from xsquared.studies.sweep import Study, Trial
from xsquared.studies.two_numbers import STARTS, fit_from_start
from xsquared.training.adamw import (
    as_parameters,
    batch_losses,
    outputs,
    torch_start,
    train_stack,
)
from xsquared.units import GatedNetwork, build, parameter_count

#: A pole at 0.3 + 0.2i with the residue 0.5 - 0.5i.
_TARGET = "(x - 0.1)/((x - 0.3)**2 + 0.04)"
#: Units searched by variable projection, and their neurons.
_UNITS = {"mlp": 10, "pair": 7, "swiglu": 6}
_TRAINERS = ("adamw", "soap", "solved")
#: Rates, as powers of ten.
_RATES = (-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0)
_STEPS = 4000
_BATCH = 64
#: What remains of averaged Gram matrices at each step, as in the study ``map``.
_KEEP = 0.99
#: Ridge of the last solve, on features of length one.
_RIDGE = 1e-12
_POINTS = 400


def _run_poles(trial: Trial) -> dict[str, list[Any]]:
    """Train a unit from every start; give errors over the deviation, and gates."""
    data = sampled(target_of(trial), _POINTS)
    unit, n = unit_of(trial), trial["n"]
    x = torch.from_numpy(data.train.x)
    y = torch.from_numpy(data.train.y / data.train.y.std())
    if trial["solver"] == "varpro":
        networks = [fit_from_start(unit, n, x, y, seed)[0] for seed in range(STARTS)]
        gates = [(network.G[:, 0], network.g) for network in networks]
        with torch.no_grad():
            missed = [network(x)[:, 0] - y for network in networks]
        errors = [float(rest.square().mean().sqrt()) for rest in missed]
        rate = float("nan")
    else:
        module = build(unit, 1, n)
        weights, best, rate = _first_order(trial["solver"], module, x, y)
        own = as_parameters(module, weights)
        gates = list(zip(own["G"][..., 0], own["g"], strict=True))
        errors = best.tolist()
    texts = [" ".join(f"{w:.7g}" for w in torch.cat(pair).tolist()) for pair in gates]
    return {
        "seed": list(range(STARTS)),
        "rate": [rate] * STARTS,
        "parameters": [parameter_count(unit, 1, n)] * STARTS,
        "test_rmse": errors,
        "gates_trained": texts,
    }


def _first_order(
    trainer: str, module: GatedNetwork, x: Tensor, y: Tensor
) -> tuple[Tensor, Tensor, float]:
    """Train a stack of rates times seeds; weights (K, P), errors (K,) of the best."""
    rates = torch.tensor([10**e for e in _RATES for _ in range(STARTS)]).double()
    start = torch_start(module, range(STARTS)).double().repeat(len(_RATES), 1)
    points = x.expand(len(start), -1, -1)
    values = y[None, :, None].expand(len(start), -1, -1)
    losses = batch_losses(module, points, values, _BATCH)
    if trainer == "solved":
        losses = averaged_losses(module, points, values, _BATCH, _KEEP, factor=False)
    optimiser = Soap(module) if trainer == "soap" else None
    weights = train_stack(start, losses, rates, _STEPS, 0.0, optimiser)
    if trainer == "solved":
        (weights,) = resolved(module, weights, points, values, [_RIDGE], factor=False)
    missed = outputs(module, weights, points) - values
    errors = missed.square().mean(dim=(1, 2)).sqrt().nan_to_num(torch.inf)
    by_rate = errors.reshape(len(_RATES), STARTS)
    best = int(by_rate.log().mean(dim=1).argmin())
    return weights.split(STARTS)[best], by_rate[best], 10 ** _RATES[best]


def poles_trials(problem: str = _TARGET) -> list[Trial]:
    """List the searches of three units, and the first-order trainers of one."""
    runs = [(unit, n, "varpro") for unit, n in _UNITS.items()]
    runs += [("pair", _UNITS["pair"], trainer) for trainer in _TRAINERS]
    return [
        make_trial(
            problem,
            unit,
            n,
            solver,
            "poles",
            gate="silu",
            domain=[(-1, 1)],
            split="paper",
        )
        for unit, n, solver in runs
    ]


POLES = Study(
    "Where trained gates have their poles, by unit and trainer",
    {"poles": "eight starts, 400 points; first-order trainers: 4,000 batches of 64"},
    _run_poles,
    poles_trials,
    # AdamW's, the same on processors with AVX2; all trials amplify rounding.
    lambda: poles_trials()[3:4],
)
