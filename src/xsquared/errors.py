"""Root mean square errors of a forward pass: over the domain and on points."""

import math
import warnings

import numpy as np

from xsquared.functions import Interval, Target, interval_of
from xsquared.geometry import knots
from xsquared.quadrature import LEAST_NODES, NODES, on_cells, pieces
from xsquared.units import GatedNetwork, predict

#: Edges of a piece's parts, as shares of it; parts shrink towards the ends, where kinks
#: lie.
_SHARES = np.array([0, 1, 2, 4, 8, 16, 24, 28, 30, 31]) / 32
#: Share of an error by which a coarser rule's may differ before it is called inexact.
_RESOLVED = 0.2
#: The same as a share of the largest value: smaller differences are rounding.
_ROUNDING = 1e-12


def measured_rmse(network: GatedNetwork, target: Target) -> float:
    """Compute the RMSE of the forward pass over the domain (Eq. 4, infinite N).

    Gauss-Legendre quadrature on the pieces between knots and jumps of the target does
    not see what is narrower than its nodes. A RuntimeWarning says where a coarser rule
    tells another error.
    """
    a, b = interval_of(target)
    ends = pieces((a, b), np.concatenate([knots(network), target.jumps()]))
    widths = np.diff(ends)[:, None]
    coarse_edges = np.append(ends[:-1, None] + widths * _SHARES, b)
    midpoints = coarse_edges[:-1] + np.diff(coarse_edges) / 2
    fine_edges = np.sort(np.concatenate([coarse_edges, midpoints]))
    nodes = max(NODES, LEAST_NODES // len(ends))

    def error_and_largest(edges: np.ndarray) -> tuple[float, float]:
        points, weights = (array.ravel() for array in on_cells(edges, nodes))
        values = target(points)
        square = float(weights @ (predict(network, points) - values) ** 2)
        return math.sqrt(square / (b - a)), float(np.abs(values).max())

    coarse, largest = error_and_largest(coarse_edges)
    fine, _ = error_and_largest(fine_edges)
    if abs(coarse - fine) > _RESOLVED * fine + _ROUNDING * largest:
        warnings.warn(
            f"the error may be inexact, as {target.name} is not resolved: "
            f"{coarse:g}, {fine:g}",
            RuntimeWarning,
            stacklevel=2,
        )
    return fine


def sampled_rmse(network: GatedNetwork, target: Target) -> float:
    """Compute the RMSE on the paper's 10,000 equidistant points, ends included."""
    points = np.linspace(*interval_of(target), 10_000)
    return rmse(network, points, target(points))


def rmse(
    network: GatedNetwork,
    x: np.ndarray,
    y: np.ndarray,
    within: Interval = (-math.inf, math.inf),
) -> float:
    """Compute the RMSE at points, (N,) or (N, n_in), against values y (N,).

    Predictions are confined to a range; an error that is no number is infinite.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        predicted = np.clip(predict(network, x), *within)
        error = float(np.sqrt(np.mean((predicted - y) ** 2)))
    return error if np.isfinite(error) else math.inf
