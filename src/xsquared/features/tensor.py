"""A polynomial of w . x as a product Phi(w) Psi(x) of tensor features, batched in
torch.

The paper lifts w and x to Kronecker powers (section 2.2): d^p features. The symmetric
form keeps each product of elements once and puts its multiplicity into Phi: C(d+p-1, p)
features.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

Kind = Literal["kronecker", "symmetric"]
#: Features summed at a time: one running sum over a million would lose three digits.
_PIECE = 4096


def feature_dimension(kind: Kind, d: int, powers: Iterable[int]) -> int:
    """Count the features for these powers of a dot product in d dimensions."""
    return sum(d**p if kind == "kronecker" else math.comb(d + p - 1, p) for p in powers)


@dataclass(frozen=True)
class TensorMap:
    """Feature maps whose product is the polynomial sum_p c_p (w . x)^p, coefficients by
    power.

    A power whose coefficient is zero gets no features.
    """

    kind: Kind
    d: int
    coefficients: np.ndarray

    @property
    def powers(self) -> tuple[int, ...]:
        """The powers that have features, ascending."""
        return tuple(np.flatnonzero(self.coefficients).tolist())

    @property
    def dimension(self) -> int:
        """Number of features m."""
        return feature_dimension(self.kind, self.d, self.powers)

    def phi(self, w: Tensor | ArrayLike) -> Tensor:
        """Lift weight rows, with coefficients and multiplicities: (..., d) -> (..., m)."""
        blocks = []
        for p, block in self._blocks(w).items():
            times = multiplicities(self.d, p) if self.kind == "symmetric" else 1.0
            blocks.append(block * float(self.coefficients[p]) * times)
        return torch.cat(blocks, dim=-1)

    def psi(self, x: Tensor | ArrayLike) -> Tensor:
        """Lift inputs: (..., d) -> (..., m)."""
        return torch.cat(list(self._blocks(x).values()), dim=-1)

    def product(self, W: Tensor | ArrayLike, x: Tensor | ArrayLike) -> Tensor:
        """Multiply Phi(W) and Psi(x) for W (rows, d) and x (..., d): (..., rows)."""
        pieces = zip(
            self.phi(W).split(_PIECE, -1), self.psi(x).split(_PIECE, -1), strict=True
        )
        return torch.stack([psi @ phi.T for phi, psi in pieces]).sum(dim=0)

    def _blocks(self, vectors: Tensor | ArrayLike) -> dict[int, Tensor]:
        """Multiply elements, by power."""
        v = torch.as_tensor(vectors, dtype=torch.float64)
        block = torch.ones((*v.shape[:-1], 1), dtype=torch.float64)
        blocks = {0: block}
        for p in range(1, self.powers[-1] + 1):
            if self.kind == "kronecker":
                block = (block[..., :, None] * v[..., None, :]).flatten(-2)
            else:
                # The largest index i times the first products, which have no index
                # above it.
                parts = enumerate(math.comb(i + p - 1, p - 1) for i in range(self.d))
                block = torch.cat(
                    [block[..., :n] * v[..., i : i + 1] for i, n in parts], -1
                )
            blocks[p] = block
        return {p: blocks[p] for p in self.powers}


def multiplicities(d: int, p: int) -> Tensor:
    """Count how often each symmetric feature stands in the Kronecker power p: (C(d+p-1,
    p),).

    A factor v_i more, with the exponent k_i then, multiplies the multinomial
    coefficient by q/k_i.
    """
    found, last = (
        np.ones(1),
        np.zeros(1),
    )  # the coefficients, the exponent of the largest index
    for q in range(1, p + 1):
        values, exponents, smaller = [], [], 0
        for i in range(d):
            size = math.comb(i + q - 1, q - 1)
            k = np.ones(size)
            k[smaller:] += last[smaller:size]  # the products that hold v_i already
            values.append(found[:size] * q / k)
            exponents.append(k)
            smaller = size
        found, last = np.concatenate(values), np.concatenate(exponents)
    return torch.from_numpy(found)
