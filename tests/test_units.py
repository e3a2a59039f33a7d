"""The units against naive sums, their counts, their splines, and a reader's own."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from xsquared.geometry import knots
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
    space,
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
    out = np.zeros((len(x), network.n_out))
    for row, k in itertools.product(range(len(x)), range(network.n_out)):
        total = p["d"][k]
        for i in range(network.n_hidden):
            gate = torch.tensor(
                sum(p["G"][i, j] * x[row, j] for j in range(network.n_in))
            )
            z = gate + p["g"][i]
            term = float(GATES[network.unit.activation].value(z))
            for w, b in network.unit.factors:
                term *= (
                    sum(p[w][i, j] * x[row, j] for j in range(network.n_in)) + p[b][i]
                )
            total += p["D"][k, i] * term
            if network.unit.paired:
                total += p["D"][k, network.n_hidden + i] * float(z) * term
        out[row, k] = total
    return out


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
        "sigmoid": 1 / (1 + np.exp(-z)),
        "tanh": np.tanh(z),
    }
    assert set(expected) == set(GATES)
    for name, values in expected.items():
        found = find_gate(name).value(torch.from_numpy(z))
        np.testing.assert_allclose(found, values, rtol=1e-12, atol=1e-14)
        assert find_gate(name).hinged == name.startswith("relu")


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
    own = sum(p.numel() for p in network.parameters())
    assert parameter_count(unit, n_in, n, n_out) == own


def test_parameter_counts_are_the_papers() -> None:
    for dx, dy, n in ((1, 1, 50), (3, 2, 7)):
        for unit in ("mlp", "relu2_mlp", "relu3_mlp"):
            assert parameter_count(unit, dx, n, dy) == (dx + dy + 1) * n + dy
        for unit in ("glu", "bilinear", "geglu", "swiglu"):
            assert parameter_count(unit, dx, n, dy) == (2 * dx + dy + 2) * n + dy
        assert parameter_count("gqu", dx, n, dy) == (3 * dx + dy + 3) * n + dy
        assert parameter_count("pair", dx, n, dy) == (dx + 2 * dy + 1) * n + dy


def test_with_one_input_a_relu_beside_its_square_is_a_glu() -> None:
    """Behind a hinge U x + u is a z + b, so that the GLU's neuron is b relu(z) + a z
    relu(z).
    """
    glu, pair = build("glu", 1, 5), build("pair", 1, 5)
    weights = {name: value.detach().numpy() for name, value in glu.named_parameters()}
    slope = (weights["U"] / weights["G"])[:, 0]
    constant = weights["u"] - slope * weights["g"]
    linear = np.concatenate([weights["D"] * constant, weights["D"] * slope], axis=1)
    set_parameters(pair, G=weights["G"], g=weights["g"], D=linear, d=weights["d"])
    x = np.linspace(-3, 3, 101)
    np.testing.assert_allclose(
        predict(pair, x), predict(glu, x), rtol=1e-11, atol=1e-11
    )


@pytest.mark.parametrize("unit", sorted(UNITS))
def test_a_generator_decides_the_parameters_and_torchs_own_stays(unit: str) -> None:
    before = torch.random.get_rng_state()
    one, same, other = (
        build(unit, 2, 3, generator=torch.Generator().manual_seed(seed))
        for seed in (0, 0, 1)
    )
    for letter, values in one.named_parameters():
        assert torch.equal(values, getattr(same, letter))
        assert not torch.equal(values, getattr(other, letter))
    assert torch.equal(build(unit, 2, 3).G, build(unit, 2, 3).G)
    assert torch.equal(torch.random.get_rng_state(), before)


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
    set_parameters(network, **rows)
    return network


def hidden(network: GatedNetwork, x: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return network.hidden(torch.from_numpy(x)[:, None]).numpy()


@pytest.mark.parametrize(
    "unit", [*(UNITS[name] for name in SPLINES), *MORE], ids=lambda unit: unit.name
)
def test_degree_and_continuity_are_those_of_the_forward_pass(unit: Unit) -> None:
    """The lowest power of x - t that a neuron adds at its knot t is the first jump's
    order.
    """
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
    with pytest.raises(ValueError, match=f"a {unit} with the gate .* is no spline"):
        _ = UNITS[unit].order
    with pytest.raises(ValueError, match="fits relu gates with up to two factors"):
        space(unit)


def test_predict_takes_vectors_and_matrices_of_any_length() -> None:
    network, x = build("gqu", 1, 4), np.linspace(-1, 1, 3000)
    expected = network(torch.from_numpy(x)[:, None])[:, 0].detach().numpy()
    for points in (x, x[:, None]):
        np.testing.assert_allclose(
            predict(network, points), expected, rtol=1e-12, atol=1e-12
        )
    np.testing.assert_array_equal(
        predict(network, x[::-1][:9]), predict(network, x[:-10:-1])
    )


def test_weights_of_another_shape_are_not_broadcast() -> None:
    with pytest.raises(RuntimeError, match="size mismatch for g"):
        set_parameters(build("mlp", 1, 3), g=[1.0])


def test_a_readers_gate_and_unit_are_known_everywhere() -> None:
    register(Gate("relu4", lambda z: torch.relu(z) ** 4, degree=4))
    register(Unit("quintic", factors=(("V", "v"),), activation="relu4"))
    assert find_unit("quintic") is UNITS["quintic"]
    assert (UNITS["quintic"].degree, UNITS["quintic"].continuity) == (5, 3)
    assert parameter_count("quintic", 2, 3) == parameter_count("glu", 2, 3)
    network, x = (
        build("quintic", 2, 3),
        np.random.default_rng(1).standard_normal((5, 2)),
    )
    np.testing.assert_allclose(predict(network, x), naive(network, x)[:, 0], rtol=1e-11)
    assert build("mlp", 1, 2, activation="relu4").unit.gate is GATES["relu4"]
    assert not Gate("square", torch.square, degree=2).hinged


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown unit 'rnn'; known are mlp, glu, gqu"):
        find_unit("rnn")
    with pytest.raises(ValueError, match="unknown gate 'sin'; known are relu, relu2"):
        build("mlp", 1, 2, activation="sin")
