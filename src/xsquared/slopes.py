"""Slopes of error against size on log-log axes, with intervals.

The interval of a regression covers scatter about a line, not the bias of widths too
small for the asymptotic regime.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit


@dataclass(frozen=True)
class Slope:
    """A fitted exponent, minus the order of convergence, with its 95% interval.

    ``coefficient`` is the error that the fitted line has at size 1.
    """

    value: float
    low: float
    high: float
    coefficient: float

    def __str__(self) -> str:
        return f"{self.value:z.2f} [{self.low:z.2f}, {self.high:z.2f}]"


def fit_slope(sizes: ArrayLike, errors: ArrayLike) -> Slope:
    """Fit the slope of log error (m,) against log size (m,) by least squares.

    Sizes and errors are positive. With two sizes the interval is the slope itself, as
    two points have no scatter.
    """
    x = np.log(np.asarray(sizes, np.float64))
    y = np.log(np.asarray(errors, np.float64))
    used = len(x)
    u = x - x.mean()  # with means sizes close together would cancel
    v = y - y.mean()
    value = float(u @ v / (u @ u))
    half = 0.0
    if used > 2:
        scatter = float(np.sum((v - value * u) ** 2) / (u @ u))
        half = float(stdtrit(used - 2, 0.975)) * math.sqrt(scatter / (used - 2))
    at_size_one = float(np.exp(y.mean() - value * x.mean()))
    return Slope(value, value - half, value + half, at_size_one)
