"""The ledger: what each paper states, its slips, and what of it the book covers.

Three lists stand beside this module. ``claims.toml`` has one record a claim, with what
became of it, and one sentence a way of testing. A claim has one main way, which alone
decides; what the claim's words cover besides are variations, and say how robust the
verdict is; the points that the paper plots are told apart.

``errata.toml`` has slips. What a computation can show is shown by a cell of the
derivations, a verdict, or a test in ``tests/papers/test_errata.py``; a slip about names
or sources, which none can, names its evidence. ``coverage.toml`` has every equation,
figure, row and checkable sentence: each has entries, or a reason why it has none.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

#: Who claims: the two papers and this book; short names, and their titles in tables.
PAPERS = {
    "gated-units": "Gated units",
    "gelu-linearization": "GELU layers as feature maps",
    "ours": "This book",
}
#: What can become of a claim, and what each word means.
VERDICTS = {
    "proved": "follows from a derivation or theorem of this book; finite windows "
    "illustrate it",
    "reproduced": "the main way of testing agrees, within the tolerance",
    "in kind only": "sign, order or ranking are as claimed, the number is not",
    "wrong": "the main way of testing, or the paper's own numbers, contradict it",
    "misprint": "the printed form fails, the repaired form holds",
    "undecidable": "the source names no measure, or leaves open a setting that decides",
}


@dataclass(frozen=True)
class Claim:
    """One statement of one paper.

    Attributes:
        id: unique slug, such as ``"gu-eq9-constant"``.
        paper: one of :data:`PAPERS`.
        where: section, equation, figure or table in that paper.
        statement: what is claimed, in our own words.
        chapter: the chapter that settles it, such as ``"02_one_more_power"``.
        verdict: the word on record, one of :data:`VERDICTS`.
        sentence: why, in one sentence that can be repeated to somebody.
        measures: what is measured, in words.
        way: the main way of testing.
        why: where the threshold comes from, and its date.
        variations: other ways that the claim's words cover.
        points: windows through the points that the paper plots.
        value, tolerance: the number that the paper prints, and how far what is measured
            may be.
        at_least, at_most: bounds on what is measured, where no number is printed.
        kind_at_least, kind_at_most: bounds within which it holds in kind.
        digits: significant digits of what is measured that are reproducible across
            machines.
    """

    id: str
    paper: str
    where: str
    statement: str
    chapter: str
    verdict: str
    sentence: str
    measures: str
    way: str
    why: str
    variations: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    value: float | None = None
    tolerance: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    kind_at_least: float | None = None
    kind_at_most: float | None = None
    digits: int = 4

    @property
    def required(self) -> str:
        """The thresholds in words, empty for a question that is true or false."""
        if self.tolerance is not None:
            return f"{self.value:.10g} ± {self.tolerance:g}"
        bounds = (("at least", self.at_least), ("at most", self.at_most))
        return ", ".join(
            f"{word} {bound:g}" for word, bound in bounds if bound is not None
        )

    def met_by(self, measured: float | bool) -> bool:
        """Tell whether a measurement is within tolerance or bounds, or is true."""
        if self.tolerance is not None and self.value is not None:
            return abs(measured - self.value) <= self.tolerance
        if self.at_least is not None or self.at_most is not None:
            return _within(measured, self.at_least, self.at_most)
        return bool(measured)

    def word_for(self, measured: float | bool) -> str:
        """Choose the verdict's word for what the main way measured.

        A measurement alone cannot tell a proof from an agreement, nor a slip in print
        from a wrong statement: there, and where nothing is decidable, the word on
        record says which it is.
        """
        if self.verdict == "undecidable":
            return self.verdict
        if self.met_by(measured):
            return "proved" if self.verdict == "proved" else "reproduced"
        bounds = self.kind_at_least, self.kind_at_most
        if bounds != (None, None) and _within(measured, *bounds):
            return "in kind only"
        return "misprint" if self.verdict == "misprint" else "wrong"


def _within(measured: float, low: float | None, high: float | None) -> bool:
    """Compare with two bounds, each included; None is no bound."""
    return (low is None or measured >= low) and (high is None or measured <= high)


@dataclass(frozen=True)
class Erratum:
    """A slip in a paper.

    Attributes:
        key: unique slug, such as ``"gu-linspace"``; an equation's key where it is about
            one.
        paper: ``"gated-units"`` or ``"gelu-linearization"``.
        where: section, equation, figure or table.
        printed: what stands there, in our own words.
        right: what should stand there and why, in Markdown with TeX between dollar
            signs.
        evidence: for a slip that no computation can show, where to look it up; else
            empty.
        shown: what shows it: a reference to a derivation or verdict, or a test's name;
            else empty.
    """

    key: str
    paper: str
    where: str
    printed: str
    right: str
    evidence: str = ""
    shown: str = ""


@dataclass(frozen=True)
class Place:
    """One equation, figure, row or checkable sentence of a paper.

    Attributes:
        paper: ``"gated-units"`` or ``"gelu-linearization"``.
        where: its number, or its section.
        says: what stands there, in our own words.
        entries: claims, errata or labels of derivations about it.
        reason: why it has none; else empty.
    """

    paper: str
    where: str
    says: str
    entries: tuple[str, ...] = ()
    reason: str = ""


@cache
def _read(name: str) -> dict[str, Any]:
    """Read one of the lists."""
    text = (files(__package__) / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def ledger() -> dict[str, Claim]:
    """Read every claim by its id, in the order of the chapters that settle them."""
    claims = {}
    for row in _read("claims")["claim"]:
        variations = tuple(row.get("variations", ()))
        points = tuple(row.get("points", ()))
        claims[row["id"]] = Claim(**row | {"variations": variations, "points": points})
    return claims


def ways() -> dict[str, str]:
    """Read what each way of testing is, in words."""
    return _read("claims")["ways"]


@cache
def errata() -> tuple[Erratum, ...]:
    """Read every slip, in the papers' order."""
    return tuple(Erratum(**row) for row in _read("errata")["erratum"])


@cache
def places() -> tuple[Place, ...]:
    """Read every place, in the papers' order."""
    by_paper = _read("coverage")
    return tuple(
        Place(paper, **row) for paper, rows in by_paper.items() for row in rows
    )
