"""The orthogonal greedy algorithm: which neurons to insert, and which to take out.

The candidate is taken whose block of columns lowers the error most, all linear weights
refitted.

References: DeVore and Temlyakov, Adv. Comput. Math. 5 (1996); Siegel and Xu, IEEE
Trans. Inf. Theory 68 (2022), for its rates with ridge functions.
"""

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from xsquared.training.inner_weights import (
    InnerWeights,
    design,
    draw_inner_weights,
    hidden,
)
from xsquared.training.least_squares import gram_matrix
from xsquared.units import Unit

#: Squares of what is left of a column, as a share of the column's, that count as
#: rounding.
_ROUNDING = 1e-12


def candidates(
    unit: Unit, x: np.ndarray, n: int, used: Tensor, random: np.random.Generator
) -> InnerWeights:
    """Draw n neurons whose gates and factors cut the data x (N, d).

    The last half is parallel to gates in use (m, d + 1), where there are any: a ridge
    function needs many hinges in one direction. Slopes are of length one. A factor is
    drawn like its gate, is the gate's own row (one more continuous derivative), or
    constant (a factor less). Gates that are no powers then are made 1/2 to 8 times as
    steep, each by a number of its own; their factors are not.
    """
    parallel = n // 2 if len(used) else 0
    directions = normalize(used[:, :-1]).numpy()
    along = directions[random.integers(max(len(used), 1), size=parallel)]
    free = draw_inner_weights(unit, x, n - parallel, random)
    drawn = free.joined(draw_inner_weights(unit, x, parallel, random, along))
    gate = drawn.gate
    constant = torch.zeros_like(gate)
    constant[:, -1] = 1.0
    factors = []
    for factor in drawn.factors:
        choice = torch.from_numpy(random.integers(3, size=(n, 1)))
        gate_or_constant = torch.where(choice == 1, gate, constant)
        factors.append(torch.where(choice == 0, factor, gate_or_constant))
    if unit.gate.degree is None:
        steepness = 2.0 ** random.uniform(-1, 3, (n, 1))
        gate = gate * torch.from_numpy(steepness)
    return InnerWeights(gate, tuple(factors))


def insertions(
    unit: Unit,
    points: Tensor,
    y: Tensor,
    inner: InnerWeights,
    pool: InnerWeights,
    count: int,
    ridge: float,
) -> list[int]:
    """Choose ``count`` neurons of a pool, in the order of the greedy algorithm.

    A candidate has a block of k columns: its neuron times each of the k functions that
    stand linearly behind it. With C these columns orthogonalised against those in use,
    and r the residual, the candidate is taken for which r'C (C'C + ridge)^-1 C'r is
    largest; then the next, beside it. Points are (N, d + 1), homogeneous; the ridge is
    that of variable projection.
    """
    behind = points if unit.factors else points[:, -1:]
    k = behind.shape[1]
    _, neurons = hidden(unit, points, pool)  # (N, candidates)
    # C'C of every candidate, (candidates, k, k), before any column is in use.
    grams = (neurons.square().T @ _blocks(behind, behind)).unflatten(1, (k, k))
    sizes = grams.diagonal(dim1=1, dim2=2)
    sizes.add_(_ROUNDING * sizes.amax(dim=1, keepdim=True) + ridge * len(y))
    basis = new = _basis(design(unit, inner, points, points)[1])
    residual = y
    chosen = list[int]()
    while True:
        # Q'C with the new part Q of the basis: (candidates, columns of Q, k).
        inside = (_blocks(new, behind).T @ neurons).unflatten(0, (-1, k))
        explained = inside.permute(2, 0, 1)
        grams -= explained.mT @ explained
        residual = residual - new @ (new.T @ residual)
        slopes = (_blocks(residual[:, None], behind).T @ neurons).T  # C'r
        gain = (slopes * torch.linalg.solve(grams, slopes)).sum(dim=1)
        gain[chosen] = -math.inf
        chosen.append(int(gain.argmax()))
        if len(chosen) == count:
            return chosen
        new = _basis(_blocks(neurons[:, chosen[-1:]], behind), basis)
        basis = torch.cat([basis, new], dim=1)


def removal_losses(
    unit: Unit, points: Tensor, y: Tensor, inner: InnerWeights, ridge: float
) -> Tensor:
    """Measure how much the loss rises without each neuron (n,), the others refitted.

    With c the outer weights of a neuron and S its block of the inverse of the normal
    equations' matrix A'A + ridge, that is c' S^-1 c, by Schur's complement. Arguments
    as for :func:`insertions`.
    """
    n = len(inner.gate)
    _, matrix = design(unit, inner, points, points)
    gram = gram_matrix(matrix)
    gram.diagonal()[:-1].add_(ridge * len(y))
    scale = torch.rsqrt(gram.diagonal())
    gram *= scale[:, None] * scale
    gram.diagonal().add_(_ROUNDING)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(gram))
    outer = inverse @ (scale * (matrix.T @ y))
    weights = (
        outer[:-1].reshape(-1, n).T
    )  # (n, k): columns lie coordinate by coordinate
    k = weights.shape[1]
    by_neurons = inverse[:-1, :-1].reshape(k, n, k, n)
    blocks = by_neurons.diagonal(dim1=1, dim2=3).permute(2, 0, 1)  # (n, k, k)
    return (weights * torch.linalg.solve(blocks, weights)).sum(dim=1)


def _blocks(columns: Tensor, behind: Tensor) -> Tensor:
    """Multiply each column (N, n) by all of (N, k), block after block: (N, n k)."""
    return (columns[:, :, None] * behind[:, None, :]).flatten(1)


def _basis(columns: Tensor, others: Tensor | None = None) -> Tensor:
    """Orthonormalise columns (N, m), or what an orthonormal basis leaves of them."""
    lengths = torch.linalg.vector_norm(columns, dim=0)
    scaled = columns / torch.where(lengths > 0, lengths, 1.0)
    if others is None:
        return torch.linalg.qr(scaled).Q
    rest = scaled
    for _ in range(2):  # once leaves rounding of what is taken away
        rest = rest - others @ (others.T @ rest)
    u, s, _ = torch.linalg.svd(rest, full_matrices=False)
    return u[:, s > _ROUNDING**0.5]
