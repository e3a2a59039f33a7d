"""Numbered equations of the papers as objects that sympy can check.

An :class:`Equation` is one numbered equation of a paper: the links of its derivation, the form the
paper prints. :mod:`xsquared.papers.gated_units` and :mod:`xsquared.papers.gelu_linearization`
build them, the tests run every link, and the book prints the outcome of those tests beside the
number.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp


@dataclass(frozen=True)
class Step:
    """One link of a derivation: two expressions that must agree identically.

    Attributes:
        name: short slug, unique within its equation; it becomes part of the test's name.
        says: what the link states, one sentence in plain words.
        left: the side that is computed from definitions.
        right: the side that is asserted.
    """

    name: str
    says: str
    left: sp.Expr
    right: sp.Expr

    def residual(self) -> sp.Expr:
        """``left - right`` in its simplest form: zero exactly where the link holds."""
        difference = sp.expand(self.left - self.right)
        if difference == 0:
            return sp.Integer(0)
        return sp.simplify(difference)

    def holds(self) -> bool:
        """Whether sympy proves the two sides equal."""
        return self.residual() == 0


@dataclass(frozen=True)
class Equation:
    """A numbered equation of a paper with its derivation.

    Attributes:
        key: unique name across both papers, such as ``"gu-eq6"``.
        number: the paper's number, such as ``"6"``; its section, such as ``"Section 2.1.2"``, where
            it has none; ``"ours"`` where it is not the paper's.
        title: a few words naming it.
        steps: the derivation of the right form, link by link; every one must hold.
        printed: the equation as the paper prints it, as links that hold or fail; empty for an
            equation of our own. Where one fails, :mod:`xsquared.papers.errata` has an entry
            of this key.
    """

    key: str
    number: str
    title: str
    steps: tuple[Step, ...]
    printed: tuple[Step, ...]

    def __post_init__(self) -> None:
        if not self.steps:
            raise ValueError(f"equation {self.key} needs at least one step, got none")
        names = [step.name for step in (*self.steps, *self.printed)]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"equation {self.key} repeats step names: {', '.join(repeated)}")

    def holds_as_printed(self) -> bool:
        """Whether every printed link is an identity."""
        return all(step.holds() for step in self.printed)
