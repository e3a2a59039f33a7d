"""Every link of both papers' equations, proved by sympy: the marks in the book come from here."""

from collections.abc import Callable

import pytest
import sympy as sp

from xsquared_book.papers import gated_units, gelu_linearization, ours_splines, ours_units
from xsquared_book.papers.errata import errata

PAPERS = gated_units.paper, gelu_linearization.paper, ours_splines.paper, ours_units.paper
# By key: sympy derives an equation in the process that tests it, not in each that reads this file.
PAPER_OF = {key: paper for paper in PAPERS for key in paper.numbers}
KEYS = list(PAPER_OF)
IN_ERRATA = {slip.key for slip in errata()}


@pytest.mark.parametrize("key", [pytest.param(k, marks=pytest.mark.proves(k)) for k in KEYS])
def test_every_link(key: str, record_property: Callable[[str, object], None]) -> None:
    """Each step; and the printed form holds, or the errata have its right form: never both."""
    equation = PAPER_OF[key].derive(key)
    record_property("checks", len(equation.steps) + bool(equation.printed))
    residuals = [step.residual() for step in equation.steps]
    shown = [
        (step.says, f"{step.left} = {step.right}", str(residual))
        for step, residual in zip(equation.steps, residuals, strict=True)
    ]
    record_property("links", shown)
    for step, residual in zip(equation.steps, residuals, strict=True):
        assert residual == 0, f"{step.name}: {step.says}"
    if equation.printed:
        holds = equation.holds_as_printed()
        record_property("as_printed", holds)
        assert holds == (key not in IN_ERRATA)


@pytest.mark.parametrize("key", KEYS)
def test_numeric_spot_check_of_every_link(key: str) -> None:
    """An independent look, without sympy's simplifier; integers where a symbol is one."""
    numbers = [sp.Rational(k, 7) for k in (3, 5, 8, 11, 13, 17, 19, 23, 29, 31, 37, 41)] * 3
    for step in PAPER_OF[key].derive(key).steps:
        free = sorted(step.left.free_symbols | step.right.free_symbols, key=lambda s: s.name)
        values = {
            symbol: sp.Integer(3) if symbol.is_integer else number
            for symbol, number in zip(free, numbers[: len(free)], strict=True)
        }
        gap = sp.N((step.left - step.right).subs(values), 30, chop=True)
        assert abs(gap) < 1e-20, step.name


def test_no_link_goes_missing() -> None:
    """A proof that is no longer there fails no other test."""
    counts = [sum(len((*e.steps, *e.printed)) for e in paper.equations()) for paper in PAPERS]
    assert counts == [94, 70, 174, 32]
    assert len(KEYS) == sum(len(paper.numbers) for paper in PAPERS), "a key that two papers use"
