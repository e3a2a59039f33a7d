"""Truncation errors of the closed-form networks and their leading constants, derived.

Each construction is carried out literally on the target's Taylor polynomial on a cell [0, h].
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import sympy as sp

#: Place in the cell and width of the cell.
x, h = sp.symbols("x h", positive=True)
#: Derivatives of the target at the cell's left end, f0 to f5.
f = sp.symbols("f0:6", real=True)


def target(order: int, at: sp.Expr) -> sp.Expr:
    """Derive the target's Taylor polynomial of degree 5 so often, and evaluate it at one place."""
    taylor = sum((f[j] * x**j / sp.factorial(j) for j in range(len(f))), sp.Integer(0))
    return sp.diff(taylor, x, order).subs(x, at)


def quadratic_piece(theta: sp.Expr) -> sp.Expr:
    """Both end values, and the target's curvature at ``theta h``: the GLU construction."""
    half_curvature = target(2, theta * h) / 2
    slope = (target(0, h) - f[0]) / h - half_curvature * h
    return f[0] + slope * x + half_curvature * x**2


def hermite_piece() -> sp.Expr:
    """Both end values and both end slopes: the GQU construction."""
    c2, c3 = sp.symbols("c2 c3")
    cubic = f[0] + f[1] * x + c2 * x**2 + c3 * x**3
    slope = sp.diff(cubic, x).subs(x, h) - target(1, h)
    (solution,) = sp.solve([cubic.subs(x, h) - target(0, h), slope], [c2, c3], dict=True)
    return sp.expand(cubic.subs(solution))


class Piece(NamedTuple):
    """The polynomial in x that a construction puts on a cell, its unit, order of convergence."""

    polynomial: Callable[[], sp.Expr]
    unit: str
    order: int


#: The pieces by the name of their construction in :mod:`xsquared.constructions`.
PIECES: dict[str, Piece] = {
    "interpolating_mlp": Piece(lambda: f[0] + (target(0, h) - f[0]) / h * x, "mlp", 2),
    "left_curvature_glu": Piece(lambda: quadratic_piece(sp.Integer(0)), "glu", 3),
    "midpoint_curvature_glu": Piece(lambda: quadratic_piece(sp.Rational(1, 2)), "glu", 3),
    "hermite_gqu": Piece(hermite_piece, "gqu", 4),
}


@cache
def truncation_error(name: str) -> sp.Expr:
    """tau = y - f on the cell [0, h], in x, h and f0, f1, ..., for a key of :data:`PIECES`."""
    return sp.expand(PIECES[name].polynomial() - target(0, x))


def terms_of_degree(expression: sp.Expr, degree: int) -> sp.Expr:
    """The part of an error whose total degree in x and h is ``degree``."""
    epsilon = sp.Symbol("epsilon", positive=True)
    scaled = expression.subs({x: epsilon * x, h: epsilon * h}, simultaneous=True)
    return sp.expand(sp.expand(scaled).coeff(epsilon, degree))


@cache
def leading_constant(name: str) -> sp.Expr:
    """Derive the exact C of RMSE = C h^k rms(f^(k)) + o(h^k) on a cell [0, h] (of Eq. 8)."""
    order = PIECES[name].order
    leading = terms_of_degree(truncation_error(name), order)  # dominates as h goes to 0
    square = sp.expand((leading / f[order]) ** 2)
    return sp.simplify(sp.sqrt(sp.factor(sp.integrate(square, (x, 0, h)) / h)) / h**order)
