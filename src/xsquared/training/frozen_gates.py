"""Spline weights only: all gates stay on the paper's equidistant knots (section 4.1,
Fig. 2 a, d).

The MLP and the GLU are linear in what is left (V = D * U). The GQU keeps the roots of
its factors, trained by variable projection from factors that vanish at the knots.
"""

import numpy as np
import torch

from xsquared.functions import Target
from xsquared.geometry import spline_gates
from xsquared.quadrature import between
from xsquared.training.inner_weights import InnerWeights
from xsquared.training.variable_projection import ProjectedFit, iterates, last
from xsquared.units import Unit, find_unit


def weighted_points(
    target: Target, knots: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Choose points, target values and weights (sum 1), each (N,), between knots."""
    interval = target.domain[0]
    points, weights = between(interval, knots)
    return points, target(points), weights / np.ptp(interval)


def fit_frozen(
    target: Target, unit: str | Unit, n: int, max_iterations: int
) -> ProjectedFit:
    """Fit the best weights for the paper's frozen gates.

    Iterations move the roots of a second factor; there are at most two.
    """
    record = find_unit(unit)
    gates = np.column_stack(spline_gates(n, target.domain[0], "alternating"))
    hinges = -gates[:, 1] / gates[:, 0]
    x, y, weights = weighted_points(target, hinges)
    factors = []
    if len(record.factors) > 1:
        second = gates / np.linalg.norm(gates, axis=1, keepdims=True)
        # Factors that vanish at the knot leave no lower powers: the first neuron
        # supplies them.
        second[0] = [0.0, 1.0]
        factors.append(torch.from_numpy(second))
    return last(
        iterates(
            record,
            torch.from_numpy(x[:, None]),
            torch.from_numpy(y),
            InnerWeights(torch.from_numpy(gates), tuple(factors)),
            weights=torch.from_numpy(weights),
            train_gates=False,
            max_iterations=max_iterations,
        )
    )
