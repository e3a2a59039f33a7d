"""Root mean square errors of a network's forward pass: over the domain and on points."""

from __future__ import annotations

import math

import numpy as np

from xsquared.functions import Target, interval_of
from xsquared.geometry import knots
from xsquared.quadrature import NODES, between, gauss_legendre, pieces
from xsquared.units import GatedNetwork, predict

#: Errors that differ by less are the same: as a share of them, and of the largest value.
_SAME, _ROUNDING = 1e-9, 1e-12
#: Pieces of the domain at the first check, those that may be cut at a time, and how often.
_CHECKED, _MOST, _HALVINGS = 300, 2**14, 40
#: A square integral diverges if the last cuts move it by more, as a share; rounding of large
#: weights and integrable poles move it by less.
_KNOWN = 0.01


def measured_rmse(network: GatedNetwork, target: Target) -> float:
    """RMSE of the forward pass in the limit of infinitely many points (Eq. 4).

    The integral is taken by Gauss-Legendre quadrature on the pieces between knots, on each of which
    the network is one polynomial: a grid of points would add its own error to a small one. A target
    may be narrower than the nodes are apart, so pieces are halved wherever that moves the integral.
    Infinite where the integral diverges.
    """
    (a, b), places = interval_of(target), knots(network)

    def squares(points: np.ndarray) -> np.ndarray:
        return (predict(network, points.ravel()) - target(points.ravel())) ** 2

    def cut(starts: np.ndarray, widths: np.ndarray, parts: int = 2) -> list[np.ndarray]:
        starts = starts[:, None] + widths[:, None] * np.arange(parts) / parts
        return [starts.ravel(), np.repeat(widths / parts, parts)]

    def integrals(starts: np.ndarray, widths: np.ndarray) -> np.ndarray:
        xi, weights = gauss_legendre(NODES)
        points = starts[:, None] + xi * widths[:, None]
        return squares(points).reshape(points.shape) @ weights * widths / (b - a)

    points, weights = between((a, b), places)
    found = math.sqrt(float(squares(points) @ weights) / (b - a))
    slack = _ROUNDING * float(np.abs(target(points)).max())
    edges = pieces((a, b), places)
    cells = cut(edges[:-1], np.diff(edges), max(2, -(-_CHECKED // (len(places) + 1))))
    before = integrals(*cells)
    if abs(math.sqrt(before.sum()) - found) <= _SAME * found + slack:
        return found
    settled, moved, error = 0.0, 0.0, 0.0
    for _ in range(_HALVINGS):
        if not 0 < len(before) <= _MOST:
            break
        starts, widths = cut(cells[0], cells[1])
        after = integrals(starts, widths).reshape(-1, 2)
        error = math.sqrt(settled + after.sum())
        changes = after.sum(axis=1) - before
        moved = abs(float(changes.sum()))
        moves = np.abs(changes) > 2 * error * (_SAME * error + slack) / len(before)
        settled += float(after[~moves].sum())
        cells = [starts[np.repeat(moves, 2)], widths[np.repeat(moves, 2)]]
        before = after[moves].ravel()
    return error if moved <= _KNOWN * error**2 else math.inf


def sampled_rmse(network: GatedNetwork, target: Target) -> float:
    """RMSE on 10,000 equidistant points, ends included: the gated-units paper's protocol."""
    points = np.linspace(*interval_of(target), 10_000)
    return rmse(network, points, target(points))


def rmse(network: GatedNetwork, x: np.ndarray, y: np.ndarray) -> float:
    """Root mean square error of a network's forward pass; infinite where it is not a number."""
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(np.sqrt(np.mean((predict(network, x) - y) ** 2)))
    return error if np.isfinite(error) else float("inf")
