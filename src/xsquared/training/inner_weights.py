"""Weights before the readout, and the columns that they make of points.

At a homogeneous point p = (x, 1) a neuron with gate g and factors u_1, ..., u_k hands
on s(g'p) (u_1'p) ... (u_k'p). The network is linear in the readout D and in u_1, whose
scales are one: v = D u_1. What is left, g and u_2, ..., u_k, are the *inner weights*;
given these the network is A c, linear in the outer weights c.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import mul

import numpy as np
import torch
from torch import Tensor

from xsquared.units import GatedNetwork, Unit


@dataclass(frozen=True)
class InnerWeights:
    """The rows (n, d + 1) of gates and of all factors but the first."""

    gate: Tensor
    factors: tuple[Tensor, ...] = ()

    @classmethod
    def from_network(cls, network: GatedNetwork) -> InnerWeights:
        """Read the inner weights of a network."""
        values = network.state_dict()
        letters = [("G", "g"), *network.unit.factors[1:]]
        rows = [torch.column_stack([values[w], values[b]]) for w, b in letters]
        return cls(rows[0], tuple(rows[1:]))

    def taken(self, neurons: Tensor | slice) -> InnerWeights:
        """Take some neurons, by indices or a slice."""
        factors = tuple(factor[neurons] for factor in self.factors)
        return InnerWeights(self.gate[neurons], factors)

    def joined(self, other: InnerWeights) -> InnerWeights:
        """Put other neurons behind these."""
        pairs = zip(self.factors, other.factors, strict=True)
        factors = tuple(torch.cat(pair) for pair in pairs)
        return InnerWeights(torch.cat([self.gate, other.gate]), factors)


def homogeneous(x: Tensor) -> Tensor:
    """Append a one to each of the points (N, d): (N, d + 1)."""
    return torch.cat([x, torch.ones_like(x[:, :1])], dim=1)


def draw_inner_weights(
    unit: Unit,
    x: np.ndarray,
    n: int,
    random: np.random.Generator,
    along: np.ndarray | None = None,
) -> InnerWeights:
    """Draw n neurons whose hinges pass between points x (N, d): none starts dead.

    Directions are uniform on the sphere, or ``along`` (n, d). A hinge cuts the segment
    between two points in its middle half, as rounding would decide at a point.
    """

    def draw_rows() -> Tensor:
        direction = random.standard_normal((n, x.shape[1])) if along is None else along
        direction = direction / np.linalg.norm(direction, axis=1, keepdims=True)
        first = random.integers(len(x), size=n)
        second = (first + random.integers(1, max(len(x), 2), size=n)) % len(x)
        share = random.uniform(0.25, 0.75, (n, 1))
        on_hinge = x[first] + share * (x[second] - x[first])
        offset = -np.sum(direction * on_hinge, axis=1)
        return torch.from_numpy(np.column_stack([direction, offset]))

    return InnerWeights(draw_rows(), tuple(draw_rows() for _ in unit.factors[1:]))


def hidden(unit: Unit, points: Tensor, inner: InnerWeights) -> tuple[Tensor, Tensor]:
    """Compute gates (N, n) at homogeneous points, and neurons (N, n).

    A neuron is its gate times all factors but the first, in which the network is
    linear.
    """
    gates = unit.gate.value(points @ inner.gate.T)
    factors = (points @ factor.T for factor in inner.factors)
    return gates, reduce(mul, factors, gates)


def design(
    unit: Unit, inner: InnerWeights, points: Tensor, weighted: Tensor
) -> tuple[Tensor, Tensor]:
    """Compute gates (N, n) and the matrix A (N, m) of the outer weights.

    ``points`` are (N, d + 1), homogeneous, ``weighted`` the same times the roots of
    quadrature weights, so that rows of A have them as well. A column is a neuron times
    a coordinate of the points (with a first factor), or a neuron alone; a pair's
    second numbers follow, and the constant is last.
    """
    gates, neurons = hidden(unit, points, inner)
    numbers = [neurons]
    if unit.paired:
        numbers.append(points @ inner.gate.T * neurons)
    behind = weighted if unit.factors else weighted[:, -1:]
    matrix = column_products(numbers, behind, extra=1)
    matrix[:, -1] = weighted[:, -1]
    return gates, matrix


def column_products(left: list[Tensor], right: Tensor, extra: int = 0) -> Tensor:
    """Multiply columns of every left matrix (N, n) by every column of right (N, k).

    Columns (N, len(left) * k * n + extra) of one right column lie side by side, which
    is faster; the extra ones are left empty.
    """
    length, n = left[0].shape
    k = right.shape[1]
    columns = right.new_empty(length, len(left) * k * n + extra)
    for i, factor in enumerate(left):
        block = columns[:, i * k * n : (i + 1) * k * n].unflatten(1, (k, n))
        torch.mul(factor[:, None, :], right[:, :, None], out=block)
    return columns
