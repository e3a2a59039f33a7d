"""Linear least squares that notices a deficient rank.

Normal equations square the condition number, and torch's own drivers either assume full rank
without saying so or exist on the CPU only. A QR factorisation of the matrix with its columns scaled
to unit length, and the singular values of the small triangle where that triangle looks deficient,
is accurate, reveals the rank and runs on any device.

A ridge makes the normal equations sound again, and they are several times faster: the Cholesky
factor of the scaled Gram matrix, one step of refinement, and the factorisation above only where
even so too few digits would be left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

#: Singular values below this fraction of the largest are taken for zero.
_RCOND = 1e-13
#: Diagonal entries of the Cholesky factor, of columns of unit length, below which its digits are
#: too few for one refinement.
_LEAST_PIVOT = 1e-7
#: Blocks of columns in a Gram matrix, and the fewest columns worth a block of their own.
_GRAM_BLOCKS, _LEAST_BLOCK = 6, 48


@dataclass(frozen=True)
class Solution:
    """The solution of a least-squares problem ``A c = b``.

    Attributes:
        coefficients: (m,) the solution, of least length among the scaled ones.
        basis: (N, rank) basis of the range of A, orthonormal where ``factor`` is None.
        factor: (rank, rank) lower Cholesky factor of the basis's Gram matrix, ridge included.
    """

    coefficients: Tensor
    basis: Tensor
    factor: Tensor | None = None

    def reduced_gram(self, columns: Tensor) -> Tensor:
        """Gram matrix (p, p) of other columns (N, p) with A's unknowns eliminated.

        It is the Schur complement of the joint normal equations, ridge included: ``J'J`` without
        what least squares on A explains of it.
        """
        inner = self.basis.T @ columns
        if self.factor is None:
            left = columns.T @ (columns - self.basis @ inner)
            return (left + left.T) / 2
        explained = torch.linalg.solve_triangular(self.factor, inner, upper=False)
        return gram_matrix(columns) - gram_matrix(explained)


def gram_matrix(matrix: Tensor) -> Tensor:
    """``A'A`` of A (N, m), of which only the lower blocks are multiplied out."""
    m = matrix.shape[1]
    width = max(-(-m // _GRAM_BLOCKS), _LEAST_BLOCK)
    if width >= m:
        return matrix.T @ matrix
    gram = matrix.new_empty(m, m)
    for first in range(0, m, width):
        here, after = slice(first, first + width), slice(first + width, m)
        gram[first:, here] = matrix[:, first:].T @ matrix[:, here]
        gram[here, after] = gram[after, here].T
    return gram


def solve(matrix: Tensor, right: Tensor) -> Solution:
    """Solve the least-squares problem ``A c = b`` for A (N, m) of any rank and b (N,).

    Raises:
        FloatingPointError: entries that are not finite.
    """
    length = torch.linalg.vector_norm(matrix, dim=0)
    if not (torch.isfinite(length).all() and torch.isfinite(right).all()):
        raise FloatingPointError("least squares met a number that is not finite")
    scale = torch.where(length > 0, 1 / length, 0.0)
    q, r = torch.linalg.qr(matrix * scale)
    projected = q.T @ right
    diagonal = torch.abs(torch.diagonal(r))
    if r.shape[0] == r.shape[1] and diagonal.min() > 1e-10 * diagonal.max():
        solution = torch.linalg.solve_triangular(r, projected[:, None], upper=True)[:, 0]
        return Solution(solution * scale, q)
    u, s, vh = torch.linalg.svd(r, full_matrices=False)
    kept = s > _RCOND * s[0]
    u, s, vh = u[:, kept], s[kept], vh[kept]
    return Solution(vh.T @ ((u.T @ projected) / s) * scale, q @ u)


def solve_ridge(matrix: Tensor, right: Tensor, ridge: float) -> Solution:
    """Minimise the squares of ``A c - b`` plus a multiple of those of c, its last entry left out.

    The last column of A (N, m) is the constant one; the multiple, the ridge, is positive.

    Raises:
        FloatingPointError: entries that are not finite.
    """
    gram = gram_matrix(matrix)
    gram.diagonal()[:-1].add_(ridge)
    gradient = matrix.T @ right
    squares = torch.diagonal(gram)
    scale = torch.rsqrt(squares)
    if not math.isfinite(scale @ gradient):
        raise FloatingPointError("least squares met a number that is not finite")
    factor, failed = torch.linalg.cholesky_ex(gram * scale[:, None] * scale)
    if failed or float(torch.diagonal(factor).min()) < _LEAST_PIVOT:
        rows = torch.eye(len(gram), dtype=gram.dtype, device=gram.device)[:-1] * ridge**0.5
        whole = solve(torch.cat([matrix, rows]), torch.cat([right, right.new_zeros(len(rows))]))
        return Solution(whole.coefficients, whole.basis[: len(right)])
    coefficients = scale * torch.cholesky_solve((scale * gradient)[:, None], factor)[:, 0]
    gradient = matrix.T @ torch.addmv(right, matrix, coefficients, alpha=-1)
    gradient[:-1].sub_(coefficients[:-1], alpha=ridge)
    step = torch.cholesky_solve((scale * gradient)[:, None], factor)[:, 0]
    return Solution(coefficients + scale * step, matrix, (squares * scale)[:, None] * factor)
