"""The claims on record: their words, how they are judged, and what the executed
chapters found.
"""

import re
from dataclasses import replace

import pytest

from tests.site_in_browser import PROJECT
from xsquared.book.papers.claims import judge, settle
from xsquared.book.papers.ledger import (
    PAPERS,
    VERDICTS,
    Claim,
    errata,
    ledger,
    places,
    ways,
)
from xsquared.book.verdicts import collect, counts_table, verdict_list

CHAPTERS = sorted(path.stem for path in PROJECT.sources())
FIELDS = (
    "gu-n",
    "gated-units",
    "Eq. 1",
    "S.",
    "01_a",
    "reproduced",
    "So.",
    "A slope.",
    "own",
    "w",
)
NUMBER = Claim(
    *FIELDS, ("other",), value=2.0, tolerance=0.5, kind_at_least=1.0, kind_at_most=4.0
)


@pytest.mark.parametrize("claim", ledger().values(), ids=lambda claim: claim.id)
def test_a_record_can_be_judged(claim: Claim) -> None:
    assert claim.chapter in CHAPTERS
    assert claim.verdict in VERDICTS
    named = (claim.way, *claim.variations, *claim.points)
    assert len(set(named)) == len(named)
    assert set(named) <= set(ways())
    in_kind = (claim.kind_at_least, claim.kind_at_most) != (None, None)
    assert in_kind == (claim.verdict == "in kind only")
    assert (claim.value is None) == (claim.tolerance is None)


def test_the_pages_group_claims_by_chapter() -> None:
    chapters = [claim.chapter for claim in ledger().values()]
    assert chapters == sorted(chapters)


@pytest.mark.parametrize(
    ("recorded", "measured", "word"),
    [
        ("reproduced", 2.5, "reproduced"),
        ("proved", 1.5, "proved"),
        ("reproduced", 3.5, "in kind only"),
        ("reproduced", 4.5, "wrong"),
        ("misprint", 4.5, "misprint"),
        ("misprint", 2.0, "reproduced"),
        ("undecidable", 2.0, "undecidable"),
    ],
)
def test_the_main_way_decides(recorded: str, measured: float, word: str) -> None:
    claim = replace(NUMBER, verdict=recorded)
    verdict = judge(claim, {"own": measured, "other": 9.0})
    assert verdict is not None
    assert verdict.word == word
    assert bool(verdict.unexpected) == (word != recorded)
    assert verdict.as_record()["met"] == {"own": claim.met_by(measured), "other": False}


def test_what_cannot_be_judged() -> None:
    assert judge(NUMBER, {"other": 2.0}) is None
    for given, message in (
        ({"third": 1.0}, "expected only own, other"),
        (float("nan"), "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            judge(NUMBER, given)
    with pytest.raises(
        ValueError, match=r"not in the ledger \(papers/claims.toml\): gu-x"
    ):
        settle({"gu-x": 1.0})


def test_a_chapters_claims_are_one_table() -> None:
    bundle = settle(
        {"gu-eq9-constant": 1.0, "gu-eq13-printed": None}
    )._repr_mimebundle_()
    assert "tab-claims-02" in str(bundle)
    assert "unexpected: the ledger records 'proved', not 'wrong'" in str(bundle)
    assert "not measured with these parameters" in str(bundle)


def test_every_verdict_on_record_is_what_its_executed_chapter_found() -> None:
    found = collect(PROJECT)
    for key, claim in ledger().items():
        assert set(found[key]["found"]) == {
            claim.way,
            *claim.variations,
            *claim.points,
        }, key
        assert found[key]["verdict"] == claim.verdict, key


def test_the_page_of_verdicts() -> None:
    assert counts_table(PROJECT).splitlines()[-1].count("|") == 2 + len(PAPERS)
    for paper in PAPERS:
        page = verdict_list(PROJECT, paper)
        own = {key: claim for key, claim in ledger().items() if claim.paper == paper}
        assert re.findall(r"^\(claim-(.*)\)=$", page, re.M) == [*own]
        cells = re.findall(r"\[this cell\]\(chapters/(\w+)\.ipynb#settled\)", page)
        assert cells == [claim.chapter for claim in own.values()]


#: What the papers number, and their sections: read off the papers, not off the table.
NUMBERED = {
    "gated-units": [
        *("Abstract", "Appendix A", "Appendix B"),
        *(f"Section {s}" for s in ("1", "2", "3", "4.1", "4.2", "4.3", "5")),
        *(f"Eq. ({n})" for n in range(1, 18)),
        *(f"Fig. {n}" for n in range(1, 12)),
        *(f"Table 1, {row}" for row in ("line", "sine", "airfoil", "housing")),
        *(f"Table 1, friedman{n}" for n in (1, 2, 3)),
    ],
    "gelu-linearization": [
        *("Abstract", "Section 1", "Section 2.3", "Section 2.3.1", "Fig. 1"),
        *(f"Section 2.{part}.{n}" for part in (1, 2) for n in range(1, 5)),
        *(f"Section 3.{part}.{n}" for part in (1, 2) for n in range(1, 4)),
        *(f"Eq. ({n})" for n in range(1, 7)),
        *(f"Table 1, [-{r}, {r}]" for r in (1, 3, 5, 7)),
        *(f"Table 2, {row}" for row in ("Wx", "Taylor", "linearised", "tanh")),
        *(f"Table 3, {row}" for row in ("Taylor", "linearised")),
    ],
}


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_number_and_section_has_its_place_and_every_entry_exists(
    paper: str,
) -> None:
    own = [place for place in places() if place.paper == paper]
    assert {place.where for place in own} == set(NUMBERED[paper])
    assert all(bool(place.entries) != bool(place.reason) for place in own)
    texts = [source.read_text(encoding="utf-8") for source in PROJECT.sources()]
    labels = {
        key for text in texts for key in re.findall(r"^\(([\w-]+)\)=$", text, re.M)
    }
    entries = {key for place in own for key in place.entries}
    keys = {claim.id for claim in ledger().values() if claim.paper == paper}
    keys |= {slip.key for slip in errata() if slip.paper == paper}
    assert keys <= entries <= keys | labels
