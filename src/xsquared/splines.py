"""Error constants of splines: what an approximation of n pieces can reach at best.

Two classical families bracket every network of one input. Pieces that need not meet have the
smallest error; splines as smooth as their degree allows have the fewest coefficients. For both, the
leading error on equal cells is a constant times h^k rms(f^(k)), and with free knots the same
constant times n^-k and a quasi-norm of f^(k) (Barrow and Smith, Quart. Appl. Math. 36, 1978).
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import sympy as sp
from scipy.interpolate import make_lsq_spline

from xsquared.functions import Target
from xsquared.quadrature import on_cells

Family = Literal["discontinuous", "smooth"]

#: Points of the midpoint rule for the quasi-norm; its integrand is continuous but not smooth.
_POINTS = 20_000


def error_constant(order: int, family: Family) -> sp.Expr:
    """Leading constant of the best L2 error of piecewise polynomials of degree k - 1.

    k!/((2k)! sqrt(2k + 1)) where pieces need not meet: the norm of the monic Legendre polynomial
    over k!. sqrt(abs(B_2k)/(2k)!) for maximal smoothness: the norm of the Bernoulli monospline.

    Args:
        order: k, at least 1.
        family: ``"discontinuous"`` or ``"smooth"``.

    Raises:
        ValueError: an order below 1 or an unknown family.
    """
    if order < 1:
        raise ValueError(f"order must be at least 1, got {order}")
    k = sp.Integer(order)
    if family == "discontinuous":
        return sp.factorial(k) / (sp.factorial(2 * k) * sp.sqrt(2 * k + 1))
    if family == "smooth":
        return sp.sqrt(sp.Abs(sp.bernoulli(2 * k)) / sp.factorial(2 * k))
    raise ValueError(f"family must be discontinuous or smooth, got {family!r}")


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
    _check(target, n_cells)
    ((a, b),) = target.domain
    rms = target.l2_norm(order) / math.sqrt(b - a)
    return float(error_constant(order, family)) * ((b - a) / n_cells) ** order * rms


def predicted_free(target: Target, order: int, n_cells: int, family: Family) -> float:
    """Leading term of the best RMSE when the knots are free.

    The constant times n^-k (integral of abs(f^(k))^s)^(1/s) with s = 1/(k + 1/2), over the square
    root of the interval's length.

    Arguments and errors as for :func:`predicted_uniform`.
    """
    _check(target, n_cells)
    ((a, b),) = target.domain
    s = 1 / (order + 0.5)
    x = a + (np.arange(_POINTS) + 0.5) * (b - a) / _POINTS
    integral = float(np.mean(np.abs(target.numpy(order)(x)) ** s)) * (b - a)
    quasi_norm = integral ** (1 / s)
    return float(error_constant(order, family)) * n_cells**-order * quasi_norm / math.sqrt(b - a)


def least_squares_spline_rmse(target: Target, order: int, n_cells: int) -> float:
    """RMSE of the best maximally smooth spline on equal cells, fitted by scipy.

    The fit and its error use Gauss-Legendre nodes on every cell, so that both stand for integrals.

    Args:
        target: a function of one variable.
        order: degree plus one, at least 2.
        n_cells: number of cells, at least 1.

    Raises:
        ValueError: several variables, no cells, or an order below 2.
        FloatingPointError: scipy returns NaN (the Schoenberg-Whitney conditions fail).
    """
    _check(target, n_cells)
    if order < 2:
        raise ValueError(f"order must be at least 2, got {order}")
    ((a, b),) = target.domain
    edges = np.linspace(a, b, n_cells + 1)
    x, w = (array.ravel() for array in on_cells(edges))
    w = w / (b - a)
    knots = np.concatenate([[a] * (order - 1), edges, [b] * (order - 1)])
    # scipy weighs residuals, not their squares.
    spline = make_lsq_spline(x, target(x), knots, k=order - 1, w=np.sqrt(w))
    if not np.isfinite(spline.c).all():
        raise FloatingPointError(f"the least-squares spline on {n_cells} cells is not finite")
    return math.sqrt(float(w @ (spline(x) - target(x)) ** 2))


def _check(target: Target, n_cells: int) -> None:
    if target.dim != 1:
        raise ValueError(f"expected a target of one variable, {target.name} has {target.dim}")
    if n_cells < 1:
        raise ValueError(f"n_cells must be at least 1, got {n_cells}")
