"""Slopes of error against size on log-log axes: with intervals, locally, and over seeds.

The interval of a regression covers scatter about a line. It does not cover the bias of widths too
small for the asymptotic regime, so local slopes belong beside it, and it says nothing about seeds,
which are resampled as a whole, never widths. Errors near the floor of float64 flatten a slope and
are dropped, and the result says how many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

#: Errors below this multiple of the floor are dropped.
_ABOVE_FLOOR = 100.0


@dataclass(frozen=True)
class Slope:
    """A fitted exponent.

    Attributes:
        value: slope of log error against log size; minus the order of convergence.
        low: lower end of the 95% interval.
        high: upper end of the 95% interval.
        coefficient: the error that the fitted line has at size 1.
        used: number of sizes fitted.
        dropped: number of sizes left out for lying near the floor.
    """

    value: float
    low: float
    high: float
    coefficient: float
    used: int
    dropped: int

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def fit_slope(sizes: ArrayLike, errors: ArrayLike, floor: float = 0.0) -> Slope:
    """Least-squares slope of log error against log size, with a 95% interval.

    Args:
        sizes: (m,) numbers of cells, neurons or parameters, positive and distinct.
        errors: (m,) errors, positive.
        floor: the smallest error that arithmetic lets through; sizes with errors below a hundred
            times it are dropped.

    Returns:
        The slope. With two sizes its interval is the slope itself, as two points have no scatter.

    Raises:
        ValueError: shapes that differ, values that are not positive and finite, sizes that repeat,
            or fewer than two sizes above the floor.
    """
    x, y = _checked(sizes, errors)
    if not floor >= 0:
        raise ValueError(f"floor must be >= 0, got {floor}")
    kept = y > _ABOVE_FLOOR * floor
    used = int(kept.sum())
    if used < 2:
        raise ValueError(f"expected at least 2 sizes with errors above the floor, got {used}")
    log_x, log_y = np.log(x[kept]), np.log(y[kept])
    centred = log_x - log_x.mean()
    spread = float(centred @ centred)
    value = float(centred @ log_y) / spread
    intercept = float(log_y.mean() - value * log_x.mean())
    half = 0.0
    if used > 2:
        scatter = log_y - intercept - value * log_x
        half = float(stdtrit(used - 2, 0.975) * np.sqrt(scatter @ scatter / (used - 2) / spread))
    return Slope(value, value - half, value + half, float(np.exp(intercept)), used, len(x) - used)


def require_sizes(name: str, sizes: Sequence[int] | np.ndarray, first: int) -> None:
    """Refuse sizes over which no slope can be fitted, before anything is computed for them.

    Args:
        name: how the message calls them.
        sizes: numbers of cells or neurons.
        first: the smallest that the slope uses.

    Raises:
        ValueError: fewer than two different sizes of at least ``first``.
    """
    found = sorted({int(size) for size in sizes if size >= first})
    if len(found) < 2:
        raise ValueError(
            f"{name}: expected at least two different sizes from {first} on, for a slope over "
            f"them, got {found or 'none'}"
        )


def local_slopes(sizes: ArrayLike, errors: ArrayLike) -> np.ndarray:
    """Slopes between neighbouring sizes: (m - 1,), in the order of the sizes.

    Raises:
        ValueError: as for :func:`fit_slope`.
    """
    x, y = _checked(sizes, errors)
    return np.diff(np.log(y)) / np.diff(np.log(x))


def fit_slope_over_seeds(
    sizes: ArrayLike, errors: ArrayLike, draws: int = 2000, seed: int = 0
) -> Slope:
    """Slope of the median error over seeds, with a 95% interval from resampling seeds.

    Args:
        sizes: (m,) sizes, as in :func:`fit_slope`.
        errors: (seeds, m) errors; a row is one seed at every size.
        draws: bootstrap samples, at least 1.
        seed: of the resampling.

    Raises:
        ValueError: fewer than two seeds, ``draws`` below 1, or as for :func:`fit_slope`.
    """
    table = np.asarray(errors, dtype=np.float64)
    if table.ndim != 2 or len(table) < 2:
        raise ValueError(f"expected errors of shape (seeds >= 2, sizes), got {table.shape}")
    if draws < 1:
        raise ValueError(f"draws must be at least 1, got {draws}")
    centre = fit_slope(sizes, np.median(table, axis=0))
    log_sizes = np.log(np.asarray(sizes, dtype=np.float64))
    rows = np.random.default_rng(seed).integers(0, len(table), (draws, len(table)))
    medians = np.log(np.median(table[rows], axis=1))
    centred = log_sizes - log_sizes.mean()
    slopes = medians @ centred / (centred @ centred)
    low, high = np.quantile(slopes, [0.025, 0.975])
    return Slope(centre.value, float(low), float(high), centre.coefficient, centre.used, 0)


def steepest_within(sizes: ArrayLike, errors: ArrayLike, factor: float) -> float:
    """The steepest slope of any errors between the given ones and ``factor`` times them.

    A regression slope is linear in the log errors, with weights of the sign of the centred log
    size. So the steepest line has the full factor at every size below the geometric mean, and none
    above it.

    Args:
        sizes: (m,) sizes, as in :func:`fit_slope`.
        errors: (m,) errors, the smallest that can be had.
        factor: at least 1.

    Raises:
        ValueError: a factor below 1, or as for :func:`fit_slope`.
    """
    x, y = _checked(sizes, errors)
    if not factor >= 1:
        raise ValueError(f"factor must be at least 1, got {factor}")
    small = np.log(x) < np.log(x).mean()
    return fit_slope(x, np.where(small, factor * y, y)).value


def _checked(sizes: ArrayLike, errors: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.asarray(sizes, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape or len(x) < 2:
        raise ValueError(f"expected two vectors of one length >= 2, got {x.shape} and {y.shape}")
    if not (np.isfinite(x).all() and np.isfinite(y).all() and (x > 0).all() and (y > 0).all()):
        raise ValueError("expected positive, finite sizes and errors")
    if len(np.unique(x)) != len(x):
        raise ValueError("expected distinct sizes, got repeated ones")
    return x, y
