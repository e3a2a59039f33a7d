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


@dataclass(frozen=True)
class Curve(Target):
    """A spline in the place of an expression."""

    spline: BSpline

    def __call__(self, *points: np.ndarray) -> np.ndarray:
        """Values at points of the domain."""
        return self.spline(*points)


def smoothing_spline(points: Points) -> Curve:
    """Fit the cubic spline of 1, 2, 4, ... equally filled cells of least
    cross-validated error.
    """
    x, copies, counts = np.unique(
        points.x[:, 0], return_inverse=True, return_counts=True
    )
    y = np.bincount(copies, points.y) / counts
    degree, cells, found = min(3, len(x) - 1), 1, list[tuple[float, int, BSpline]]()
    ends = [x[0]] * degree, [x[-1]] * degree
    while not found or cells + degree <= len(x) / 2:
        places = np.interp(np.linspace(0, len(x) - 1, cells + 1), np.arange(len(x)), x)
        spline = make_lsq_spline(
            x, y, np.r_[ends[0], places, ends[1]], degree, np.sqrt(counts)
        )
        left = max(1 - (cells + degree) / len(points), 1e-3)
        error = np.linalg.norm(spline(points.x[:, 0]) - points.y) / left
        found.append((float(error), cells, spline))
        cells *= 2
    domain = ((float(x[0]), float(x[-1])),)
    return Curve(
        sp.Symbol("x", real=True), domain, "a curve through points", min(found)[2]
    )
