"""Gauss-Legendre quadrature on cells, for errors that are smooth between knots."""

from functools import cache

import numpy as np

#: Nodes that a cell has at least: exact to degree 15, so for the square of a quartic
#: error.
NODES = 8
#: Nodes that all cells have together at least, so that few wide ones see the target's
#: waves.
LEAST_NODES = 240


@cache
def gauss_legendre(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of the rule on [0, 1], (count,); weights sum to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def between(
    interval: tuple[float, float], knots: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rule on the pieces between knots: points (N,) and weights (N,)."""
    points, weights = on_cells(pieces(interval, knots))
    return points.ravel(), weights.ravel()


def pieces(interval: tuple[float, float], knots: np.ndarray) -> np.ndarray:
    """Return the ends of the pieces; knots outside and equal knots cut nothing."""
    a, b = interval
    return np.concatenate([[a], np.unique(knots[(knots > a) & (knots < b)]), [b]])


def on_cells(edges: np.ndarray, nodes: int = NODES) -> tuple[np.ndarray, np.ndarray]:
    """Return points and weights (n, q) on n cells of ends (n + 1,).

    q is at least ``nodes``, and all cells together have at least 240.
    """
    width = np.diff(edges)[:, None]
    count = max(nodes, -(-LEAST_NODES // len(width)))
    xi, weights = gauss_legendre(count)
    return edges[:-1, None] + xi * width, weights * width
