"""A target as piecewise polynomials, at a distance enclosed by ball arithmetic."""

import math
from itertools import compress, pairwise
from typing import Any

import numpy as np
import sympy as sp
from numpy.polynomial import legendre

from xsquared.functions import Target
from xsquared.quadrature import gauss_legendre

try:
    from flint import arb, arb_series, ctx
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "certified bounds need python-flint: pip install 'xsquared[proofs]'"
    ) from error

#: Pieces that a cell may be cut into, on the average of all cells.
_PIECES = 128
#: Halvings of a cell: after so many, floats hardly tell its ends apart.
_HALVINGS = 50
#: The distance, over the target's size, at which a cell is cut no further.
_CLOSE = 1e-12
#: Bits of the balls: more than twice those of a float.
_BITS = 128
#: The rounding u of float64.
_ROUNDOFF = 2.0**-53


def ball(expression: sp.Expr, x: Any) -> Any:
    """Evaluate an expression to an ``arb``, or an ``arb_series``, around its values.

    Not finite, or ValueError, where a function is not analytic: a pole, a branch point,
    a kink.
    """
    if expression.is_Symbol:
        return x
    if expression.is_Number or expression.is_NumberSymbol:
        return _constant(expression)
    if isinstance(expression, sp.sinh | sp.cosh | sp.tanh):
        # x stands in one place only, so that enclosures are close.
        (arg,) = expression.args
        tanh = 1 - 2 / (sp.exp(2 * arg) + 1)
        exponential = expression.rewrite(sp.exp)
        return ball(tanh if expression.func == sp.tanh else exponential, x)
    args = [ball(arg, x) for arg in expression.args]
    if expression.is_Add:
        return sum(args[1:], args[0])
    if expression.is_Mul:
        return math.prod(args[1:], start=args[0])
    if expression.is_Pow:
        return _power(args[0], args[1], expression.exp)
    (arg,) = args
    if isinstance(expression, sp.Abs):
        value = arg[0] if isinstance(arg, arb_series) else arg
        if value > 0:
            return arg
        if value < 0:
            return -arg
        raise ValueError(f"abs of a ball around zero: {value}")
    return getattr(arg, expression.func.__name__)()


def _constant(number: sp.Expr) -> Any:
    """Enclose a number: a rational one, pi, e, or a float as it is."""
    if number.is_Rational:
        return arb(number.p) / number.q
    if number == sp.pi:
        return arb.pi()
    if number == sp.E:
        return arb.const_e()
    return arb(float(number))


def _power(base: Any, power: Any, exponent: sp.Expr) -> Any:
    """Raise a ball to an exponent: by products, or else by the logarithm."""
    if not exponent.is_Integer:
        return (base.log() * power).exp()
    whole = base ** abs(int(exponent))
    return whole if exponent > 0 else 1 / whole


def _piece(
    target: Target, middle: Any, half: Any, count: int
) -> tuple[np.ndarray, float]:
    """Interpolate a target at the Gauss nodes of middle -+ half, and bound the error.

    Return values (count,) and a bound of the interpolant's L2 distance. The error is a
    divided difference times the node polynomial; the first is a Taylor coefficient
    somewhere in the interval, the second a monic Legendre polynomial, whose norm on
    (-1, 1) is ``2^n n!^2/(2n)! sqrt(2/(2n + 1))``. Infinite where there is no bound.
    """
    # Flint drops coefficients beyond its cap, and says nothing.
    ctx.cap = max(ctx.cap, count + 1)
    try:
        x = arb_series([middle + half * arb(0, 1), 1], prec=count + 1)
        series = ball(target.expression, x) + 0 * x
        xi, _ = gauss_legendre(count)
        nodes = [middle + half * (2 * share - 1) for share in xi.tolist()]
        enclosures = [arb(ball(target.expression, node)) for node in nodes]
    except ValueError:  # of abs, or of a series that is divided by a ball around zero
        return np.full(count, math.nan), math.inf
    # The nodes themselves are rounded: a thousandth is more than that can do.
    norm = 1.001 * math.factorial(count) ** 2 * 2**count / math.factorial(2 * count)
    bound = abs(series[count]) * half**count * norm * (2 / arb(2 * count + 1)).sqrt()
    # Values are rounded to floats: the interpolant moves by at most so much.
    values = [float(enclosure.mid()) for enclosure in enclosures]
    moved = arb(0)
    for enclosure, value in zip(enclosures, values, strict=True):
        moved += abs(enclosure - value)
    bound = (bound + moved * count) * half.sqrt()
    if bound.is_finite() and all(coefficient.is_finite() for coefficient in series):
        return np.array(values), math.nextafter(float(bound.upper()), math.inf)
    return np.array(values), math.inf


@np.errstate(over="ignore")
@ctx.workprec(_BITS)
def enclosed(target: Target, grid: np.ndarray, count: int) -> tuple[np.ndarray, float]:
    """Project piecewise polynomials near the target on polynomials of every grid cell.

    Cells that are far from the target are halved, again and again; what is found on
    halves is projected back on whole cells. Return (m, count) values at the Gauss nodes
    of the cells of a grid (m + 1,), by which products with polynomials of degree below
    ``count`` are integrated exactly, and a bound of the L2 distance from the target. A
    ValueError where that is not analytic, or beyond the floats.
    """
    if not (np.diff(grid) > 0).all():
        raise ValueError(
            f"expected cells that floats tell apart, got those of {target.name}"
        )
    close = _CLOSE * float(np.abs(target(grid)).max())
    cells = []
    for left, right in pairwise(grid.tolist()):
        half = (arb(right) - left) / 2
        cells.append((left + half, half))
    # Of each round of halvings: values, distances, roots of widths, what is halved.
    levels = []
    allowed = _PIECES * len(grid)
    while True:
        pieces = [_piece(target, middle, half, count) for middle, half in cells]
        values = np.array([piece[0] for piece in pieces])
        away = np.array([piece[1] for piece in pieces])
        roots = np.sqrt([2 * float(half) for _, half in cells])
        far = ~(away < close * roots)
        levels.append((values, away, roots, far))
        allowed -= len(cells)
        if not far.any() or 2 * far.sum() > allowed or len(levels) > _HALVINGS:
            break
        halved = []
        for middle, half in compress(cells, far):
            halved += [(middle - half / 2, half / 2), (middle + half / 2, half / 2)]
        cells = halved
    if not np.isfinite(away).all():
        raise ValueError(
            f"expected a target analytic on its interval, got {target.name}"
        )
    for whole, whole_away, roots, far in levels[-2::-1]:
        halves = values.reshape(-1, 2, count)
        whole[far] = _projected_back(halves, count)
        rounding = count**3 * _ROUNDOFF * roots[far] * np.abs(halves).max(axis=(1, 2))
        whole_away[far] = np.hypot(*away.reshape(-1, 2).T) + rounding
        values, away = whole, whole_away
    return values, math.nextafter(math.hypot(*away) * (1 + 1e-14), math.inf)


def _projected_back(halves: np.ndarray, count: int) -> np.ndarray:
    """Project polynomials on both halves of cells, (n, 2, count), on all of each cell.

    Values are at Gauss nodes, of the halves and then (n, count) of the cell: the sum
    over i of (i + 1/2) P_i(node) times the integral of P_i and the halves over (-1, 1).
    """
    xi, weights = gauss_legendre(count)
    basis = legendre.legvander(2 * xi - 1, count - 1) * (np.arange(count) + 0.5)
    # On (-1, 1) the left half's nodes are xi - 1, the right half's xi.
    on_halves = np.array(
        [legendre.legvander(xi - j, count - 1).T * weights for j in (1, 0)]
    )
    return np.einsum("iq,jqk,njk->ni", basis, on_halves, halves, optimize=True)
