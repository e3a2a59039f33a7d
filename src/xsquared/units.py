"""Units and gates, a record each and open to a reader's own, and their torch module.

Every unit is a gate times any number of affine factors, then a linear readout,

    y = d + D (gate(G x + g) * (U x + u) * (Q x + q) ...),

in the letters of the gated-units paper (Eqs. 1 and 15). A *paired* neuron hands on a
second number as well, z = G x + g times the first: ReLU beside its square, SiLU beside
z SiLU(z). A reader's own records are registered::

    register(Gate("relu4", lambda z: torch.relu(z) ** 4, degree=4))
    register(Unit("quartic", factors=(("U", "u"),), activation="relu4"))
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from xsquared.splines.spaces import Space

#: Points of one forward pass of `predict`: more would fall out of a processor's cache.
_ROWS = 1024


@dataclass(frozen=True)
class Gate:
    """What a neuron does with its affine gate z = G x + g: ``value``, elementwise.

    It is ``z**degree`` where the gate is open; ``degree`` is None for what is no power,
    as GELU.
    """

    name: str
    value: Callable[[Tensor], Tensor]
    degree: int | None = None

    @cached_property
    def hinged(self) -> bool:
        """Whether it is a power open where z > 0 and zero elsewhere."""
        return self.degree is not None and float(self.value(torch.tensor(-1.0))) == 0


@dataclass(frozen=True)
class Unit:
    """A kind of neuron.

    Attributes:
        name: of the unit.
        factors: letters (weight, bias) of the affine factors that follow the gate.
        activation: name of the gate.
        paired: it hands on z times its number as well, so that the readout has two
            weights for it.
    """

    name: str
    factors: tuple[tuple[str, str], ...] = ()
    activation: str = "relu"
    paired: bool = False

    @property
    def numbers(self) -> int:
        """How many numbers a neuron hands on to the readout."""
        return 2 if self.paired else 1

    @property
    def gate(self) -> Gate:
        """The gate's record."""
        return find_gate(self.activation)

    @property
    def degree(self) -> int:
        """Degree of a network's pieces; a ValueError for a gate without a hinge."""
        if self.gate.degree is None or not self.gate.hinged:
            raise ValueError(
                f"a {self.name} with the gate {self.activation} is no spline"
            )
        return self.gate.degree + len(self.factors) + self.paired

    @property
    def continuity(self) -> int:
        """Continuous derivatives, at knots, of the splines that it contains in full."""
        # A ReLU gate times p >= 1 factors adds (x - t)^p (a x + b) at a knot t; so does
        # a pair, with p = 1.
        return self.degree - (2 if self.factors or self.paired else 1)

    @property
    def order(self) -> int:
        """Order k of its splines: an error of h^k for cells of width h."""
        return self.degree + 1


class GatedNetwork(nn.Module):
    """The module of a unit; :func:`build` makes one."""

    G: nn.Parameter
    g: nn.Parameter

    def __init__(
        self,
        unit: Unit,
        n_in: int,
        n_hidden: int,
        n_out: int,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.unit = unit
        self.gate = unit.gate
        self.n_in = n_in
        self.n_hidden = n_hidden
        self.n_out = n_out

        def normal(*shape: int) -> nn.Parameter:
            drawn = torch.randn(*shape, dtype=torch.float64, generator=generator)
            return nn.Parameter(drawn)

        for weight, bias in (("G", "g"), *unit.factors):
            self.register_parameter(weight, normal(n_hidden, n_in))
            self.register_parameter(bias, normal(n_hidden))
        self.D = normal(n_out, unit.numbers * n_hidden)
        self.d = normal(n_out)

    def extra_repr(self) -> str:
        """Describe the module for ``print``."""
        return f"{self.unit.name}, {self.n_hidden} neurons, {self.n_in} inputs"

    def hidden(self, x: Tensor) -> Tensor:
        """Multiply gate and factors, before the readout: (N, n_in) -> (N, n_hidden).

        Of a paired unit the second numbers follow: (N, 2 n_hidden).
        """
        z = x @ self.G.T + self.g
        value = self.gate.value(z)
        for weight, bias in self.unit.factors:
            factor = x @ getattr(self, weight).T + getattr(self, bias)
            value = value * factor
        if self.unit.paired:
            return torch.cat([value, z * value], dim=1)
        return value

    def forward(self, x: Tensor) -> Tensor:
        """Compute the network's values: (N, n_in) -> (N, n_out)."""
        return self.hidden(x) @ self.D.T + self.d


#: Every gate and every unit by name, a reader's own included.
GATES: dict[str, Gate] = {}
UNITS: dict[str, Unit] = {}
#: The units of the gated-units paper, which its figures and Table 1 compare.
PAPER_UNITS = ("mlp", "glu", "gqu")


def register(*records: Unit | Gate) -> None:
    """Make units and gates known by their names, in place of earlier ones."""
    for record in records:
        if isinstance(record, Gate):
            GATES[record.name] = record
        else:
            UNITS[record.name] = record


_FIRST_FACTOR = ("U", "u")
_SECOND_FACTOR = ("Q", "q")
register(
    Gate("relu", torch.relu, degree=1),
    Gate("relu2", lambda z: torch.relu(z) ** 2, degree=2),
    Gate("relu3", lambda z: torch.relu(z) ** 3, degree=3),
    Gate("identity", lambda z: z, degree=1),
    Gate("gelu", nn.functional.gelu),
    Gate("silu", nn.functional.silu),
    Gate("sigmoid", torch.sigmoid),
    Gate("tanh", torch.tanh),
    Unit("mlp"),
    Unit("glu", (_FIRST_FACTOR,)),
    Unit("gqu", (_FIRST_FACTOR, _SECOND_FACTOR)),
    Unit("relu2_mlp", activation="relu2"),
    Unit("relu3_mlp", activation="relu3"),
    Unit("bilinear", (_FIRST_FACTOR,), "identity"),
    Unit("geglu", (_FIRST_FACTOR,), "gelu"),
    Unit("swiglu", (_FIRST_FACTOR,), "silu"),
    Unit("pair", paired=True),
)


def find_gate(name: str) -> Gate:
    """Look up a gate; an unknown name is a ValueError."""
    if name not in GATES:
        raise ValueError(f"unknown gate {name!r}; known are {', '.join(GATES)}")
    return GATES[name]


def find_unit(unit: str | Unit, activation: str | None = None) -> Unit:
    """Look up a unit by name or take a record, with another gate where one is named.

    A name may have the gate behind a colon, as ``"mlp:silu"``.
    """
    if isinstance(unit, str):
        name, _, gate = unit.partition(":")
        if name not in UNITS:
            raise ValueError(f"unknown unit {name!r}; known are {', '.join(UNITS)}")
        unit = UNITS[name]
        activation = activation or gate
    if not activation:
        return unit
    return replace(unit, activation=find_gate(activation).name)


def space(unit: str | Unit) -> Space:
    """Find the spline space of a unit with a ReLU gate and at most two factors."""
    record = find_unit(unit)
    if record.activation != "relu" or len(record.factors) > 2 or record.paired:
        raise ValueError(
            f"free_knots fits relu gates with up to two factors, got {record}"
        )
    return Space(record.degree, record.continuity)


def build(
    unit: str | Unit,
    n_in: int,
    n_hidden: int,
    n_out: int = 1,
    activation: str | None = None,
    generator: torch.Generator | None = None,
) -> GatedNetwork:
    """Make a network with standard normal parameters, the same without a generator."""
    record = find_unit(unit, activation)
    return GatedNetwork(record, n_in, n_hidden, n_out, generator or torch.Generator())


def parameter_count(unit: str | Unit, n_in: int, n_hidden: int, n_out: int = 1) -> int:
    """Count a network's parameters (section 3).

    A neuron has n_in + 1 for its gate, as many for each factor, and n_out for each
    number that it hands on; n_out constants follow.
    """
    record = find_unit(unit)
    affine = (1 + len(record.factors)) * (n_in + 1)
    readout = record.numbers * n_out
    return (affine + readout) * n_hidden + n_out


def predict(network: GatedNetwork, x: ArrayLike) -> np.ndarray:
    """Compute the forward pass (N,) of a network of one output at (N,) or (N, n_in)."""
    with torch.no_grad():
        values = [network(points) for points in as_points(x).split(_ROWS)]
    return torch.cat(values)[:, 0].numpy()


def as_points(x: ArrayLike) -> Tensor:
    """Copy points into a float64 tensor, (N,) as (N, 1)."""
    points = torch.tensor(np.ascontiguousarray(x, dtype=np.float64))
    return points[:, None] if points.ndim == 1 else points


def set_parameters(network: GatedNetwork, /, **values: ArrayLike) -> None:
    """Write weights into a network, in place, each by its letter and of its shape."""
    state = network.state_dict()
    for name, value in values.items():
        state[name] = torch.tensor(np.asarray(value, np.float64).copy())
    network.load_state_dict(state)
