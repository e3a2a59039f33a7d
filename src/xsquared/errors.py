"""Root mean square errors of a network's forward pass: over the domain, and on points."""

from __future__ import annotations

import math

import numpy as np

from xsquared.checks import check_finite_array, check_integer
from xsquared.functions import Target, interval_of
from xsquared.geometry import knots
from xsquared.quadrature import between
from xsquared.units import GatedNetwork, predict


def measured_rmse(network: GatedNetwork, target: Target) -> float:
    """RMSE of the forward pass in the limit of infinitely many points (Eq. 4).

    The integral is taken by Gauss-Legendre quadrature on the pieces between knots, on each of which
    the network is one polynomial: a grid of points would add its own error to a small one.

    Raises:
        ValueError: a target of several variables, or a network that has no knots or several inputs
            or outputs.
    """
    a, b = interval_of(target)
    points, weights = between((a, b), knots(network))
    squares = (predict(network, points) - target(points)) ** 2
    return math.sqrt(float(squares @ weights) / (b - a))


def sampled_rmse(network: GatedNetwork, target: Target, n_points: int = 10_000) -> float:
    """RMSE of the forward pass on equidistant points, ends included: the paper's protocol.

    Raises:
        ValueError: a target of several variables, or fewer than two points.
    """
    count = check_integer("n_points", n_points, 2, 10**7)
    points = np.linspace(*interval_of(target), count)
    return rmse(network, points, target(points))


def rmse(network: GatedNetwork, x: np.ndarray, y: np.ndarray) -> float:
    """Root mean square error of a network's forward pass; infinite where it is not a number.

    Raises:
        TypeError: no network.
        ValueError: points or values that are no finite numbers, or do not fit each other.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(np.sqrt(np.mean(_residual(predict(network, x), y) ** 2)))
    return error if np.isfinite(error) else float("inf")


def _residual(predicted: np.ndarray, y: np.ndarray) -> np.ndarray:
    values = check_finite_array("values", y)
    if values.shape != predicted.shape or not len(values):
        raise ValueError(f"values: expected one for each point, got shape {values.shape}")
    return predicted - values
