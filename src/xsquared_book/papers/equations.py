"""Numbered equations of the papers as objects that sympy can check.

A link holds where the residual of its two sides vanishes in sympy: a check by computer algebra, not
a proof by a kernel. What is no identity (a limit, a hypothesis of smoothness) is said in words.

An :class:`Equation` is one numbered equation of a paper: the links of its derivation, the form the
paper prints. :mod:`xsquared_book.papers.gated_units` writes
them as functions that yield one link after another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import sympy as sp

from xsquared.checks import check_choice

#: A link as it is written: name, sentence, the two sides. ``printed...`` is the paper's form.
Link = tuple[str, str, sp.Expr, sp.Expr]
Links = Iterable[Link]


@dataclass(frozen=True)
class Step:
    """One link of a derivation: what is computed (left) and asserted (right) agree identically.

    The name, a slug unique within its equation, becomes part of the test's name; ``says`` states
    the link in a sentence.
    """

    name: str
    says: str
    left: sp.Expr
    right: sp.Expr

    def residual(self) -> sp.Expr:
        """``left - right`` in its simplest form: zero exactly where the link holds."""
        return sp.simplify(sp.expand(self.left - self.right))

    def holds(self) -> bool:
        """Whether sympy finds the two sides equal."""
        return bool(self.residual() == 0)


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
            equation of our own. Where one fails, :mod:`xsquared_book.papers.errata` has an entry
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


class Paper:
    """A paper's equations in the order of their writing, each derived when it is asked for.

    Attributes:
        numbers: each equation's number by its key, for which sympy has nothing to do.
    """

    def __init__(self) -> None:
        self.numbers: dict[str, str] = {}
        self._written: dict[str, tuple[str, Callable[[], Links]]] = {}
        self._derived: dict[str, Equation] = {}

    def equation(
        self, key: str, number: str, title: str
    ) -> Callable[[Callable[[], Links]], Callable[[], Links]]:
        """Decorate the function that yields an equation's links: see :class:`Equation`."""

        def keep(links: Callable[[], Links]) -> Callable[[], Links]:
            self.numbers[key] = number
            self._written[key] = title, links
            return links

        return keep

    def derive(self, key: str) -> Equation:
        """One equation; sympy works it out on the first call."""
        title, links = self._written[check_choice("equation", key, self._written)]
        if key not in self._derived:
            steps = tuple(Step(n, says, *map(sp.sympify, sides)) for n, says, *sides in links())
            printed = tuple(step for step in steps if step.name.startswith("printed"))
            others = tuple(step for step in steps if step not in printed)
            self._derived[key] = Equation(key, self.numbers[key], title, others, printed)
        return self._derived[key]

    def equations(self) -> tuple[Equation, ...]:
        """Every equation."""
        return tuple(map(self.derive, self.numbers))
