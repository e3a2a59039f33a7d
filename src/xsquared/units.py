"""Units and gates: one record each, open to a reader's own, and the torch module behind them.

Every unit is one idea: a gate times any number of affine factors, then a linear readout,

    y = d + D (gate(G x + g) * (U x + u) * (Q x + q) ...),

so a ReLU gate and p factors make each neuron a one-sided polynomial of degree p + 1. Parameters
keep the letters of the gated-units paper (Eqs. 1 and 15): G, g gate; U, u and Q, q factors; D, d
readout. What a unit is, its record says, and nothing else in the package asks for its name.

A unit or gate of one's own is registered, and is then known to ``fit`` and all else but a sweep::

    register(Gate("relu4", lambda z: torch.relu(z) ** 4, degree=4))
    register(Unit("quartic", factors=(("U", "u"),), activation="relu4"))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from xsquared.checks import check_array, check_choice, check_integer, check_size, quoted
from xsquared.splines.spaces import Space

#: Points of one forward pass in :func:`predict`: more would fall out of the processor's cache.
_ROWS = 1024
#: Numbers of one layer then, for wide networks: more would not fit into memory.
_NUMBERS = 2**23


def _check_name(what: str, name: object) -> None:
    if not isinstance(name, str) or not name:
        raise TypeError(f"{what}: expected a name, got {quoted(name)}")


@dataclass(frozen=True)
class Gate:
    """What a neuron does with its affine gate z = G x + g.

    Attributes:
        name: how units and tables call it.
        value: the function of z, elementwise, twice differentiable by torch.
        degree: the gate is ``z**degree`` where it is open; None where it is no power of z anywhere,
            as GELU and SiLU. The scale of the gate's row is then a parameter of its own.
        hinged: whether it is a power open where z > 0 and zero elsewhere; found from its values.

    Raises:
        TypeError: a name or value of another type.
        ValueError: a value of another shape or type than z, or another degree than the value's.
    """

    name: str
    value: Callable[[Tensor], Tensor]
    degree: int | None = None
    hinged: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        _check_name("gate", self.name)
        if not callable(self.value):
            raise TypeError(f"gate {self.name}: expected a function, got {quoted(self.value)}")
        z = _probes()
        value = self.value(z)
        if not isinstance(value, Tensor) or (value.dtype, value.shape) != (z.dtype, z.shape):
            wanted = "a value like its argument, float64 and of its shape"
            raise ValueError(f"gate {self.name}: expected {wanted}, got {quoted(value)}")
        if self.degree is not None:
            check_integer(f"gate {self.name}, degree", self.degree, 1)
            hinged = torch.allclose(value, torch.relu(z) ** self.degree)
            if not hinged and not torch.allclose(value, z**self.degree):
                where = "for all z or for z > 0 and zero elsewhere"
                found = f"{where}, got {quoted(value)}; degree=None says it is no power"
                raise ValueError(f"gate {self.name}: expected value(z) = z**{self.degree} {found}")
            object.__setattr__(self, "hinged", hinged)


@dataclass(frozen=True)
class Unit:
    """A kind of neuron.

    Attributes:
        name: how everything calls it.
        factors: letters (weight, bias) of the affine factors that multiply the gate.
        activation: name of its gate.

    Raises:
        TypeError: a name that is no text.
        ValueError: letters that repeat or are taken.
    """

    name: str
    factors: tuple[tuple[str, str], ...] = ()
    activation: str = "relu"

    def __post_init__(self) -> None:
        _check_name("unit", self.name)
        _check_name(f"unit {self.name}, activation", self.activation)
        pairs = self.factors
        good = isinstance(pairs, tuple) and all(isinstance(p, tuple) and len(p) == 2 for p in pairs)
        letters = [*"GgDd", *(letter for pair in pairs for letter in pair)] if good else []
        free = all(isinstance(x, str) and x.isidentifier() and x not in _TAKEN for x in letters)
        if not good or not free or len({*letters}) < len(letters):
            wanted = "expected pairs of new letters as factors"
            raise ValueError(f"unit {self.name}: {wanted}, got {quoted(pairs)}")

    @property
    def gate(self) -> Gate:
        """The gate's record."""
        return find_gate(self.activation)

    @property
    def degree(self) -> int:
        """Degree of the pieces of the spline that a network of one input is.

        Raises:
            ValueError: a gate without hinges makes no spline.
        """
        gate = self.gate
        if gate.degree is None or not gate.hinged:
            raise ValueError(f"a {self.name} with the gate {gate.name} is no spline")
        return gate.degree + len(self.factors)

    @property
    def continuity(self) -> int:
        """Continuous derivatives at the knots of the splines that the unit contains in full.

        A ReLU gate times p >= 1 factors adds (x - t)^p (a x + b) at a knot t: all factors but one
        vanish there with the gate. Splines with fewer continuous derivatives are contained in part,
        as a neuron's factors are real.
        """
        return self.degree - (2 if self.factors else 1)

    @property
    def order(self) -> int:
        """Order of convergence k of its splines: an error of h^k for cells of width h."""
        return self.degree + 1


def register(record: Unit | Gate) -> None:
    """Make a unit or gate known by its name, in place of an earlier one of one's own.

    Raises:
        TypeError: neither a unit nor a gate.
        ValueError: the name of one of the package's own, an unknown gate, or a gate without the
            derivatives that training needs.
    """
    if type(record) not in (Unit, Gate):  # what a class of one's own adds, nothing asks for
        raise TypeError(f"expected a Unit or a Gate, got {quoted(record)}")
    if record.name in BUILT_IN:
        raise ValueError(f"{record.name!r} is the package's own: expected another name")
    if isinstance(record, Gate):
        _check_derivatives(record)
        _GATES[record.name] = record
        return
    find_gate(record.activation)
    _UNITS[record.name] = record


def _probes() -> Tensor:
    """Where gates are tried: from 12 to -12, dense about 0, at no simple fraction (a kink)."""
    return torch.sinh(torch.linspace(3.179, -3.173, 41, dtype=torch.float64, device="cpu"))


def _check_derivatives(gate: Gate) -> None:
    """Refuse a gate that is flat or not elementwise, or whose derivatives are not its values'."""
    z = _probes()
    value = gate.value(z)
    alone = torch.cat([gate.value(one.reshape(1, 1)) for one in z]).ravel()
    if value.requires_grad or not value.isfinite().all() or not torch.allclose(value, alone):
        wanted = "expected finite values of each z alone, without parameters of their own"
        raise ValueError(f"gate {gate.name}: {wanted}, got {quoted(value)}")

    def derivatives(step: float) -> list[Tensor]:
        with torch.inference_mode(False):  # with gradients, wherever it is called
            at = (z.clone() + step).requires_grad_()
            made = [gate.value(at)]
            for _ in range(2):  # the term 0 z: the derivative of a constant, where torch has none
                made += torch.autograd.grad((made[-1] + 0 * at).sum(), at, create_graph=True)
        return [part.detach() for part in made]

    try:
        here, above, below = map(derivatives, (0, 1e-6, -1e-6))
    except RuntimeError as error:
        reason = quoted(str(error))
        raise ValueError(f"gate {gate.name}: expected two derivatives by torch: {reason}") from None
    if not here[1].any():
        raise ValueError(f"gate {gate.name}: expected a derivative that is not zero everywhere")
    for count in (1, 2):
        expected = (above[count - 1] - below[count - 1]) / 2e-6
        slack = 1e-3 * float(expected.abs().max())
        if not torch.allclose(here[count], expected, rtol=1e-3, atol=slack):
            what = f"torch's derivative {count} of it differs from its values' differences"
            raise ValueError(f"gate {gate.name}: expected a smooth function, {what}")


def find_gate(name: str) -> Gate:
    """The gate of that name.

    Raises:
        ValueError: an unknown name.
    """
    return _GATES[check_choice("activation", name, _GATES)]


def find_unit(unit: str | Unit, activation: str | None = None) -> Unit:
    """The unit of that name, or the unit itself, with another gate where one is named.

    Raises:
        ValueError: an unknown name.
    """
    if not isinstance(unit, Unit):
        unit = _UNITS[check_choice("unit", unit, _UNITS)]
    if activation is None:
        return unit
    find_gate(activation)
    return replace(unit, activation=activation)


def space(unit: str | Unit) -> Space:
    """The spline space of a unit with a ReLU gate: the degree and continuity of its record.

    Raises:
        ValueError: an unknown unit, another gate, or more than two factors.
    """
    record = find_unit(unit)
    if record.gate.name != "relu" or len(record.factors) > 2:
        found = f"unit {record.name!r} with gate {record.gate.name!r}"
        raise ValueError(f"free_knots fits relu gates with up to two factors, got {found}")
    return Space(record.degree, record.continuity)


def check_device() -> None:
    """Refuse another default device of torch than the processor, by a ValueError."""
    try:
        device = str(torch.get_default_device())
    except (AssertionError, RuntimeError) as error:  # of one that this torch lacks
        device = str(error).partition("\n")[0]
    if device.partition(":")[0] != "cpu":
        raise ValueError(f"expected the cpu as torch's default device, got {device}")


def build(
    unit: str | Unit,
    n_in: int,
    n_hidden: int,
    n_out: int = 1,
    activation: str | None = None,
    generator: torch.Generator | None = None,
) -> GatedNetwork:
    """A network of a unit, its parameters standard normal.

    It has ``n_in`` inputs, ``n_hidden`` neurons and ``n_out`` outputs, each at least one, and the
    gate ``activation`` in place of the unit's own where one is named. A generator where None is
    given is a new one, which draws the same every time.

    Raises:
        ValueError: an unknown unit or gate, a dimension below 1, more parameters than memory should
            hold, or another default device of torch than the cpu.
    """
    check_device()
    record = find_unit(unit, activation)
    named = {"n_in": n_in, "n_hidden": n_hidden, "n_out": n_out}
    n_in, n_hidden, n_out = (check_integer(name, value, 1) for name, value in named.items())
    check_size("parameters", parameter_count(record, n_in, n_hidden, n_out))
    generator = torch.Generator() if generator is None else generator
    return GatedNetwork(record, n_in, n_hidden, n_out, generator)


class GatedNetwork(nn.Module):
    """The module of a unit; make one with :func:`build`.

    Parameters are float64; ``unit`` is the unit's record.
    """

    G: nn.Parameter
    g: nn.Parameter
    D: nn.Parameter
    d: nn.Parameter

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
        self.gate = unit.gate  # the record: its name may be registered anew

        def normal(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.randn(*shape, dtype=torch.float64, generator=generator))

        for weight, bias in (("G", "g"), *unit.factors):
            self.register_parameter(weight, normal(n_hidden, n_in))
            self.register_parameter(bias, normal(n_hidden))
        self.D = normal(n_out, n_hidden)
        self.d = normal(n_out)

    def extra_repr(self) -> str:
        """What ``print`` shows of the module."""
        return f"{self.unit.name}, {self.n_hidden} neurons, {self.n_in} inputs"

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
        value = self.gate.value(x @ self.G.T + self.g)
        for weight, bias in self.unit.factors:
            value = value * (x @ getattr(self, weight).T + getattr(self, bias))
        return value

    def forward(self, x: Tensor) -> Tensor:
        """The network's values: (N, n_in) -> (N, n_out)."""
        return self.hidden(x) @ self.D.T + self.d


#: Names that a network has anyway, and none of its parameters may take.
_TAKEN = frozenset((*dir(GatedNetwork), *dir(nn.Module()), "unit", "gate"))


def _relu_power(z: Tensor, degree: int) -> Tensor:
    return nn.functional.relu(z) ** degree


_LINEAR = ("U", "u")
_GATES = {
    gate.name: gate
    for gate in (
        Gate("relu", nn.functional.relu, degree=1),
        Gate("relu2", partial(_relu_power, degree=2), degree=2),
        Gate("relu3", partial(_relu_power, degree=3), degree=3),
        Gate("identity", nn.Identity(), degree=1),
        Gate("gelu", nn.functional.gelu),
        Gate("silu", nn.functional.silu),
    )
}
_UNITS = {
    unit.name: unit
    for unit in (
        Unit("mlp"),
        Unit("glu", (_LINEAR,)),
        Unit("gqu", (_LINEAR, ("Q", "q"))),
        Unit("relu2_mlp", activation="relu2"),
        Unit("relu3_mlp", activation="relu3"),
        Unit("bilinear", (_LINEAR,), "identity"),
        Unit("geglu", (_LINEAR,), "gelu"),
        Unit("swiglu", (_LINEAR,), "silu"),
    )
}
#: Every gate and every unit by name, a reader's own included.
GATES: Mapping[str, Gate] = MappingProxyType(_GATES)
UNITS: Mapping[str, Unit] = MappingProxyType(_UNITS)
#: The units of the gated-units paper, which its figures and Table 1 compare.
PAPER_UNITS = ("mlp", "glu", "gqu")
#: Names of the package's own gates and units.
BUILT_IN = frozenset((*_GATES, *_UNITS))


def parameter_count(unit: str | Unit, n_in: int, n_hidden: int, n_out: int = 1) -> int:
    """Number of parameters P by the paper's formulas (section 3).

    P = (dim_x + dim_y + 1) n + dim_y for the MLP and (2 dim_x + dim_y + 2) n + dim_y for the GLU;
    each further factor adds (dim_x + 1) n.
    """
    n_in, n_hidden, n_out = int(n_in), int(n_hidden), int(n_out)  # numpy's integers wrap
    return ((1 + len(find_unit(unit).factors)) * (n_in + 1) + n_out) * n_hidden + n_out


def predict(network: GatedNetwork, x: np.ndarray) -> np.ndarray:
    """The forward pass (N,) of a network of one output on x, (N,) for one input or (N, n_in).

    Raises:
        TypeError: no network.
        ValueError: points that are no real numbers, or of another dimension, or a network of
            several outputs, not of float64 or not on the cpu.
    """
    check_device()
    if not isinstance(network, GatedNetwork):
        raise TypeError(f"expected a network, as build makes one, got {quoted(network)}")
    points = as_points(x)
    if (sizes := (network.n_in, network.n_out)) != (points.shape[1], 1):
        raise ValueError(f"expected a network of sizes ({points.shape[1]}, 1), got {sizes}")
    for one in network.parameters():
        if (kind := (one.dtype, one.device.type)) != (torch.float64, "cpu"):
            raise ValueError(f"expected a network of torch.float64 on the cpu, got {kind}")
    rows = max(min(_ROWS, _NUMBERS // network.n_hidden), 1)
    with torch.no_grad():
        return torch.cat([network(part) for part in points.split(rows)])[:, 0].numpy()


def as_points(x: np.ndarray) -> Tensor:
    """A copy as float64 tensor, (N,) as (N, 1).

    Raises:
        ValueError: what is no array of real numbers, of one or two axes.
    """
    array = check_array("points", x)
    if array.ndim not in (1, 2):
        raise ValueError(f"points: expected (N,) or (N, n_in), got {array.shape}")
    points = torch.tensor(np.ascontiguousarray(array))  # torch reads no view backwards
    return points[:, None] if points.ndim == 1 else points


def set_parameters(network: GatedNetwork, /, **values: ArrayLike) -> None:
    """Write weights into a network, in place, each by its letter and of its shape.

    Raises:
        ValueError: no real numbers, or a wrong shape, which torch would broadcast.
    """
    for letter, value in values.items():
        parameter = network.get_parameter(letter)
        array = torch.tensor(check_array(letter, value).copy())  # torch reads no view backwards
        if array.shape != parameter.shape:
            found = f"expected shape {tuple(parameter.shape)}, got {tuple(array.shape)}"
            raise ValueError(f"{letter}: {found}")
        with torch.no_grad():
            parameter.copy_(array)
