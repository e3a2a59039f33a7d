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
from xsquared.truncation import leading_constant
from xsquared.units import GatedNetwork, build, find_unit, set_parameters

#: Largest jump at a knot, relative to the largest coefficient, that counts as rounding.
_JUMP = 1e-9


def interpolating_mlp(target: Target, n_cells: int) -> GatedNetwork:
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
    values = target(t)
    return network_from_pieces("mlp", t, np.stack([values[:-1], np.diff(values) / h], axis=1))


def left_curvature_glu(target: Target, n_cells: int) -> GatedNetwork:
    """The paper's GLU construction (Eqs. 10-12): curvature taken at each cell's left end.

    Arguments and errors as for :func:`interpolating_mlp`; the target needs a second derivative.
    """
    t, h = _cells(target, n_cells)
    return _quadratic_glu(target, t, h, target.numpy(2)(t[:-1]))


def midpoint_curvature_glu(target: Target, n_cells: int) -> GatedNetwork:
    """The same GLU with each cell's curvature taken at its midpoint: eight times more accurate.

    Arguments and errors as for :func:`left_curvature_glu`.
    """
    t, h = _cells(target, n_cells)
    return _quadratic_glu(target, t, h, target.numpy(2)(t[:-1] + h / 2))


def _quadratic_glu(target: Target, t: np.ndarray, h: float, curvature: np.ndarray) -> GatedNetwork:
    """The GLU that interpolates at t and has the given second derivative on each cell."""
    values = target(t)
    c = curvature / 2
    b = np.diff(values) / h - c * h
    return network_from_pieces("glu", t, np.stack([values[:-1], b, c], axis=1))


def hermite_gqu(target: Target, n_cells: int) -> GatedNetwork:
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
    secant = np.diff(f) / h
    c2 = (3 * secant - 2 * m[:-1] - m[1:]) / h
    c3 = (m[:-1] + m[1:] - 2 * secant) / h**2
    return network_from_pieces("gqu", t, np.stack([f[:-1], m[:-1], c2, c3], axis=1))


def network_from_pieces(unit: str, knots: np.ndarray, pieces: np.ndarray) -> GatedNetwork:
    """The network that is a given spline: one neuron per cell, a second one for a GQU's first.

    Neuron k adds the difference between piece k and piece k - 1 continued, a polynomial in
    s = x - t_k without constant term (for the GQU without linear term either, its slope being
    continuous). For the MLP that is D_k s. For the GLU it is s (dc s + db), with dc the change of
    half the curvature and db the kink; the scale D_k is free, as only D_k U_k and D_k u_k matter,
    and is 1 here. For the GQU it is s * s * (a s + b), and the first cell's slope takes a neuron
    of its own.

    Args:
        unit: ``"mlp"``, ``"glu"`` or ``"gqu"``.
        knots: (n + 1,) strictly ascending ends of the cells.
        pieces: (n, degree + 1) coefficients in powers of x - t_k on cell k, the constant first.

    Raises:
        ValueError: an unknown unit, knots that do not ascend, pieces of another shape, or pieces
            that jump at a knot (for the GQU: or bend there).
    """
    degree = find_unit(unit).degree
    t, c = np.asarray(knots, dtype=np.float64), np.asarray(pieces, dtype=np.float64)
    if t.ndim != 1 or len(t) < 2 or not (np.diff(t) > 0).all():
        raise ValueError(f"expected at least 2 strictly ascending knots, got shape {t.shape}")
    if c.shape != (len(t) - 1, degree + 1):
        raise ValueError(f"pieces must have shape {(len(t) - 1, degree + 1)}, got {c.shape}")
    left, changes = t[:-1], _changes(t, c)
    smooth = 2 if unit == "gqu" else 1
    scale = np.abs(c[:, :smooth]).max(initial=1.0)
    if np.abs(changes[1:, :smooth]).max(initial=0.0) > _JUMP * scale:
        raise ValueError(f"the pieces do not meet at the knots as a {unit} needs")
    weights: dict[str, np.ndarray]
    if unit == "mlp":
        weights = {"D": changes[:, 1][None]}
    elif unit == "glu":
        weights = {"U": changes[:, 2:], "u": changes[:, 1] - changes[:, 2] * left}
    else:
        a, b = changes[:, 3], changes[:, 2]
        weights = {
            "U": np.append(0.0, np.ones_like(left))[:, None],
            "u": np.append(1.0, -left),
            "Q": np.append(0.0, a)[:, None],
            "q": np.append(c[0, 1], b - a * left),
        }
        left = np.append(left[0], left)
    network = build(unit, 1, len(left))
    weights.setdefault("D", np.ones((1, len(left))))
    set_parameters(network, G=np.ones((len(left), 1)), g=-left, d=c[0, :1], **weights)
    return network


def _changes(t: np.ndarray, c: np.ndarray) -> np.ndarray:
    """What piece k has more than piece k - 1 continued, in powers of x - t_k; piece 0 whole."""
    h, (n, size) = np.diff(t), c.shape
    continued = np.zeros((n, size))
    for i in range(size):
        for j in range(i, size):
            continued[1:, i] += math.comb(j, i) * c[:-1, j] * h[:-1] ** (j - i)
    return c - continued


def _cells(target: Target, n_cells: int) -> tuple[np.ndarray, float]:
    """The ends of the cells, (n_cells + 1,), and their width."""
    if target.dim != 1:
        raise ValueError(f"expected a target of one variable, {target.name} has {target.dim}")
    if not isinstance(n_cells, int | np.integer) or n_cells < 1:
        raise ValueError(f"n_cells must be an integer of at least 1, got {n_cells!r}")
    ((a, b),) = target.domain
    return np.linspace(a, b, n_cells + 1), (b - a) / n_cells


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
