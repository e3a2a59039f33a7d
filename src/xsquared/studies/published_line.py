"""Figs. 3 and 5 of the gated-units paper by its author's public code of that week.

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
from xsquared.studies.published import FACTORS, Layers, rmse_at, solve_in_turn
from xsquared.studies.speedrun import line_points, spline_start
from xsquared.studies.sweep import Study, Trial

#: Newton steps of the gates and then of all weights by protocol, the code's numbers.
_STEPS: Mapping[str, tuple[int, int]] = {
    "splines": (0, 0),
    "gates": (3, 0),
    "all": (3, 100),
}
#: Widths of the paper's figures.
_LINE_WIDTHS = range(3, 51)
#: Least diagonal of a Hessian that the code's preconditioner divides by.
_LEAST_DIAGONAL = 1e-12


def _run_published_line(trial: Trial) -> dict[str, Any]:
    """Train one network of one input; ``test_rmse`` is on 2,000 equidistant points."""
    (x, y), grid = line_points(PAPER_TARGET, trial["seed"])
    network = spline_start(trial["unit"], trial["n"], trial["seed"])
    solve_in_turn(network, x, y, "gelsd")
    gate_steps, all_steps = _STEPS[trial["protocol"]]
    taken = newton(network, x, y, [network.gate], gate_steps)
    if taken == gate_steps:
        layers = [network.gate, *network.factors, network.readout]
        taken += newton(network, x, y, layers, all_steps)
    return {
        "points": len(y),
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "train_rmse": rmse_at(network, x, y),
        "test_rmse": rmse_at(network, *grid),
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
    """Take Newton steps of some layers, each along a line search.

    The search is torch's for Wolfe's strong conditions, as in the author's code. Far
    from a minimum the Hessian is indefinite, and Newton's step may lead uphill; the
    steepest descent then stands in.

    Args:
        network: changed in place.
        x: inputs (m, 1).
        y: values to fit (m,).
        layers: whose weights and biases move together.
        steps: at most.

    Returns:
        How many steps were taken: fewer than asked for where a Hessian is singular.
    """
    parameters = [parameter for layer in layers for parameter in layer.parameters()]

    def loss_and_gradient(vector: torch.Tensor) -> tuple[float, torch.Tensor]:
        vector_to_parameters(vector, parameters)
        residual = network(x) - y
        gradient = 2 * jacobian(network, x, layers).T @ residual / len(y)
        return float(residual.square().mean()), gradient

    def along(
        start: torch.Tensor, length: float, direction: torch.Tensor
    ) -> tuple[float, torch.Tensor]:
        return loss_and_gradient(start + length * direction)

    with torch.no_grad():
        vector = parameters_to_vector(parameters)
        for taken in range(steps):
            loss, gradient = loss_and_gradient(vector)
            try:
                step = _newton_step(hessian(network, x, y, layers), gradient)
            except np.linalg.LinAlgError:
                return taken
            slope = gradient @ step
            if not slope < 0:
                step = -gradient
                slope = gradient @ step
            first_length = 1.0  # the whole step
            _, _, length, _ = _strong_wolfe(
                along, vector, first_length, step, loss, gradient, slope
            )
            vector = vector + length * step
        vector_to_parameters(vector, parameters)
    return steps


def jacobian(
    network: Layers, x: torch.Tensor, layers: Sequence[nn.Module]
) -> torch.Tensor:
    """Differentiate outputs by the weights and biases of some layers.

    Neuron i adds the product of its layers' values, v_1i v_2i ...: of its gate, its
    factors, and its weight in the readout. By an entry of layer l it has the derivative
    v_li' times the values of the other layers.

    Args:
        network: of one input.
        x: inputs (m, 1).
        layers: the readout last, if it is among them.

    Returns:
        (m, parameters) in torch's order: layer by layer, weights before biases.
    """
    values = _values(network, x)
    columns = []
    for layer in layers:
        others = _product(values, {layer})
        columns += [slope * others for slope in _slopes(network, layer, x)]
        if layer is network.readout:
            columns.append(torch.ones_like(x))  # by the bias d
    return torch.hstack(columns)


def hessian(
    network: Layers, x: torch.Tensor, y: torch.Tensor, layers: Sequence[nn.Module]
) -> torch.Tensor:
    """Differentiate the mean square error twice by weights and biases of some layers.

    With residuals r (m,) and their Jacobian J it is 2/m (J'J + sum_p r_p r_p''). A
    neuron is a product of its layers' values, each piecewise linear in its own weights.
    So r_p'' has entries between two layers l, k of one neuron only: v_l' v_k' times the
    values of the others.

    Arguments are as for :func:`jacobian`, with values to fit y (m,).

    Returns:
        (parameters, parameters), in the order of the Jacobian's columns.
    """
    values = _values(network, x)
    rows = jacobian(network, x, layers)
    total = rows.T @ rows
    residual = (network(x) - y)[:, None]  # (m, 1)
    n = network.gate.out_features
    starts = {layer: _parameters_before(layers, layer) for layer in layers}
    for left, right in combinations(layers, 2):
        common = residual * _product(values, {left, right})  # (m, n)
        for j, left_slope in enumerate(_slopes(network, left, x)):
            for k, right_slope in enumerate(_slopes(network, right, x)):
                row = starts[left] + j * n + np.arange(n)
                column = starts[right] + k * n + np.arange(n)
                entries = (common * left_slope * right_slope).sum(dim=0)  # (n,)
                total[row, column] += entries
                total[column, row] += entries
    return 2 * total / len(y)


def _parameters_before(layers: Sequence[nn.Module], layer: nn.Module) -> int:
    """Count the weights and biases of all layers before one of them."""
    before = layers[: layers.index(layer)]
    return sum(p.numel() for other in before for p in other.parameters())


def _values(network: Layers, x: torch.Tensor) -> dict[nn.Module, torch.Tensor]:
    """Evaluate what each layer multiplies neurons by, (m, n), or (1, n) the readout."""
    factors = {factor: factor(x) for factor in network.factors}
    gate = torch.relu(network.gate(x))
    return {network.gate: gate, **factors, network.readout: network.readout.weight}


def _slopes(network: Layers, layer: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    """Differentiate a layer's value in each neuron by its weight, and by its bias.

    The readout's value is its weight, so that it has one derivative; others have two,
    (m, n) for a gate that is on or off, or as broadcasts with it.
    """
    everywhere = torch.ones(1, network.gate.out_features, dtype=x.dtype)
    if layer is network.readout:
        return [everywhere]
    if layer is network.gate:
        on = (network.gate(x) > 0).to(x)
        return [on * x, on]
    return [everywhere * x, everywhere]


def _product(
    values: Mapping[nn.Module, torch.Tensor], but: set[nn.Module]
) -> torch.Tensor:
    """Multiply the values of all layers but some, (m, n)."""
    product = torch.ones(())
    for layer, value in values.items():
        if layer not in but:
            product = product * value
    return product


def _newton_step(second: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    """Solve second step = -gradient, the Hessian scaled by its diagonal.

    With S = diag(|second|)^(-1/2), as in the code's preconditioner, (S second S) z =
    -S gradient and step = S z: the same step but for rounding. Parameters without an
    entry, those of gates that are off at every point, stay.

    Raises:
        numpy.linalg.LinAlgError: the matrix is singular.
    """
    kept = (second != 0).any(dim=1)
    reduced = second[kept][:, kept]
    scale = reduced.diagonal().abs().clamp(min=_LEAST_DIAGONAL).rsqrt()
    scaled = reduced * scale * scale[:, None]
    right = -(scale * gradient[kept])
    solution = scipy.linalg.solve(scaled.numpy(), right.numpy(), assume_a="sym")
    step = torch.zeros_like(gradient)
    step[kept] = scale * torch.from_numpy(solution)
    return step


def _published_line_trials(protocol: str, widths: Sequence[int]) -> list[Trial]:
    """List MLP, GLU and GQU at every width by one protocol, on the paper's target."""
    return [
        {
            "problem": "line",
            "protocol": protocol,
            "settings": {},
            "seed": 0,
            "unit": unit,
            "n": n,
        }
        for unit in FACTORS
        for n in widths
    ]


def _all_trials() -> list[Trial]:
    """List every width but where all weights move: seconds a network, so each sixth."""
    return [
        *_published_line_trials("splines", _LINE_WIDTHS),
        *_published_line_trials("gates", _LINE_WIDTHS),
        *_published_line_trials("all", _LINE_WIDTHS[::6]),
    ]


def _sample() -> list[Trial]:
    """List some of one solve: Newton steps of the gates amplify the last bits."""
    return _published_line_trials("splines", (4, 10))


PUBLISHED_LINE = Study(
    "Figs. 3 and 5 of the gated-units paper by its author's public code of that week",
    {
        "splines": "2026-11-28: a spline start; readout and factors solved in turn",
        "gates": "2026-11-28: the same, then 3 Newton steps of the gates",
        "all": "2026-11-28: the same, then 100 Newton steps of all weights",
    },
    _run_published_line,
    _all_trials,
    _sample,
)
