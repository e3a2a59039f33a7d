"""The page on which knots move: its stored optima, its still figure, its script as a file."""

import re

import numpy as np
import pytest

from tests.site_in_browser import PROJECT
from xsquared.functions import target
from xsquared.units import PAPER_UNITS, find_unit
from xsquared_book import explore
from xsquared_book.explore import law, read_optima
from xsquared_studies import rows
from xsquared_studies.optimal_knots import TARGETS, WIDEST, spline

SCRIPT = PROJECT.book / "_extra" / "explore.js"


def test_every_optimum_is_stored_with_its_error() -> None:
    optima = read_optima()
    assert len(optima) == len(TARGETS) * len(PAPER_UNITS) * WIDEST
    for (name, unit, cells), row in optima.iterrows():
        assert len(row.places) == cells - 1
        assert row.rmse == pytest.approx(spline(TARGETS[name], unit, row.places).rmse, rel=1e-5)
    for _, errors in optima["rmse"].groupby(level=["target", "unit"]):
        assert (np.diff(errors) < 0).all(), "one neuron more, and a larger error"


@pytest.mark.parametrize(("study", "more"), [("best_splines", 0), ("certified_splines", 1)])
def test_no_stored_error_is_above_what_another_search_found(study: str, more: int) -> None:
    names = {str(made.expression): name for name, made in TARGETS.items()}
    optima, compared = read_optima()["rmse"], 0
    for row in rows(study).itertuples():
        place = (names.get(str(target(row.problem).expression)), row.unit, row.n + more)
        if place in optima.index:
            assert optima[place] < 1.01 * row.train_rmse, place
            compared += 1
    assert compared >= 9


@pytest.mark.parametrize("unit", PAPER_UNITS)
def test_the_law_is_what_the_errors_tend_to(unit: str) -> None:
    order, constant = law("exp(2x)", unit)
    errors = read_optima().loc["exp(2x)", unit]["rmse"]
    assert order == find_unit(unit).order
    # The ends are worth so many cells, as for x^k on [0, 1], whose k-th derivative has no zero.
    more = {"mlp": 0.0, "glu": 0.2209, "gqu": 0.4607}[unit]
    assert errors[50] == pytest.approx(constant * (50 + more) ** -order, rel=0.002)


def test_the_still_figure_is_always_the_same_and_the_script_classic() -> None:
    first = explore.still_figure()
    assert first == explore.still_figure()
    assert first.startswith("<svg ")
    modern = r"\bimport\b|\bexport\b|\bfetch\(|XMLHttpRequest|https?://(?!www\.w3)"
    assert not re.search(modern, SCRIPT.read_text(encoding="utf-8"))
