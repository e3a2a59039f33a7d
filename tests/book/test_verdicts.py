"""Verdicts are read from executed chapters, and from nowhere else."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from xsquared.book import verdicts
from xsquared.book.project import BookError, Project
from xsquared.papers.claims import VERDICT_MIME, Claim

CLAIMS = {
    "gu-a": Claim(
        "gu-a", "gated-units", "Eq. 1", "a | b", "01_good", "exact", 2.0, 0.5, refuted="a slip"
    ),
    "gu-b": Claim("gu-b", "gated-units", "Fig. 1", "b", "01_good", "true or false"),
    "gl-c": Claim("gl-c", "gelu-linearization", "Tab. 1", "c", "09_later", "true or false"),
}


@pytest.fixture(autouse=True)
def small_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "ledger", lambda: CLAIMS)


def write(folder: Path, name: str, *records: dict) -> None:
    """A notebook with an output that holds these verdicts."""
    shown = new_output("display_data", data={VERDICT_MIME: list(records)})
    cells = [new_code_cell("1"), new_code_cell("settle(...)", outputs=[shown])]
    nbformat.write(new_notebook(cells=cells), folder / f"{name}.ipynb")


def record(claim: str, holds: bool = True) -> dict:
    return {"claim": claim, "holds": holds, "measured": "3", "note": "n"}


def test_settled_and_open_claims_in_the_ledgers_order(small_project: Project) -> None:
    write(small_project.chapters, "01_good", record("gu-b"), record("gu-a", holds=False))
    entries = verdicts.collect(small_project.chapters)
    assert [(e.claim.id, e.verdict) for e in entries] == [
        ("gu-a", "fails"),
        ("gu-b", "holds"),
        ("gl-c", "open"),
    ]
    assert "| Gated units | 2 | 1 | 1 | 0 |" in verdicts.summary_table(small_project)
    assert "| GELU layers as feature maps | 1 | 0 | 0 | 1 |" in verdicts.summary_table(
        small_project
    )
    table = verdicts.full_table(small_project, "gated-units")
    assert "a \\| b **Why it fails:** a slip" in table
    assert "2 ± 0.5 | 3 | {doc}`01 <chapters/01_good>`" in table
    assert "c" not in verdicts.full_table(small_project, "gelu-linearization").splitlines()[
        -1
    ].split("|")
    assert "| ✘\u00a0fails | a" in table
    assert "○\u00a0open" in verdicts.full_table(small_project, "gelu-linearization")
    assert "`gl-c`: true or false" in verdicts.tolerances(small_project, "gelu-linearization")


def test_an_unknown_paper_is_named_with_the_known_ones(small_project: Project) -> None:
    with pytest.raises(ValueError, match="unknown paper 'other'; known are gated-units, "):
        verdicts.full_table(small_project, "other")


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([record("gu-x")], r"settles gu-x, not in the ledger"),
        ([record("gl-c")], r"settles gl-c, which the ledger gives to 09_later"),
        ([record("gu-b"), record("gu-b")], r"settles gu-b twice"),
    ],
)
def test_disagreement_with_the_ledger_stops_the_book(
    tmp_path: Path, records: list[dict], message: str
) -> None:
    write(tmp_path, "01_good", *records)
    with pytest.raises(BookError, match=message):
        verdicts.collect(tmp_path)
