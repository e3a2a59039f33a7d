"""The page on which knots move: its stored optima, its still figure, its script as a file."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from tests.site_in_browser import PROJECT
from xsquared.units import PAPER_UNITS, find_unit
from xsquared_book import explore
from xsquared_book.explore import TARGETS, law, optimum, read_optima, spline
from xsquared_book.project import Project

SCRIPT = PROJECT.book / "_extra" / "explore.js"


def test_every_optimum_is_stored_with_its_error() -> None:
    optima = read_optima(PROJECT)
    assert len(optima) == len(TARGETS) * len(PAPER_UNITS) * explore.WIDEST >= 50
    for (name, unit, cells), row in optima.iterrows():
        assert len(row.places) == cells - 1
        assert row.rmse == pytest.approx(spline(TARGETS[name], unit, row.places).rmse, rel=1e-7)
    for _, rows in optima.groupby(level=["target", "unit"]):
        assert (np.diff(rows["rmse"]) < 0).all(), "one neuron more, and a larger error"


@pytest.mark.parametrize(
    "case",
    [(name, unit, n) for name in TARGETS for unit, n in (("mlp", 3), ("glu", 9), ("gqu", 17))],
)
def test_a_sample_of_the_optima_is_found_again(case: tuple[str, str, int]) -> None:
    stored = read_optima(PROJECT).loc[case]
    places, rmse = optimum(*case)
    assert rmse == pytest.approx(stored["rmse"], rel=1e-6)
    assert np.abs(np.array(places) - stored["places"]).max() * explore.STEP < 1e-3


@pytest.mark.parametrize("unit", PAPER_UNITS)
def test_the_law_is_what_the_errors_tend_to(unit: str) -> None:
    order, constant = law("exp(2x)", unit)
    errors = read_optima(PROJECT).loc["exp(2x)", unit]["rmse"]
    assert order == find_unit(unit).order
    assert errors[50] == pytest.approx(constant * 50.0**-order, rel=0.02)


def test_the_table_says_what_made_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: TARGETS[name] for name in list(TARGETS)[:1]}
    monkeypatch.setattr(explore, "TARGETS", few)
    monkeypatch.setattr(explore, "WIDEST", 2)
    monkeypatch.setattr(explore, "git", lambda *_: "abc")
    project = Project(tmp_path)
    project.optima.parent.mkdir()
    explore.write_optima(project)
    made, stored = read_optima(project), read_optima(PROJECT)
    assert len(made) == 6
    assert made["rmse"].tolist() == pytest.approx(stored.loc[made.index, "rmse"].tolist(), rel=1e-6)
    origin = tomllib.loads(project.optima.with_suffix(".toml").read_text())
    committed = tomllib.loads(PROJECT.optima.with_suffix(".toml").read_text())
    assert origin.keys() == committed.keys()
    assert origin["commit"] == "abc"


def test_the_still_figure_is_the_same_every_time() -> None:
    first = explore.still_figure(PROJECT)
    assert first == explore.still_figure(PROJECT)
    assert first.startswith("<svg ")


def test_the_script_is_small_and_classic() -> None:
    text = SCRIPT.read_text(encoding="utf-8")
    assert len(text.encode()) <= 30_000
    assert not re.search(
        r"\bimport\b|\bexport\b|\bfetch\(|XMLHttpRequest|https?://(?!www\.w3)", text
    )
