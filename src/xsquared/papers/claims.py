"""The claims ledger: what each paper states, how closely it must be met, and what was measured.

The ledger is ``claims.toml`` beside this module, one table per claim. A chapter calls
:func:`settle` once with all that it measured; the verdicts travel in the cell's output, and the
verdicts page is made from those outputs, so page and chapters cannot disagree. A verdict
other than the one on record, a miss without a reason (``refuted``) or a reason that no longer
applies, is marked unexpected: the book refuses a chapter that holds one. A reader who executes the
chapter with other parameters just sees the mark.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from numbers import Real
from typing import Any

import pandas as pd

from xsquared.checks import quoted
from xsquared.tables import Table

#: The two papers: their short names, and their titles in tables.
PAPERS = {"gated-units": "Gated units", "gelu-linearization": "GELU layers as feature maps"}
#: The type under which a verdict travels in a notebook's output.
VERDICT_MIME = "application/vnd.xsquared.verdict+json"
#: What a chapter can say of a claim.
Measured = float | bool | None


class ClaimError(ValueError):
    """A claim that is unknown, or a measurement that disagrees with what the ledger records."""


@dataclass(frozen=True)
class Claim:
    """One statement of one paper.

    Attributes:
        id: unique slug, such as ``"gu-eq9-constant"``.
        paper: one of :data:`PAPERS`.
        where: section, equation, figure or table in that paper.
        statement: what is claimed, in our own words.
        value: the paper's number, or None where the claim is true-or-false.
        tolerance: largest accepted distance from ``value``, in the units of ``value``; None for a
            true-or-false claim.
        why: why this tolerance is the right one.
        chapter: the chapter that settles it, such as ``"03_constructions"``.
        digits: significant digits of the measured value that are reproducible across machines.
        refuted: the reason why the claim fails, in Markdown, where it does; empty where it holds.
    """

    id: str
    paper: str
    where: str
    statement: str
    chapter: str
    why: str
    value: float | None = None
    tolerance: float | None = None
    digits: int = 4
    refuted: str = ""

    def __post_init__(self) -> None:
        if self.paper not in PAPERS:
            known = ", ".join(PAPERS)
            raise ClaimError(f"claim {self.id}: paper must be one of {known}, got {self.paper!r}")
        if (self.value is None) != (self.tolerance is None):
            raise ClaimError(f"claim {self.id}: value and tolerance come together or not at all")
        if self.tolerance is not None and not self.tolerance >= 0:
            raise ClaimError(f"claim {self.id}: tolerance must be >= 0, got {self.tolerance}")


@dataclass(frozen=True)
class Verdict:
    """What became of a claim: shown in the chapter, collected by the verdicts page."""

    claim: Claim
    measured: float | bool
    holds: bool
    note: str = ""

    @property
    def unexpected(self) -> str:
        """Why the verdict is not the one on record; empty where it is."""
        if self.holds and self.claim.refuted:
            return f"the ledger still calls it refuted: {self.claim.refuted}"
        if not self.holds and not self.claim.refuted:
            return "the ledger gives no reason for a failure"
        return ""

    @property
    def word(self) -> str:
        """``"holds"`` or ``"fails"``."""
        return "holds" if self.holds else "fails"

    def measured_text(self) -> str:
        """The measurement, rounded to the claim's reproducible digits."""
        if isinstance(self.measured, bool):
            return "yes" if self.measured else "no"
        # "#" keeps zeros that were measured: an order of 2.00 is more than an order of 2.
        return f"{self.measured:#.{self.claim.digits}g}".removesuffix(".")

    def as_record(self) -> dict[str, Any]:
        """The verdict as plain data, for the verdicts page."""
        return {
            "claim": self.claim.id,
            "holds": self.holds,
            "measured": self.measured_text(),
            "note": self.note,
            "unexpected": self.unexpected,
        }


@cache
def ledger() -> dict[str, Claim]:
    """Every claim of both papers by its id, in the ledger's order.

    Raises:
        ClaimError: an entry repeats an id or lacks a field.
    """
    text = (files("xsquared.papers") / "claims.toml").read_text(encoding="utf-8")
    claims: dict[str, Claim] = {}
    for row in tomllib.loads(text)["claim"]:
        try:
            claim = Claim(**row)
        except TypeError as error:
            raise ClaimError(f"claim {row.get('id', '?')}: {error}") from error
        if claim.id in claims:
            raise ClaimError(f"claim {claim.id} stands in the ledger twice")
        claims[claim.id] = claim
    return claims


def judge(claim: Claim, measured: float | bool, note: str = "") -> Verdict:
    """Compare a measurement with a claim: a number where that has a value, else True or False.

    The note, such as the protocol, is printed with the verdict.

    Raises:
        ClaimError: ``measured`` is of the wrong kind or not finite.
    """
    if not isinstance(claim, Claim):
        raise TypeError(f"expected a claim of the ledger, got {quoted(claim)}")
    if claim.value is None or claim.tolerance is None:
        if not isinstance(measured, bool):
            raise ClaimError(f"claim {claim.id} expects True or False, got {quoted(measured)}")
        return Verdict(claim, measured, measured, note)
    if isinstance(measured, bool) or not isinstance(measured, Real):
        raise ClaimError(f"claim {claim.id} expects a number, got {quoted(measured)}")
    if not math.isfinite(measured := float(measured)):
        raise ClaimError(f"claim {claim.id} expects a finite number, got {measured}")
    return Verdict(claim, measured, abs(measured - claim.value) <= claim.tolerance, note)


@dataclass(frozen=True)
class Settled:
    """What became of a chapter's claims, shown as one table.

    By claim, in the chapter's order; None where a chapter's parameters leave out what the claim is
    about, which the book counts as open.
    """

    verdicts: Mapping[str, Verdict | None]

    def table(self) -> Table:
        """The claims in words with the paper's number and ours."""
        claims = ledger()
        rows = []
        for key, verdict in self.verdicts.items():
            claim = claims[key]
            word, measured, note = "○ open", None, "not measured with these parameters"
            if verdict is not None:
                word = ("✔ " if verdict.holds else "✘ ") + verdict.word
                measured = verdict.measured_text()
                unexpected = f"unexpected: {verdict.unexpected}" if verdict.unexpected else ""
                note = "; ".join(filter(None, (verdict.note, unexpected)))
            rows.append(
                {
                    "Claim": claim.statement,
                    "Verdict": word,
                    "Paper": None if claim.value is None else f"{claim.value:g}",
                    "Measured": measured,
                    "Tolerance": None if claim.tolerance is None else f"{claim.tolerance:g}",
                    "Note": note or None,
                }
            )
        chapter = claims[next(iter(self.verdicts))].chapter
        return Table(
            pd.DataFrame(rows).set_index("Claim").dropna(axis="columns", how="all"),
            "The claims settled here.",
            f"tab-claims-{chapter.partition('_')[0]}",
        )

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        records = [verdict.as_record() for verdict in self.verdicts.values() if verdict]
        return {**self.table()._repr_mimebundle_(), VERDICT_MIME: records}


def settle(measured: Mapping[str, Measured | tuple[Measured, str]]) -> Settled:
    """Judge all claims of a chapter; end its last cell with this call.

    Args:
        measured: by the claim's id, what :func:`judge` takes, alone or with a note; None where a
            reader's parameters leave out what the claim is about.

    Raises:
        ClaimError: no claims, an id that is not in the ledger, or as in :func:`judge`.
    """
    claims = ledger()
    if not isinstance(measured, Mapping):
        raise TypeError(f"expected what was measured, by claim, got {quoted(measured)}")
    if unknown := sorted(set(measured) - set(claims)):
        raise ClaimError(
            f"expected known claims, not in the ledger (papers/claims.toml): {', '.join(unknown)}"
        )
    if not measured:
        raise ClaimError("expected what was measured, by claim, got nothing")
    verdicts = {}
    for key, given in measured.items():
        value, note = given if isinstance(given, tuple) else (given, "")
        verdicts[key] = None if value is None else judge(claims[key], value, note)
    return Settled(verdicts)
