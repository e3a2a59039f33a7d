"""Figs. 3 and 5 of the gated-units paper by the code that its author had in public that
week.

His repository at commit 538ce4a (13 February 2026, the day of Fig. 5) trains in stages:
Newton steps of the readout, of each factor, of the gates, and then of all weights, each
along a line search. The linear stages end where one exact solve ends. The code's target
is another one, and the paper's stands in its place.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import scipy.linalg
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.optim.lbfgs import _strong_wolfe

from xsquared.functions import PAPER_TARGET
from xsquared.studies.published import FACTORS, Layers, measured_rmse, solve_in_turn
from xsquared.studies.speedrun import line_points, spline_start
from xsquared.studies.sweep import Study, Trial

#: By protocol: Newton steps of the gates and then of all weights, and what they are.
#: The numbers are the code's own.
PROTOCOLS: Mapping[str, tuple[int, int, str]] = {
    "splines": (0, 0, "2026-11-28: a spline start; readout and factors solved in turn"),
    "gates": (3, 0, "2026-11-28: the same, then 3 Newton steps of the gates"),
    "all": (3, 100, "2026-11-28: the same, then 100 Newton steps of all weights"),
}
#: Widths of the paper's figures.
LINE_WIDTHS = range(3, 51)
#: Least diagonal of a Hessian that the code's preconditioner divides by.
LEAST_DIAGONAL = 1e-12


def run_published_line(trial: Trial) -> dict[str, Any]:
    """Train one network of one input; ``test_rmse`` is on 2,000 equidistant points."""
    (x, y), grid = line_points(PAPER_TARGET, trial["seed"])
    network = spline_start(trial["unit"], trial["n"], trial["seed"])
    solve_in_turn(network, x, y, "gelsd")
    gate_steps, all_steps, _ = PROTOCOLS[trial["protocol"]]
    taken = newton(network, x, y, [network.gate], gate_steps)
    if taken == gate_steps:
        taken += newton(network, x, y, _layers(network), all_steps)
    return {
        "points": len(y),
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "train_rmse": measured_rmse(network, x, y),
        "test_rmse": measured_rmse(network, *grid),
        "iterations": taken,
        "status": "completed" if taken == gate_steps + all_steps else "stalled",
    }


def newton(
    network: Layers,
    x: torch.Tensor,
    y: torch.Tensor,
    layers: Sequence[nn.Module],
    steps: int,
) -> int:
    """Take Newton steps of some layers along a line search; give how many before one
    was singular.

    The Hessian is scaled by its diagonal, and rows without an entry are left out. Where
    the step is no descent the steepest one stands in.
    """
    parameters = [parameter for layer in layers for parameter in layer.parameters()]

    def loss_and_gradient(vector: torch.Tensor) -> tuple[float, torch.Tensor]:
        vector_to_parameters(vector, parameters)
        residual = network(x) - y
        gradient = 2 * jacobian(network, x, layers).T @ residual / len(y)
        return float(residual.square().mean()), gradient

    with torch.no_grad():
        vector = parameters_to_vector(parameters)
        for taken in range(steps):
            loss, gradient = loss_and_gradient(vector)
            try:
                step = _newton_step(hessian(network, x, y, layers), gradient)
            except np.linalg.LinAlgError:
                return taken
            if not gradient @ step < 0:
                step = -gradient
            *_, length, _ = _strong_wolfe(
                lambda start, length, step: loss_and_gradient(start + length * step),
                vector, 1.0, step, loss, gradient, gradient @ step,
            )  # fmt: skip
            vector = vector + length * step
        vector_to_parameters(vector, parameters)
    return steps


def jacobian(
    network: Layers, x: torch.Tensor, layers: Sequence[nn.Module]
) -> torch.Tensor:
    """Differentiate outputs (m,) by the layers' weights and biases, in torch's order."""
    values = _values(network, x)
    columns = []
    for layer in layers:
        others = _product(values, {layer})
        columns += [slope * others for slope in _slopes(network, layer, x)]
        if layer is network.readout:
            columns.append(torch.ones_like(x))
    return torch.hstack(columns)


def hessian(
    network: Layers, x: torch.Tensor, y: torch.Tensor, layers: Sequence[nn.Module]
) -> torch.Tensor:
    """Differentiate the mean square error twice: only layers of one neuron meet beyond
    J'J.

    The output is a sum over neurons of a product over layers, each piecewise linear in
    its own weights, so that second derivatives are between two layers of one neuron.
    """
    values = _values(network, x)
    rows = jacobian(network, x, layers)
    second = rows.T @ rows
    residual = (network(x) - y)[:, None]
    n = network.gate.out_features
    offset = dict(zip(layers, np.cumsum([0, *(2 * n for _ in layers)]), strict=False))
    for one, other in combinations(layers, 2):
        common = residual * _product(values, {one, other})
        for k, slope in enumerate(_slopes(network, one, x)):
            for j, across in enumerate(_slopes(network, other, x)):
                row = offset[one] + k * n + np.arange(n)
                column = offset[other] + j * n + np.arange(n)
                entries = (common * slope * across).sum(dim=0)
                second[row, column] += entries
                second[column, row] += entries
    return 2 * second / len(y)


def _layers(network: Layers) -> list[nn.Module]:
    return [network.gate, *network.factors, network.readout]


def _values(network: Layers, x: torch.Tensor) -> dict[nn.Module, torch.Tensor]:
    """By layer, what it multiplies a neuron by, (m, n) or (1, n)."""
    factors = {factor: factor(x) for factor in network.factors}
    gate = torch.relu(network.gate(x))
    return {network.gate: gate, **factors, network.readout: network.readout.weight}


def _slopes(network: Layers, layer: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    """Derivatives of a layer's value by its weights, and by its biases where it has
    them.
    """
    n = network.gate.out_features
    if layer is network.readout:
        return [torch.ones(1, n, dtype=x.dtype)]
    on = (
        (network.gate(x) > 0).to(x)
        if layer is network.gate
        else torch.ones(1, n, dtype=x.dtype)
    )
    return [on * x, on]


def _product(
    values: Mapping[nn.Module, torch.Tensor], but: set[nn.Module]
) -> torch.Tensor:
    product = torch.ones(())
    for layer, value in values.items():
        if layer not in but:
            product = product * value
    return product


def _newton_step(second: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    kept = (second != 0).any(dim=1)
    reduced = second[kept][:, kept]
    scale = reduced.diagonal().abs().clamp(min=LEAST_DIAGONAL).rsqrt()
    scaled = (reduced * scale * scale[:, None]).numpy()
    solution = scipy.linalg.solve(
        scaled, -(scale * gradient[kept]).numpy(), assume_a="sym"
    )
    step = torch.zeros_like(gradient)
    step[kept] = scale * torch.from_numpy(solution)
    return step


def published_line_trials(
    protocol: str, widths: Sequence[int] = LINE_WIDTHS, seed: int = 0
) -> list[Trial]:
    """List MLP, GLU and GQU at every width by one protocol, on the paper's target."""
    same = {"problem": "line", "protocol": protocol, "settings": {}, "seed": seed}
    return [{**same, "unit": unit, "n": n} for unit in FACTORS for n in widths]


PUBLISHED_LINE = Study(
    "Figs. 3 and 5 of the gated-units paper by its author's public code of that week",
    {name: text for name, (*_, text) in PROTOCOLS.items()},
    run_published_line,
    lambda: [
        *published_line_trials("splines"),
        *published_line_trials("gates"),
        *published_line_trials("all", LINE_WIDTHS[::6]),  # seconds a network
    ],
    # Newton steps of the gates amplify the last bits.
    lambda: published_line_trials("splines", (4, 10)),
)
