"""Best splines have starts that the solver has not; bounds are rounded down."""

import pytest

from xsquared.functions import PAPER_TARGET
from xsquared.networks_1d.solver import SplineSearch
from xsquared.studies.certified_splines import _rounded_down, best_spline
from xsquared.units import space


def test_the_best_spline_is_not_behind_the_solvers() -> None:
    alone = SplineSearch().best_spline(PAPER_TARGET, space("gqu"), 5)
    assert best_spline(PAPER_TARGET, "gqu", 5).rmse <= alone.rmse


@pytest.mark.parametrize(
    ("bound", "row"),
    [(0.0123456789, 0.0123456), (9.99999999e-7, 9.99999e-7), (0.25, 0.25), (0.0, 0.0)],
)
def test_a_rows_bound_is_a_bound(bound: float, row: float) -> None:
    assert _rounded_down(bound) == row
