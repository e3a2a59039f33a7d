"""Gauss-Legendre quadrature on cells: integrals of errors that are smooth between knots."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

#: How many nodes a cell has at least. The rule is exact to degree 15, so for the square of a
#: quartic error.
NODES = 8
#: How many nodes all cells have together at least. A few wide cells must still see the target's
#: waves.
LEAST_NODES = 240
#: By how much a cell may be wider than its neighbour: so that the nodes see what is narrow there.
_WIDER = 16
#: Cells that :func:`settled` may halve at a time, and how often.
_MOST, _HALVINGS = 2**14, 40


@cache
def gauss_legendre(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the rule on [0, 1], each (count,) and read-only; weights sum to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    rule = (nodes + 1) / 2, weights / 2
    for array in rule:
        array.setflags(write=False)
    return rule


def between(interval: tuple[float, float], knots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rule on the pieces into which knots cut an interval: points and weights, each (N,).

    The weights sum to the interval's length.
    """
    points, weights = on_cells(pieces(interval, knots))
    return points.ravel(), weights.ravel()


def pieces(interval: tuple[float, float], knots: np.ndarray) -> np.ndarray:
    """Ends of the pieces; knots outside and knots that coincide cut nothing."""
    a, b = interval
    return np.concatenate([[a], np.unique(knots[(knots > a) & (knots < b)]), [b]])


def on_cells(edges: np.ndarray, nodes: int = NODES) -> tuple[np.ndarray, np.ndarray]:
    """The rule on n cells of ascending ends (n + 1,), with so many nodes in each at least.

    Returns:
        Points (n, q) and weights (n, q); the weights sum to the length of all cells together.
    """
    width = np.diff(edges)[:, None]
    xi, weights = gauss_legendre(max(nodes, -(-LEAST_NODES // len(width))))
    return edges[:-1, None] + xi * width, weights * width


def graded(edges: np.ndarray) -> np.ndarray:
    """Ascending ends of cells, with more where a cell is much wider than one beside it.

    What is as narrow as a cell may have a tail beyond it, before a wide cell's first node.
    """
    while True:
        width = np.diff(edges)
        near = np.minimum(np.append(np.inf, width[:-1]), np.append(width[1:], np.inf))
        finer = halved(edges, width > _WIDER * near)
        if len(finer) == len(edges):
            return edges
        edges = finer


def halved(edges: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Ends of cells, with those halved that a mask tells and that float64 can halve."""
    return np.unique(np.concatenate([edges, (edges[:-1] + np.diff(edges) / 2)[cells]]))


def unseen(
    f: Callable[[np.ndarray], np.ndarray], starts: np.ndarray, widths: np.ndarray, seen: np.ndarray
) -> np.ndarray:
    """By how much integrals over cells may be off for a jump between an end and the nodes beside.

    Args:
        f: values (N,) at points (N,).
        starts, widths: of the cells, (n,).
        seen: (n, q) values at the cells' nodes.

    Returns:
        (n,) Of both ends, how far f is there from the polynomial through the nodes, times the
        distance to the nearest node.
    """
    inside = np.nextafter([starts, starts + widths], [[np.inf], [-np.inf]]).T
    xi, ends = gauss_legendre(seen.shape[1])[0], to_ends(seen.shape[1])
    off = np.abs(f(inside.ravel()).reshape(inside.shape) - seen @ ends)
    return off.sum(axis=1) * xi[0] * widths


@cache
def to_ends(count: int) -> np.ndarray:
    """(count, 2) What takes values at the rule's nodes to their polynomial's at 0 and 1."""
    legendre, nodes = np.polynomial.legendre.legvander, 2 * gauss_legendre(count)[0] - 1
    matrix = legendre(np.array([-1.0, 1.0]), count - 1) @ np.linalg.inv(legendre(nodes, count - 1))
    matrix.setflags(write=False)
    return matrix.T


def settled(
    f: Callable[[np.ndarray], np.ndarray], edges: np.ndarray, slack: Callable[[float], float]
) -> tuple[float, float]:
    """An integral over cells, which are halved where that moves it, or where a jump is near an end.

    Args:
        f: values (N,) at points (N,).
        edges: ascending ends of the cells.
        slack: of the integral, by how much halving all cells may move it.

    Returns:
        The integral, and 0.0 if it settled; else how far the last halvings moved it, the median of
        four, times their number and their share of those allowed: most of it where it diverges,
        however slowly, less where rounding moves it, which is everywhere and so ends them early.
    """
    xi, weights = gauss_legendre(NODES)

    def integrals(starts: np.ndarray, widths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        points = starts[:, None] + xi * widths[:, None]
        seen = f(points.ravel()).reshape(points.shape)
        return seen @ weights * widths, unseen(f, starts, widths, seen)

    values, missed = integrals(edges[:-1], np.diff(edges))
    cut, totals = np.ones(len(values), bool), [math.fsum(values)]
    for _ in range(_HALVINGS):
        if not 0 < np.sum(cut) <= _MOST:
            break
        finer = graded(halved(edges, cut))
        part_of = np.searchsorted(edges, finer[:-1], "right") - 1
        new = np.bincount(part_of)[part_of] > 1
        before, values, missed, edges = values, values[part_of], missed[part_of], finer
        values[new], missed[new] = integrals(edges[:-1][new], np.diff(edges)[new])
        changes = np.bincount(part_of, values) - before
        totals.append(float(values.sum()))
        least = slack(totals[-1]) / np.sum(cut)
        cut = (np.abs(changes) > least)[part_of] | (missed > least)
    pace = np.median(np.abs(np.diff(totals[-5:]))) if cut.any() else 0.0
    return totals[-1], float(pace) * (len(totals) - 1) ** 2 / _HALVINGS
