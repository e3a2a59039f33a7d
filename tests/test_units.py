"""The units against naive sums, their counts, knots and hinges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from xsquared.geometry import (
    count_cells,
    hinge_segments,
    knots,
    neuron_contributions,
    neuron_polynomials,
    spline_gates,
)
from xsquared.units import (
    ACTIVATIONS,
    GLU,
    GQU,
    MLP,
    UNITS,
    build,
    parameter_count,
    predict,
    set_parameters,
    unit_class,
)

sizes = st.integers(1, 5)
units = st.sampled_from(sorted(UNITS))
BOX = ((-2.0, 3.0), (-1.0, 1.5))


def naive(network, x: np.ndarray) -> np.ndarray:
    """The definition, one point, one output, one neuron at a time."""
    p = {name: value.detach().numpy() for name, value in network.named_parameters()}
    act = ACTIVATIONS[network.activation]
    out = np.zeros((len(x), network.n_out))
    for row, k in itertools.product(range(len(x)), range(network.n_out)):
        total = p["d"][k]
        for i in range(network.n_hidden):
            gate = torch.tensor(sum(p["G"][i, j] * x[row, j] for j in range(network.n_in)))
            term = float(act(gate + p["g"][i]))
            for w, b in network.factors:
                term *= sum(p[w][i, j] * x[row, j] for j in range(network.n_in)) + p[b][i]
            total += p["D"][k, i] * term
        out[row, k] = total
    return out


@given(units, sizes, sizes, sizes, st.sampled_from(sorted(ACTIVATIONS)), st.integers(0, 10**6))
@settings(max_examples=40)
def test_forward_pass_is_the_definition(
    unit: str, n_in: int, n: int, n_out: int, activation: str, seed: int
) -> None:
    torch.manual_seed(seed)
    network = build(unit, n_in, n, n_out, activation)
    x = np.random.default_rng(seed).normal(size=(4, n_in))
    found = network(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(found, naive(network, x), rtol=1e-11, atol=1e-11)
    assert found.dtype == np.float64


@given(units, sizes, sizes, sizes)
@settings(max_examples=40)
def test_parameter_formula_is_the_modules_count(unit: str, n_in: int, n: int, n_out: int) -> None:
    own = sum(p.numel() for p in build(unit, n_in, n, n_out).parameters())
    assert parameter_count(unit, n_in, n, n_out) == own


def test_parameter_counts_are_the_papers() -> None:
    for dx, dy, n in ((1, 1, 50), (3, 2, 7)):
        assert parameter_count("mlp", dx, n, dy) == (dx + dy + 1) * n + dy
        assert parameter_count("glu", dx, n, dy) == (2 * dx + dy + 2) * n + dy
        assert parameter_count("gqu", dx, n, dy) == (3 * dx + dy + 3) * n + dy


@given(units, sizes, sizes, sizes, st.integers(0, 10**6))
@settings(max_examples=30)
def test_contributions_and_bias_are_the_forward_pass(
    unit: str, n_in: int, n: int, n_out: int, seed: int
) -> None:
    torch.manual_seed(seed)
    network = build(unit, n_in, n, n_out)
    x = np.random.default_rng(seed).normal(size=(6, n_in))
    total = neuron_contributions(network, x).sum(axis=1) + network.d.detach().numpy()
    expected = network(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(total, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("unit", sorted(UNITS))
def test_open_neurons_are_their_polynomials(unit: str) -> None:
    torch.manual_seed(1)
    network = build(unit, 1, 6)
    x = np.linspace(-3, 3, 101)
    rows = neuron_polynomials(network)
    assert rows.shape == (6, {"mlp": 2, "glu": 3, "gqu": 4}[unit])
    gates = x[:, None] * network.G.detach().numpy()[:, 0] + network.g.detach().numpy()
    expected = np.stack([np.polynomial.polynomial.polyval(x, row) for row in rows], axis=1)
    found = neuron_contributions(network, x)[..., 0]
    np.testing.assert_allclose(found, np.where(gates > 0, expected, 0), rtol=1e-12, atol=1e-12)


def test_glu_polynomial_is_equation_two() -> None:
    network = GLU(1, 1)
    set_parameters(network, G=[[2.0]], g=[3.0], U=[[5.0]], u=[7.0], D=[[11.0]], d=[0.0])
    np.testing.assert_allclose(neuron_polynomials(network), [[11 * 21, 11 * (15 + 14), 11 * 10]])


def test_knots_are_where_gates_vanish() -> None:
    network = MLP(1, 3)
    set_parameters(network, G=[[2.0], [-1.0], [0.0]], g=[1.0, 3.0, 1.0], D=[[1.0] * 3], d=[0.0])
    np.testing.assert_allclose(knots(network), [-0.5, 3.0])


@given(st.integers(0, 10**6), st.integers(1, 8))
@settings(max_examples=40)
def test_hinges_lie_on_their_lines_and_end_on_the_box(seed: int, n: int) -> None:
    torch.manual_seed(seed)
    network = MLP(2, n)
    for hinge in hinge_segments(network, BOX):
        for end in (hinge.start, hinge.end):
            G, g = network.G[hinge.neuron].detach().numpy(), network.g[hinge.neuron].item()
            assert abs(G @ np.array(end) + g) < 1e-9 * (1 + np.abs(G).sum() * 4)
            on_edge = [
                abs(c - side) < 1e-9 for c, sides in zip(end, BOX, strict=True) for side in sides
            ]
            assert any(on_edge)
            assert all(a - 1e-9 <= c <= b + 1e-9 for c, (a, b) in zip(end, BOX, strict=True))


@given(st.integers(0, 10**6), st.integers(1, 7))
@settings(max_examples=30)
def test_hinges_found_are_those_that_change_sign_on_the_boxs_corners(seed: int, n: int) -> None:
    torch.manual_seed(seed)
    network = MLP(2, n)
    corners = torch.tensor(list(itertools.product(*BOX)), dtype=torch.float64)
    gates = (corners @ network.G.T + network.g).detach().numpy()
    crossing = [i for i in range(n) if gates[:, i].min() < 0 < gates[:, i].max()]
    assert [hinge.neuron for hinge in hinge_segments(network, BOX)] == crossing


@pytest.mark.parametrize("seed", range(6))
def test_cell_count_is_the_number_of_gate_patterns_seen(seed: int) -> None:
    torch.manual_seed(seed)
    network = MLP(2, 4)
    fine = torch.stack(
        torch.meshgrid(
            *(torch.linspace(*side, 1500, dtype=torch.float64) for side in BOX), indexing="ij"
        ),
        dim=-1,
    ).reshape(-1, 2)
    pattern = (fine @ network.G.T + network.g > 0).long() @ torch.tensor([1, 2, 4, 8])
    # A fine grid can miss a sliver of a cell, never invent one.
    seen = len(pattern.unique())
    assert seen <= count_cells(network, BOX) <= seen + 1


def test_cells_of_known_lines() -> None:
    network = MLP(2, 3)
    weights = {"g": np.zeros(3), "D": np.ones((1, 3)), "d": [0.0]}
    set_parameters(network, G=[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], **weights)
    assert count_cells(network, BOX) == 4
    set_parameters(network, G=[[1.0, 0.0], [2.0, 0.0], [0.0, 0.0]], g=[0.0, 1.0, 0.0])
    assert count_cells(network, BOX) == 3


@pytest.mark.parametrize("orientation", ["one-way", "alternating"])
@pytest.mark.parametrize("n", [2, 3, 10])
def test_gates_sit_on_equidistant_knots(n: int, orientation: str) -> None:
    G, g = spline_gates(n, (-1.0, 2.0), orientation)
    np.testing.assert_allclose(-g / G[:, 0], np.linspace(-1, 2, n), atol=1e-15)
    expected = np.ones(n) if orientation == "one-way" else (-1.0) ** np.arange(n)
    np.testing.assert_array_equal(G[:, 0], expected)


def test_one_way_leaves_the_left_dead_and_alternating_does_not() -> None:
    x = np.linspace(-5, 5, 1001)[:, None]
    for orientation, dead in (("one-way", True), ("alternating", False)):
        G, g = spline_gates(6, (-1.0, 1.0), orientation)
        assert ((x @ G.T + g > 0).sum(axis=1) == 0).any() == dead


def test_predict_takes_vectors_and_matrices() -> None:
    torch.manual_seed(0)
    network = GQU(1, 4)
    x = np.linspace(-1, 1, 5)
    np.testing.assert_array_equal(predict(network, x), predict(network, x[:, None]))


@pytest.mark.parametrize("unit", ["", "MLP", "gru"])
def test_unknown_units_are_named_with_the_known_ones(unit: str) -> None:
    for call in (unit_class, lambda u: build(u, 1, 1), lambda u: parameter_count(u, 1, 1)):
        with pytest.raises(ValueError, match=f"unknown unit '{unit}'; known are mlp, glu, gqu"):
            call(unit)


@pytest.mark.parametrize("sizes", [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, -2, 1), (1, 2.5, 1)])
def test_sizes_below_one_are_refused(sizes: tuple) -> None:
    for call in (lambda s: build("glu", *s), lambda s: parameter_count("glu", *s)):
        with pytest.raises(ValueError, match="must be an integer of at least 1"):
            call(sizes)


def test_unknown_activation_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown activation 'tanh'; known are relu, gelu, silu"):
        MLP(1, 1, activation="tanh")


def test_wrong_input_shapes_are_refused() -> None:
    network = build("mlp", 2, 3)
    with pytest.raises(ValueError, match=r"shape \(N, 2\), got \(4, 3\)"):
        network(torch.zeros(4, 3, dtype=torch.float64))
    with pytest.raises(ValueError, match=r"shape \(N, 2\), got \(4,\)"):
        network(torch.zeros(4, dtype=torch.float64))
    with pytest.raises(ValueError, match=r"shape \(N, 2\), got \(4, 1\)"):
        predict(network, np.zeros(4))
    with pytest.raises(ValueError, match=r"shape \(N, 2\), got \(4, 1\)"):
        neuron_contributions(network, np.zeros(4))


def test_predict_needs_one_output() -> None:
    with pytest.raises(ValueError, match="one output, got 2"):
        predict(build("mlp", 1, 3, 2), np.zeros(4))


@pytest.mark.parametrize("function", [knots, neuron_polynomials])
def test_splines_need_one_input_and_relu(function) -> None:
    with pytest.raises(ValueError, match="one input, got 2"):
        function(build("mlp", 2, 3))
    with pytest.raises(ValueError, match="only ReLU gates have hinges, this one is gelu"):
        function(build("mlp", 1, 3, activation="gelu"))


def test_neuron_polynomials_need_one_output() -> None:
    with pytest.raises(ValueError, match="one output, got 2"):
        neuron_polynomials(build("mlp", 1, 3, 2))


@pytest.mark.parametrize("function", [hinge_segments, count_cells])
def test_hinges_need_the_plane_and_a_box(function) -> None:
    with pytest.raises(ValueError, match="two inputs, got 1"):
        function(build("mlp", 1, 3), BOX)
    with pytest.raises(ValueError, match="finite a < b"):
        function(build("mlp", 2, 3), ((1.0, 0.0), (0.0, 1.0)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, (0.0, 1.0), "one-way"), "at least 2 gates"),
        ((0, (0.0, 1.0), "one-way"), "at least 2 gates"),
        ((3, (1.0, 0.0), "one-way"), "finite a < b"),
        ((3, (0.0, 1.0), "both"), "must be one-way or alternating, got 'both'"),
    ],
)
def test_bad_gates_are_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spline_gates(*arguments)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"Q": [[1.0]]}, "no parameter 'Q'; known are G, g, U, u, D, d"),
        ({"G": [1.0]}, r"G must have shape \(1, 1\), got \(1,\)"),
        ({"u": [np.nan]}, "u must be finite, got nan"),
        ({"d": [np.inf]}, "d must be finite, got inf"),
    ],
)
def test_bad_weights_are_refused(values: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        set_parameters(GLU(1, 1), **values)
