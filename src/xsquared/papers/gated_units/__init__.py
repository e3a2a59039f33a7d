"""The gated-units paper's numbered equations, each as links that sympy proves.

:func:`equations` holds sections 1-3 and appendix A with the forms that the paper prints, and our
two constructions, which the paper does not have. Definitions are computed through
:mod:`xsquared.truncation`; the tests prove every link, and the book prints their outcome.
"""

from __future__ import annotations

from functools import cache

from xsquared.papers.equations import Equation
from xsquared.papers.gated_units.errors import error_equations
from xsquared.papers.gated_units.piecewise import piecewise_equations


@cache
def equations() -> tuple[Equation, ...]:
    """Every equation, the paper's in its own order, ours last."""

    def place(equation: Equation) -> float:
        return float(equation.number) if equation.number.isdigit() else float("inf")

    return tuple(sorted((*piecewise_equations(), *error_equations()), key=place))
