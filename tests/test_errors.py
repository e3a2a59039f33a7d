"""Errors of forward passes against other quadratures, and where they are confined or infinite."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from xsquared.errors import measured_rmse, rmse, sampled_rmse
from xsquared.functions import PAPER_TARGET, target
from xsquared.geometry import knots
from xsquared.units import UNITS, build, predict, set_parameters

SPLINES = sorted(name for name, unit in UNITS.items() if unit.gate.hinged)


@given(st.sampled_from(sorted(UNITS)), st.integers(1, 5), st.integers(0, 10**6))
def test_rmse_is_that_of_the_forward_pass(unit: str, dim: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    x, y = draw.standard_normal((9, dim)), draw.standard_normal(9)
    network = build(unit, dim, 3, generator=torch.Generator().manual_seed(seed))
    expected = math.sqrt(sum((predict(network, x) - y) ** 2) / 9)
    assert math.isclose(rmse(network, x, y), expected, rel_tol=1e-12)


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
        lambda x: (predict(network, np.array([x]))[0] - PAPER_TARGET(np.array([x]))[0]) ** 2,
        -1,
        1,
        points=inner,
        epsrel=1e-12,
        limit=200,
    )
    assert math.isclose(measured_rmse(network, PAPER_TARGET), math.sqrt(square / 2), rel_tol=1e-7)


def test_the_sampled_error_is_that_of_the_papers_points() -> None:
    network, x = build("glu", 1, 3), np.linspace(-1, 1, 10_000)
    expected = rmse(network, x[:, None], PAPER_TARGET(x))
    assert math.isclose(sampled_rmse(network, PAPER_TARGET), expected, rel_tol=1e-12)


def test_what_has_no_integral_is_refused() -> None:
    plane = target("x*y")
    for measure in (measured_rmse, sampled_rmse):
        with pytest.raises(ValueError, match=r"one variable, x\*y has 2"):
            measure(build("mlp", 2, 2), plane)
    with pytest.raises(ValueError, match="only hinged gates have knots, this one is silu"):
        measured_rmse(build("swiglu", 1, 2), PAPER_TARGET)
    with pytest.raises(ValueError, match="n_points: expected an integer from 2 to 10000000, got 1"):
        sampled_rmse(build("mlp", 1, 2), PAPER_TARGET, 1)
