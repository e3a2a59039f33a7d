"""Every link of every numbered equation, proved by sympy: the marks in the book come from here."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sympy as sp

from xsquared.equations import Equation, Step
from xsquared.errata import errata
from xsquared.gated_units import equations
from xsquared.truncation import x

LINKS = [
    pytest.param(step, id=f"{equation.key}-{step.name}", marks=pytest.mark.proves(equation.key))
    for equation in equations()
    for step in equation.steps
]
PRINTED = [
    pytest.param(equation, id=equation.key, marks=pytest.mark.proves(equation.key))
    for equation in equations()
    if equation.printed
]
IN_ERRATA = {slip.key for slip in errata()}


@pytest.mark.parametrize("step", LINKS)
def test_step(step: Step) -> None:
    assert step.residual() == 0, step.says


@pytest.mark.parametrize("equation", PRINTED)
def test_printed_form(equation: Equation, record_property) -> None:
    """The printed form holds, or the errata have its right form; never both, never neither."""
    holds = equation.holds_as_printed()
    record_property("as_printed", holds)
    assert holds == (equation.key not in IN_ERRATA)


def test_every_numbered_equation_is_there_in_order() -> None:
    numbers = [equation.number for equation in equations() if equation.number.isdigit()]
    assert numbers == ["2", *map(str, range(4, 15)), "16", "17"]


def test_our_equations_have_no_printed_form() -> None:
    ours = [equation for equation in equations() if not equation.number.isdigit()]
    assert [equation.key for equation in ours] == ["xs-midpoint-glu", "xs-hermite-gqu"]
    assert all(not equation.printed for equation in ours)


@pytest.mark.parametrize("equation", equations(), ids=lambda e: e.key)
def test_a_broken_link_is_caught(equation: Equation) -> None:
    """Each first link with a perturbed right side must fail: the proofs can tell."""
    step = equation.steps[0]
    assert not replace(step, right=step.right + x).holds()


def test_numeric_spot_check_of_every_link() -> None:
    """An independent look: both sides agree at random numbers, without sympy's simplifier."""
    numbers = [sp.Rational(k, 7) for k in (3, 5, 8, 11, 13, 17, 19, 23, 29, 31, 37, 41)]
    for equation in equations():
        for step in equation.steps:
            free = sorted(step.left.free_symbols | step.right.free_symbols, key=lambda s: s.name)
            values = dict(zip(free, (numbers * 3)[: len(free)], strict=True))
            gap = sp.N(step.left.subs(values) - step.right.subs(values), 30, chop=True)
            assert abs(gap) < 1e-20, f"{equation.key} {step.name}"
