"""Root mean square errors of a network's forward pass: over the domain, on points, confined."""

from __future__ import annotations

import math

import numpy as np

from xsquared.functions import Target
from xsquared.geometry import knots
from xsquared.quadrature import on_cells
from xsquared.units import GatedNetwork, predict


def measured_rmse(network: GatedNetwork, target: Target) -> float:
    """RMSE of the forward pass in the limit of infinitely many points (Eq. 4).

    The integral is taken by Gauss-Legendre quadrature on the pieces between knots, on each of which
    the network is one polynomial: a grid of points would add its own error to a small one.

    Args:
        network: a ReLU network of one input and one output.
        target: a function of one variable.

    Raises:
        ValueError: a target of several variables, or a network that has no knots.
    """
    if target.dim != 1:
        raise ValueError(f"expected a target of one variable, {target.name} has {target.dim}")
    ((a, b),) = target.domain
    inner = knots(network)
    edges = np.unique(np.concatenate([[a], inner[(inner > a) & (inner < b)], [b]]))
    points, weights = on_cells(edges)
    squares = (predict(network, points.ravel()) - target(points.ravel())) ** 2
    return math.sqrt(float(squares @ weights.ravel()) / (b - a))


def sampled_rmse(network: GatedNetwork, target: Target, n_points: int = 10_000) -> float:
    """RMSE of the forward pass on equidistant points, ends included: the paper's protocol.

    Raises:
        ValueError: a target of several variables, or fewer than two points.
    """
    if target.dim != 1:
        raise ValueError(f"expected a target of one variable, {target.name} has {target.dim}")
    if n_points < 2:
        raise ValueError(f"expected at least 2 points, got {n_points}")
    points = np.linspace(*target.domain[0], n_points)
    return math.sqrt(float(np.mean((predict(network, points) - target(points)) ** 2)))


def rmse(network: GatedNetwork, x: np.ndarray, y: np.ndarray) -> float:
    """Root mean square error of a network's forward pass; infinite where it is not a number."""
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(np.sqrt(np.mean((predict(network, x) - y) ** 2)))
    return error if np.isfinite(error) else float("inf")


def confined_rmse(
    network: GatedNetwork, x: np.ndarray, y: np.ndarray, seen: np.ndarray, margin: float
) -> float:
    """Root mean square error of predictions confined to the range of the training values, widened.

    Args:
        network: of one output.
        x: (M, d) points.
        y: (M,) values there.
        seen: the values trained on.
        margin: by how much of their range a prediction may leave it at either end.
    """
    low, high = seen.min(), seen.max()
    margin = margin * (high - low)
    predicted = np.clip(predict(network, x), low - margin, high + margin)
    return float(np.sqrt(np.mean((predicted - y) ** 2)))
