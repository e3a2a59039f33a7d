"""Slips in the papers, each with its right form and how it is shown.

The list is ``errata.toml`` beside this module. What a computation can show is shown by
a cell of the derivations, a verdict, or a test in ``tests/papers/test_errata.py``; a
slip about names or sources, which none can, names its evidence.
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


@cache
def errata() -> tuple[Erratum, ...]:
    """Every slip, in the papers' order."""
    text = (files(__package__) / "errata.toml").read_text(encoding="utf-8")
    return tuple(Erratum(**row) for row in tomllib.loads(text)["erratum"])
