"""Errors of forward passes against other quadratures."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from xsquared.errors import measured_rmse, rmse, sampled_rmse
from xsquared.functions import PAPER_TARGET, target
from xsquared.geometry import knots
from xsquared.units import UNITS, GatedNetwork, build, predict, set_parameters

SPLINES = sorted(name for name, unit in UNITS.items() if unit.gate.hinged)


def zero() -> GatedNetwork:
    """A network that is zero everywhere, with a knot at 0.3."""
    network = build("mlp", 1, 1)
    set_parameters(network, G=[[1.0]], g=[-0.3], D=[[0.0]], d=[0.0])
    return network


@pytest.mark.parametrize("unit", sorted(UNITS))
def test_rmse_is_that_of_the_forward_pass(unit: str) -> None:
    draw = np.random.default_rng(3)
    x, y = draw.standard_normal((9, 2)), draw.standard_normal(9)
    network = build(unit, 2, 3, generator=torch.Generator().manual_seed(3))
    expected = math.sqrt(sum((predict(network, x) - y) ** 2) / 9)
    assert math.isclose(rmse(network, x, y), expected, rel_tol=1e-12)


def test_an_error_that_overflows_is_infinite() -> None:
    network = zero()
    set_parameters(network, d=[1e200])
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
    assert math.isclose(
        measured_rmse(network, PAPER_TARGET), math.sqrt(square / 2), rel_tol=1e-7
    )


def test_the_sampled_error_is_that_of_the_papers_points() -> None:
    network, x = build("glu", 1, 3), np.linspace(-1, 1, 10_000)
    expected = rmse(network, x[:, None], PAPER_TARGET(x))
    assert math.isclose(sampled_rmse(network, PAPER_TARGET), expected, rel_tol=1e-12)


@pytest.mark.parametrize(
    ("text", "square"),
    [
        ("sin(50*x)", 0.5 - math.sin(100) / 200),
        ("abs(x - 0.2)", (0.8**3 + 1.2**3) / 6),
        ("(x + 1)**0.1", 2**1.2 / 2.4),  # an infinite slope at the end
        ("abs(x - 0.3)**0.6", (0.7**2.2 + 1.3**2.2) / 4.4),  # and at the knot
        ("abs(x - 0.3)**-0.2", (0.7**0.6 + 1.3**0.6) / 1.2),
    ],
)
def test_kinks_and_singularities_at_ends_and_knots_are_measured(
    text: str, square: float
) -> None:
    assert measured_rmse(zero(), target(text)) == pytest.approx(
        math.sqrt(square), rel=1e-4
    )


@pytest.mark.parametrize("beside", [0.0, 1e-9, -1e-6, 1e-3, -0.1])
@pytest.mark.parametrize("width", [1e-7, 1e-4])
def test_a_ramp_beside_a_jump_has_its_integral(beside: float, width: float) -> None:
    """By hand: at a distance s from the ramp's middle, sign leaves w/3 + 4 s^2/w within
    the ramp of width w, and 4 s - w beyond w/2.
    """
    network = build("mlp", 1, 2)
    start = 0.2 + beside - width / 2
    bias, slope = [-start, -start - width], 2 / width
    set_parameters(network, G=[[1.0]] * 2, g=bias, D=[[slope, -slope]], d=[-1.0])
    s, w = abs(beside), np.diff(knots(network))[0]
    square = w / 3 + 4 * s**2 / w if s < w / 2 else w / 3 + 4 * s - w
    reached = measured_rmse(network, target("sign(x - 0.2)"))
    assert math.isclose(reached, math.sqrt(square / 2), rel_tol=1e-6)


@pytest.mark.parametrize("text", ["1/(x - 0.123456)", "exp(-((x - 0.1)/0.0003)**2)"])
def test_a_target_that_is_not_resolved_is_warned_of(text: str) -> None:
    with pytest.warns(RuntimeWarning, match="is not resolved"):
        measured_rmse(zero(), target(text))
