"""Trained networks against splines on equal cells.

A network of n neurons carries n pieces at least; n - 1 are asked of a unit of two
factors, which cannot have n in general: the chapter on the gated quadratic unit proves
it of the splines below.
"""

import itertools

import numpy as np
import pytest

from xsquared.errors import measured_rmse
from xsquared.functions import target
from xsquared.networks_1d.solver import SplineSearch
from xsquared.splines.constants import least_squares_spline_rmse
from xsquared.splines.spaces import ungated_signs
from xsquared.units import PAPER_UNITS, find_unit

#: By how much a network may be worse, as a share of the error, and what is rounding of
#: the values.
TOLERANCE, ROUNDING = 1e-3, 1e-10
#: Targets of every kind: smooth, oscillating, steep, kinked, singular, scaled.
TARGETS = (
    ("erf(3*x)", (-1, 1)), ("sin(20*x)", (-1, 1)), ("atan(100*(x - 0.3))", (-1, 1)),
    ("x**100", (-1, 1)), ("abs(x - 0.3) + x**2", (-1, 1)), ("x*log(x)", (1e-9, 1)),
    ("10**12*sin(10**6*x)", (0, 1e-5)),
)  # fmt: skip


@pytest.mark.parametrize("unit", PAPER_UNITS)
@pytest.mark.parametrize(("text", "interval"), TARGETS)
@pytest.mark.slow
def test_no_network_is_worse_than_equal_cells(
    text: str, interval: tuple[float, float], unit: str
) -> None:
    f, record, n = target(text, interval), find_unit(unit), 5
    equal = least_squares_spline_rmse(f, record.order, n - (len(record.factors) > 1))
    size = float(np.abs(f(np.linspace(*interval, 501))).max())
    reached = measured_rmse(SplineSearch().best_network(f, unit, n)[0], f)
    assert reached - ROUNDING * size <= (1 + TOLERANCE) * equal


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.slow
def test_one_gqu_more_than_cells_carries_every_spline_and_as_many_do_not(
    n: int,
) -> None:
    """The polynomial behind all gates rises everywhere, as no cubic with real roots
    does.
    """
    knots = np.linspace(-1, 1, n + 1)[1:-1]
    steps = (f"((x - ({t}) + abs(x - ({t})))/2)**3" for t in knots)
    f = target(" + ".join(["x**3 + x", *steps]))
    assert least_squares_spline_rmse(f, 4, n) < 1e-12
    polynomial = np.polynomial.Polynomial([0, 1, 0, 1])
    cells = [polynomial + sum(np.polynomial.Polynomial([-t, 1]) ** 3 for t in knots[:k])
             for k in range(n)]  # fmt: skip
    for directions in itertools.product((1, -1), repeat=n - 1):
        behind = sum(
            s * p
            for s, p in zip(ungated_signs(np.array(directions)), cells, strict=True)
        )
        _, c1, c2, c3 = behind.coef
        assert c2**2 < 3 * c1 * c3
    few, enough = (
        measured_rmse(SplineSearch().best_network(f, "gqu", n + more)[0], f)
        for more in (0, 1)
    )
    assert enough < 1e-9
    assert few > 1e-5
