"""Error constants of splines: what an approximation of n pieces can reach at best.

Two classical families bracket every network of one input. Pieces that need not meet have the
smallest error; splines as smooth as their degree allows have the fewest coefficients. For both, the
leading error on equal cells is a constant times h^k rms(f^(k)), and with free knots the same
constant times n^-k and the mass of f^(k), the integral of abs(f^(k))^s with s = 1/(k + 1/2), to the
power k + 1/2 (Barrow and Smith, Quart. Appl. Math. 36, 1978).
"""

from __future__ import annotations

import math
from functools import cache
from typing import Literal, get_args

import numpy as np
import sympy as sp
from scipy.interpolate import make_lsq_spline

from xsquared.checks import check_choice, check_integer
from xsquared.functions import Target, interval_of
from xsquared.quadrature import on_cells

Family = Literal["discontinuous", "smooth"]

#: The local variable of a cell of width one.
x = sp.Symbol("x", real=True)


def error_constant(order: int, family: Family) -> sp.Expr:
    """Leading constant of the best L2 error of piecewise polynomials of degree k - 1.

    k!/((2k)! sqrt(2k + 1)) where pieces need not meet: the norm of the monic Legendre polynomial
    over k!. sqrt(abs(B_2k)/(2k)!) for maximal smoothness: the norm of the Bernoulli monospline.

    Args:
        order: k, from 1 to 100.
        family: ``"discontinuous"`` or ``"smooth"``.

    Raises:
        ValueError: an order out of bounds or an unknown family.
    """
    k = sp.Integer(check_integer("order", order, 1, 100))
    if check_choice("family", family, get_args(Family)) == "discontinuous":
        return sp.factorial(k) / (sp.factorial(2 * k) * sp.sqrt(2 * k + 1))
    return sp.sqrt(sp.Abs(sp.bernoulli(2 * k)) / sp.factorial(2 * k))


def monospline(order: int, continuity: int) -> sp.Expr:
    """The error of the best spline on infinitely many cells of width one, for f^(k) = 1.

    A shift by one cell changes x^k/k! by a polynomial that the space contains, so that the best
    error has period one: on a cell it is x^k/k! plus a polynomial of degree k - 1, whose first
    derivatives agree at both ends. Its root mean square is the constant of h^k rms(f^(k)).

    Args:
        order: k, from 1 to 12; the pieces have degree k - 1.
        continuity: continuous derivatives r of the spline, -1 where pieces need not meet, at most
            k - 2.

    Returns:
        The error on the cell [0, 1], a polynomial in :data:`x` with rational coefficients.

    Raises:
        ValueError: an order or a continuity out of bounds.
    """
    check_integer("order", order, 1, 12)
    return _monospline(order, check_integer("continuity", continuity, -1, order - 2))


@cache
def _monospline(order: int, continuity: int) -> sp.Expr:
    coefficients = sp.symbols(f"a0:{order}")
    error = (x**order + sum(a * x**j for j, a in enumerate(coefficients))) / sp.factorial(order)
    derivatives = [sp.diff(error, x, j) for j in range(continuity + 1)]
    meets = [sp.expand(d.subs(x, 1) - d.subs(x, 0)) for d in derivatives]
    error = error.subs(sp.solve(meets, coefficients, dict=True)[0]) if meets else error
    free = sorted(error.free_symbols - {x}, key=str)
    square = sp.integrate(sp.expand(error**2), (x, 0, 1))
    (least,) = sp.solve([sp.diff(square, a) for a in free], free, dict=True)
    return sp.expand(error.subs(least))


def equal_cells_constant(order: int, continuity: int) -> sp.Expr:
    """The root mean square of :func:`monospline`: the best constant on equal cells.

    Arguments and errors as there.
    """
    square = sp.Poly(monospline(order, continuity) ** 2, x).integrate()
    return sp.sqrt(square.eval(1) - square.eval(0))


def predicted_uniform(target: Target, order: int, n_cells: int, family: Family) -> float:
    """Leading term of the best RMSE on equal cells.

    Args:
        target: a function of one variable with ``order`` derivatives.
        order: k, degree plus one.
        n_cells: number of cells, at least 1.
        family: as in :func:`error_constant`.

    Raises:
        ValueError: several variables, no cells, or as for :func:`error_constant`.
    """
    a, b = interval_of(target)
    h = (b - a) / check_integer("n_cells", n_cells, 1)
    constant = float(error_constant(order, family))
    rms = target.l2_norm(order) / math.sqrt(b - a)
    return constant * h**order * rms


def least_squares_spline_rmse(
    target: Target, order: int, n_cells: int, continuity: int | None = None
) -> float:
    """RMSE of the best spline on equal cells, fitted by scipy.

    The fit and its error use Gauss-Legendre nodes on every cell, so that both stand for integrals.

    Args:
        target: a function of one variable.
        order: degree plus one, from 2 to 20.
        n_cells: number of cells, from 1 to a million.
        continuity: continuous derivatives at the knots, from 0; where None, as many as the degree
            allows, order - 2.

    Raises:
        ValueError: several variables, or a number out of bounds.
        FloatingPointError: scipy returns NaN (the Schoenberg-Whitney conditions fail).
    """
    a, b = interval_of(target)
    degree = check_integer("order", order, 2, 20) - 1
    edges = np.linspace(a, b, check_integer("n_cells", n_cells, 1, 10**6) + 1)
    smooth = order - 2 if continuity is None else continuity
    check_integer("continuity", smooth, 0, order - 2)
    points, w = (array.ravel() for array in on_cells(edges))
    w = w / (b - a)
    inner = np.repeat(edges[1:-1], degree - smooth)
    knots = np.concatenate([[a] * order, inner, [b] * order])
    # scipy weighs residuals, not their squares.
    spline = make_lsq_spline(points, target(points), knots, k=degree, w=np.sqrt(w))
    with np.errstate(over="ignore", invalid="ignore"):
        square = float(w @ (spline(points) - target(points)) ** 2)
    if not math.isfinite(square):
        raise FloatingPointError(f"the least-squares spline on {n_cells} cells is not finite")
    return math.sqrt(square)
