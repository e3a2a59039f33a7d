"""Continuous cubics whose increments have real roots, as one neuron a knot makes them: a search."""

from __future__ import annotations

import numpy as np
from scipy.linalg import hilbert, pascal
from scipy.optimize import minimize


def _pattern(u: np.ndarray) -> np.ndarray:
    """m cells of a continuous error x^4 + ... of period m, (m, 5): ascending coefficients in x."""
    c = np.pad(u.reshape(-1, 3), ((0, 0), (1, 1)), constant_values=1.0)
    c[:, 1] -= c[:, 1:].sum(axis=1).mean()  # so that the error ends where it began
    rises = c[:, 1:].sum(axis=1)
    c[:, 0] = rises.cumsum() - rises
    c[:, 0] -= (c @ hilbert(5)[0]).mean()  # the best constant: no mean is left
    return c


def _mean_square(u: np.ndarray) -> float:
    c = _pattern(u)
    return float(np.einsum("ni,ij,nj", c, hilbert(5), c)) / len(c)


def _discriminants(u: np.ndarray) -> np.ndarray:
    """Of the quadratics beside the gates, (m,)."""
    c = _pattern(u)
    a0, a1, a2 = (np.roll(c, 1, axis=0) @ pascal(5, "lower") - c)[:, 1:4].T
    return a1**2 - 4 * a2 * a0


def least_mean_square(cells: int, starts: int = 8, seed: int = 0) -> float:
    """The least mean square that is found for x^4 on equal cells of width one, from random starts.

    The error repeats after so many cells, and each increment has real roots.
    """
    draw, real = np.random.default_rng(seed), {"type": "ineq", "fun": _discriminants}
    found = []
    for start in np.tile([0.0, 1.0, -2.0], cells) + draw.normal(size=(starts, 3 * cells)):
        # In units in which tolerances mean something.
        one = minimize(lambda u: 2100 * _mean_square(u), start, constraints=real, tol=1e-11)
        if one.success and _discriminants(one.x).min() > -1e-6:
            found.append(one.fun / 2100)
    return min(found)
