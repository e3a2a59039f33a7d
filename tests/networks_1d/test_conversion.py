"""Splines made into networks: directions by the neurons' sizes, and real factors of
cubics.
"""

import math

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from xsquared.constructions import network_from_pieces
from xsquared.errors import measured_rmse
from xsquared.functions import target
from xsquared.networks_1d.conversion import _real_factors, network_from_spline
from xsquared.splines.density import equidistributed_knots
from xsquared.splines.free_knots import fit_free_knots
from xsquared.units import GatedNetwork, space


def test_directions_are_chosen_by_the_size_of_the_neurons() -> None:
    """A steep left end: gates open to the left there, so that nothing has to cancel far
    away.
    """
    f = target("exp(-20*x)", (0.0, 1.0))
    spline = fit_free_knots(f, space("glu"), equidistributed_knots(f, space("glu"), 12))
    network = network_from_spline("glu", spline, 12)
    opened = network.G[1:, 0].detach().numpy()
    assert (opened[:8] == -1).all()


@pytest.mark.parametrize("unit", ["mlp", "glu"])
def test_neurons_are_hardly_larger_than_for_the_best_cell(unit: str) -> None:
    """A peak: of all cells that gates may open away from, by forward passes."""
    f = target("1/(0.01 + (x - 0.7)**2)", (0.0, 1.0))
    knots = equidistributed_knots(f, space(unit), 12)
    spline = fit_free_knots(f, space(unit), knots)
    x = torch.linspace(0, 1, 400).double()[:, None]

    def largest(network: GatedNetwork) -> float:
        terms = network.hidden(x) * network.D[0]
        return float(terms.abs().amax(dim=0).sum().detach())

    sums = []
    for cell in range(12):
        directions = np.where(np.arange(11) < cell, -1, 1)
        network = network_from_pieces(
            unit, spline.knots, spline.pieces, directions, None
        )
        sums.append(largest(network))
    assert max(sums) > 2 * min(sums)
    assert largest(network_from_spline(unit, spline, 12)) < 1.01 * min(sums)


@example([0.0, 7.9, -5.0, 1.0], 1.0)  # (s - 1)(3.9 - 4 s + s^2), no real ones beside s
@given(
    st.lists(st.floats(-3, 3).map(lambda c: round(c, 6)), min_size=4, max_size=4),
    st.floats(0.1, 5),
)
def test_real_factors_multiply_to_the_cubic(cubic: list[float], length: float) -> None:
    made = _real_factors(np.array(cubic), length)
    s = np.linspace(0, length, 7)
    if made is None:
        # Any constant leaves complex roots, or three roots of which the outer ones lie
        # inside.
        _, c1, c2, c3 = cubic
        assert c3 != 0
        spread = c2**2 - 3 * c1 * c3
        if spread > 0:
            reach = 2 * math.sqrt(spread) / (3 * abs(c3))
            assert reach * (1 - 1e-6) < -c2 / (3 * c3) < length - reach * (1 - 1e-6)
        return
    values = made[:, :1] * s + made[:, 1:]
    assert (values[0] >= -1e-12 * np.abs(made[0]).max()).all(), "the gate is open"
    product = values.prod(axis=0)
    expected = np.polynomial.polynomial.polyval(s, cubic)
    scale = np.abs(values).prod(axis=0).max() + np.abs(expected).max()
    gap = product - expected
    np.testing.assert_allclose(gap, gap[0], atol=1e-9 * scale + 1e-140)


def test_a_cube_over_its_inflection_has_no_real_factors() -> None:
    """x^3 from -1 on is 3 s - 3 s^2 + s^3 and a constant: two cells take one neuron
    more.
    """
    f = target("x**3")
    spline = fit_free_knots(f, space("gqu"), np.linspace(-1, 1, 2))
    with pytest.raises(ValueError, match="no directions"):
        network_from_spline("gqu", spline, 1)
    two = network_from_spline(
        "gqu", fit_free_knots(f, space("gqu"), np.array([-1, 1.0])), 2
    )
    assert measured_rmse(two, f) < 1e-13
