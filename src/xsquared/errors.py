"""Root mean square errors of a network's forward pass: over the domain and on points."""

import math
import warnings

import numpy as np

from xsquared.functions import Interval, Target, interval_of
from xsquared.geometry import knots
from xsquared.quadrature import LEAST_NODES, NODES, on_cells, pieces
from xsquared.units import GatedNetwork, predict

#: Ends of a piece's parts, as shares of it; they shrink towards its ends, where kinks
#: lie.
_SHARES = np.array([0, 1, 2, 4, 8, 16, 24, 28, 30, 31]) / 32
#: Shares, of the error and of the largest value, by which a finer rule's error may
#: differ.
_RESOLVED, _ROUNDING = 0.2, 1e-12


def measured_rmse(network: GatedNetwork, target: Target) -> float:
    """Compute the RMSE of the forward pass in the limit of infinitely many points (Eq.
    4).

    Gauss-Legendre quadrature on the pieces between knots does not see what is narrower
    than its nodes. A RuntimeWarning says where a coarser rule tells another error.
    """
    a, b = interval_of(target)
    ends = pieces((a, b), knots(network))
    parts = np.append(ends[:-1, None] + np.diff(ends)[:, None] * _SHARES, b)
    halved = np.sort(np.concatenate([parts, parts[:-1] + np.diff(parts) / 2]))
    nodes = max(NODES, LEAST_NODES // len(ends))

    def error(edges: np.ndarray) -> tuple[float, float]:
        points, weights = (part.ravel() for part in on_cells(edges, nodes))
        values = target(points)
        square = float(weights @ (predict(network, points) - values) ** 2)
        return math.sqrt(square / (b - a)), float(np.abs(values).max())

    (coarse, largest), (fine, _) = error(parts), error(halved)
    if abs(coarse - fine) > _RESOLVED * fine + _ROUNDING * largest:
        text = f"the error may be inexact, as {target.name} is not resolved: {coarse:g}, {fine:g}"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    return fine


def sampled_rmse(network: GatedNetwork, target: Target) -> float:
    """Compute the RMSE on 10,000 equidistant points, ends included: the paper's
    protocol.
    """
    points = np.linspace(*interval_of(target), 10_000)
    return rmse(network, points, target(points))


def rmse(
    network: GatedNetwork,
    x: np.ndarray,
    y: np.ndarray,
    within: Interval = (-math.inf, math.inf),
) -> float:
    """Compute the RMSE at points, of values confined to a range; infinite where not a
    number.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(
            np.sqrt(np.mean((np.clip(predict(network, x), *within) - y) ** 2))
        )
    return error if np.isfinite(error) else math.inf
