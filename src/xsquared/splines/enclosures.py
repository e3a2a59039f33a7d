"""A target as piecewise polynomials whose distance from it is enclosed by ball
arithmetic.
"""

import math
import operator
from functools import reduce
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

#: The most pieces a cell and halvings, and the distance, over the target, that
#: suffices.
_PIECES, _HALVINGS, _CLOSE = 128, 50, 1e-12


def ball(part: sp.Expr, x: Any) -> Any:
    """Evaluate an expression to an ``arb``, or an ``arb_series``, that encloses its
    values.

    Not finite, or ValueError, where a function is not analytic: a pole, a branch point,
    a kink.
    """
    if part.is_Symbol:
        return x
    if part.is_Rational:
        return arb(part.p) / part.q
    if part.is_Number or part.is_NumberSymbol:
        return {sp.pi: arb.pi, sp.E: arb.const_e}.get(part, lambda: arb(float(part)))()
    if isinstance(part, sp.sinh | sp.cosh | sp.tanh):
        tanh = 1 - 2 / (
            sp.exp(2 * part.args[0]) + 1
        )  # one place for x, so close enclosures
        return ball(tanh if part.func == sp.tanh else part.rewrite(sp.exp), x)
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
    if name == "Abs":
        value = arg[0] if isinstance(arg, arb_series) else arg
        if not value > 0 and not value < 0:
            raise ValueError(f"abs of a ball around zero: {value}")
        return arg if value > 0 else -arg
    return getattr(arg, name)()


def _piece(
    target: Target, middle: Any, half: Any, count: int
) -> tuple[np.ndarray, float]:
    """Return values at the count Gauss nodes of middle -+ half, and what interpolates
    them is off.

    The divided difference at the nodes and one more place is a Taylor coefficient
    somewhere in the interval; what remains of the node polynomial is a monic Legendre
    polynomial of known norm.
    """
    ctx.cap = max(
        ctx.cap, count + 1
    )  # flint drops coefficients beyond it, and says nothing
    try:
        x = arb_series([middle + half * arb(0, 1), 1], prec=count + 1)
        series = ball(target.expression, x) + 0 * x
        nodes = [
            middle + half * (2 * xi - 1) for xi in gauss_legendre(count)[0].tolist()
        ]
        made = [arb(ball(target.expression, node)) for node in nodes]
    except ValueError:  # of abs, or of a series that is divided by a ball around zero
        return np.full(count, math.nan), math.inf
    # The nodes themselves are rounded: a thousandth is more than that can do.
    norm = 1.001 * math.factorial(count) ** 2 * 2**count / math.factorial(2 * count)
    bound = abs(series[count]) * half**count * norm * (2 / arb(2 * count + 1)).sqrt()
    # Values are rounded to floats: the interpolant moves by at most so much.
    kept = [float(value.mid()) for value in made]
    bound = (
        bound + sum(map(abs, map(operator.sub, made, kept)), arb(0)) * count
    ) * half.sqrt()
    finite = bound.is_finite() and all(part.is_finite() for part in series)
    return np.array(kept), math.nextafter(
        float(bound.upper()), math.inf
    ) if finite else math.inf


@np.errstate(over="ignore")
@ctx.workprec(128)
def enclosed(target: Target, grid: np.ndarray, count: int) -> tuple[np.ndarray, float]:
    """Project piecewise polynomials near the target on polynomials of every grid cell.

    Return (m, count) values at the Gauss nodes of the cells of a grid (m + 1,), by
    which products with polynomials of degree below ``count`` are integrated exactly,
    and a bound of the L2 distance from the target. A ValueError where that is not
    analytic, or beyond the floats.
    """
    if not (np.diff(grid) > 0).all():
        raise ValueError(
            f"expected cells that floats tell apart, got those of {target.name}"
        )
    (xi, weights), close = (
        gauss_legendre(count),
        _CLOSE * float(np.abs(target(grid)).max()),
    )
    halves = (
        (left, (arb(right) - left) / 2) for left, right in pairwise(grid.tolist())
    )
    cells, levels, more = (
        [(left + half, half) for left, half in halves],
        [],
        _PIECES * len(grid),
    )
    while True:
        made = [_piece(target, *cell, count) for cell in cells]
        values, away = map(np.array, zip(*made, strict=True))
        roots = np.sqrt([2 * float(half) for _, half in cells])
        levels.append((values, away, roots, far := ~(away < close * roots)))
        more -= len(cells)
        if 2 * far.sum() > more or not far.any() or len(levels) > _HALVINGS:
            break
        halved = compress(cells, far)
        cells = [(at + half * j / 2, half / 2) for at, half in halved for j in (-1, 1)]
    if not np.isfinite(away).all():
        raise ValueError(
            f"expected a target analytic on its interval, got {target.name}"
        )
    # From values of polynomials on halves of a cell to those of their projections on
    # all of it.
    basis = legendre.legvander(2 * xi - 1, count - 1) * (np.arange(count) + 0.5)
    parts = np.array(
        [legendre.legvander(xi - j, count - 1).T * weights for j in (1, 0)]
    )
    for whole, whole_away, roots, far in levels[-2::-1]:
        both, off = values.reshape(-1, 2, count), away.reshape(-1, 2)
        whole[far] = np.einsum("iq,jqk,njk->ni", basis, parts, both, optimize=True)
        rounding = count**3 * 2.0**-53 * roots[far] * np.abs(both).max(axis=(1, 2))
        whole_away[far] = np.hypot(*off.T) + rounding
        values, away = whole, whole_away
    return values, math.nextafter(math.hypot(*away) * (1 + 1e-14), math.inf)
