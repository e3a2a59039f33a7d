"""MLP, GLU and GQU as torch modules, and the splines hidden in them.

All three are one idea: an activated gate times zero, one or two affine factors, then a linear
readout,

    y = d + D (act(G x + g) * (U x + u) * (Q x + q)),

so a ReLU gate makes each neuron a one-sided polynomial of degree 1, 2 or 3. Parameters keep the
letters of the gated-units paper (Eqs. 1 and 15): G, g gate; U, u and Q, q factors; D, d readout.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from xsquared.functions import check_interval

#: Gate activations by name.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": nn.functional.relu,
    "gelu": nn.functional.gelu,
    "silu": nn.functional.silu,
}

#: Points of one forward pass in :func:`predict`: more would fall out of the processor's cache.
_ROWS = 1024

Orientation = Literal["one-way", "alternating"]


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


def neuron_contributions(network: GatedNetwork, x: np.ndarray) -> np.ndarray:
    """What each neuron adds to each output, D included and d left out.

    Args:
        network: the module.
        x: (N,) for one input, or (N, n_in).

    Returns:
        (N, n_hidden, n_out); the sum over neurons plus d is the forward pass.

    Raises:
        ValueError: a wrong shape.
    """
    points = np.asarray(x, dtype=np.float64)
    if points.ndim == 1:
        points = points[:, None]
    if points.ndim != 2 or points.shape[1] != network.n_in:
        raise ValueError(f"expected points of shape (N, {network.n_in}), got {points.shape}")
    with torch.no_grad():
        hidden = network.hidden(torch.from_numpy(points))
        return (hidden[:, :, None] * network.D.T[None]).numpy()


def neuron_polynomials(network: GatedNetwork) -> np.ndarray:
    """Coefficients of each open neuron's polynomial in x (the paper's Eq. 2, for any unit).

    Args:
        network: a network of one input and one output.

    Returns:
        (n_hidden, degree + 1), the constant term first; degree is 1, 2 or 3.

    Raises:
        ValueError: more than one input or output, or a gate other than ReLU.
    """
    _require_spline(network)
    if network.n_out != 1:
        raise ValueError(f"expected a network of one output, got {network.n_out}")
    affine = [
        np.stack([_array(network, bias), _array(network, weight)[:, 0]], axis=1)
        for weight, bias in (("G", "g"), *network.factors)
    ]
    rows = []
    for neuron in range(network.n_hidden):
        row = np.array([_array(network, "D")[0, neuron]])
        for pairs in affine:
            row = np.convolve(row, pairs[neuron])
        rows.append(row)
    return np.array(rows)


def knots(network: GatedNetwork) -> np.ndarray:
    """Where the gates of a one-dimensional ReLU network open or close: -g/G, ascending.

    Args:
        network: a network of one input.

    Returns:
        Shape (m,), m at most n_hidden, as a gate with G = 0 has no knot.

    Raises:
        ValueError: more than one input, or a gate other than ReLU.
    """
    _require_spline(network)
    slope, bias = _array(network, "G")[:, 0], _array(network, "g")
    hinged = slope != 0
    return np.sort(-bias[hinged] / slope[hinged])


@dataclass(frozen=True)
class Hinge:
    """The straight piece of one neuron's hinge that lies in a box.

    Attributes:
        neuron: index of the neuron.
        start: one end, (2,).
        end: the other end, (2,).
    """

    neuron: int
    start: tuple[float, float]
    end: tuple[float, float]


def hinge_segments(
    network: GatedNetwork, box: tuple[tuple[float, float], tuple[float, float]]
) -> list[Hinge]:
    """The lines G x + g = 0 of a network on the plane, clipped exactly to a box (appendix B).

    Args:
        network: a network of two inputs.
        box: ``((x_min, x_max), (y_min, y_max))``.

    Returns:
        One segment per neuron whose line passes through the box, in the neurons' order.

    Raises:
        ValueError: another input dimension, or an empty or infinite box.
    """
    if network.n_in != 2:
        raise ValueError(f"hinge lines need a network of two inputs, got {network.n_in}")
    for a, b in box:
        check_interval(a, b)
    (x_min, x_max), (y_min, y_max) = box
    low, high = np.array([x_min, y_min]), np.array([x_max, y_max])
    found = []
    for neuron, (normal, offset) in enumerate(
        zip(_array(network, "G"), _array(network, "g"), strict=True)
    ):
        squared = float(normal @ normal)
        if squared == 0:
            continue
        # Liang-Barsky: point + t direction, t narrowed by each pair of parallel sides.
        point = -offset * normal / squared
        direction = np.array([-normal[1], normal[0]])
        t_low, t_high = -np.inf, np.inf
        for axis in range(2):
            if direction[axis] == 0:
                if not low[axis] <= point[axis] <= high[axis]:
                    t_low, t_high = 1.0, 0.0
                continue
            ends = sorted(
                (side - point[axis]) / direction[axis] for side in (low[axis], high[axis])
            )
            t_low, t_high = max(t_low, ends[0]), min(t_high, ends[1])
        if t_low < t_high:
            start, end = point + t_low * direction, point + t_high * direction
            found.append(
                Hinge(neuron, (float(start[0]), float(start[1])), (float(end[0]), float(end[1])))
            )
    return found


def count_cells(network: GatedNetwork, box: tuple[tuple[float, float], tuple[float, float]]) -> int:
    """Number of cells into which the hinge lines cut a box: 1 + lines + crossings inside it.

    Counted for lines in general position: no three through one point, none coinciding.

    Raises:
        ValueError: as in :func:`hinge_segments`.
    """
    hinges = hinge_segments(network, box)
    weights, biases = _array(network, "G"), _array(network, "g")
    crossings = 0
    for one, other in itertools.combinations(hinges, 2):
        rows = [one.neuron, other.neuron]
        if np.linalg.matrix_rank(weights[rows]) < 2:
            continue
        x, y = np.linalg.solve(weights[rows], -biases[rows])
        crossings += int(box[0][0] < x < box[0][1] and box[1][0] < y < box[1][1])
    return 1 + len(hinges) + crossings


def spline_gates(
    n: int, domain: tuple[float, float], orientation: Orientation
) -> tuple[np.ndarray, np.ndarray]:
    """Gates whose hinges are n equidistant points of an interval, ends included (Fig. 8).

    Args:
        n: number of gates, at least 2; the spacing is (b - a)/(n - 1), not (b - a)/n.
        domain: the interval (a, b).
        orientation: ``"one-way"``, all gates open to the right (G = 1), or ``"alternating"``, the
            first opens to the right, the second to the left, and so on, so that every point of the
            line lies on the open side of some gate once n > 2.

    Returns:
        G (n, 1) of entries +1 and -1, and g (n,) with hinges at -g/G.

    Raises:
        ValueError: n below 2, a bad interval or an unknown orientation.
    """
    if n < 2:
        raise ValueError(f"expected at least 2 gates, one per end of the interval, got {n}")
    check_interval(*domain)
    if orientation not in ("one-way", "alternating"):
        raise ValueError(f"orientation must be one-way or alternating, got {orientation!r}")
    signs = np.ones(n)
    if orientation == "alternating":
        signs[1::2] = -1.0
    return signs[:, None], -signs * np.linspace(*domain, n)


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


def _array(network: GatedNetwork, letter: str) -> np.ndarray:
    return getattr(network, letter).detach().numpy()


def _check_sizes(n_in: int, n_hidden: int, n_out: int) -> None:
    for name, value in (("n_in", n_in), ("n_hidden", n_hidden), ("n_out", n_out)):
        if not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} must be an integer of at least 1, got {value!r}")


def _require_spline(network: GatedNetwork) -> None:
    if network.n_in != 1:
        raise ValueError(f"expected a network of one input, got {network.n_in}")
    if network.activation != "relu":
        raise ValueError(f"only ReLU gates have hinges, this one is {network.activation}")
