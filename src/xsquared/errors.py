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
    coarse_edges, fine_edges, nodes = _rules(network, target)
    coarse, largest = _error_and_largest(network, target, coarse_edges, nodes)
    fine, _ = _error_and_largest(network, target, fine_edges, nodes)
    if abs(coarse - fine) > _RESOLVED * fine + _ROUNDING * largest:
        warnings.warn(
            f"the error may be inexact, as {target.name} is not resolved: "
            f"{coarse:g}, {fine:g}",
            RuntimeWarning,
            stacklevel=2,
        )
    return fine


def unchecked_rmse(network: GatedNetwork, target: Target) -> float:
    """Compute :func:`measured_rmse` by its finer rule alone, without a warning."""
    _, edges, nodes = _rules(network, target)
    return _error_and_largest(network, target, edges, nodes)[0]


def _rules(network: GatedNetwork, target: Target) -> tuple[np.ndarray, np.ndarray, int]:
    """Cut the domain coarsely and finely; count Gauss nodes of each part."""
    a, b = interval_of(target)
    ends = pieces((a, b), np.concatenate([knots(network), target.jumps()]))
    widths = np.diff(ends)[:, None]
    coarse_edges = np.append(ends[:-1, None] + widths * _SHARES, b)
    midpoints = coarse_edges[:-1] + np.diff(coarse_edges) / 2
    fine_edges = np.sort(np.concatenate([coarse_edges, midpoints]))
    return coarse_edges, fine_edges, max(NODES, LEAST_NODES // len(ends))


def _error_and_largest(
    network: GatedNetwork, target: Target, edges: np.ndarray, nodes: int
) -> tuple[float, float]:
    """Integrate the squared error between edges; find the largest value, too."""
    points, weights = (array.ravel() for array in on_cells(edges, nodes))
    values = target(points)
    square = float(weights @ (predict(network, points) - values) ** 2)
    length = edges[-1] - edges[0]
    return math.sqrt(square / length), float(np.abs(values).max())


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
