"""A polynomial of w . x as a product Phi(w) Psi(x) of tensor features, in torch.

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
    """Feature maps whose product is the polynomial sum_p c_p (w . x)^p.

    ``coefficients`` are by power; a power whose coefficient is zero gets no features.
    Symmetric features of a power are sorted by their largest index: v1 v1, v1 v2,
    v2 v2, v1 v3, v2 v3, v3 v3.
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
        """Lift weight rows, with coefficients: (..., d) -> (..., m)."""
        blocks = []
        for p, block in self._blocks(w).items():
            weighted = block * float(self.coefficients[p])
            if self.kind == "symmetric":
                weighted = weighted * multiplicities(self.d, p)
            blocks.append(weighted)
        return torch.cat(blocks, dim=-1)

    def psi(self, x: Tensor | ArrayLike) -> Tensor:
        """Lift inputs: (..., d) -> (..., m)."""
        return torch.cat(list(self._blocks(x).values()), dim=-1)

    def product(self, W: Tensor | ArrayLike, x: Tensor | ArrayLike) -> Tensor:
        """Multiply Phi(W) and Psi(x) for W (rows, d) and x (..., d): (..., rows)."""
        phi = self.phi(W).split(_PIECE, -1)
        psi = self.psi(x).split(_PIECE, -1)
        sums = [right @ left.T for left, right in zip(phi, psi, strict=True)]
        return torch.stack(sums).sum(dim=0)

    def _blocks(self, vectors: Tensor | ArrayLike) -> dict[int, Tensor]:
        """Multiply elements of vectors: (..., d) -> (..., features), by power.

        Sorted by their largest index i, counted from 0, the symmetric features of power
        p that have no index above i are the first C(i+p, p).
        """
        v = torch.as_tensor(vectors, dtype=torch.float64)
        block = torch.ones((*v.shape[:-1], 1), dtype=torch.float64)
        blocks = {0: block}
        for p in range(1, self.powers[-1] + 1):
            if self.kind == "kronecker":
                block = (block[..., :, None] * v[..., None, :]).flatten(-2)
            else:
                products = []
                for i in range(self.d):
                    up_to_i = block[..., : math.comb(i + p - 1, p - 1)]
                    products.append(up_to_i * v[..., i : i + 1])
                block = torch.cat(products, -1)
            blocks[p] = block
        return {p: blocks[p] for p in self.powers}


def multiplicities(d: int, p: int) -> Tensor:
    """Count how often each symmetric feature stands in the Kronecker power p.

    Multinomial coefficients p!/(k_1! ... k_d!), (C(d+p-1, p),), in the order of
    :class:`TensorMap`: 1, 2, 1, 2, 2, 1 for d = 3 and p = 2. From power q - 1 to q a
    factor v_i more, whose exponent then is k_i, multiplies the coefficient by q/k_i.
    """
    coefficients = np.ones(1)
    last_exponent = np.zeros(1)  # of the largest index in each product
    for q in range(1, p + 1):
        new_coefficients = []
        new_exponents = []
        below_i = 0  # products of power q - 1 that have no index i or above
        for i in range(d):
            up_to_i = math.comb(i + q - 1, q - 1)
            k = np.ones(up_to_i)
            k[below_i:] += last_exponent[below_i:up_to_i]  # these hold v_i already
            new_coefficients.append(coefficients[:up_to_i] * q / k)
            new_exponents.append(k)
            below_i = up_to_i
        coefficients = np.concatenate(new_coefficients)
        last_exponent = np.concatenate(new_exponents)
    return torch.from_numpy(coefficients)
