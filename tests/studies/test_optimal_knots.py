"""The best splines found have starts that the solver has not."""

from xsquared.studies.optimal_knots import TARGETS, best
from xsquared.training import FreeKnots


def test_a_parted_cell_leads_where_the_solver_does_not() -> None:
    made = TARGETS["1/(1+cos²(πx))"]
    assert best(made, "gqu", 5).rmse < 0.9 * FreeKnots().spline(made, "gqu", 5).rmse
