"""How claims are judged: a chapter settles all of its claims at once.

A chapter calls :func:`settle` once with all that it measured, by its claims' own protocols and by
their alternatives. The verdicts travel in the cell's output, and the verdicts page is made from
those outputs, so page and chapters cannot disagree. No threshold stands in a chapter: they are the
ledger's (:mod:`xsquared_book.papers.ledger`). A verdict other than the one on record, a miss
without a reason (``refuted``) or a reason that no longer applies, is marked unexpected: the book
refuses a chapter that holds one. A reader who executes it with other parameters just sees the mark.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real
from typing import Any

import pandas as pd

from xsquared.checks import quoted
from xsquared_book.papers import VERDICT_MIME
from xsquared_book.papers.ledger import Claim, ClaimError, ledger
from xsquared_book.tables import Table

#: A verdict in words, with its mark.
WORDS = {True: "✔ holds", False: "✘ fails", None: "○ cannot be judged"}


class Sort(StrEnum):
    """The kind of verdict, in the words that it is counted by, best first.

    Attributes:
        holds: whether the claim holds by its own protocol; None where it was not judged.
    """

    holds: bool | None

    def __new__(cls, words: str, holds: bool | None = None) -> Sort:
        """A member of these words."""
        made = str.__new__(cls, words)
        made._value_, made.holds = words, holds
        return made

    AGREED = "holds by every protocol tried", True
    CONTESTED = "holds by its own protocol and others", True
    ALONE = "holds by its own protocol only", True
    UNTRIED = "holds, no alternative", True
    RESCUED = "fails by its own protocol, holds by another", False
    REFUTED = "fails by every protocol tried", False
    FAILED = "fails, no alternative", False
    UNJUDGED = "cannot be judged"
    OPEN = "open"


#: What a chapter can say of a claim under one protocol.
Measured = float | bool | None


@dataclass(frozen=True)
class Verdict:
    """What became of a claim: shown in the chapter, collected by the verdicts page.

    Attributes:
        claim: of the ledger.
        measured: by protocol, its own first and the rest in the ledger's order; only those that
            were measured.
        note: of the chapter.
    """

    claim: Claim
    measured: Mapping[str, float | bool]
    note: str = ""

    @property
    def outcomes(self) -> dict[str, bool]:
        """By protocol, whether what was measured agrees with the claim."""
        return {name: self.claim.met_by(value) for name, value in self.measured.items()}

    @property
    def holds(self) -> bool | None:
        """Whether the claim holds by its own protocol; None where it cannot be judged."""
        return None if self.claim.unjudged else self.outcomes[self.claim.protocol]

    @property
    def flips(self) -> list[str]:
        """Protocols whose outcome is not that of the claim's own; none where that is none."""
        if self.holds is None:
            return []
        return [name for name, met in self.outcomes.items() if met != self.holds]

    @property
    def word(self) -> str:
        """The verdict by the claim's own protocol, with its mark."""
        return WORDS[self.holds]

    @property
    def sort(self) -> Sort:
        """The kind of verdict."""
        if self.holds is None:
            return Sort.UNJUDGED
        others, flips = len(self.measured) - 1, len(self.flips)
        if not others:
            return Sort.UNTRIED if self.holds else Sort.FAILED
        if not flips:
            return Sort.AGREED if self.holds else Sort.REFUTED
        if not self.holds:
            return Sort.RESCUED
        return Sort.ALONE if flips == others else Sort.CONTESTED

    @property
    def sentence(self) -> str:
        """The verdict with its count and what flips it."""
        if self.holds is None:
            return f"cannot be judged, because {self.claim.unjudged.strip()}"
        count = f"{sum(self.outcomes.values())} of {len(self.outcomes)}"
        flips = ", ".join(self.flips)
        if not flips:
            return f"{'holds' if self.holds else 'fails'} ({count})"
        if not self.holds:
            return f"fails by its own protocol, holds for {flips} ({count})"
        alone = " by its own protocol only" if self.sort is Sort.ALONE else ""
        return f"holds{alone} ({count}: fails for {flips})"

    @property
    def unexpected(self) -> str:
        """Why the verdict is not the one on record; empty where it is."""
        if self.holds and self.claim.refuted:
            return f"the ledger still calls it refuted: {self.claim.refuted}"
        if self.holds is False and not self.claim.refuted:
            return "the ledger gives no reason for a failure"
        return ""

    def measured_text(self, protocol: str = "") -> str:
        """What was measured by a protocol, its own where none is named, to reproducible digits."""
        value = self.measured.get(protocol or self.claim.protocol)
        if value is None:
            return ""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if self.claim.kind == "identity" and not self.claim.value and self.claim.met_by(value):
            return f"0 to {self.claim.tolerance:g}"  # what rounding leaves differs by machine
        # "#" keeps zeros that were measured: an order of 2.00 is more than an order of 2.
        return f"{value:#.{self.claim.digits}g}".removesuffix(".")

    def as_record(self) -> dict[str, Any]:
        """The verdict as plain data, for the verdicts page."""
        return {
            "claim": self.claim.id,
            "holds": self.holds,
            "sort": self.sort.value,
            "sentence": self.sentence,
            "measured": self.measured_text(),
            "found": {name: self.measured_text(name) for name in self.measured},
            "outcomes": self.outcomes,
            "note": self.note,
            "unexpected": self.unexpected,
        }


def judge(
    claim: Claim, measured: Measured | Mapping[str, Measured], note: str = ""
) -> Verdict | None:
    """Compare what was measured with a claim.

    Args:
        claim: of the ledger.
        measured: by the claim's own protocol; or by the name of each protocol that was tried, its
            own among them. True or False where the claim is a question, else a number; None
            where the parameters left it out.
        note: printed with the verdict.

    Returns:
        The verdict; None where nothing was measured by the claim's own protocol.

    Raises:
        ClaimError: ``measured`` is of the wrong kind or not finite, lacks the claim's own protocol
            or has one that the ledger does not name for it.
    """
    if not isinstance(claim, Claim):
        raise TypeError(f"expected a claim of the ledger, got {quoted(claim)}")
    given = measured if isinstance(measured, Mapping) else {claim.protocol: measured}
    named = (claim.protocol, *claim.alternatives)
    if beyond := [name for name in given if name not in named]:
        raise ClaimError(
            f"claim {claim.id}: expected only {', '.join(named)}, got {quoted(beyond)}"
        )
    if claim.protocol not in given:
        raise ClaimError(
            f"claim {claim.id}: expected its own protocol {claim.protocol}, got {quoted(given)}"
        )
    if given[claim.protocol] is None and not claim.unjudged:
        return None
    checked = {
        name: _checked(claim, value) for name in named if (value := given.get(name)) is not None
    }
    return Verdict(claim, checked, note)


def _checked(claim: Claim, measured: object) -> float | bool:
    if claim.is_question:
        if not isinstance(measured, bool):
            raise ClaimError(f"claim {claim.id} expects True or False, got {quoted(measured)}")
        return measured
    if isinstance(measured, bool) or not isinstance(measured, Real):
        raise ClaimError(f"claim {claim.id} expects a number, got {quoted(measured)}")
    if not math.isfinite(number := float(measured)):
        raise ClaimError(f"claim {claim.id} expects a finite number, got {number}")
    return number


@dataclass(frozen=True)
class Settled:
    """What became of a chapter's claims, shown as one table.

    By claim, in the chapter's order; None where a chapter's parameters leave out what the claim is
    about, which the book counts as open.
    """

    verdicts: Mapping[str, Verdict | None]

    def table(self) -> Table:
        """The claims in words, what they require, what was measured, and what flips the verdict."""
        claims = ledger()
        rows = []
        for key, verdict in self.verdicts.items():
            claim = claims[key]
            row = {"Claim": claim.statement, "Verdict": "○ open", "Measured": None}
            row |= {"Required": claim.required or None}
            row |= {"Otherwise": "not measured with these parameters", "Entry": key}
            if verdict is not None:
                unexpected = f"unexpected: {verdict.unexpected}" if verdict.unexpected else ""
                flips = [f"{name} {verdict.measured_text(name)}" for name in verdict.flips]
                told = filter(None, (", ".join(flips), verdict.note, unexpected))
                agree = sum(verdict.outcomes.values()), len(verdict.outcomes)
                counted = f" ({agree[0]} of {agree[1]})" if agree[1] > 1 else ""
                row |= {
                    "Verdict": verdict.word + counted,
                    "Measured": verdict.measured_text() or None,
                    "Otherwise": "; ".join(told) or None,
                }
            rows.append(row)
        chapter = claims[next(iter(self.verdicts))].chapter
        return Table(
            pd.DataFrame(rows).set_index("Claim").dropna(axis="columns", how="all"),
            "The claims settled here.",
            f"tab-claims-{chapter.partition('_')[0]}",
        )

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        records = [verdict.as_record() for verdict in self.verdicts.values() if verdict]
        return {**self.table()._repr_mimebundle_(), VERDICT_MIME: records}


def settle(
    measured: Mapping[
        str, Measured | Mapping[str, Measured] | tuple[Measured | Mapping[str, Measured], str]
    ]
    | pd.DataFrame,
) -> Settled:
    """Judge all claims of a chapter; end its last cell with this call.

    Args:
        measured: by the claim's id, what :func:`judge` takes, alone or with a note; None where a
            reader's parameters leave out what the claim is about. Or a frame, a row per claim and a
            column per protocol, without a value where a protocol was not tried.

    Raises:
        ClaimError: no claims, an id that is not in the ledger, or as in :func:`judge`.
    """
    claims = ledger()
    if isinstance(measured, pd.DataFrame):
        if not (measured.index.is_unique and measured.columns.is_unique):
            raise ClaimError("expected every claim and every protocol once")
        measured = {
            key: {name: row[name] for name in row.index[row.notna()]} or None
            for key, row in measured.astype(object).iterrows()
        }
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
