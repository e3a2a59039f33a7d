"""A GLU without its gate is a symmetric feature map of degree two, and no more.

With x1 = [x; 1], an ungated GLU neuron is a product (g1 . x1)(u1 . x1) of two dot products, so the
whole layer is linear in the symmetric features of degree two of x1, however many neurons it has.
What the gate adds is everything else: relu(v) = (v + abs(v))/2, of which the first half is ungated.
"""

from __future__ import annotations

import numpy as np
import torch

from xsquared.feature_maps.tensor import TensorMap
from xsquared.units import GatedNetwork


def ungated(network: GatedNetwork, x: np.ndarray) -> np.ndarray:
    """The forward pass with the gate's activation taken away: (N, n_in) -> (N, n_out).

    Raises:
        ValueError: ``x`` has another shape.
    """
    gate, factor = _factors(network, x)
    return (gate * factor) @ network.D.detach().numpy().T + network.d.detach().numpy()


def gate_remainder(network: GatedNetwork, x: np.ndarray) -> np.ndarray:
    """What a ReLU gate adds to half the ungated network: the part with the absolute values.

    forward = d/2 + ungated/2 + this; (N, n_in) -> (N, n_out), errors as for :func:`ungated`.
    """
    gate, factor = _factors(network, x)
    return (np.abs(gate) * factor) @ network.D.detach().numpy().T / 2


def quadratic_features(x: np.ndarray) -> np.ndarray:
    """The symmetric features of degree two of [x; 1]: (N, n_in) -> (N, C(n_in + 2, 2)).

    Raises:
        ValueError: ``x`` is no matrix.
    """
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"expected points of shape (N, n_in), got {x.shape}")
    extended = torch.from_numpy(np.column_stack([x, np.ones(len(x))]))
    return TensorMap("symmetric", x.shape[1] + 1, np.array([0.0, 0.0, 1.0])).psi(extended).numpy()


def quadratic_weights(network: GatedNetwork) -> np.ndarray:
    """The matrix that turns :func:`quadratic_features` into :func:`ungated`.

    Returns:
        (n_out, C(n_in + 2, 2)).
    """
    values = _parameters(network)
    gate = np.column_stack([values["G"], values["g"]])
    factor = np.column_stack([values["U"], values["u"]])
    form = np.einsum("on,ni,nj->oij", values["D"], gate, factor)
    form[:, -1, -1] += values["d"]
    rows, columns = np.tril_indices(form.shape[1])
    both = form[:, rows, columns] + form[:, columns, rows]
    return np.where(rows == columns, both / 2, both)


def _parameters(network: GatedNetwork) -> dict[str, np.ndarray]:
    return {letter: value.detach().numpy() for letter, value in network.named_parameters()}


def _factors(network: GatedNetwork, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two affine factors of each neuron, gate and linear: (N, n) each."""
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] != network.n_in:
        raise ValueError(f"expected points of shape (N, {network.n_in}), got {x.shape}")
    values = _parameters(network)
    return x @ values["G"].T + values["g"], x @ values["U"].T + values["u"]
