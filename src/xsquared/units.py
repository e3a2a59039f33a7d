"""MLP, GLU and GQU as torch modules, and the splines hidden in them.

All three are one idea: an activated gate times zero, one or two affine factors, then a linear
readout,

    y = d + D (act(G x + g) * (U x + u) * (Q x + q)),

so a ReLU gate makes each neuron a one-sided polynomial of degree 1, 2 or 3. Parameters keep the
letters of the gated-units paper (Eqs. 1 and 15): G, g gate; U, u and Q, q factors; D, d readout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

#: Gate activations by name.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": nn.functional.relu,
    "gelu": nn.functional.gelu,
    "silu": nn.functional.silu,
}

#: Points of one forward pass in :func:`predict`: more would fall out of the processor's cache.
_ROWS = 1024


class GatedNetwork(nn.Module):
    """What the three units share; use :class:`MLP`, :class:`GLU` or :class:`GQU`.

    Args:
        n_in: input dimension, at least 1.
        n_hidden: number of neurons n, at least 1.
        n_out: output dimension, at least 1.
        activation: gate activation, a key of :data:`ACTIVATIONS`.

    Parameters are float64 and start standard normal, from torch's default generator.

    Raises:
        ValueError: a dimension below 1 or an unknown activation.
    """

    #: Letters of the affine factors (weight, bias) that multiply the gate.
    factors: ClassVar[tuple[tuple[str, str], ...]] = ()

    G: nn.Parameter
    g: nn.Parameter
    D: nn.Parameter
    d: nn.Parameter

    def __init__(self, n_in: int, n_hidden: int, n_out: int = 1, activation: str = "relu") -> None:
        super().__init__()
        _check_sizes(n_in, n_hidden, n_out)
        if activation not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise ValueError(f"unknown activation {activation!r}; known are {known}")
        self.activation = activation
        for weight, bias in (("G", "g"), *self.factors):
            self.register_parameter(weight, _normal(n_hidden, n_in))
            self.register_parameter(bias, _normal(n_hidden))
        self.D = _normal(n_out, n_hidden)
        self.d = _normal(n_out)

    @property
    def n_in(self) -> int:
        """Input dimension."""
        return self.G.shape[1]

    @property
    def n_hidden(self) -> int:
        """Number of neurons."""
        return self.G.shape[0]

    @property
    def n_out(self) -> int:
        """Output dimension."""
        return self.D.shape[0]

    def hidden(self, x: Tensor) -> Tensor:
        """Gate times factors, before the readout: (N, n_in) -> (N, n_hidden)."""
        value = ACTIVATIONS[self.activation](x @ self.G.T + self.g)
        for weight, bias in self.factors:
            value = value * (x @ getattr(self, weight).T + getattr(self, bias))
        return value

    def forward(self, x: Tensor) -> Tensor:
        """The network's values: (N, n_in) -> (N, n_out).

        Raises:
            ValueError: ``x`` has another shape.
        """
        if x.ndim != 2 or x.shape[1] != self.n_in:
            raise ValueError(f"expected input of shape (N, {self.n_in}), got {tuple(x.shape)}")
        return self.hidden(x) @ self.D.T + self.d


class MLP(GatedNetwork):
    """One hidden layer, y = d + D act(G x + g): piecewise linear for a ReLU gate."""


class GLU(GatedNetwork):
    """Gated linear unit, y = d + D (act(G x + g) * (U x + u)): piecewise quadratic (Eq. 1)."""

    factors = (("U", "u"),)


class GQU(GatedNetwork):
    """Gated quadratic unit, the GLU with a second affine factor Q x + q: cubic (Eq. 15)."""

    factors = (("U", "u"), ("Q", "q"))


#: The units by name.
UNITS: dict[str, type[GatedNetwork]] = {"mlp": MLP, "glu": GLU, "gqu": GQU}


def unit_class(unit: str) -> type[GatedNetwork]:
    """The class of that name.

    Raises:
        ValueError: an unknown name.
    """
    if unit not in UNITS:
        raise ValueError(f"unknown unit {unit!r}; known are {', '.join(UNITS)}")
    return UNITS[unit]


def build(
    unit: str, n_in: int, n_hidden: int, n_out: int = 1, activation: str = "relu"
) -> GatedNetwork:
    """A network by the unit's name, with the arguments of :class:`GatedNetwork`."""
    return unit_class(unit)(n_in, n_hidden, n_out, activation)


def parameter_count(unit: str, n_in: int, n_hidden: int, n_out: int = 1) -> int:
    """Number of parameters P by the paper's formulas (section 3).

    P = (dim_x + dim_y + 1) n + dim_y for the MLP and (2 dim_x + dim_y + 2) n + dim_y for the GLU;
    each further factor adds (dim_x + 1) n.

    Raises:
        ValueError: an unknown unit or a dimension below 1.
    """
    factors = len(unit_class(unit).factors)
    _check_sizes(n_in, n_hidden, n_out)
    return ((1 + factors) * (n_in + 1) + n_out) * n_hidden + n_out


def predict(network: GatedNetwork, x: np.ndarray) -> np.ndarray:
    """The forward pass on a numpy array, for networks of one output.

    Args:
        network: the module.
        x: (N,) for one input, or (N, n_in).

    Returns:
        (N,) values.

    Raises:
        ValueError: more than one output, or a wrong shape.
    """
    if network.n_out != 1:
        raise ValueError(f"predict needs a network of one output, got {network.n_out}")
    points = torch.tensor(np.asarray(x, dtype=np.float64))
    if points.ndim == 1:
        points = points[:, None]
    with torch.no_grad():
        return torch.cat([network(part) for part in points.split(_ROWS)])[:, 0].numpy()


def set_parameters(network: GatedNetwork, **values: np.ndarray | Sequence[float]) -> None:
    """Write weights into a network, in place.

    Args:
        network: the module.
        values: arrays by the parameter's letter, each of the parameter's shape.

    Raises:
        ValueError: an unknown letter, a wrong shape, or an entry that is not finite.
    """
    parameters = dict(network.named_parameters())
    for letter, value in values.items():
        if letter not in parameters:
            raise ValueError(f"no parameter {letter!r}; known are {', '.join(parameters)}")
        array = np.asarray(value, dtype=np.float64)
        expected = tuple(parameters[letter].shape)
        if array.shape != expected:
            raise ValueError(f"{letter} must have shape {expected}, got {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{letter} must be finite, got {array[~np.isfinite(array)][0]}")
        with torch.no_grad():
            parameters[letter].copy_(torch.from_numpy(array))


def _normal(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(*shape, dtype=torch.float64))


def _check_sizes(n_in: int, n_hidden: int, n_out: int) -> None:
    for name, value in (("n_in", n_in), ("n_hidden", n_hidden), ("n_out", n_out)):
        if not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} must be an integer of at least 1, got {value!r}")
