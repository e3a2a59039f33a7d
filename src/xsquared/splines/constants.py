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

#: Errors of a fit on other nodes that differ by less are the same: as a share, and of the values.
_SAME, _ROUNDING = 1e-9, 1e-12
#: Parts of all cells, of eight nodes: for the check at least, for the fit at most.
_CHECKED, _MOST_PARTS = 2500, 2**14

#: The local variable of a cell of width one.
x = sp.Symbol("x", real=True)


def error_constant(order: int, family: Family) -> sp.Expr:
    """Leading constant of the best L2 error of piecewise polynomials of degree k - 1.

    k!/((2k)! sqrt(2k + 1)) where pieces need not meet: the norm of the monic Legendre polynomial
    over k!. sqrt(abs(B_2k)/(2k)!) for maximal smoothness: the norm of the Bernoulli monospline.

    Args:
        order: k.
        family: ``"discontinuous"`` or ``"smooth"``.

    Raises:
        ValueError: an unknown family, or no order from 1.
    """
    check_choice("family", family, get_args(Family))
    k = sp.Integer(check_integer("order", order, 1))
    if family == "discontinuous":
        return sp.factorial(k) / (sp.factorial(2 * k) * sp.sqrt(2 * k + 1))
    return sp.sqrt(sp.Abs(sp.bernoulli(2 * k)) / sp.factorial(2 * k))


@cache
def monospline(order: int, continuity: int) -> sp.Expr:
    """The error of the best spline on infinitely many cells of width one, for f^(k) = 1.

    A shift by one cell changes x^k/k! by a polynomial that the space contains, so that the best
    error has period one: on a cell it is x^k/k! plus a polynomial of degree k - 1, whose first
    derivatives agree at both ends. Its root mean square is the constant of h^k rms(f^(k)).

    Args:
        order: k; the pieces have degree k - 1.
        continuity: continuous derivatives r of the spline, -1 where pieces need not meet, at most
            k - 2.

    Returns:
        The error on the cell [0, 1], a polynomial in :data:`x` with rational coefficients.
    """
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
    """The root mean square of :func:`monospline`: the best constant on equal cells."""
    square = sp.Poly(monospline(order, continuity) ** 2, x).integrate()
    return sp.sqrt(square.eval(1) - square.eval(0))


@np.errstate(over="ignore", invalid="ignore")
def least_squares_spline_rmse(
    target: Target, order: int, n_cells: int, continuity: int | None = None
) -> float:
    """RMSE of the best spline on equal cells, fitted by scipy.

    The fit and its error use Gauss-Legendre nodes on every cell, so that both stand for integrals:
    more nodes wherever some 20,000 others tell another error, up to 131,072. At a jump of the
    target they leave a share of 1e-4 open.

    Args:
        target: a function of one variable.
        order: degree plus one, at least 2.
        n_cells: number of cells.
        continuity: continuous derivatives at the knots, -1 where pieces need not meet; where None,
            as many as the degree allows, order - 2.

    Raises:
        FloatingPointError: scipy returns NaN (the Schoenberg-Whitney conditions fail).
    """
    a, b = interval_of(target)
    degree = order - 1
    smooth = order - 2 if continuity is None else continuity
    inner = np.repeat(np.linspace(a, b, n_cells + 1)[1:-1], degree - smooth)
    knots = np.concatenate([[a] * order, inner, [b] * order])

    def rule(parts: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points, values and weights, each cell cut into parts."""
        points, w = on_cells(np.linspace(a, b, n_cells * parts + 1))
        return points.ravel(), target(points.ravel()), w.ravel() / (b - a)

    parts = 1
    while True:
        points, values, w = rule(parts)
        # scipy weighs residuals, not their squares.
        spline = make_lsq_spline(points, values, knots, k=degree, w=np.sqrt(w))
        error = math.sqrt(float(w @ (spline(points) - values) ** 2))
        if not math.isfinite(error):
            raise FloatingPointError(f"the least-squares spline on {n_cells} cells is not finite")
        points, values, w = rule(max(2 * parts, -(-_CHECKED // n_cells)))
        other = math.sqrt(float(w @ (spline(points) - values) ** 2))
        near = abs(other - error) <= _SAME * error + _ROUNDING * float(np.abs(values).max())
        if near or n_cells * parts >= _MOST_PARTS:
            return error
        parts *= 4


def lines_at_jump(ratio: float, place: float, n_cells: int) -> float:
    """Least RMSE of lines on [-1, 1], for f'' = 1 left of a place and the ratio right of it.

    On either side cells are equal, and each line may meet its neighbour at no cost. All that is
    left to choose is how many are on the left, and the cell across the jump.

    Args:
        ratio: above 0.
        place: of the jump, several cells from both ends.
        n_cells: at least 3.
    """
    share = np.linspace(0.002, 1.5, 300) * (1 + place + ratio**0.4 * (1 - place)) / n_cells
    s, t = np.meshgrid(share, share / ratio**0.4)
    # Integrals of f, of x f about the middle and of f^2 over [-s, t], the jump at 0.
    first = (s**3 + ratio * t**3) / 6
    second = (ratio * t**4 - s**4) / 8 - (t - s) / 2 * first
    across = (s**5 + ratio**2 * t**5) / 20 - first**2 / (s + t) - 12 * second**2 / (s + t) ** 3
    left, right = (1 + place - s) ** 5, ratio**2 * (1 - place - t) ** 5
    least = min(
        float((across + (left / n**4 + right / (n_cells - 1 - n) ** 4) / 720).min())
        for n in range(1, n_cells - 1)
    )
    return math.sqrt(least / 2)
