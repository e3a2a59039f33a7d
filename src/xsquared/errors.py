"""Root mean square errors of a network's forward pass: over the domain and on points."""

from __future__ import annotations

import math

import numpy as np

from xsquared.functions import Target, interval_of
from xsquared.geometry import knots
from xsquared.quadrature import between, graded, halved, on_cells, pieces, settled, unseen
from xsquared.units import GatedNetwork, predict

#: Errors that differ by less are the same: as a share of them, and of the largest value.
_SAME, _ROUNDING = 1e-9, 1e-12
#: Pieces of the domain at the first check and, where that finds nothing, at the second.
_CHECKED = 300, 3000
#: A square integral diverges if it is moved by more, as a share (:func:`settled`): at least by a
#: half where it does, by a tenth by rounding of large weights, mostly by less by integrable poles.
_KNOWN = 0.4


def measured_rmse(network: GatedNetwork, target: Target) -> float:
    """RMSE of the forward pass in the limit of infinitely many points (Eq. 4).

    The integral is taken by Gauss-Legendre quadrature on the pieces between knots, on each of which
    the network is one polynomial: a grid of points would add its own error to a small one. A target
    may be narrower than the nodes are apart, or jump beside a knot, so pieces are halved wherever
    that moves the integral or the nodes do not tell the values at the ends. Infinite where the
    integral diverges.

    What lies between all nodes, some 24,000 spread over the domain, is not seen. Float64 has no
    numbers left to halve beside a pole ``abs(x - p)**-s``: the error is right to 1e-6 for s = 0.3
    and to 1e-3 for 0.4; from 0.45 on it is 1.5 per cent low or more, or infinite.

    Raises:
        ValueError: a target that is not finite at a node, such as a pole that halving meets.
    """
    (a, b), places = interval_of(target), knots(network)

    def squares(points: np.ndarray) -> np.ndarray:
        return (predict(network, points) - target(points)) ** 2

    points, weights = between((a, b), places)
    found = math.sqrt(float(squares(points) @ weights) / (b - a))
    slack = _ROUNDING * float(np.abs(target(points)).max())
    ends = pieces((a, b), places)

    def allowed(total: float) -> float:
        error = math.sqrt(total / (b - a))
        return 2 * error * (_SAME * error + slack) * (b - a)

    for checked in _CHECKED:
        parts = max(2, -(-checked // (len(places) + 1)))
        cells = np.diff(ends)[:, None] * np.arange(parts) / parts + ends[:-1, None]
        edges = np.append(np.unique(cells), b)
        while (wide := np.diff(edges) > 1.1 * (b - a) / checked).any():  # of a wide piece
            edges = halved(edges, wide)
        edges = graded(edges)
        points, weights = on_cells(edges)
        seen = squares(points.ravel()).reshape(points.shape)
        total = float(np.sum(seen * weights))
        same = abs(math.sqrt(total / (b - a)) - found) <= _SAME * found + slack
        if not same or unseen(squares, edges[:-1], np.diff(edges), seen).sum() > allowed(total):
            break
    else:
        return found
    total, moved = settled(squares, edges, allowed)
    return math.sqrt(total / (b - a)) if moved <= _KNOWN * total else math.inf


def sampled_rmse(network: GatedNetwork, target: Target) -> float:
    """RMSE on 10,000 equidistant points, ends included: the gated-units paper's protocol."""
    points = np.linspace(*interval_of(target), 10_000)
    return rmse(network, points, target(points))


def rmse(network: GatedNetwork, x: np.ndarray, y: np.ndarray) -> float:
    """Root mean square error of a network's forward pass; infinite where it is not a number.

    Raises:
        ValueError: values that are not one for each point.
    """
    made = predict(network, x)
    if np.shape(y) != made.shape:  # they would be repeated
        raise ValueError(f"y: expected shape {made.shape}, got {np.shape(y)}")
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(np.sqrt(np.mean((made - y) ** 2)))
    return error if np.isfinite(error) else float("inf")
