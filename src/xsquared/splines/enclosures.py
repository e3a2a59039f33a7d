"""A target as piecewise polynomials whose distance from it is enclosed by ball arithmetic."""

import math
import operator
from functools import reduce
from typing import Any

import numpy as np
import sympy as sp
from flint import arb, arb_series, ctx
from numpy.polynomial import legendre

from xsquared.functions import Target
from xsquared.quadrature import gauss_legendre

#: Where each cell's parts are halved no more, and the distance, over the target, that suffices.
_MOST_PARTS, _CLOSE = 64, 1e-12


def ball(part: sp.Expr, x: Any) -> Any:
    """Evaluate an expression to an ``arb``, or an ``arb_series``, that encloses its values.

    Not finite, or ValueError, where a function is not analytic: a pole, a branch point, a kink.
    """
    if part.is_Symbol:
        return x
    if part.is_Rational:
        return arb(part.p) / part.q
    if part.is_Number or part.is_NumberSymbol:
        return {sp.pi: arb.pi, sp.E: arb.const_e}.get(part, lambda: arb(float(part)))()
    args = [ball(arg, x) for arg in part.args]
    if part.is_Add or part.is_Mul:
        return reduce(operator.add if part.is_Add else operator.mul, args)
    if part.is_Pow:
        base, power = args
        if not part.exp.is_Integer:
            return (base.log() * power).exp()
        whole = base ** abs(exponent := int(part.exp))
        return whole if exponent > 0 else 1 / whole
    (arg,), name = args, part.func.__name__
    if name in ("sinh", "cosh", "tanh"):
        sinh, cosh = (arg.exp() - (-arg).exp()) / 2, (arg.exp() + (-arg).exp()) / 2
        return sinh / cosh if name == "tanh" else sinh if name == "sinh" else cosh
    if name == "Abs":
        value = arg[0] if isinstance(arg, arb_series) else arg
        if not value > 0 and not value < 0:
            raise ValueError(f"abs of a ball around zero: {value}")
        return arg if value > 0 else -arg
    return getattr(arg, name)()


def _piece(target: Target, left: float, right: float, count: int) -> tuple[np.ndarray, float]:
    """Return values at the count Gauss nodes of [left, right], and what interpolates them is off.

    The divided difference at the nodes and one more place is a Taylor coefficient somewhere in the
    interval; what remains of the node polynomial is a monic Legendre polynomial of known norm.
    """
    ctx.cap = max(ctx.cap, count + 1)  # flint drops coefficients beyond it, and says nothing
    middle, half = (arb(left) + right) / 2, (arb(right) - left) / 2
    try:
        x = arb_series([middle + half * arb(0, 1), 1], prec=count + 1)
        series = ball(target.expression, x) + 0 * x
        nodes = [middle + half * (2 * xi - 1) for xi in gauss_legendre(count)[0].tolist()]
        made = [arb(ball(target.expression, node)) for node in nodes]
    except ValueError:  # of abs, or of a series that is divided by a ball around zero
        return np.full(count, math.nan), math.inf
    # The nodes themselves are rounded: a thousandth is more than that can do.
    norm = 1.001 * math.factorial(count) ** 2 * 2**count / math.factorial(2 * count)
    bound = abs(series[count]) * half**count * norm * (2 / arb(2 * count + 1)).sqrt()
    # Values are rounded to the middles of their balls: the interpolant moves by at most so much.
    bound = (bound + sum((value.rad() for value in made), arb(0)) * count) * half.sqrt()
    finite = bound.is_finite() and all(part.is_finite() for part in series)
    distance = float(bound.upper()) * (1 + 1e-15) if finite else math.inf
    return np.array([float(value.mid()) for value in made]), distance


def enclosed(target: Target, grid: np.ndarray, count: int) -> tuple[np.ndarray, float]:
    """Project piecewise polynomials near the target on polynomials of every grid cell.

    Return (m, count) values at the Gauss nodes of the cells of a grid (m + 1,), by which products
    with polynomials of degree below ``count`` are integrated exactly, and a bound of the L2
    distance from the target. A target that is not analytic there is a ValueError.
    """
    (xi, weights), parts = gauss_legendre(count), 1
    while True:
        edges = grid[:-1, None] + np.diff(grid)[:, None] * np.arange(parts + 1) / parts
        edges[:, -1] = grid[1:]
        pairs = np.stack([edges[:, :-1], edges[:, 1:]], axis=-1).reshape(-1, 2).tolist()
        made = [_piece(target, left, right, count) for left, right in pairs]
        values, away = zip(*made, strict=True)
        total = math.sqrt(math.fsum(np.square(away))) * (1 + 1e-14)
        size = np.abs(values).max() * math.sqrt(np.ptp(grid))
        if parts == _MOST_PARTS or total < _CLOSE * size:
            break
        parts *= 2
    if not math.isfinite(total):
        raise ValueError(f"expected a target analytic on its interval, got {target.name}")
    nodes = ((np.arange(parts)[:, None] + xi) / parts).ravel()
    scaled = legendre.legvander(2 * nodes - 1, count - 1) * (2 * np.arange(count) + 1)
    project = (np.tile(weights, parts) / parts)[:, None] * scaled
    at_nodes = project @ legendre.legvander(2 * xi - 1, count - 1).T
    return np.reshape(values, (len(grid) - 1, -1)) @ at_nodes, total
