"""The page on which knots move: its stored optima, and the site's scripts as files."""

import re

import numpy as np
import pytest

from tests.site_in_browser import PROJECT
from xsquared.units import PAPER_UNITS
from xsquared_book.explore import read_optima
from xsquared_studies.optimal_knots import TARGETS, WIDEST, spline


def test_every_optimum_is_stored_with_its_error() -> None:
    optima = read_optima()
    assert len(optima) == len(TARGETS) * len(PAPER_UNITS) * WIDEST
    for (name, unit, cells), row in optima.iloc[::7].iterrows():
        assert len(row.places) == cells - 1
        assert row.rmse == pytest.approx(spline(TARGETS[name], unit, row.places).rmse, rel=1e-5)
    for _, errors in optima["rmse"].groupby(level=["target", "unit"]):
        assert (np.diff(errors) < 0).all(), "one neuron more, and a larger error"


def test_scripts_are_classic_few_and_ask_for_nothing() -> None:
    book = PROJECT.root / "book"
    paths = [*book.glob("_extra/*"), *book.glob("_static/*.css"), *book.glob("_static/*.js")]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    modern = r"\bimport\b|\bexport\b|\bfetch\(|XMLHttpRequest|https?://(?!www\.w3)"
    assert not [text for text in texts if re.search(modern, text)]
    parts = [re.sub(r".*<style>|</style>.*", "", text, flags=re.DOTALL) for text in texts]
    assert sum(len(part.splitlines()) for part in parts) <= 1000
