"""Error constants of splines: what an approximation of n pieces can reach at best.

Two classical families bracket every network of one input. Pieces that need not meet have the
smallest error; splines as smooth as their degree allows have the fewest coefficients. For both, the
leading error on equal cells is a constant times h^k rms(f^(k)), and with free knots the same
constant times n^-k and a quasi-norm of f^(k) (Barrow and Smith, Quart. Appl. Math. 36, 1978).
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
import sympy as sp
from scipy.interpolate import make_lsq_spline

from xsquared.checks import check_choice, check_integer
from xsquared.functions import Target, interval_of
from xsquared.quadrature import on_cells

Family = Literal["discontinuous", "smooth"]

#: Points of the midpoint rule for the quasi-norm; its integrand is continuous but not smooth.
_POINTS = 20_000


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


def predicted_free(target: Target, order: int, n_cells: int, family: Family) -> float:
    """Leading term of the best RMSE when the knots are free.

    The constant times n^-k (integral of abs(f^(k))^s)^(1/s) with s = 1/(k + 1/2), over the square
    root of the interval's length.

    Arguments and errors as for :func:`predicted_uniform`.
    """
    a, b = interval_of(target)
    n = check_integer("n_cells", n_cells, 1)
    constant = float(error_constant(order, family))
    s = 1 / (order + 0.5)
    x = a + (np.arange(_POINTS) + 0.5) * (b - a) / _POINTS
    integral = float(np.mean(np.abs(target.numpy(order)(x)) ** s)) * (b - a)
    return float(constant * n**-order * integral ** (1 / s) / math.sqrt(b - a))


def least_squares_spline_rmse(target: Target, order: int, n_cells: int) -> float:
    """RMSE of the best maximally smooth spline on equal cells, fitted by scipy.

    The fit and its error use Gauss-Legendre nodes on every cell, so that both stand for integrals.

    Args:
        target: a function of one variable.
        order: degree plus one, from 2 to 20.
        n_cells: number of cells, from 1 to a million.

    Raises:
        ValueError: several variables, or an order or a number of cells out of bounds.
        FloatingPointError: scipy returns NaN (the Schoenberg-Whitney conditions fail).
    """
    a, b = interval_of(target)
    degree = check_integer("order", order, 2, 20) - 1
    edges = np.linspace(a, b, check_integer("n_cells", n_cells, 1, 10**6) + 1)
    x, w = (array.ravel() for array in on_cells(edges))
    w = w / (b - a)
    knots = np.concatenate([[a] * degree, edges, [b] * degree])
    # scipy weighs residuals, not their squares.
    spline = make_lsq_spline(x, target(x), knots, k=degree, w=np.sqrt(w))
    with np.errstate(over="ignore", invalid="ignore"):
        square = float(w @ (spline(x) - target(x)) ** 2)
    if not math.isfinite(square):
        raise FloatingPointError(f"the least-squares spline on {n_cells} cells is not finite")
    return math.sqrt(square)
