"""Errors of forward passes against other quadratures, and where they are confined or infinite."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from xsquared.constructions import interpolating_mlp
from xsquared.errors import measured_rmse, rmse, sampled_rmse
from xsquared.functions import PAPER_TARGET, target
from xsquared.geometry import knots
from xsquared.quadrature import between
from xsquared.units import UNITS, build, predict, set_parameters

SPLINES = sorted(name for name, unit in UNITS.items() if unit.gate.hinged)


@given(st.sampled_from(sorted(UNITS)), st.integers(1, 5), st.integers(0, 10**6))
def test_rmse_is_that_of_the_forward_pass(unit: str, dim: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    x, y = draw.standard_normal((9, dim)), draw.standard_normal(9)
    network = build(unit, dim, 3, generator=torch.Generator().manual_seed(seed))
    expected = math.sqrt(sum((predict(network, x) - y) ** 2) / 9)
    assert math.isclose(rmse(network, x, y), expected, rel_tol=1e-12)


def test_an_error_needs_a_value_for_each_point() -> None:
    network, x = build("glu", 1, 4), np.linspace(-1, 1, 50)
    others: list[Any] = [np.sin(x)[:, None], 0.0, np.ones(1)]
    for y in others:
        with pytest.raises(ValueError, match=r"^y: expected shape \(50,\), got "):
            rmse(network, x, y)


@pytest.mark.parametrize("size", [1e200, 1e308])
def test_an_error_that_overflows_is_infinite(size: float) -> None:
    """Without a warning: at 1e200 the square overflows, at 1e308 the pass itself."""
    network = build("mlp", 1, 1)
    set_parameters(network, G=[[size]], g=[0.0], D=[[10.0]], d=[0.0])
    assert rmse(network, np.ones((2, 1)), np.zeros(2)) == math.inf


@pytest.mark.parametrize("unit", SPLINES)
def test_the_measured_error_is_the_integral(unit: str) -> None:
    network = build(unit, 1, 4, generator=torch.Generator().manual_seed(3))
    inner = [knot for knot in knots(network) if -1 < knot < 1]
    assert inner
    square, _ = quad(
        lambda x: float(predict(network, np.array([x]))[0] - PAPER_TARGET(x)) ** 2,
        *(-1, 1),
        points=inner,
        epsrel=1e-12,
        limit=200,
    )
    assert math.isclose(measured_rmse(network, PAPER_TARGET), math.sqrt(square / 2), rel_tol=1e-7)


def test_the_sampled_error_is_that_of_the_papers_points() -> None:
    network, x = build("glu", 1, 3), np.linspace(-1, 1, 10_000)
    expected = rmse(network, x[:, None], PAPER_TARGET(x))
    assert math.isclose(sampled_rmse(network, PAPER_TARGET), expected, rel_tol=1e-12)


@pytest.mark.parametrize(
    ("text", "square"),
    [
        *((f"exp(-((x - 0.3)/{w})**2)", w * math.sqrt(math.pi / 2) / 2) for w in (0.003, 0.0003)),
        ("sin(1000*x)", 0.5 - math.sin(2000) / 4000),
        # Poles inside the domain and just outside it.
        ("abs(x - 0.3003)**-0.3", (0.6997**0.4 + 1.3003**0.4) / 0.8),
        ("(x + 1.000000001)**-0.4", (2.000000001**0.2 - 1e-9**0.2) / 0.4),
        # What diverges.
        ("1/(x - 0.123456)", math.inf),
        ("abs(x - 0.123456)**-0.5", math.inf),
    ],
)
def test_what_is_narrower_than_the_nodes_are_apart_is_measured(text: str, square: float) -> None:
    network = build("glu", 1, 4)
    set_parameters(network, D=np.zeros((1, 4)), d=[0.0])
    assert math.isclose(measured_rmse(network, target(text)), math.sqrt(square), rel_tol=1e-6)


def test_a_pulse_between_the_nodes_of_a_first_check_is_measured() -> None:
    """Found by a tester: both rules agreed on zero."""
    network, begin, end = build("glu", 1, 4), 0.06635431005841534, 0.06764568994178458
    set_parameters(network, D=np.zeros((1, 4)), d=[0.0])
    pulse = target(f"(tanh(1e300*(x - {begin})) - tanh(1e300*(x - {end})))/2")
    exact = math.sqrt((end - begin) / 2)
    assert measured_rmse(network, pulse) == pytest.approx(exact, rel=1e-7)


@pytest.mark.parametrize(("power", "off"), [(0.3, 1e-6), (0.4, 1e-3)])
@pytest.mark.parametrize("pole", [-0.7654321, 0.123456, 0.2345678])
def test_a_pole_is_measured_as_far_as_is_said(power: float, off: float, pole: float) -> None:
    network, left = build("glu", 1, 4), 1 - 2 * power
    set_parameters(network, D=np.zeros((1, 4)), d=[0.0])
    exact = math.sqrt(((1 - pole) ** left + (1 + pole) ** left) / left / 2)
    error = measured_rmse(network, target(f"abs(x - {pole})**-{power}"))
    assert error == pytest.approx(exact, rel=off)


@pytest.mark.parametrize("place", [-0.3904, -0.8978])
def test_a_pulse_on_a_wide_piece_is_measured_beside_many_narrow_ones(place: float) -> None:
    """Found by a tester: many knots in a thousandth left the rest few nodes."""
    count, width = 300, 3e-4
    network = build("mlp", 1, count)
    knots_at = np.linspace(0.5, 0.501, count)
    set_parameters(network, G=np.ones((count, 1)), g=-knots_at, D=np.zeros((1, count)), d=[0.0])
    exact = math.sqrt(width * math.sqrt(math.pi / 2) / 2)
    pulse = target(f"exp(-((x - ({place}))/{width})**2)")
    assert measured_rmse(network, pulse) == pytest.approx(exact, rel=1e-6)


def test_a_tail_beside_a_narrow_piece_is_measured() -> None:
    """The nodes of the wide pieces beside it are all beyond the tail."""
    network, width = build("mlp", 1, 2), 1e-6
    set_parameters(
        network, G=np.ones((2, 1)), g=[-0.3 - width, width - 0.3], D=np.zeros((1, 2)), d=[0.0]
    )
    error = measured_rmse(
        network, target(f"2/(exp((x-0.3)/{width}) + exp((0.3-x)/{width}))", (0.2, 0.4))
    )
    assert math.isclose(error, math.sqrt(2 * width / 0.2), rel_tol=1e-8)


@pytest.mark.parametrize("beside", [1e-6, 0.003, 0.01, 0.126, 0.9])
@pytest.mark.parametrize("idle", [0, 298])
def test_a_jump_beside_a_knot_is_measured(beside: float, idle: int) -> None:
    """Found by a tester: no node lay between the knot and the jump, and both rules agreed."""
    width, jump = 1e-3, 0.1234567
    end = jump - beside * width
    begin = end - width
    network = build("mlp", 1, idle + 2)
    set_parameters(
        network,
        G=np.ones((idle + 2, 1)),
        g=-np.array([*np.linspace(-1, -0.9, idle), begin, end]),
        D=np.array([[*np.zeros(idle), 2 / width, -2 / width]]),
        d=[-1.0],
    )
    # A ramp from -1 to 1 below the jump from -1 to 1: squares of 2 t, then of 2.
    exact = math.sqrt((4 / 3 + 4 * beside) * width / 2)
    step = target(f"2/pi*atan(1e20/(x - {jump}))")
    assert measured_rmse(network, step) == pytest.approx(exact, rel=1e-7)


def test_where_two_sets_of_nodes_agree_the_error_is_that_of_the_first() -> None:
    network = interpolating_mlp(PAPER_TARGET, 30)
    points, weights = between((-1.0, 1.0), knots(network))
    squares = (predict(network, points) - PAPER_TARGET(points)) ** 2
    assert measured_rmse(network, PAPER_TARGET) == math.sqrt(float(squares @ weights) / 2)
