"""Root mean square errors of a network's forward pass: over the domain and on points."""

from __future__ import annotations

import math

import numpy as np

from xsquared.functions import Target, interval_of
from xsquared.geometry import knots
from xsquared.quadrature import between
from xsquared.units import GatedNetwork, predict

#: Errors on two sets of nodes that differ by less, as a share, are the same.
_SAME = 1e-9
#: Rounding of an error, as a share of the largest value.
_ROUNDING = 1e-12
#: Pieces of the domain at the first check, and at most.
_CHECKED, _MOST = 300, 2**15


def measured_rmse(network: GatedNetwork, target: Target) -> float:
    """RMSE of the forward pass in the limit of infinitely many points (Eq. 4).

    The integral is taken by Gauss-Legendre quadrature on the pieces between knots, on each of which
    the network is one polynomial: a grid of points would add its own error to a small one. A target
    may be narrower than the nodes are apart, so pieces are cut until the error stays the same.
    """
    (a, b), places = interval_of(target), knots(network)

    def error(parts: int) -> tuple[float, float]:
        points, weights = between((a, b), places, parts)
        values = target(points)
        squares = (predict(network, points) - values) ** 2
        return math.sqrt(float(squares @ weights) / (b - a)), float(np.abs(values).max())

    found, _ = error(1)
    cells = len(places) + 1
    parts = max(2, -(-_CHECKED // cells))
    while parts * cells <= _MOST:
        finer, largest = error(parts)
        if abs(finer - found) <= _SAME * finer + _ROUNDING * largest:
            break
        found, parts = finer, 4 * parts
    return found


def sampled_rmse(network: GatedNetwork, target: Target, n_points: int = 10_000) -> float:
    """RMSE of the forward pass on equidistant points, ends included: the paper's protocol."""
    points = np.linspace(*interval_of(target), n_points)
    return rmse(network, points, target(points))


def rmse(network: GatedNetwork, x: np.ndarray, y: np.ndarray) -> float:
    """Root mean square error of a network's forward pass; infinite where it is not a number."""
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(np.sqrt(np.mean((predict(network, x) - y) ** 2)))
    return error if np.isfinite(error) else float("inf")
