"""Whether n neurons carry the best splines of n + 1 cells: a linear programme.

Behind all gates stands the first cell's polynomial and what gates that open to the left
add. With a share chi(t) of these at every place t it is constant if, for j = 1, ...,
k - 1, ``f^(j)(a) + int chi(t) f^(k)(t) (a - t)^(k-1-j)/(k-1-j)! dt = 0``. Vectors of
such integrals fill a zonoid (a sum of segments): whether one lies in it is decided.
"""

import math

import numpy as np
from scipy.optimize import linprog

from xsquared.functions import Target, interval_of
from xsquared.quadrature import on_cells

#: Cells on whose Gauss-Legendre nodes the derivative of order k is taken.
_CELLS = 250
#: Bound of tau, for the zonoid's middle: shares are then 1/2 to nine digits.
_LARGEST = 1e9
#: Least tau, for vectors of which no multiple lies inside.
_LEAST = 1e-9


def depth(masses: np.ndarray, wanted: np.ndarray) -> tuple[float, np.ndarray]:
    """Solve for shares chi (m,) with ``chi @ masses = wanted``, far from 0 and from 1.

    Masses are (m, q), what is wanted (q,). With ``chi = 1/2 + z / tau`` the condition
    is ``z @ masses = tau (wanted - sum of masses / 2)``: the largest tau with
    ``|z| <= 1/2`` has the shares that are farthest from 0 and 1. Return also their
    distance from these: at most 1/2, below zero where no shares between 0 and 1 will
    do. Where masses are of sizes too different for the programme, no shares are known:
    they are 1/2, at -inf.
    """
    # Rows of one size each.
    size = np.abs(masses).sum(axis=0) + np.abs(wanted) + 1e-300
    scaled = masses / size
    aim = (wanted - masses.sum(axis=0) / 2) / size
    rows = np.column_stack([scaled.T, -aim])
    bounds = [(-0.5, 0.5)] * len(masses) + [(0.0, _LARGEST)]
    cost = -np.eye(len(bounds))[-1]
    solution = linprog(cost, A_eq=rows, b_eq=np.zeros(len(aim)), bounds=bounds)
    if solution.x is None:
        return -math.inf, np.full(len(masses), 0.5)
    z, tau = solution.x[:-1], max(float(solution.x[-1]), _LEAST)
    return 0.5 - 0.5 / tau, 0.5 + z / tau


def network_depth(target: Target, order: int) -> float:
    """Return how deep a target lies in its zonoid: above zero inside, below outside.

    For splines of order k = 2, 3 or 4; inside, n neurons carry best splines of n + 1
    cells.
    """
    a, b = interval_of(target)
    nodes, weights = on_cells(np.linspace(a, b, _CELLS + 1))
    nodes, weights = nodes.ravel(), weights.ravel()
    weighed = target.derivative(order)(nodes) * weights
    masses, wanted = [], []
    for j in range(1, order):
        power = order - 1 - j
        masses.append(weighed * (a - nodes) ** power / math.factorial(power))
        wanted.append(-float(target.derivative(j)(np.array(a))))
    return depth(np.array(masses).T, np.array(wanted))[0]
