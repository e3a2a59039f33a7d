"""The speedrun against the exact minimum it claims to be."""

import pytest

from xsquared.data import sampled
from xsquared.functions import PAPER_TARGET
from xsquared.slopes import fit_slope
from xsquared.studies.speedrun import WIDTHS, speedrun
from xsquared.training import FreeKnots, fit


def test_errors_are_those_of_the_frozen_gates() -> None:
    runs = {run.unit: run for run in speedrun(progress=False)}
    samples = sampled(PAPER_TARGET)
    for unit in ("mlp", "glu"):
        for place in (3, 10, 33):
            oracle = fit(
                samples, unit, int(WIDTHS[place]), solver=FreeKnots(), gates="frozen"
            ).test_rmse
            assert runs[unit].errors[place] == pytest.approx(oracle, rel=1e-9)
    # The GQU's factors are fixed here: training them helps, but not by much.
    trained = fit(samples, "gqu", int(WIDTHS[5]), solver=FreeKnots(), gates="frozen").test_rmse
    assert trained < runs["gqu"].errors[5] < 2 * trained


def test_slopes_approach_the_orders_of_the_splines() -> None:
    for run, order in zip(speedrun(progress=False), (2, 3, 4), strict=True):
        off = {
            start: abs(fit_slope(WIDTHS[kept], run.errors[kept]).value + order)
            for start in (25, 70)
            if (kept := start <= WIDTHS).any()
        }
        assert off[70] < off[25], "the wider, the closer"
        assert off[70] < 0.1
