"""What of the papers the book covers: every equation, figure, row and checkable sentence.

The list is ``coverage.toml`` beside this module. A place has entries (claims, equations or errata)
or a reason why it has none.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from xsquared_book.papers.ledger import PAPERS, ClaimError, ledger, sources


@dataclass(frozen=True)
class Place:
    """One equation, figure, row or sentence of a paper.

    Attributes:
        paper: one of :data:`xsquared_book.papers.ledger.PAPERS`.
        where: section, equation, figure or row of a table.
        says: what stands there, in our words.
        entries: keys of the claims, equations and errata about it.
        reason: why there is none; empty where there is one.
    """

    paper: str
    where: str
    says: str
    entries: tuple[str, ...] = ()
    reason: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", tuple(self.entries))
        place = f"{self.paper}, {self.where}"
        if bool(self.entries) == bool(self.reason):
            raise ClaimError(f"{place}: expected either entries or the reason why there are none")
        if unknown := set(self.entries) - set(ledger()) - sources():
            raise ClaimError(f"{place}: neither claim, equation nor erratum: {sorted(unknown)}")


@cache
def places() -> tuple[Place, ...]:
    """Every place, in the papers' order."""
    text = (files("xsquared_book.papers") / "coverage.toml").read_text(encoding="utf-8")
    table: dict[str, list[dict[str, Any]]] = tomllib.loads(text)
    return tuple(Place(paper, **row) for paper in PAPERS for row in table.get(paper, ()))
