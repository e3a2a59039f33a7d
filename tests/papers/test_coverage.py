"""The coverage table is complete: nothing numbered is missing, no entry of ours is left over."""

import re

import pytest

from tests.papers.test_derivations import HEADINGS
from xsquared_book.papers.coverage import Place, places
from xsquared_book.papers.errata import errata
from xsquared_book.papers.ledger import ClaimError, ledger

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
def test_every_number_and_section_is_there_and_no_other(paper: str) -> None:
    assert {place.where for place in places() if place.paper == paper} == set(NUMBERED[paper])


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_equation_is_proved_where_it_is_numbered(paper: str) -> None:
    short = {"gated-units": "gu", "gelu-linearization": "gl"}[paper]
    numbers = [where[5:-1] for where in NUMBERED[paper] if where.startswith("Eq.")]
    derived = [key[5:] for key in HEADINGS if re.fullmatch(rf"{short}-eq\d+", key)]
    assert sorted(derived) == sorted(numbers)
    entries = {p.where: p.entries for p in places() if p.paper == paper}
    assert all(f"{short}-eq{number}" in entries[f"Eq. ({number})"] for number in numbers)


def test_every_entry_of_the_ledger_has_its_place_in_its_own_paper() -> None:
    papers = {one.id: one.paper for one in ledger().values() if one.paper != "ours"}
    papers |= {slip.key: slip.paper for slip in errata()}
    found = {(entry, place.paper) for place in places() for entry in place.entries}
    assert papers.items() <= found
    assert all(papers.get(entry, paper) == paper for entry, paper in found)


def test_what_is_said_is_a_sentence_and_stands_once() -> None:
    said = [(place.paper, place.where, place.says) for place in places()]
    assert len(said) == len(set(said))
    for place in places():
        assert place.says.endswith(".")
        assert not place.reason or place.reason.endswith(".")


def test_incomplete_places_are_refused() -> None:
    for change in ({}, {"entries": ["gu-eq1"], "reason": "why"}):
        with pytest.raises(ClaimError, match="expected either entries or the reason"):
            Place("gated-units", "Eq. (1)", "Something.", **change)  # type: ignore[arg-type]
    with pytest.raises(ClaimError, match=r"neither claim, equation nor erratum: \['gu-eq99'\]"):
        Place("gated-units", "Eq. (1)", "Something.", entries=("gu-eq99",))
