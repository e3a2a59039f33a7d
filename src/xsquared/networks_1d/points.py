"""Data of one input: a smooth curve through the points.

The curve is a cubic spline whose number of cells generalised cross-validation chooses
(Craven and Wahba, Numer. Math. 31, 1979), so noise does not attract knots.
"""

from dataclasses import dataclass

import numpy as np
import sympy as sp
from scipy.interpolate import BSpline, make_lsq_spline

from xsquared.data.dataset import Points
from xsquared.functions import Target

#: Least share of the points that coefficients leave free: with all used it is zero.
_LEAST_FREE = 1e-3


@dataclass(frozen=True)
class Curve(Target):
    """A spline in the place of an expression."""

    spline: BSpline

    def __call__(self, *points: np.ndarray) -> np.ndarray:
        """Values at points of the domain."""
        return self.spline(*points)


def smoothing_spline(points: Points) -> Curve:
    """Fit the cubic spline of least cross-validated error to points of one input.

    Its 1, 2, 4, ... cells hold equally many points, at least two for each of its
    coefficients. Of N points and p = cells + 3 coefficients, generalised
    cross-validation is the root of the sum of squares over 1 - p/N. Points that
    coincide count as one of their mean, with the root of their number as weight.
    """
    x, places, counts = np.unique(
        points.x[:, 0], return_inverse=True, return_counts=True
    )
    y = np.bincount(places, points.y) / counts
    ranks = np.arange(len(x))
    degree = min(3, len(x) - 1)
    least = np.inf
    cells = 1
    while cells == 1 or cells + degree <= len(x) / 2:
        ends = np.interp(np.linspace(0, len(x) - 1, cells + 1), ranks, x)
        knots = np.r_[[x[0]] * degree, ends, [x[-1]] * degree]
        spline = make_lsq_spline(x, y, knots, degree, np.sqrt(counts))
        free = max(1 - (cells + degree) / len(points), _LEAST_FREE)
        residual = spline(points.x[:, 0]) - points.y
        error = float(np.linalg.norm(residual)) / free
        if error < least:
            least, best = error, spline
        cells *= 2
    domain = ((float(x[0]), float(x[-1])),)
    return Curve(sp.Symbol("x", real=True), domain, "a curve through points", best)
