"""Gauss-Legendre quadrature on cells: integrals of errors that are smooth between knots."""

from __future__ import annotations

from functools import cache

import numpy as np

#: Nodes per cell: exact to degree 15, so the square of a quartic error is integrated exactly.
NODES = 8
#: Nodes over all cells at least: a few wide cells must still see the target's waves.
LEAST_NODES = 240


@cache
def gauss_legendre(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the rule on [0, 1], each (count,) and read-only; weights sum to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    rule = (nodes + 1) / 2, weights / 2
    for array in rule:
        array.setflags(write=False)
    return rule


def on_cells(edges: np.ndarray, nodes: int = NODES) -> tuple[np.ndarray, np.ndarray]:
    """The rule on every cell.

    Args:
        edges: (n + 1,) ascending ends of the cells.
        nodes: per cell at least.

    Returns:
        Points (n, q) and weights (n, q); the weights sum to the length of all cells together.
    """
    width = np.diff(edges)[:, None]
    xi, weights = gauss_legendre(max(nodes, -(-LEAST_NODES // len(width))))
    return edges[:-1, None] + xi * width, weights * width
