"""Error constants of splines: what an approximation of n pieces can reach at best.

On equal cells the leading error is a constant times h^k rms(f^(k)); with free knots the
same constant times n^-k and the integral of abs(f^(k))^s, s = 1/(k + 1/2), to the power
k + 1/2 (Barrow and Smith, Quart. Appl. Math. 36, 1978).
"""

import math
from functools import cache
from typing import Literal

import numpy as np
import sympy as sp
from scipy.interpolate import make_lsq_spline

from xsquared.functions import Target, interval_of
from xsquared.quadrature import between

Family = Literal["discontinuous", "smooth"]

#: The local variable of a cell of width one.
x = sp.Symbol("x", real=True)


def error_constant(order: int, family: Family) -> sp.Expr:
    """Return the leading constant of the best L2 error of pieces of degree k - 1.

    ``k!/((2k)! sqrt(2k + 1))`` where pieces need not meet: the norm of the monic
    Legendre polynomial over k!. ``sqrt(abs(B_2k)/(2k)!)`` for maximal smoothness: the
    norm of the Bernoulli monospline.
    """
    k = sp.Integer(order)
    if family == "discontinuous":
        return sp.factorial(k) / (sp.factorial(2 * k) * sp.sqrt(2 * k + 1))
    return sp.sqrt(sp.Abs(sp.bernoulli(2 * k)) / sp.factorial(2 * k))


@cache
def monospline(order: int, continuity: int) -> sp.Expr:
    """Solve for the error of the best spline of f^(k) = 1 on cells of width one.

    Of infinitely many cells: it has period one. On [0, 1] it is x^k/k! plus a rational
    polynomial of degree k - 1, whose derivatives up to ``continuity``, at most k - 2
    and -1 for none, agree at both ends.
    """
    coefficients = sp.symbols(f"a0:{order}")
    piece = sum(a * x**j for j, a in enumerate(coefficients))
    error = (x**order + piece) / sp.factorial(order)
    derivatives = [sp.diff(error, x, j) for j in range(continuity + 1)]
    meets = [sp.expand(d.subs(x, 1) - d.subs(x, 0)) for d in derivatives]
    if meets:
        (fixed,) = sp.solve(meets, coefficients, dict=True)
        error = error.subs(fixed)
    free = sorted(error.free_symbols - {x}, key=str)
    square = sp.integrate(sp.expand(error**2), (x, 0, 1))
    (least,) = sp.solve([sp.diff(square, a) for a in free], free, dict=True)
    return sp.expand(error.subs(least))


def equal_cells_constant(order: int, continuity: int) -> sp.Expr:
    """Return the best constant on equal cells: the RMS of :func:`monospline`."""
    square = sp.Poly(monospline(order, continuity) ** 2, x).integrate()
    return sp.sqrt(square.eval(1) - square.eval(0))


def least_squares_spline_rmse(
    target: Target, order: int, n_cells: int, continuity: int | None = None
) -> float:
    """Fit the best spline of degree ``order`` - 1 on equal cells, and return its RMSE.

    By scipy. Derivatives up to ``continuity`` are continuous, none with -1, up to order
    - 2 where None.
    """
    a, b = interval_of(target)
    smooth = order - 2 if continuity is None else continuity
    cells = np.linspace(a, b, n_cells + 1)
    inner = np.repeat(cells[1:-1], order - 1 - smooth)
    knots = np.concatenate([[a] * order, inner, [b] * order])
    points, weights = between((a, b), cells)
    values = target(points)
    w = weights / (b - a)
    spline = make_lsq_spline(points, values, knots, k=order - 1, w=np.sqrt(w))
    return math.sqrt(float(w @ (spline(points) - values) ** 2))
