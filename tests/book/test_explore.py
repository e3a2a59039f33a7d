"""The page on which knots move: its stored optima, and its script as a file."""

import re

import numpy as np
import pytest

from tests.site_in_browser import PROJECT
from xsquared.functions import target
from xsquared.units import PAPER_UNITS
from xsquared_book.explore import read_optima
from xsquared_studies import rows
from xsquared_studies.optimal_knots import TARGETS, WIDEST, spline


def test_every_optimum_is_stored_with_its_error() -> None:
    optima = read_optima()
    assert len(optima) == len(TARGETS) * len(PAPER_UNITS) * WIDEST
    for (name, unit, cells), row in optima.iloc[::7].iterrows():
        assert len(row.places) == cells - 1
        assert row.rmse == pytest.approx(spline(TARGETS[name], unit, row.places).rmse, rel=1e-5)
    for _, errors in optima["rmse"].groupby(level=["target", "unit"]):
        assert (np.diff(errors) < 0).all(), "one neuron more, and a larger error"


def test_no_stored_error_is_above_the_best_of_the_certified_study() -> None:
    names = {str(made.expression): name for name, made in TARGETS.items()}
    optima, compared = read_optima()["rmse"], 0
    for row in rows("certified_splines").itertuples():
        place = (names.get(str(target(row.problem).expression)), row.unit, row.n + 1)
        if place in optima.index:
            assert optima[place] < 1.01 * row.train_rmse, place
            compared += 1
    assert compared >= 9


def test_the_script_is_classic_and_asks_for_nothing() -> None:
    script = PROJECT.root / "book" / "_extra" / "explore.js"
    modern = r"\bimport\b|\bexport\b|\bfetch\(|XMLHttpRequest|https?://(?!www\.w3)"
    assert not re.search(modern, script.read_text(encoding="utf-8"))
