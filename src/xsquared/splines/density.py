"""The asymptotically optimal density of knots (Barrow and Smith, Quart. Appl. Math. 36,
1978).

Of the target only values are asked for: a kink or an infinite slope is no obstacle.
"""

from dataclasses import replace
from functools import cache

import numpy as np

from xsquared.functions import Target, interval_of
from xsquared.quadrature import gauss_legendre
from xsquared.splines.spaces import EXTRA_NODES, Space

#: Cells of the mesh on which the density of knots is estimated.
_MESH = 400


def equidistributed_knots(target: Target, shape: Space, n_cells: int) -> np.ndarray:
    """Place knots (n_cells + 1,) by the optimal density ``abs(f^(k))^s``, s = 1/(k +
    1/2).

    On a small cell the error of the best polynomial of degree k - 1 is a multiple of
    h^(1/s) abs(f^(k)): its power s stands for the density. Cells that hold too much of
    it are halved.
    """
    (a, b), degree = interval_of(target), shape.degree
    edges, first = np.linspace(a, b, _MESH // 4 + 1), 0.0
    while True:
        width = np.diff(edges)
        error, size = errors_by_values(target, edges, degree, degree + EXTRA_NODES)
        error[error < 1e-14 * size] = (
            0.0  # what rounding leaves of a polynomial is nothing
        )
        mass = error ** (1 / (degree + 1.5))
        first = first or float(mass.sum())
        heavy = (mass > 2 / _MESH * first) & (width > 1e-14 * (b - a))
        if not heavy.any() or len(edges) > 20 * _MESH:
            break
        edges = np.sort(np.append(edges, (edges[:-1] + width / 2)[heavy]))
    # A floor keeps a share of the knots where the derivative happens to vanish.
    mass = mass + 0.05 * first * width / (b - a) if first else width
    share = np.concatenate([[0.0], np.cumsum(mass)]) / mass.sum()
    knots = np.interp(np.arange(n_cells + 1) / n_cells, share, edges)
    # At a jump all cells would fall together.
    return proportioned_knots(target, np.maximum(np.diff(knots), 1e-9 * (b - a)))


@cache
def is_rough(target: Target) -> bool:
    """Whether knots of smooth cubics fall together, as at a kink that is no edge of
    both meshes.
    """
    (a, b), shape = interval_of(target), Space(3, 1)
    ends = b, b - (b - a) / 997
    meshes = (
        equidistributed_knots(replace(target, domain=((a, c),)), shape, _MESH)
        for c in ends
    )
    return any(bool(np.diff(mesh).min() < 1e-5 * np.ptp(mesh)) for mesh in meshes)


def proportioned_knots(target: Target, widths: np.ndarray) -> np.ndarray:
    """Cut a target's interval into n cells with widths in proportion to (n,): knots (n
    + 1,).
    """
    (a, b), share = interval_of(target), np.cumsum(widths)
    return np.concatenate([[a], a + (b - a) * share[:-1] / share[-1], [b]])


def errors_by_values(
    target: Target, edges: np.ndarray, degree: int, count: int
) -> np.ndarray:
    """Find (2, n) L2 errors of the best polynomial on each cell, and norms, from
    values.
    """
    (xi, weights), width = gauss_legendre(count), np.diff(edges)
    basis = (
        np.polynomial.legendre.legvander(2 * xi - 1, degree) * np.sqrt(weights)[:, None]
    )
    basis = np.linalg.qr(basis)[0]
    values = np.sqrt(weights) * target(edges[:-1, None] + width[:, None] * xi)
    return np.sqrt(
        width * np.square([values - values @ basis @ basis.T, values]).sum(axis=2)
    )
