"""Slopes of error against size on log-log axes, with intervals over sizes or seeds.

The interval of a regression covers scatter about a line, not the bias of widths too
small for the asymptotic regime. Over seeds an interval is one for the mean of the
slopes that single seeds have.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit


@dataclass(frozen=True)
class Slope:
    """A fitted exponent, minus the order of convergence, with its 95% interval.

    ``coefficient`` is the error that the fitted line has at size 1, ``used`` the number
    of sizes.
    """

    value: float
    low: float
    high: float
    coefficient: float
    used: int

    def __str__(self) -> str:
        return f"{self.value:z.2f} [{self.low:z.2f}, {self.high:z.2f}]"


def fit_slope(sizes: ArrayLike, errors: ArrayLike) -> Slope:
    """Fit the slope of log error (m,) against log size (m,), both positive, by least
    squares.

    With two sizes the interval is the slope itself, as two points have no scatter.
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
    return Slope(value, value - half, value + half, at_size_one, used)


def fit_slope_over_seeds(sizes: ArrayLike, errors: np.ndarray) -> Slope:
    """Average the slopes of single seeds, rows of errors (seeds, m).

    The interval is Student's at 95%; the mean slope is that of the errors' geometric
    mean.
    """
    slopes = np.array([fit_slope(sizes, row).value for row in errors])
    quantile = stdtrit(len(slopes) - 1, 0.975)
    half = float(quantile * slopes.std(ddof=1) / math.sqrt(len(slopes)))
    centre = fit_slope(sizes, np.exp(np.log(errors).mean(axis=0)))
    return replace(centre, low=centre.value - half, high=centre.value + half)
