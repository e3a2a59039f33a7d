"""Splines made into networks: directions by the neurons' sizes, and real factors of cubics."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xsquared.errors import measured_rmse
from xsquared.functions import target
from xsquared.splines.density import equidistributed_knots
from xsquared.splines.free_knots import fit_free_knots
from xsquared.training.conversion import real_factors, spline_network
from xsquared.units import space


def test_directions_are_chosen_by_the_size_of_the_neurons() -> None:
    """A steep left end: gates open to the left there, so that nothing has to cancel far away."""
    f = target("exp(-20*x)", (0.0, 1.0))
    spline = fit_free_knots(f, space("glu"), equidistributed_knots(f, space("glu"), 12))
    network = spline_network("glu", spline, 12)
    opened = network.G[1:, 0].detach().numpy()
    assert (opened[:8] == -1).all()


@given(
    st.lists(st.floats(-3, 3).map(lambda c: round(c, 6)), min_size=4, max_size=4), st.floats(0.1, 5)
)
def test_real_factors_multiply_to_the_cubic(cubic: list[float], length: float) -> None:
    made = real_factors(np.array(cubic), length)
    s = np.linspace(0, length, 7)
    if made is None:
        # Any constant leaves complex roots, or three roots of which the outer ones lie inside.
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


@pytest.mark.parametrize(
    ("cubic", "place"),
    [([0, 3, -3, 1], None), ([0, 2, 1, -1], 0.0), ([7, 0, 0, 4], 0.0), ([0, -4, 0, 1], 0.0),
     ([0, 24, -9, 1], 2.0), ([0, 47, -12, 1], 4.0), ([0, 47, 12, 1], -4.0)],
)  # fmt: skip
def test_where_the_gate_stands(cubic: list, place: float | None) -> None:
    """s^3 - 12 s^2 + 47 s has complex roots with 0, but not with its inflection at 4."""
    made = real_factors(np.array(cubic, float), 2.0)
    assert (made is None) == (place is None)
    if made is not None:
        assert -made[0, 1] / made[0, 0] == place
        assert made[0, 0] == (-1 if place > 0 else 1)


def test_the_gate_at_the_end_of_a_short_cell_opens_to_the_left() -> None:
    """s^3 - 9 s^2 + 24 s on [0, 2], in cells of a quarter the length."""
    made = real_factors(np.array([0.0, 96, -144, 64]), 0.5)
    np.testing.assert_array_equal(made[0], [-1, 0.5])


def test_a_cube_over_its_inflection_has_no_real_factors() -> None:
    """x^3 from -1 on is 3 s - 3 s^2 + s^3 and a constant: two cells take one neuron more."""
    f = target("x**3")
    spline = fit_free_knots(f, space("gqu"), np.linspace(-1, 1, 2))
    assert spline_network("gqu", spline, 1) is None
    two = spline_network("gqu", fit_free_knots(f, space("gqu"), np.array([-1, 1.0])), 2)
    assert measured_rmse(two, f) < 1e-13
