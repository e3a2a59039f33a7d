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
    knots = spline.knots
    pieces = spline.pieces  # (cells, degree + 1), in powers of x - t_k
    if spline.directions is not None:
        no_factors = np.empty((0, 2))
        return network_from_pieces(unit, knots, pieces, spline.directions, no_factors)
    cells, coefficients = pieces.shape
    merged = coefficients == 4 and n_hidden == cells
    opens_left, whole, size = _one_cell_open(knots, pieces)
    for cell in np.argsort(size, kind="stable"):
        factors = None
        if merged:
            factors = _real_factors(whole[cell], knots[-1] - knots[0])
        if factors is not None or not merged:
            directions = 1 - 2 * opens_left[cell]
            return network_from_pieces(unit, knots, pieces, directions, factors)
    raise ValueError("no directions of the gates will do")


def _one_cell_open(
    knots: np.ndarray, pieces: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Open all gates of n cells away from one of them, for each cell.

    The polynomial behind all gates is then that of the cell.

    Returns:
        What gates open to the left, (n, n - 1) of 0 and 1; the polynomials in powers of
        x - t_0, (n, degree + 1); and the sums of the neurons' largest values, (n,).
    """
    gates = len(pieces) - 1
    powers = np.arange(pieces.shape[1])
    length = knots[-1] - knots[0]
    from_left_end = taylor_shift(pieces, knots[0] - knots[:-1])
    opens_left = np.tri(gates + 1, gates, -1, dtype=int)
    whole = from_left_end[0] + opens_left @ np.diff(from_left_end, axis=0)
    # A neuron is largest at the end to which it opens.
    jumps = np.abs(jumps_at_knots(knots, pieces))
    reach = np.abs(knots[[0, -1], None] - knots[1:-1])[..., None]
    left, right = np.sum(jumps * reach**powers, axis=2)
    size = np.sum(np.abs(whole) * length**powers, axis=1)
    size = size + opens_left @ (left - right)
    return opens_left, whole, size


def _real_factors(cubic: np.ndarray, length: float) -> np.ndarray | None:
    """Factor a cubic (4,), up to a constant, into three real affine functions.

    The first is a gate that is positive inside (0, length): its root is an end of that
    interval, or the inflection beyond. The product of all three is the cubic minus its
    value at this root. Return rows (slope, value at 0), (3, 2), the gate first; None
    where for each of these roots the two others are complex.
    """
    _, c1, c2, c3 = cubic
    roots = [0.0, length]
    if c3 != 0:
        # From the inflection real roots reach equally far to both sides.
        inflection = -c2 / (3 * c3)
        if not 0 < inflection < length:
            roots.append(inflection)
    for root in roots:
        # The cubic minus its value at the root is (s - root) (b0 + b1 s + c3 s^2).
        b1 = c2 + c3 * root
        b0 = c1 + b1 * root
        discriminant = b1**2 - 4 * b0 * c3
        if discriminant < 0:
            continue
        # The quadratic is (c3 s - q) (s - b0/q). Its root of larger size is q/c3: no
        # cancellation.
        q = -(b1 + np.copysign(np.sqrt(discriminant), b1)) / 2
        if q:
            first, second = [c3, -q], [1.0, -b0 / q]
        elif c3:  # c3 s^2
            first, second = [c3, 0.0], [1.0, 0.0]
        else:  # b0, a constant
            first, second = [0.0, b0], [0.0, 1.0]
        sign = 1.0 if root <= 0 else -1.0
        gate = [sign, -sign * root]
        return np.array([gate, first, [sign * value for value in second]])
    return None
