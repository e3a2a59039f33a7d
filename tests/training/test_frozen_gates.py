"""The best weights for frozen gates: splines on equal cells, forward passes, exact
cases.
"""

import math

import numpy as np
import pytest

from xsquared.functions import PAPER_TARGET
from xsquared.geometry import knots
from xsquared.splines.constants import least_squares_spline_rmse
from xsquared.training.frozen_gates import fit_frozen
from xsquared.training.variable_projection import to_network
from xsquared.units import find_unit, predict

UNITS = ["mlp", "glu", "gqu"]


@pytest.mark.parametrize("n", [2, 3, 6, 11])
@pytest.mark.parametrize("unit", ["mlp", "glu"])
def test_the_minimum_is_that_of_splines_on_equal_cells(unit: str, n: int) -> None:
    fit = fit_frozen(PAPER_TARGET, unit, n, 1)
    splines = least_squares_spline_rmse(PAPER_TARGET, find_unit(unit).order, n - 1, 0)
    assert fit.rmse == pytest.approx(splines, rel=1e-8)
    assert (fit.iterations, fit.status) == (0, "converged")


@pytest.mark.parametrize("n", [1, 2, 5, 9])
@pytest.mark.parametrize("unit", UNITS)
def test_the_forward_pass_has_the_reported_rmse_and_the_papers_knots(
    unit: str, n: int
) -> None:
    fit = fit_frozen(PAPER_TARGET, unit, n, 50)
    network = to_network(fit, find_unit(unit))
    ends = np.linspace(-1, 1, n) if n > 1 else [-1.0]
    np.testing.assert_allclose(knots(network), ends, atol=1e-15)
    fine = np.linspace(-1, 1, 20_001)
    sampled = math.sqrt(np.mean((predict(network, fine) - PAPER_TARGET(fine)) ** 2))
    assert math.isclose(sampled, fit.rmse, rel_tol=1e-3)
