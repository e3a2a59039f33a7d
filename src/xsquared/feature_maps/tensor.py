"""A polynomial of w . x as a product Phi(w) Psi(x) of tensor features, batched in torch.

The paper lifts w and x to Kronecker powers (section 2.2): d^p features for the power p, most of
them the same product in another order. The symmetric form keeps each product of elements once and
puts its multiplicity, a multinomial coefficient, into Phi: C(d+p-1, p) features, and the same
number Phi(w) Psi(x) to rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

Kind = Literal["kronecker", "symmetric"]
#: Largest feature array that is made unless told otherwise, in bytes.
DEFAULT_LIMIT = 2**30
#: Features summed at a time.
_PIECE = 4096


def feature_dimension(kind: Kind, d: int, powers: tuple[int, ...]) -> int:
    """Number of features for these powers of a dot product in d dimensions.

    Raises:
        ValueError: an unknown kind, d below 1 or a negative power.
    """
    if kind not in ("kronecker", "symmetric"):
        raise ValueError(f"kind must be kronecker or symmetric, got {kind!r}")
    if not isinstance(d, int | np.integer) or d < 1:
        raise ValueError(f"d must be an integer of at least 1, got {d!r}")
    if any(not isinstance(p, int | np.integer) or p < 0 for p in powers):
        raise ValueError(f"powers must be integers of at least 0, got {powers}")
    if kind == "kronecker":
        return sum(int(d) ** int(p) for p in powers)
    return sum(math.comb(int(d) + int(p) - 1, int(p)) for p in powers)


@dataclass(frozen=True)
class TensorMap:
    """Feature maps whose product is the polynomial sum_p c_p (w . x)^p.

    Attributes:
        kind: ``"kronecker"`` or ``"symmetric"``.
        d: dimension of w and x.
        coefficients: c_0, c_1, ...; powers whose coefficient is zero get no features.
        limit_bytes: a feature array larger than this is refused before it is allocated.

    Raises:
        ValueError: an unknown kind, d below 1, coefficients that are no finite vector or all zero,
            or a limit below 1.
    """

    kind: Kind
    d: int
    coefficients: np.ndarray
    limit_bytes: int = DEFAULT_LIMIT

    def __post_init__(self) -> None:
        c = np.asarray(self.coefficients, dtype=np.float64)
        if c.ndim != 1 or not np.isfinite(c).all() or not c.any():
            raise ValueError(f"expected a finite, nonzero vector of coefficients, got {c}")
        if self.limit_bytes < 1:
            raise ValueError(f"limit_bytes must be at least 1, got {self.limit_bytes}")
        object.__setattr__(self, "coefficients", c)
        feature_dimension(self.kind, self.d, ())

    @property
    def powers(self) -> tuple[int, ...]:
        """The powers that have features, ascending."""
        return tuple(int(p) for p in np.flatnonzero(self.coefficients))

    @property
    def dimension(self) -> int:
        """Number of features m."""
        return feature_dimension(self.kind, self.d, self.powers)

    def phi(self, w: Tensor) -> Tensor:
        """Features of weight rows, with coefficients and multiplicities: (..., d) -> (..., m).

        Raises:
            ValueError: another last dimension, or features larger than the limit.
        """
        blocks = self._blocks(w)
        for p, block in blocks.items():
            block *= float(self.coefficients[p])
            if self.kind == "symmetric":
                block *= multiplicities(self.d, p)
        return torch.cat(list(blocks.values()), dim=-1)

    def psi(self, x: Tensor) -> Tensor:
        """Features of inputs: (..., d) -> (..., m); errors as for :meth:`phi`."""
        return torch.cat(list(self._blocks(x).values()), dim=-1)

    def product(self, W: Tensor, x: Tensor) -> Tensor:
        """Phi(W) Psi(x) for W (rows, d) and x (..., d): (..., rows); errors as for :meth:`phi`."""
        # In pieces: one running sum over a million features would lose three digits.
        pieces = zip(self.phi(W).split(_PIECE, -1), self.psi(x).split(_PIECE, -1), strict=True)
        return torch.stack([psi @ phi.T for phi, psi in pieces]).sum(dim=0)

    def _blocks(self, v: Tensor) -> dict[int, Tensor]:
        """The products of elements of v, by power."""
        v = v.to(torch.float64)
        if v.ndim < 1 or v.shape[-1] != self.d:
            raise ValueError(f"expected a last dimension of {self.d}, got shape {tuple(v.shape)}")
        rows = math.prod(v.shape[:-1])
        needed = 8 * rows * self.dimension
        if needed > self.limit_bytes:
            raise ValueError(
                f"{self.kind} features of shape ({rows}, {self.dimension}) need {needed:.3g} bytes,"
                f" the limit is {self.limit_bytes:.3g}"
            )
        raise_power = _next_kronecker if self.kind == "kronecker" else _next_symmetric
        block = torch.ones((*v.shape[:-1], 1), dtype=torch.float64)
        blocks = {}
        for p in range(max(self.powers) + 1):
            if p > 0:
                block = raise_power(block, v, p)
            if p in self.powers:
                blocks[p] = block.clone()
        return blocks


def _next_kronecker(block: Tensor, v: Tensor, _p: int) -> Tensor:
    """The Kronecker product with v."""
    return (block[..., :, None] * v[..., None, :]).flatten(-2)


def _next_symmetric(block: Tensor, v: Tensor, p: int) -> Tensor:
    """Products of p elements from those of p - 1, each once.

    Products are ordered by the largest index in them, so those of p - 1 elements with no index
    above i are the first C(i+p-1, p-1), and times v_i they are those of p elements whose largest
    index is i.
    """
    parts = [
        block[..., : math.comb(i + p - 1, p - 1)] * v[..., i : i + 1] for i in range(v.shape[-1])
    ]
    return torch.cat(parts, dim=-1)


def multiplicities(d: int, p: int) -> Tensor:
    """How often each symmetric feature of power p stands in the Kronecker power: (C(d+p-1, p),).

    These are the multinomial coefficients p!/(k_1! ... k_d!), in the features' order.

    Raises:
        ValueError: as for :func:`feature_dimension`.
    """
    feature_dimension("symmetric", d, (p,))
    counts = np.zeros((1, d))  # exponents k of each product
    found = np.ones(1)
    for q in range(1, p + 1):
        blocks, values = [], []
        for i in range(d):
            size = math.comb(i + q - 1, q - 1)
            raised = counts[:size].copy()
            raised[:, i] += 1
            blocks.append(raised)
            values.append(found[:size] * q / raised[:, i])
        counts, found = np.concatenate(blocks), np.concatenate(values)
    return torch.from_numpy(found)
