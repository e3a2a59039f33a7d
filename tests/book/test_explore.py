"""The page on which knots move: its stored optima."""

import numpy as np
import pytest

from xsquared.book.explore import read_optima
from xsquared.studies.optimal_knots import TARGETS, WIDEST, spline
from xsquared.units import PAPER_UNITS


def test_every_optimum_is_stored_with_its_error() -> None:
    optima = read_optima()
    assert len(optima) == len(TARGETS) * len(PAPER_UNITS) * WIDEST
    for (name, unit, cells), row in optima.iloc[::7].iterrows():
        assert len(row.places) == cells - 1
        assert row.rmse == pytest.approx(
            spline(TARGETS[name], unit, row.places).rmse, rel=1e-5
        )
    for _, errors in optima["rmse"].groupby(level=["target", "unit"]):
        assert (np.diff(errors) < 0).all(), "one neuron more, and a larger error"
