"""Closed-form weights: from a target function straight to a network.

Each builder cuts the domain into equal cells, fixes one polynomial per cell, and lets one ReLU
neuron per cell add the difference between that cell's polynomial and the one on its left. The
result is a torch module, and its error is that of the module's forward pass.

========================= ======= =================================== ===== ==================
builder                   unit    polynomial on a cell [t, t + h]     order leading constant
========================= ======= =================================== ===== ==================
interpolating_mlp         MLP     line through both end values        2     1/sqrt(120)
left_curvature_glu        GLU     end values, curvature f''(t)        3     1/sqrt(945/2)
midpoint_curvature_glu    GLU     end values, curvature f''(t + h/2)  3     1/sqrt(30240)
hermite_gqu               GQU     end values and end slopes           4     1/sqrt(9!)
========================= ======= =================================== ===== ==================

The first two are the gated-units paper's (Eq. 6 in its corrected form, and Eqs. 10-12). The last
two are ours. :mod:`xsquared.truncation` derives the constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from xsquared.functions import Target
from xsquared.networks import GLU, GQU, MLP, GatedNetwork, knots, predict, set_parameters
from xsquared.truncation import leading_constant

#: Nodes of the Gauss-Legendre rule on each cell: exact to degree 15, so the square of a quartic
#: error is integrated without error and smooth remainders to rounding.
_GAUSS_NODES = 8


def interpolating_mlp(target: Target, n_cells: int) -> MLP:
    """The MLP that interpolates the target linearly at n_cells + 1 equidistant points.

    The paper's Eq. (6) with its slip mended: what neuron i must add is the whole mismatch at the
    right end of cell i, divided by h, which is a second difference of the target for i > 0.

    Args:
        target: a function of one variable.
        n_cells: number of cells, and of neurons, at least 1.

    Raises:
        ValueError: a target of several variables, or fewer than one cell.
    """
    t, h = _cells(target, n_cells)
    slopes = np.diff(target(t)) / h
    network = MLP(1, n_cells)
    _place(network, t[:-1], target, D=np.diff(slopes, prepend=0.0)[None, :])
    return network


def left_curvature_glu(target: Target, n_cells: int) -> GLU:
    """The paper's GLU construction (Eqs. 10-12): curvature taken at each cell's left end.

    Arguments and errors as for :func:`interpolating_mlp`; the target needs a second derivative.
    """
    t, h = _cells(target, n_cells)
    return _quadratic_glu(target, t, h, target.numpy(2)(t[:-1]))


def midpoint_curvature_glu(target: Target, n_cells: int) -> GLU:
    """The same GLU with each cell's curvature taken at its midpoint: eight times more accurate.

    Arguments and errors as for :func:`left_curvature_glu`.
    """
    t, h = _cells(target, n_cells)
    return _quadratic_glu(target, t, h, target.numpy(2)(t[:-1] + h / 2))


def _quadratic_glu(target: Target, t: np.ndarray, h: float, curvature: np.ndarray) -> GLU:
    """The GLU that interpolates at t and has the given second derivative on each cell.

    Cell k carries f_k + b_k s + c_k s^2 with s = x - t_k. Its neuron adds s (dc s + db), where dc
    is the change of c at the knot (f''/2 of this cell minus that of the last, not f''/2 itself) and
    db the kink. The scale D_k is free: only D_k U_k and D_k u_k matter. It is 1 here.
    """
    c = curvature / 2
    b = np.diff(target(t)) / h - c * h
    dc = np.diff(c, prepend=0.0)
    db = b - np.concatenate([[0.0], b[:-1] + 2 * c[:-1] * h])
    n_cells = len(c)
    network = GLU(1, n_cells)
    left = t[:-1]
    _place(network, left, target, U=dc[:, None], u=db - dc * left, D=np.ones((1, n_cells)))
    return network


def hermite_gqu(target: Target, n_cells: int) -> GQU:
    """A GQU that is the C1 cubic Hermite interpolant: the slope -4 that the paper hoped for.

    Two cubics that share value and slope at a knot differ by s^2 (a s + b), and that is
    relu(s) * s * (a s + b): always a product of real affine factors. The first cell also needs the
    linear term f'(t_0) s, for which one more neuron stands at the left end.

    Args:
        target: a function of one variable with a derivative.
        n_cells: number of cells, at least 1; the network has n_cells + 1 neurons.

    Raises:
        ValueError: as for :func:`interpolating_mlp`.
    """
    t, h = _cells(target, n_cells)
    f, m = target(t), target.numpy(1)(t)
    slope = np.diff(f) / h
    c2 = (3 * slope - 2 * m[:-1] - m[1:]) / h
    c3 = (m[:-1] + m[1:] - 2 * slope) / h**2
    a = np.diff(c3, prepend=0.0)
    b = c2 - np.concatenate([[0.0], c2[:-1] + 3 * c3[:-1] * h])
    left = t[:-1]
    network = GQU(1, n_cells + 1)
    _place(
        network,
        np.concatenate([left[:1], left]),
        target,
        U=np.concatenate([[0.0], np.ones(n_cells)])[:, None],
        u=np.concatenate([[1.0], -left]),
        Q=np.concatenate([[0.0], a])[:, None],
        q=np.concatenate([m[:1], b - a * left]),
        D=np.ones((1, n_cells + 1)),
    )
    return network


def _cells(target: Target, n_cells: int) -> tuple[np.ndarray, float]:
    """The ends of the cells, (n_cells + 1,), and their width."""
    if target.dim != 1:
        raise ValueError(f"expected a target of one variable, {target.name} has {target.dim}")
    if not isinstance(n_cells, int | np.integer) or n_cells < 1:
        raise ValueError(f"n_cells must be an integer of at least 1, got {n_cells!r}")
    ((a, b),) = target.domain
    return np.linspace(a, b, n_cells + 1), (b - a) / n_cells


def _place(
    network: GatedNetwork, hinges: np.ndarray, target: Target, **weights: np.ndarray
) -> None:
    """Gates opening to the right at the hinges, output bias f(a), and the given weights."""
    start = target(np.array([target.domain[0][0]]))
    set_parameters(network, G=np.ones((len(hinges), 1)), g=-hinges, d=start, **weights)


@dataclass(frozen=True)
class Construction:
    """A builder and what theory says of it.

    Attributes:
        name: the builder's name, under which :func:`xsquared.truncation.leading_constant` knows it.
        unit: name of the unit it builds.
        build: ``(target, n_cells) -> network``.
        order: order of convergence k.
    """

    name: str
    unit: str
    build: Callable[[Target, int], GatedNetwork]
    order: int

    def constant(self) -> float:
        """Leading constant of the RMSE, from the derivation."""
        return float(leading_constant(self.name))


#: The four constructions by name.
CONSTRUCTIONS: dict[str, Construction] = {
    made.name: made
    for made in (
        Construction("interpolating_mlp", "mlp", interpolating_mlp, 2),
        Construction("left_curvature_glu", "glu", left_curvature_glu, 3),
        Construction("midpoint_curvature_glu", "glu", midpoint_curvature_glu, 3),
        Construction("hermite_gqu", "gqu", hermite_gqu, 4),
    )
}


def construction(name: str) -> Construction:
    """The construction of that name.

    Raises:
        ValueError: an unknown name.
    """
    if name not in CONSTRUCTIONS:
        raise ValueError(f"unknown construction {name!r}; known are {', '.join(CONSTRUCTIONS)}")
    return CONSTRUCTIONS[name]


def predicted_rmse(name: str, target: Target, n_cells: int) -> float:
    """Leading term of the RMSE: constant * h^k * root mean square of f^(k) over the domain.

    Args:
        name: a key of :data:`CONSTRUCTIONS`.
        target: a function of one variable with k derivatives.
        n_cells: number of equal cells, at least 1.

    Raises:
        ValueError: an unknown name, or as for :func:`interpolating_mlp`.
    """
    made = construction(name)
    _, h = _cells(target, n_cells)
    ((a, b),) = target.domain
    mean_square_root = target.l2_norm(made.order) / math.sqrt(b - a)
    return made.constant() * h**made.order * mean_square_root


def measured_rmse(network: GatedNetwork, target: Target) -> float:
    """RMSE of the forward pass in the limit of infinitely many points (Eq. 4).

    The integral is taken by Gauss-Legendre quadrature on the pieces between knots, on each of which
    the network is one polynomial: a grid of points would add its own error to a small one.

    Args:
        network: a ReLU network of one input and one output.
        target: a function of one variable.

    Raises:
        ValueError: a target of several variables, or a network that has no knots.
    """
    if target.dim != 1:
        raise ValueError(f"expected a target of one variable, {target.name} has {target.dim}")
    ((a, b),) = target.domain
    inner = knots(network)
    edges = np.unique(np.concatenate([[a], inner[(inner > a) & (inner < b)], [b]]))
    nodes, weights = np.polynomial.legendre.leggauss(_GAUSS_NODES)
    half = np.diff(edges)[:, None] / 2
    points = (edges[:-1, None] + half + half * nodes).ravel()
    squares = (predict(network, points) - target(points)) ** 2
    return math.sqrt(float(squares @ (half * weights).ravel()) / (b - a))


def sampled_rmse(network: GatedNetwork, target: Target, n_points: int = 10_000) -> float:
    """RMSE of the forward pass on equidistant points, ends included: the paper's protocol.

    Raises:
        ValueError: a target of several variables, or fewer than two points.
    """
    if target.dim != 1:
        raise ValueError(f"expected a target of one variable, {target.name} has {target.dim}")
    if n_points < 2:
        raise ValueError(f"expected at least 2 points, got {n_points}")
    points = np.linspace(*target.domain[0], n_points)
    return math.sqrt(float(np.mean((predict(network, points) - target(points)) ** 2)))


def fitted_order(n_cells: np.ndarray, errors: np.ndarray) -> float:
    """Order of convergence: minus the least-squares slope of log error against log cells.

    Args:
        n_cells: (m,) numbers of cells, m >= 2.
        errors: (m,) positive errors.

    Raises:
        ValueError: shapes that differ, fewer than two points, or values that are not positive.
    """
    cells, values = np.asarray(n_cells, np.float64), np.asarray(errors, np.float64)
    if cells.shape != values.shape or cells.ndim != 1 or len(cells) < 2:
        raise ValueError(
            f"expected two vectors of one length >= 2, got {cells.shape} and {values.shape}"
        )
    if not (np.all(cells > 0) and np.all(values > 0) and np.isfinite(values).all()):
        raise ValueError("expected positive, finite numbers of cells and errors")
    return -float(np.polynomial.Polynomial.fit(np.log(cells), np.log(values), 1).convert().coef[1])
