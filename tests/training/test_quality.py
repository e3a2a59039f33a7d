"""Trained networks against splines on equal cells, for targets of every kind.

A network of n neurons carries n pieces at least; a unit of two factors needs one neuron more for a
first cubic without real roots, so n - 1 pieces are asked of it.
"""

from __future__ import annotations

import numpy as np
import pytest

from xsquared.data.dataset import sampled
from xsquared.errors import measured_rmse
from xsquared.functions import target
from xsquared.splines import least_squares_spline_rmse
from xsquared.training.fit import fit
from xsquared.training.spline_network import FreeKnots
from xsquared.units import find_unit

TARGETS = {
    "smooth": ("exp(x)", (-1.0, 1.0)),
    "waves": ("1/(1 + cos(pi*x)**2)", (-1.0, 1.0)),
    "oscillating": ("sin(20*x)", (-1.0, 1.0)),
    "kinked": ("abs(x - 0.3) + x**2", (-1.0, 1.0)),
    "singular at an end": ("sqrt(x)", (0.0, 1.0)),
    "singular at both": ("sqrt(1 - x**2)", (-1.0, 1.0)),
    "power": ("x**0.1", (0.0, 1.0)),
    "pole nearby": ("log(x)", (1e-6, 1.0)),
    "steep": ("tanh(2000*x)", (-1.0, 1.0)),
    "flat": ("x**1000", (-1.0, 1.0)),
    "huge": ("10**12*exp(x)", (-1.0, 1.0)),
    "tiny": ("10**(-12)*sin(3*x)", (-1.0, 1.0)),
    "shifted": ("sin(x)", (1000.0, 1003.0)),
    "a polynomial": ("x**3 - x", (-2.0, 1.0)),
}
#: All settings that only search more are at their least, so that this takes seconds.
QUICK = FreeKnots(
    max_iterations=60, starts=1, moves=1, directions=2, narrow=5, jumps=2, random_starts=2
)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 20])
@pytest.mark.parametrize("name", TARGETS)
def test_no_network_is_worse_than_equal_cells(name: str, n: int) -> None:
    text, domain = TARGETS[name]
    f = target(text, domain)
    data = sampled(f, 2001)
    size = float(np.abs(data.train.y).max())
    for unit in map(find_unit, ("mlp", "glu", "gqu")):
        run = fit(data, unit, n, solver=QUICK)
        # A forward pass that misses its spline's error says so, and is judged all the same.
        words = ("converged", "iterations", *(["inexact"] if name == "steep" else []))
        assert run.status.word in words, (unit.name, run.status, run.detail)
        assert run.network.n_hidden == n
        reached = measured_rmse(run.network, f)
        pieces = n - (len(unit.factors) > 1)
        if pieces:
            equal = least_squares_spline_rmse(f, unit.order, pieces)
            assert reached <= 1.001 * equal + 1e-10 * size, unit.name
