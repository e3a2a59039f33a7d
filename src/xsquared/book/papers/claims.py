"""How claims are judged: a chapter settles all of its claims at once.

A chapter's last cell calls :func:`settle` with all that it measured, by each claim's
main way and by others. The verdicts travel in the cell's output, and the pages are made
from those outputs, so page and chapters cannot disagree. No threshold stands in a
chapter: they are the ledger's. A verdict other than the one on record keeps the chapter
out of the book; a reader who executes it with other parameters just sees it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from xsquared.book.papers.ledger import Claim, ledger
from xsquared.book.tables import VERDICT_MIME, Table, with_powers

#: What a chapter can say of a claim by one way of testing.
_Measured = float | bool | None


@dataclass(frozen=True)
class Verdict:
    """What became of a claim.

    Attributes:
        claim: of the ledger.
        measured: by way, the main one among them; only those that were measured.
    """

    claim: Claim
    measured: Mapping[str, float | bool]

    @property
    def word(self) -> str:
        """The verdict, which the main way alone decides."""
        return self.claim.word_for(self.measured.get(self.claim.way, False))

    @property
    def unexpected(self) -> str:
        """Why the verdict is not the one on record; empty where it is."""
        expected = self.claim.verdict
        if self.word == expected:
            return ""
        return f"the ledger records {expected!r}, not {self.word!r}"

    def text(self, way: str = "") -> str:
        """Write what was measured by a way, the main one where none is named."""
        value = self.measured.get(way or self.claim.way)
        if value is None:
            return "–"
        if isinstance(value, bool):
            return "yes" if value else "no"
        if self.claim.value == 0 and self.claim.met_by(value):
            # What is left of zero is rounding, whose digits differ by machine.
            return with_powers(f"0 to {self.claim.tolerance:g}")
        # "#" keeps zeros that were measured: an order of 2.00 says more than 2.
        return with_powers(f"{value:#.{self.claim.digits}g}".removesuffix("."))

    def as_record(self) -> dict[str, Any]:
        """Give the verdict as plain data, from which the pages are made.

        ``found`` is what each way measured, as text, and ``met`` whether it agrees.
        """
        met = {way: self.claim.met_by(value) for way, value in self.measured.items()}
        return {
            "claim": self.claim.id,
            "verdict": self.word,
            "measured": self.text(),
            "found": {way: self.text(way) for way in self.measured},
            "met": met,
            "unexpected": self.unexpected,
        }


def judge(
    claim: Claim, measured: _Measured | Mapping[str, _Measured]
) -> Verdict | None:
    """Compare what was measured with a claim.

    Args:
        claim: of the ledger.
        measured: by the main way; or by the name of each way that was tried. True or
            False where the claim is a question, else a number; None where the
            parameters left it out.

    Returns:
        The verdict; None where nothing was measured by the main way.

    Raises:
        ValueError: a way that the ledger does not name for the claim, or a number that
            is NaN.
    """
    by_way = measured if isinstance(measured, Mapping) else {claim.way: measured}
    ways = (claim.way, *claim.variations, *claim.points)
    unnamed = [way for way in by_way if way not in ways]
    if unnamed:
        raise ValueError(f"{claim.id}: expected only {', '.join(ways)}, got {unnamed}")

    known: dict[str, float | bool] = {}
    for way in ways:
        value = by_way.get(way)
        if value is None:
            continue
        if math.isnan(value):
            raise ValueError(f"{claim.id}: measured as NaN by {way}")
        known[way] = value if isinstance(value, bool) else float(value)

    if claim.way not in known and claim.verdict != "undecidable":
        return None
    return Verdict(claim, known)


@dataclass(frozen=True)
class Settled:
    """What became of a chapter's claims, shown as one table.

    Attributes:
        verdicts: by the claim's id; None where parameters left a claim out.
    """

    verdicts: Mapping[str, Verdict | None]

    def table(self) -> Table:
        """Tabulate claims in words, verdicts, what was measured and required."""
        rows = []
        for key, verdict in self.verdicts.items():
            claim = ledger()[key]
            row = {"Claim": claim.statement}
            if verdict is None:
                row["Verdict"] = "not measured with these parameters"
            else:
                row["Verdict"] = verdict.word
                if verdict.unexpected:
                    row["Verdict"] += f" (unexpected: {verdict.unexpected})"
                row["Measured"] = verdict.text()
            row["Required"] = claim.required or "–"
            rows.append(row)
        chapter = ledger()[next(iter(self.verdicts))].chapter.partition("_")[0]
        frame = pd.DataFrame(rows).set_index("Claim")
        return Table(frame, "The claims settled here.", f"tab-claims-{chapter}")

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        records = [verdict.as_record() for verdict in self.verdicts.values() if verdict]
        return {**self.table()._repr_mimebundle_(), VERDICT_MIME: records}


def settle(
    measured: Mapping[str, _Measured | Mapping[str, _Measured]] | pd.DataFrame,
) -> Settled:
    """Judge all claims of a chapter; end its last cell with this call.

    Args:
        measured: by the claim's id, what :func:`judge` takes. Or a frame, a row per
            claim and a column per way, without a value where a way was not tried.

    Raises:
        ValueError: an id that is not in the ledger, or as in :func:`judge`.
    """
    if isinstance(measured, pd.DataFrame):
        rows = measured.astype(object).iterrows()  # object: True stays a bool
        measured = {key: row.dropna().to_dict() for key, row in rows}
    unknown = sorted(set(measured) - set(ledger()))
    if unknown:
        message = f"not in the ledger (papers/claims.toml): {', '.join(unknown)}"
        raise ValueError(message)
    verdicts = {key: judge(ledger()[key], by_way) for key, by_way in measured.items()}
    return Settled(verdicts)
