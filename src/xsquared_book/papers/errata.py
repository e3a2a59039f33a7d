"""Slips in the papers, each with its right form and how it is shown.

The list is ``errata.toml`` beside this module. An entry whose key is that of an
:class:`~xsquared_book.papers.equations.Equation` belongs to it; the others are proved by the test
marked ``@pytest.mark.proves(key)``. A slip about names or sources, which no computation can prove,
names its evidence instead. The errata page prints the proving test and its outcome.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Erratum:
    """A slip in a paper.

    Attributes:
        key: unique slug, such as ``"gu-linspace"``; an equation's key where it is about one.
        paper: ``"gated-units"`` or ``"gelu-linearization"``.
        where: section, equation, figure or table.
        printed: what stands there, in our own words.
        right: what should stand there and why, in Markdown with TeX between dollar signs.
        evidence: for a slip that no computation can prove, where to look it up; else empty.
    """

    key: str
    paper: str
    where: str
    printed: str
    right: str
    evidence: str = ""


@cache
def errata() -> tuple[Erratum, ...]:
    """Every slip, in the papers' order."""
    text = (files("xsquared_book.papers") / "errata.toml").read_text(encoding="utf-8")
    found = tuple(Erratum(**row) for row in tomllib.loads(text)["erratum"])
    keys = [slip.key for slip in found]
    repeated = sorted({key for key in keys if keys.count(key) > 1})
    if repeated:
        raise ValueError(f"errata.toml repeats {', '.join(repeated)}")
    return found
