"""Slopes of error against size on log-log axes: with intervals, locally, and over seeds.

The interval of a regression covers scatter about a line. It does not cover the bias of widths too
small for the asymptotic regime, so local slopes belong beside it, and it says nothing about seeds:
over them an interval is one for the mean of the slopes that single seeds have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from xsquared.checks import check_finite_array, check_integer


@dataclass(frozen=True)
class Slope:
    """A fitted exponent.

    Attributes:
        value: slope of log error against log size; minus the order of convergence.
        low: lower end of the 95% interval.
        high: upper end of the 95% interval.
        coefficient: the error that the fitted line has at size 1.
        used: number of sizes fitted.
    """

    value: float
    low: float
    high: float
    coefficient: float
    used: int

    def __str__(self) -> str:
        return f"{self.value:z.2f} [{self.low:z.2f}, {self.high:z.2f}]"


def fit_slope(sizes: ArrayLike, errors: ArrayLike) -> Slope:
    """Least-squares slope of log error against log size, with a 95% interval.

    Args:
        sizes: (m,) numbers of cells, neurons or parameters, positive and distinct.
        errors: (m,) errors, positive.

    Returns:
        The slope. With two sizes its interval is the slope itself, as two points have no scatter.

    Raises:
        ValueError: shapes that differ, values that are not positive and finite, sizes that repeat,
            or fewer than two sizes.
    """
    x, y = _logarithms(sizes, errors)
    used, u, v = len(x), x - x.mean(), y - y.mean()  # without means sizes close together cancel
    value = float(u @ v / (u @ u))
    square = float(np.sum((v - value * u) ** 2) / (u @ u))
    half = float(stdtrit(used - 2, 0.975)) * math.sqrt(square / (used - 2)) if used > 2 else 0.0
    with np.errstate(over="ignore", under="ignore"):
        at_one = float(np.exp(y.mean() - value * x.mean()))
    return Slope(value, value - half, value + half, at_one, used)


def _logarithms(sizes: ArrayLike, errors: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The logarithms of what :func:`fit_slope` takes; a ValueError where it refuses."""
    x, y = check_finite_array("sizes", sizes), check_finite_array("errors", errors)
    if x.ndim != 1 or x.shape != y.shape or len(x) < 2:
        raise ValueError(f"expected two vectors of one length >= 2, got {x.shape} and {y.shape}")
    if not ((x > 0).all() and (y > 0).all()):
        raise ValueError("expected positive sizes and errors")
    if len(np.unique(np.log(x))) != len(x):
        raise ValueError("expected distinct sizes, got repeated ones")
    return np.log(x), np.log(y)


def require_sizes(name: str, sizes: ArrayLike, first: int) -> None:
    """Refuse sizes over which no slope can be fitted, before anything is computed for them.

    Raises:
        ValueError: fewer than two different sizes of at least ``first``, called by their name.
    """
    found = sorted({int(s) for s in check_finite_array(name, sizes, ndim=1) if s >= first})
    if len(found) < 2:
        raise ValueError(
            f"{name}: expected at least two different sizes from {first} on, for a slope over "
            f"them, got {found or 'none'}"
        )


def local_slopes(sizes: ArrayLike, errors: ArrayLike) -> np.ndarray:
    """Slopes between neighbouring sizes: (m - 1,), in the order of the sizes.

    Raises:
        ValueError: as :func:`fit_slope`.
    """
    x, y = _logarithms(sizes, errors)
    return np.diff(y) / np.diff(x)


def fit_slope_over_seeds(sizes: ArrayLike, errors: ArrayLike) -> Slope:
    """The mean of the slopes of single seeds, with Student's 95% interval over them.

    Seeds are independent, so their slopes are as well, however the errors of one seed hang together
    over the sizes. The mean slope is that of the errors' geometric mean.

    Args:
        sizes: (m,) sizes, as in :func:`fit_slope`.
        errors: (seeds, m) errors of at least two seeds; a row is one seed at every size.

    Raises:
        ValueError: a single seed, and as :func:`fit_slope`.
    """
    rows = check_finite_array("errors", errors, ndim=2)
    count = check_integer("seeds", len(rows), 2)
    slopes = np.array([fit_slope(sizes, row).value for row in rows])
    half = stdtrit(count - 1, 0.975) * slopes.std(ddof=1) / math.sqrt(count)
    centre = fit_slope(sizes, np.exp(np.log(rows).mean(axis=0)))
    value = centre.value
    return replace(centre, low=float(value - half), high=float(value + half))
