"""Verdicts are read from executed chapters, and from nowhere else."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from xsquared_book import verdicts
from xsquared_book.papers import VERDICT_MIME
from xsquared_book.papers.claims import judge
from xsquared_book.papers.coverage import places
from xsquared_book.papers.ledger import Claim, Protocol, ledger
from xsquared_book.project import BookError, Project

GU = ("gated-units", "Eq. 1")
CLAIMS = {
    "gu-a": Claim(
        "gu-a", *GU, "the first.", "01_good", "value", "a slope.", "own", "exact.",
        ("other", "third"), value=2.0, tolerance=0.5, refuted="a slip",
    ),
    "gu-b": Claim("gu-b", *GU, "the second.", "01_good", "identity", "e.", "own", "true or false."),
    "gl-c": Claim(
        "gl-c", "gelu-linearization", "Tab. 1", "the third.", "09_later", "identity", "e.", "own",
        "true or false.",
    ),
}  # fmt: skip
PROTOCOLS = {
    name: Protocol(name, f"the {name} way", points="all") for name in ("own", "other", "third")
}


@pytest.fixture
def small_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    stands = lambda holding, _: {key: "" for key, holds in holding.items() if holds}  # noqa: E731
    monkeypatch.setattr(verdicts, "ledger", lambda: CLAIMS)
    monkeypatch.setattr(verdicts, "protocols", lambda: PROTOCOLS)
    monkeypatch.setattr(verdicts, "standing", stands)


def write(folder: Path, name: str, *records: dict[str, Any]) -> None:
    shown = new_output("display_data", data={VERDICT_MIME: list(records)})
    cells = [new_code_cell("1"), new_code_cell("settle(...)", outputs=[shown])]
    nbformat.write(new_notebook(cells=cells), folder / f"{name}.ipynb")


def record(claim: str, measured: Any = True) -> dict[str, Any]:
    return judge(CLAIMS[claim], measured, "n").as_record()


@pytest.mark.usefixtures("small_ledger")
def test_settled_and_open_claims_in_the_ledgers_order(small_project: Project) -> None:
    found = {"third": 3.0, "other": 2.0, "own": 9.0}
    write(small_project.chapters, "01_good", record("gu-b"), record("gu-a", found))
    entries = verdicts.collect(small_project.chapters)
    assert [(e.claim.id, e.mark, e.sort) for e in entries] == [
        ("gu-a", "✘", "fails by its own protocol, holds by another"),
        ("gu-b", "✔", "holds, no alternative"),
        ("gl-c", "○", "open"),
    ]
    assert verdicts.summary_table(small_project).splitlines() == [
        "| Verdict | Gated units | GELU layers as feature maps | This book |",
        "| --- | ---: | ---: | ---: |",
        "| held in every way tried | 1 | 0 | 0 |",
        "| split: it depends on the way | 1 | 0 | 0 |",
        "| not judged | 0 | 1 | 0 |",
        "| claims | 2 | 1 | 0 |",
    ]
    bar = verdicts.verdict_bar(small_project)
    assert re.findall(r'class="xs-([\w-]+)" style="flex-grow:(\d)"', bar) == [
        ("held", "1"),
        ("split", "1"),
        ("not-judged", "1"),
    ]
    assert '<a href="verdicts.html?outcome=split#filter">1 split</a>: 0 hold' in bar
    page = verdicts.full_table(small_project, "gated-units")
    assert page.startswith("What came when")
    assert "### Chapter 01\n\nSettled in {doc}`chapters/01_good`.\n\n" in page
    assert "```{dropdown} ✘ the first.\n" in page
    for written in (
        ":class-container: xs-claim xs-fails xs-verdict gated-units split chapter-01\n",
        "(claim-gu-a)=\n**Fails by its own protocol; holds in 1 of 2 other ways.**",
        "- *Where:* Eq. 1; settled in {ref}`chapter 01 <tab-claims-01>`",
        "- *Quantity:* a slope.\n- *Measured:* 9.000; required 2 ± 0.5\n- *Why it fails:* a slip",
        "- *Why this threshold:* exact.",
        "- *Tested by:* the own way (points all)",
        "- *Tested otherwise:* ✔ the other way: 2.000; ✘ the third way: 3.000\n- *Note:* n",
    ):
        assert written in page
    assert verdicts.failure_list(small_project).startswith("````{dropdown} The 0 that failed")
    assert "**Holds.**" in page
    offered = re.findall('value="([^"]*)"', verdicts.filter_form(small_project))
    assert offered == [
        *("", "gated-units", "gelu-linearization", "ours", ""),
        *("held", "split", "not-judged", "xs-holds", "xs-fails", "", "chapter-01", "chapter-09"),
    ]
    later = verdicts.full_table(small_project, "gelu-linearization")
    assert ("awaits chapter 09" in later, "tab-claims" in later) == (True, False)
    assert verdicts.protocol_list(small_project).splitlines()[0] == "- *the own way*: points all"


@pytest.mark.usefixtures("small_ledger")
def test_what_fails_in_every_way_is_told_with_its_quantity(small_project: Project) -> None:
    printed = replace(CLAIMS["gu-b"], refuted="A sign is wrong.")
    both = [judge(CLAIMS["gu-a"], 9.0), judge(printed, False)]
    write(small_project.chapters, "01_good", *(one.as_record() for one in both if one))
    claims = CLAIMS | {"gu-b": printed}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdicts, "ledger", lambda: claims)
        told = verdicts.failure_list(small_project).splitlines()
    assert told[0] == "````{dropdown} The 2 that failed in every way"
    assert told[3:5] == [
        "- [the first.](#claim-gu-a) a slope. Measured 9.000, required 2 ± 0.5.",
        "- [the second.](#claim-gu-b) A sign is wrong.",
    ]


def test_what_rests_on_a_misprint_or_on_what_fails_says_so(small_project: Project) -> None:
    claim = ledger()["gu-mlp-interpolates"]
    write(small_project.chapters, claim.chapter, judge(claim, 0.0).as_record())
    by_id = {entry.claim.id: entry for entry in verdicts.collect(small_project.chapters)}
    assert by_id[claim.id].rests == "via the amended form of gu-eq6"
    summary = verdicts.summary_table(small_project)
    assert "| of those that hold, via an amended form | 1 | 0 |" in summary
    broken = verdicts.collect(small_project.chapters, frozenset({"gu-eq6"}))
    assert {e.rests for e in broken if e.rests} == {"but what it rests on fails: gu-eq6"}
    page = verdicts.full_table(small_project, "gated-units")
    assert page.count("{dropdown} What the claims of chapter 03 rest on\n") == 1
    for written in (
        'href="errata.html#erratum-gu-eq6"',
        f'href="#claim-{claim.id}"',
        f"| `{claim.id}` | holds | `gu-eq6` |",
        "**Holds.** (via the amended form of gu-eq6)",
    ):
        assert written in page
    assert "(0 of" not in page


@pytest.mark.usefixtures("small_ledger")
def test_what_cannot_be_judged_needs_no_measurement(
    small_project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = {"gu-b": replace(CLAIMS["gu-b"], unjudged="nobody knows.")}
    monkeypatch.setattr(verdicts, "ledger", lambda: claims)
    (entry,) = verdicts.collect(small_project.chapters)
    assert (entry.sort, entry.mark) == ("cannot be judged", "○")
    page = verdicts.full_table(small_project, "gated-units")
    assert "**Cannot be judged: nobody knows.**" in page


def test_the_table_of_coverage_links_claims_and_gives_reasons(small_project: Project) -> None:
    table = verdicts.coverage_table(small_project, "gated-units").splitlines()
    assert len(table) == 2 + sum(place.paper == "gated-units" for place in places())
    assert (
        "| Eq. (6) | The MLP's recurrence. | {ref}`gu-eq6 <erratum-gu-eq6>`, "
        "{ref}`gu-eq6-printed <claim-gu-eq6-printed>` |"
    ) in table
    source = small_project.notebooks / "01_good.md"
    source.write_text(source.read_text() + "\n{proof}`gu-eq1`, once more {proof}`gu-eq1`\n")
    verdicts.equation_places.cache_clear()
    table = verdicts.coverage_table(small_project, "gated-units").splitlines()
    mark = '<a href="chapters/01_good.html#mark-gu-eq1">gu-eq1</a>'
    assert any(row.startswith("| Eq. (1) |") and mark in row for row in table), "to its proof"
    assert any("*None.* A definition" in row or "*None.* A choice" in row for row in table)


@pytest.mark.usefixtures("small_ledger")
def test_disagreement_with_the_ledger_stops_the_book(tmp_path: Path) -> None:
    for records, message in (
        ([record("gu-b") | {"claim": "gu-x"}], r"settles gu-x, not in the ledger"),
        ([record("gl-c")], r"settles gl-c, which the ledger gives to 09_later"),
        ([record("gu-b"), record("gu-b")], r"settles gu-b twice"),
    ):
        write(tmp_path, "01_good", *records)
        with pytest.raises(BookError, match=message):
            verdicts.collect(tmp_path)
