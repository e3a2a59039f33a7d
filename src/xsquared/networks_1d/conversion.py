"""Networks of n neurons that are given splines (the gated-units paper, section 3)."""

import numpy as np

from xsquared.constructions import network_from_pieces
from xsquared.splines.free_knots import FreeKnotSpline
from xsquared.splines.spaces import jumps_at_knots, taylor_shift
from xsquared.units import GatedNetwork, Unit


def network_from_spline(
    unit: str | Unit, spline: FreeKnotSpline, n_hidden: int
) -> GatedNetwork:
    """Build the network of n neurons that is a spline.

    A spline of n_hidden + 1 cells has its directions. With n_hidden cells all gates
    open away from one cell, that for which the neurons' largest values have the least
    sum. A unit of two factors needs real roots there; one cell fewer always does. Where
    none will, and where rounding tears pieces of all but merged cells apart, it is a
    ValueError.
    """
    t, c = spline.knots, spline.pieces
    if spline.directions is not None:
        return network_from_pieces(unit, t, c, spline.directions, np.empty((0, 2)))
    gates, powers = len(c) - 1, np.arange(c.shape[1])
    cells = taylor_shift(c, t[0] - t[:-1])
    change, reach = (
        np.abs(jumps_at_knots(t, c)),
        np.abs(t[[0, -1], None] - t[1:-1])[..., None],
    )
    left, right = np.sum(change * reach**powers, axis=2)
    merged = len(powers) == 4 and n_hidden == len(c)
    ways = np.tri(
        gates + 1, gates, -1, dtype=int
    )  # 1 where open to the left: before one cell
    whole = cells[0] + ways @ np.diff(cells, axis=0)
    size = np.sum(np.abs(whole) * (t[-1] - t[0]) ** powers, axis=1) + ways @ (
        left - right
    )
    for i in np.argsort(size, kind="stable"):
        factors = real_factors(whole[i], t[-1] - t[0]) if merged else None
        if factors is not None or not merged:
            return network_from_pieces(unit, t, c, 1 - 2 * ways[i], factors)
    raise ValueError("no directions of the gates will do")


def real_factors(cubic: np.ndarray, length: float) -> np.ndarray | None:
    """Factor a cubic (4,) on [0, length], but for its constant, into real affine
    functions.

    The gate's root must not lie inside. Return rows (slope, value at 0), (3, 2), the
    gate first.
    """
    _, c1, c2, c3 = cubic
    # Real roots reach equally far to both sides of the inflection.
    inflection = [-c2 / (3 * c3)] if c3 != 0 else []
    for root in (
        0.0,
        length,
        *(place for place in inflection if not 0 < place < length),
    ):
        # The cubic minus its value at the root is (s - root) (b0 + b1 s + c3 s^2).
        b1 = c2 + c3 * root
        b0 = c1 + b1 * root
        if (discriminant := b1**2 - 4 * b0 * c3) >= 0:
            # The root of larger size first: no cancellation.
            q = -(b1 + np.copysign(np.sqrt(discriminant), b1)) / 2
            rest = [[c3, -q], [1.0, -b0 / q]] if q else [[c3, 0.0], [1.0, 0.0]]
            if q == c3 == 0:
                rest = [[0.0, b0], [0.0, 1.0]]
            sign = 1.0 if root <= 0 else -1.0
            return np.array(
                [[sign, -sign * root], rest[0], [sign * v for v in rest[1]]]
            )
    return None
