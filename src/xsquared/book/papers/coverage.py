"""What of the papers the book covers: equations, figures, rows, checkable sentences.

The list is ``coverage.toml`` beside this module. A place has entries (claims, errata,
or labels of derivations) or a reason why it has none.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


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
def places() -> tuple[Place, ...]:
    """Read every place, in the papers' order."""
    text = (files(__package__) / "coverage.toml").read_text(encoding="utf-8")
    by_paper = tomllib.loads(text)
    return tuple(
        Place(paper, **row) for paper, rows in by_paper.items() for row in rows
    )
