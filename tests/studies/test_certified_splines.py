"""The best splines found have starts that the solver has not."""

from xsquared.functions import PAPER_TARGET
from xsquared.studies.certified_splines import best_spline
from xsquared.training import FreeKnots


def test_a_parted_cell_leads_where_the_solver_does_not() -> None:
    alone = FreeKnots().spline(PAPER_TARGET, "gqu", 5)
    assert best_spline(PAPER_TARGET, "gqu", 5).rmse < 0.9 * alone.rmse
