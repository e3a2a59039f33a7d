"""Gauss-Legendre quadrature on cells: integrals of errors that are smooth between knots."""

from __future__ import annotations

from functools import cache

import numpy as np

from xsquared.checks import check_finite_array, check_integer, check_size, quoted

#: How many nodes a cell has at least. The rule is exact to degree 15, so for the square of a
#: quartic error.
NODES = 8
#: How many nodes all cells have together at least. A few wide cells must still see the target's
#: waves.
LEAST_NODES = 240


def gauss_legendre(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the rule on [0, 1], each (count,) and read-only; weights sum to 1.

    Raises:
        ValueError: a count below 1 or above 1000.
    """
    return _rule(check_integer("count", count, 1, 1000))


@cache
def _rule(count: int) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    rule = (nodes + 1) / 2, weights / 2
    for array in rule:
        array.setflags(write=False)
    return rule


def between(interval: tuple[float, float], knots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rule on the pieces into which knots cut an interval: points and weights, each (N,).

    Knots outside and knots that coincide cut nothing; the weights sum to the interval's length.
    """
    a, b = interval
    inner = knots[(knots > a) & (knots < b)]
    points, weights = on_cells(np.concatenate([[a], np.unique(inner), [b]]))
    return points.ravel(), weights.ravel()


def on_cells(edges: np.ndarray, nodes: int = NODES) -> tuple[np.ndarray, np.ndarray]:
    """The rule on every cell.

    Args:
        edges: (n + 1,) ascending ends of the cells, n at least 1.
        nodes: per cell at least.

    Returns:
        Points (n, q) and weights (n, q); the weights sum to the length of all cells together.

    Raises:
        ValueError: edges or nodes that are not such.
    """
    ends = check_finite_array("edges", edges, ndim=1)
    width = np.diff(ends)[:, None]
    if not len(width) or (width < 0).any():
        raise ValueError(f"edges: expected at least 2 ascending ones, got {quoted(edges)}")
    count = max(check_integer("nodes", nodes, 1, 1000), -(-LEAST_NODES // len(width)))
    check_size("points", len(width), count)
    xi, weights = gauss_legendre(count)
    return ends[:-1, None] + xi * width, weights * width
