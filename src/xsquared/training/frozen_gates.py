"""Spline weights only: all gates stay on the paper's equidistant knots (section 4.1,
Fig. 2 a, d).

The MLP and the GLU are linear in what is left (V = D * U). The GQU keeps the roots of
its factors, trained by variable projection from factors that vanish at the knots.
"""

from functools import partial

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
    """Points, target values and weights (sum 1) of a rule that respects the knots, each
    (N,).
    """
    points, weights = between(target.domain[0], knots)
    return points, target(points), weights / np.ptp(target.domain[0])


def fit_frozen(
    target: Target, unit: str | Unit, n: int, max_iterations: int
) -> ProjectedFit:
    """Fit the best weights for the paper's frozen gates; iterations move further
    factors.
    """
    record = find_unit(unit)
    gates = np.column_stack(spline_gates(n, target.domain[0], "alternating"))
    x, y, weights = weighted_points(target, -gates[:, 1] / gates[:, 0])
    factors = []
    for others in range(len(record.factors) - 1, 0, -1):
        rows = gates / np.linalg.norm(gates, axis=1, keepdims=True)
        # Factors that vanish at the knot leave no lower powers: the first neurons
        # supply them.
        rows[:others] = [0.0, 1.0]
        factors.append(torch.from_numpy(rows))
    start = InnerWeights(torch.from_numpy(gates), tuple(factors))
    points, values, shares = (
        torch.from_numpy(part) for part in (x[:, None], y, weights)
    )
    run = partial(
        iterates, weights=shares, train_gates=False, max_iterations=max_iterations
    )
    return last(run(record, points, values, start))
