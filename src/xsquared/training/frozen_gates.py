"""Spline weights only: all gates stay on the paper's equidistant knots (section 4.1, Fig. 2 a, d).

With gates frozen the MLP and the GLU are linear in what is left (the GLU through V = D * U), so the
minimum is that of one least-squares problem and no iteration is needed to know it. The GQU keeps
the roots of its factors; they are trained by variable projection, from factors that vanish at the
knots, which span the cubic splines with a continuous slope. In one dimension the loss is the
integral, taken by Gauss-Legendre nodes on the cells between the frozen knots.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from xsquared.functions import Target
from xsquared.quadrature import on_cells
from xsquared.training.least_squares import solve
from xsquared.training.start import alternating_gates
from xsquared.training.variable_projection import ProjectedFit, Rows, iterates, last
from xsquared.units import find_unit


def quadrature(target: Target, knots: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, target values and weights (sum 1) of a rule that respects the knots, each (N,)."""
    ((a, b),) = target.domain
    inner = knots[(knots > a) & (knots < b)]
    edges = np.concatenate([[a], np.unique(inner), [b]])
    points, weights = on_cells(edges)
    return points.ravel(), target(points.ravel()), weights.ravel() / (b - a)


def fit_frozen(target: Target, unit: str, n_hidden: int, max_iterations: int) -> ProjectedFit:
    """The best weights for the paper's frozen gates.

    Args:
        target: a function of one variable.
        unit: ``"mlp"``, ``"glu"`` or ``"gqu"``.
        n_hidden: number of neurons, at least 1.
        max_iterations: for the GQU's factors; the other units need none.

    Raises:
        ValueError: several variables, an unknown unit, or no neuron.
    """
    if target.dim != 1:
        raise ValueError(f"expected a target of one variable, {target.name} has {target.dim}")
    if n_hidden < 1:
        raise ValueError(f"n_hidden must be at least 1, got {n_hidden}")
    gates = alternating_gates(n_hidden, target.domain[0])
    x, y, weights = quadrature(target, -gates[:, 1] / gates[:, 0])
    factor = None
    if unit == "gqu":
        factor = gates / np.linalg.norm(gates, axis=1, keepdims=True)
        # A factor that vanishes at the knot leaves no linear term: the first neuron supplies it.
        factor[0] = [0.0, 1.0]
    start = Rows(torch.from_numpy(gates), () if factor is None else (torch.from_numpy(factor),))
    fits = iterates(
        find_unit(unit),
        torch.from_numpy(x)[:, None],
        torch.from_numpy(y),
        start,
        weights=torch.from_numpy(weights),
        train_gates=False,
        max_iterations=max_iterations,
    )
    return last(fits)


@dataclass(frozen=True)
class FreeCubics:
    """The best cubics behind frozen gates, whatever their roots.

    Attributes:
        rmse: root mean square error over the domain.
        complex_share: share of the live neurons whose quadratic factor has no real roots, so that
            no GQU neuron can carry it.
    """

    rmse: float
    complex_share: float


def fit_free_cubics(target: Target, n_hidden: int) -> FreeCubics:
    """Least squares over gates times any quadratic: what a GQU could do without factors.

    Args:
        target: a function of one variable.
        n_hidden: number of gates, at least 1.

    Raises:
        ValueError: several variables or no gate.
    """
    if target.dim != 1:
        raise ValueError(f"expected a target of one variable, {target.name} has {target.dim}")
    gates = alternating_gates(n_hidden, target.domain[0])
    knots = -gates[:, 1] / gates[:, 0]
    x, y, weights = quadrature(target, knots)
    s = x[:, None] - knots
    opened = np.maximum(s * gates[:, 0], 0.0)
    columns = np.stack([opened, opened * s, opened * s**2], axis=2).reshape(len(x), -1)
    root = np.sqrt(weights)
    matrix = np.concatenate([columns, np.ones((len(x), 1))], axis=1) * root[:, None]
    solved = solve(torch.from_numpy(matrix), torch.from_numpy(root * y)).coefficients.numpy()
    residual = matrix @ solved - root * y
    c1, c2, c3 = solved[:-1].reshape(n_hidden, 3).T
    live = opened.any(axis=0)
    return FreeCubics(
        float(np.sqrt(residual @ residual)), float(np.mean((c2**2 < 4 * c1 * c3)[live]))
    )
