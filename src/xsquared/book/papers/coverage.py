"""What of the papers the book covers: every equation, figure, row and checkable
sentence.

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
    """One equation, figure, row or sentence of a paper, and the entries about it or a
    reason.
    """

    paper: str
    where: str
    says: str
    entries: tuple[str, ...] = ()
    reason: str = ""


@cache
def places() -> tuple[Place, ...]:
    """Read every place, in the papers' order."""
    table = tomllib.loads(
        (files(__package__) / "coverage.toml").read_text(encoding="utf-8")
    )
    return tuple(Place(paper, **row) for paper, rows in table.items() for row in rows)
