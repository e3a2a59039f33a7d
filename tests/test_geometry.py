"""Knots, hinges and cells against the forward pass."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from xsquared.geometry import (
    Orientation,
    count_cells,
    hinge_segments,
    knots,
    neuron_contributions,
    spline_gates,
)
from xsquared.units import UNITS, build, set_parameters

sizes = st.integers(1, 5)
BOX = ((-2.0, 3.0), (-1.0, 1.5))
SPLINES = sorted(name for name, unit in UNITS.items() if unit.gate.hinged)


@given(st.sampled_from(sorted(UNITS)), sizes, sizes, sizes, st.integers(0, 10**6))
@settings(max_examples=40)
def test_contributions_and_bias_are_the_forward_pass(
    unit: str, n_in: int, n: int, n_out: int, seed: int
) -> None:
    network = build(unit, n_in, n, n_out, generator=torch.Generator().manual_seed(seed))
    x = np.random.default_rng(seed).normal(size=(6, n_in))
    total = neuron_contributions(network, x).sum(axis=1) + network.d.detach().numpy()
    expected = network(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(total, expected, rtol=1e-11, atol=1e-11)


def test_knots_are_where_gates_vanish() -> None:
    network = build("mlp", 1, 3)
    set_parameters(
        network, G=[[2.0], [-1.0], [0.0]], g=[1.0, 3.0, 1.0], D=[[1.0] * 3], d=[0.0]
    )
    np.testing.assert_allclose(knots(network), [-0.5, 3.0])


@given(st.integers(0, 10**6), st.integers(1, 8))
@settings(max_examples=40)
def test_hinges_lie_on_their_lines_and_end_on_the_box(seed: int, n: int) -> None:
    network = build("mlp", 2, n, generator=torch.Generator().manual_seed(seed))
    for hinge in hinge_segments(network, BOX):
        for end in (hinge.start, hinge.end):
            G, g = (
                network.G[hinge.neuron].detach().numpy(),
                network.g[hinge.neuron].item(),
            )
            assert abs(G @ np.array(end) + g) < 1e-9 * (1 + np.abs(G).sum() * 4)
            on_edge = [
                abs(c - side) < 1e-9
                for c, sides in zip(end, BOX, strict=True)
                for side in sides
            ]
            assert any(on_edge)
            assert all(
                a - 1e-9 <= c <= b + 1e-9 for c, (a, b) in zip(end, BOX, strict=True)
            )


@given(st.integers(0, 10**6), st.integers(1, 7))
@settings(max_examples=30)
def test_hinges_found_are_those_that_change_sign_on_the_boxs_corners(
    seed: int, n: int
) -> None:
    network = build("mlp", 2, n, generator=torch.Generator().manual_seed(seed))
    corners = torch.tensor(list(itertools.product(*BOX)), dtype=torch.float64)
    gates = (corners @ network.G.T + network.g).detach().numpy()
    crossing = [i for i in range(n) if gates[:, i].min() < 0 < gates[:, i].max()]
    assert [hinge.neuron for hinge in hinge_segments(network, BOX)] == crossing


@pytest.mark.parametrize("seed", range(6))
def test_cell_count_is_the_number_of_gate_patterns_seen(seed: int) -> None:
    network = build("mlp", 2, 4, generator=torch.Generator().manual_seed(seed))
    fine = torch.cartesian_prod(*(torch.linspace(*side, 1500).double() for side in BOX))
    pattern = (fine @ network.G.T + network.g > 0).long() @ torch.tensor([1, 2, 4, 8])
    # A fine grid can miss a sliver of a cell, never invent one.
    seen = len(pattern.unique())
    assert seen <= count_cells(network, BOX) <= seen + 1


def test_cells_of_known_lines() -> None:
    network = build("mlp", 2, 3)
    weights = {"g": np.zeros(3), "D": np.ones((1, 3)), "d": np.zeros(1)}
    set_parameters(network, G=[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], **weights)
    assert count_cells(network, BOX) == 4
    set_parameters(network, G=[[1e-17, 0.0], [0.0, 1.0], [0.0, 0.0]], **weights)
    assert count_cells(network, BOX) == 4, "lines know no length of their rows"
    set_parameters(network, G=[[1.0, 0.0], [2.0, 0.0], [0.0, 0.0]], g=[0.0, 1.0, 0.0])
    assert count_cells(network, BOX) == 3
    (left, _), _ = BOX
    set_parameters(network, G=[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], g=[-left, 0.0, 0.0])
    assert count_cells(network, BOX) == 2, "along a side a line cuts nothing"


@pytest.mark.parametrize("orientation", ["one-way", "alternating"])
@pytest.mark.parametrize("n", [2, 3, 10])
def test_gates_sit_on_equidistant_knots(n: int, orientation: Orientation) -> None:
    G, g = spline_gates(n, (-1.0, 2.0), orientation)
    np.testing.assert_allclose(-g / G[:, 0], np.linspace(-1, 2, n), atol=1e-15)
    expected = np.ones(n) if orientation == "one-way" else (-1.0) ** np.arange(n)
    np.testing.assert_array_equal(G[:, 0], expected)


@pytest.mark.parametrize("unit", sorted(set(UNITS) - set(SPLINES)))
def test_knots_need_hinges(unit: str) -> None:
    with pytest.raises(ValueError, match="only hinged gates have knots, this one is"):
        knots(build(unit, 1, 3))
