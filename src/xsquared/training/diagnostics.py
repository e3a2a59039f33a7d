"""Why Newton's method, layer by layer, is slow: two quantities that show it.

*Alternation.* With frozen gates the GLU's output bias d is trained with D, in another layer than
V = D * U. After a step in V the residual is orthogonal to the columns B that V multiplies, and what
is left to gain is a multiple of w = 1 - P_B 1. A sweep multiplies it by one minus the ratio of the
squared lengths of w and of 1 - P_H 1, H being the columns of D. Where the constant lies in the
range of B, one sweep reaches the minimum; where it nearly does, w is tiny and sweeps hardly help.

*Hinges.* On fixed points the second derivative by a hinge's place misses what the hinge itself
contributes, for autodiff takes the derivative of the ReLU's step to be zero.
"""

from __future__ import annotations

import numpy as np
import torch

from xsquared.errors import measured_rmse
from xsquared.functions import Target
from xsquared.units import GatedNetwork, set_parameters

#: Distance for the central difference of the integral's loss.
_STEP = 1e-3


def alternation_factor(network: GatedNetwork, x: np.ndarray) -> float:
    """Factor by which a sweep over (D, d) and (U, u) multiplies the excess of the loss.

    Args:
        network: a GLU of one input; its gates are taken as frozen.
        x: (N,) points.

    Returns:
        0 where one sweep suffices, close to 1 where sweeps hardly help.
    """
    points = torch.from_numpy(np.asarray(x, dtype=np.float64))[:, None]
    with torch.no_grad():
        gates = torch.relu(points @ network.G.T + network.g).numpy()
        hidden = network.hidden(points).numpy()
    columns = np.concatenate([gates, gates * np.asarray(x)[:, None]], axis=1)
    one = np.ones(len(x))
    outside = _residual(columns, one)
    left = _residual(hidden, one)
    share = float(outside @ outside) / float(left @ left)
    # What rounding leaves of a constant that lies in the range counts as nothing left.
    return 0.0 if float(outside @ outside) < 1e-20 * len(x) else (1 - share) ** 2


def gate_curvature(network: GatedNetwork, target: Target, neuron: int) -> tuple[float, float]:
    """Second derivative of the mean square error by one gate's bias: autodiff's and the true one.

    Args:
        network: a ReLU network of one input and one output.
        target: a function of one variable.
        neuron: index of the gate.

    Returns:
        What autodiff gives on the paper's 10,000 points, and the central difference of the
        integral, whose quadrature nodes move with the hinge.

    Raises:
        ValueError: a neuron that the network has not.
    """
    if not 0 <= neuron < network.n_hidden:
        raise ValueError(f"expected a neuron from 0 to {network.n_hidden - 1}, got {neuron}")
    x = np.linspace(*target.domain[0], 10_000)
    points, values = torch.from_numpy(x)[:, None], torch.from_numpy(target(x))
    bias = network.g.detach().clone()

    def loss(shift: torch.Tensor) -> torch.Tensor:
        moved = bias + shift * torch.eye(len(bias), dtype=bias.dtype)[neuron]
        output = torch.func.functional_call(network, {"g": moved}, (points,))
        return torch.mean((output[:, 0] - values) ** 2)

    autodiff = torch.func.hessian(loss)(torch.zeros((), dtype=bias.dtype))
    losses = []
    try:
        for shift in (-_STEP, 0.0, _STEP):
            moved = bias.numpy().copy()
            moved[neuron] += shift
            set_parameters(network, g=moved)
            losses.append(measured_rmse(network, target) ** 2)
    finally:
        set_parameters(network, g=bias.numpy())
    return float(autodiff.detach()), (losses[0] - 2 * losses[1] + losses[2]) / _STEP**2


def _residual(columns: np.ndarray, right: np.ndarray) -> np.ndarray:
    """What the columns leave of a vector."""
    return right - columns @ np.linalg.lstsq(columns, right, rcond=1e-12)[0]
