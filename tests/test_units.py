"""The units against naive sums, their counts, their splines, and a reader's own."""

import itertools
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from xsquared.geometry import knots, neuron_contributions
from xsquared.units import (
    GATES,
    UNITS,
    Gate,
    GatedNetwork,
    Unit,
    build,
    find_gate,
    find_unit,
    parameter_count,
    predict,
    register,
    set_parameters,
)

sizes = st.integers(1, 5)
any_unit = st.sampled_from(sorted(UNITS))
any_gate = st.sampled_from(sorted(GATES))
SPLINES = [name for name, unit in UNITS.items() if unit.gate.hinged]
#: Hinged gates under any number of factors, which the package itself does not name.
MORE = [
    Unit("relu2_glu", (("U", "u"),), "relu2"),
    Unit("relu3_gqu", (("U", "u"), ("Q", "q")), "relu3"),
    Unit("gated_cubic", (("U", "u"), ("Q", "q"), ("V", "v"))),
]


def naive(network: GatedNetwork, x: np.ndarray) -> np.ndarray:
    p = {name: value.detach().numpy() for name, value in network.named_parameters()}
    act = GATES[network.unit.activation].value
    out = np.zeros((len(x), network.n_out))
    for row, k in itertools.product(range(len(x)), range(network.n_out)):
        total = p["d"][k]
        for i in range(network.n_hidden):
            gate = torch.tensor(sum(p["G"][i, j] * x[row, j] for j in range(network.n_in)))
            term = float(act(gate + p["g"][i]))
            for w, b in network.unit.factors:
                term *= sum(p[w][i, j] * x[row, j] for j in range(network.n_in)) + p[b][i]
            total += p["D"][k, i] * term
        out[row, k] = total
    return out


def test_the_registry_is_read_only() -> None:
    for registry in (UNITS, GATES):
        with pytest.raises(TypeError, match="does not support item assignment"):
            registry["mine"] = registry["relu"] if registry is GATES else registry["mlp"]  # type: ignore[index]


def test_gates_are_the_functions_of_their_names() -> None:
    z = np.linspace(-3, 3, 61)
    erf = torch.erf(torch.from_numpy(z) / 2**0.5).numpy()
    expected = {
        "relu": np.maximum(z, 0),
        "relu2": np.maximum(z, 0) ** 2,
        "relu3": np.maximum(z, 0) ** 3,
        "identity": z,
        "gelu": z * (1 + erf) / 2,
        "silu": z / (1 + np.exp(-z)),
    }
    assert set(expected) == set(GATES)
    for name, values in expected.items():
        found = find_gate(name).value(torch.from_numpy(z))
        np.testing.assert_allclose(found, values, rtol=1e-12, atol=1e-14)


@given(any_unit, sizes, sizes, sizes, st.none() | any_gate, st.integers(0, 10**6))
@settings(max_examples=60)
def test_forward_pass_is_the_definition(
    unit: str, n_in: int, n: int, n_out: int, activation: str | None, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    network = build(unit, n_in, n, n_out, activation, generator)
    assert network.unit.activation == (activation or UNITS[unit].activation)
    x = np.random.default_rng(seed).normal(size=(4, n_in))
    found = network(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(found, naive(network, x), rtol=1e-11, atol=1e-11)
    assert found.dtype == np.float64


@given(any_unit, sizes, sizes, sizes)
@settings(max_examples=40)
def test_parameter_formula_is_the_modules_count(unit: str, n_in: int, n: int, n_out: int) -> None:
    own = sum(p.numel() for p in build(unit, n_in, n, n_out).parameters())
    assert parameter_count(unit, n_in, n, n_out) == own


def test_parameter_counts_are_the_papers() -> None:
    for dx, dy, n in ((1, 1, 50), (3, 2, 7)):
        for unit in ("mlp", "relu2_mlp", "relu3_mlp"):
            assert parameter_count(unit, dx, n, dy) == (dx + dy + 1) * n + dy
        for unit in ("glu", "bilinear", "geglu", "swiglu"):
            assert parameter_count(unit, dx, n, dy) == (2 * dx + dy + 2) * n + dy
        assert parameter_count("gqu", dx, n, dy) == (3 * dx + dy + 3) * n + dy


def test_counts_of_numpys_integers_do_not_wrap() -> None:
    size: Any = np.int16(300)
    with np.errstate(over="raise"):
        assert build("gqu", size, size).n_hidden == 300
        few: list[Any] = [np.uint8(8), np.uint8(100)]
        assert parameter_count("gqu", *few) == 2801


@pytest.mark.parametrize("unit", sorted(UNITS))
def test_a_generator_decides_the_parameters_and_torchs_own_stays(unit: str) -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    one, same, other = (
        build(unit, 2, 3, generator=torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)
    )
    assert torch.equal(torch.random.get_rng_state(), before)
    for letter, values in one.named_parameters():
        assert torch.equal(values, getattr(same, letter))
        assert not torch.equal(values, getattr(other, letter))
    plain, again = build(unit, 2, 3), build(unit, 2, 3)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(plain.G, again.G)


def pair_at(unit: Unit, t: float) -> GatedNetwork:
    """Two neurons at a place, with all factors but the last vanishing there.

    The last is constant in the first, and vanishes there too in the second.
    """
    network, ones = build(unit, 1, 2), np.ones((2, 1))
    rows = {"G": ones, "g": np.full(2, -t)}
    for weight, bias in unit.factors:
        rows |= {weight: ones, bias: np.full(2, -t)}
    for weight, bias in unit.factors[-1:]:
        rows |= {weight: np.array([[0.0], [1.0]]), bias: np.array([1.0, -t])}
    set_parameters(network, **{letter: value[::-1].copy()[::-1] for letter, value in rows.items()})
    return network


def hidden(network: GatedNetwork, x: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return network.hidden(torch.from_numpy(x)[:, None]).numpy()


@pytest.mark.parametrize(
    "unit", [*(UNITS[name] for name in SPLINES), *MORE], ids=lambda unit: unit.name
)
def test_degree_and_continuity_are_those_of_the_forward_pass(unit: Unit) -> None:
    """The lowest power of x - t that a neuron adds at its knot t is the first jump's order."""
    network, s = pair_at(unit, 0.3), np.linspace(0, 1, 12)
    np.testing.assert_allclose(knots(network), [0.3, 0.3])
    assert not hidden(network, 0.3 - s).any()
    rows = np.polynomial.polynomial.polyfit(s, hidden(network, 0.3 + s), 8).T
    present = np.abs(rows) > 1e-6
    assert np.flatnonzero(present.any(axis=0)).max() == unit.degree
    assert np.flatnonzero(present[0]).min() == unit.continuity + 1
    assert unit.order == unit.degree + 1


@pytest.mark.parametrize("unit", [name for name in UNITS if name not in SPLINES])
def test_what_has_no_hinges_is_no_spline(unit: str) -> None:
    for fact in ("degree", "continuity", "order"):
        with pytest.raises(ValueError, match=f"a {unit} with the gate .* is no spline"):
            getattr(UNITS[unit], fact)


def test_predict_takes_vectors_and_matrices() -> None:
    network = build("gqu", 1, 4)
    x = np.linspace(-1, 1, 5)
    np.testing.assert_array_equal(predict(network, x), predict(network, x[:, None]))
    np.testing.assert_array_equal(predict(network, x[::-1]), predict(network, x)[::-1])
    for wrong in (x[:, None, None], np.array(0.3)):
        with pytest.raises(ValueError, match=r"^points: expected \(N,\) or \(N, n_in\), got \("):
            predict(network, wrong)


@pytest.mark.parametrize(
    "values",
    [
        np.ma.masked_array([1.0, 2.0], mask=[True, False]),
        *(np.array(["1", "2"]), np.array([1, 2], "m8[ns]"), np.array([True, False])),
        [1.0, 2j],
    ],
)
def test_what_are_no_numbers_are_no_points_or_weights(values: Any) -> None:
    network = build("mlp", 1, 2)
    for call in (predict, neuron_contributions):
        with pytest.raises(ValueError, match=r"^points: expected real numbers, got "):
            call(network, values)
    with pytest.raises(ValueError, match=r"^g: expected real numbers, got "):
        set_parameters(network, g=values)
    assert np.isnan(predict(network, np.array([np.nan]))).all()


@pytest.mark.parametrize(("n", "most"), [(8, 1024), (40_000, 209), (10**7, 1)])
def test_wide_networks_take_few_points_at_a_time(
    n: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, passes = build("mlp", 1, n), []

    def forward(_: GatedNetwork, x: Tensor) -> Tensor:
        passes.append(len(x))
        return x

    monkeypatch.setattr(GatedNetwork, "forward", forward)
    x = np.arange(1500.0)
    np.testing.assert_array_equal(predict(network, x), x)
    assert max(passes) == most


def test_a_readers_gate_and_unit_are_known_everywhere() -> None:
    register(Gate("relu4", lambda z: torch.relu(z) ** 4, degree=4))
    register(Unit("quintic", factors=(("V", "v"),), activation="relu4"))
    assert find_unit("quintic") is UNITS["quintic"]
    assert (UNITS["quintic"].degree, UNITS["quintic"].continuity) == (5, 3)
    assert parameter_count("quintic", 2, 3) == parameter_count("glu", 2, 3)
    network = build("quintic", 2, 3)
    x = np.random.default_rng(1).standard_normal((5, 2))
    np.testing.assert_allclose(predict(network, x), naive(network, x)[:, 0], rtol=1e-11)
    assert build("mlp", 1, 2, activation="relu4").unit.gate is GATES["relu4"]
    assert GATES["relu4"].hinged
    assert not Gate("square", torch.square, degree=2).hinged


def test_a_readers_own_may_be_replaced() -> None:
    register(Unit("mine"))
    register(Unit("mine", (("U", "u"),)))
    assert len(find_unit("mine").factors) == 1


def test_the_packages_own_names_are_refused() -> None:
    for name in (*UNITS, *GATES):
        for record in (Unit(name), Gate(name, torch.relu, degree=1)):
            with pytest.raises(ValueError, match=f"{name!r} is the package's own"):
                register(record)
    assert GATES["relu"].value is torch.nn.functional.relu


def once_differentiable(z: Tensor) -> Tensor:
    """The square, whose derivative autograd does not differentiate again."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, z: Tensor) -> Tensor:
            ctx.save_for_backward(z)
            return z**2

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, upstream: Tensor) -> Tensor:
            return 2 * ctx.saved_tensors[0] * upstream

    return cast(Tensor, Square.apply(z))  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda z: torch.sin(z.detach()), "a derivative that is not zero everywhere"),
        (once_differentiable, "a smooth function, torch's derivative 2 of it"),
        (lambda z: z * torch.sin(z.detach()), "a smooth function, torch's derivative 1 of it"),
        (lambda z: torch.from_numpy(np.sin(z.numpy())), "two derivatives by torch: .*numpy"),
        *((value, "finite values of each z alone") for value in (torch.log, torch.sqrt)),
        *((lambda z: z.sort(0)[0], "finite"), (lambda z: torch.tanh(z) * z.shape[-1], "finite")),
        (nn.PReLU(dtype=torch.float64), "finite values of each z alone, without parameters"),
    ],
)
def test_a_gate_that_cannot_be_trained_is_refused(value: Callable, message: str) -> None:
    with pytest.raises(ValueError, match=f"^gate mine: expected {message}"):
        register(Gate("mine", value))
    assert "mine" not in GATES


@pytest.mark.parametrize("far", [lambda z: torch.relu(z.clamp(max=5)), lambda z: torch.relu(z) % 9])
def test_a_gate_that_is_a_power_near_zero_only_is_refused(far: Callable) -> None:
    with pytest.raises(ValueError, match=r"expected value\(z\) = z\*\*1 for all z or for z > 0"):
        Gate("mine", far, degree=1)


@pytest.mark.parametrize(
    "value",
    [
        *(torch.tanh, torch.sin, torch.exp, torch.square, torch.abs, lambda z: 3 * z),
        *(F.leaky_relu, F.softplus, F.hardswish, lambda z: torch.relu(z - 10), lambda z: z**7),
        *(gate.value for gate in GATES.values()),
    ],
)
def test_a_gate_that_can_be_trained_passes(value: Callable) -> None:
    with torch.no_grad():  # as a notebook may have set
        register(Gate("mine", value))
    assert GATES["mine"].value is value
    assert not GATES["mine"].hinged


def test_a_network_of_another_precision_or_device_is_refused() -> None:
    for network in (build("glu", 1, 2).float(), build("glu", 1, 2).to("meta")):
        with pytest.raises(ValueError, match=r"expected a network of torch\.float64 on the cpu"):
            predict(network, np.zeros(3))
