"""Whether n neurons carry the best splines of n + 1 cells: a linear programme.

Behind all gates stands the first cell's polynomial and what gates that open to the left
add. With a share chi of these it is constant if
``f^(j)(a) + int chi f^(k)(t) (a - t)^(k-1-j)/(k-1-j)! dt`` vanishes for j = 1, ..., k -
1: if a vector lies in a zonoid (a sum of segments), which is decided.
"""

import math

import numpy as np
from scipy.optimize import linprog

from xsquared.functions import Target, interval_of
from xsquared.quadrature import on_cells

#: Cells on whose Gauss-Legendre nodes the derivative of order k is taken.
_CELLS = 250


def depth(masses: np.ndarray, wanted: np.ndarray) -> tuple[float, np.ndarray]:
    """Solve for shares chi (m,) with ``chi @ masses = wanted``, as far from 0 and 1 as
    can be.

    Masses are (m, q), what is wanted (q,). Return the distance too: at most 1/2, below
    zero where no shares between 0 and 1 will do.
    """
    size = np.abs(masses).sum(axis=0) + np.abs(wanted) + 1e-300
    scaled, aim = masses / size, (wanted - masses.sum(axis=0) / 2) / size
    # The largest tau with sum z masses = tau aim, |z| <= 1/2: chi is 1/2 + z / tau.
    rows = np.column_stack([scaled.T, -aim])
    bounds = [(-0.5, 0.5)] * len(masses) + [(0.0, 1e9)]
    found = linprog(
        -np.eye(len(bounds))[-1], A_eq=rows, b_eq=np.zeros(len(aim)), bounds=bounds
    )
    tau = max(float(found.x[-1]), 1e-9)
    return 0.5 - 0.5 / tau, 0.5 + found.x[:-1] / tau


def network_depth(target: Target, order: int) -> float:
    """Return how deep a target lies, above zero inside, for splines of order k = 2, 3
    or 4.
    """
    a, b = interval_of(target)
    nodes, weights = (part.ravel() for part in on_cells(np.linspace(a, b, _CELLS + 1)))
    weighed, powers = (
        target.derivative(order)(nodes) * weights,
        range(order - 2, -1, -1),
    )
    masses = [
        weighed * (a - nodes) ** power / math.factorial(power) for power in powers
    ]
    wanted = [-float(target.derivative(j)(np.array(a))) for j in range(1, order)]
    return depth(np.array(masses).T, np.array(wanted))[0]
