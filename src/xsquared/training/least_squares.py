"""Solve linear least-squares problems of any rank, whose rows come in blocks.

Normal equations A'A c = A'b, with a step of iterative refinement, take a fifth of the
time of a QR factorisation, which is used where they would lose digits.

Reference: Björck, Numerical Methods for Least Squares Problems (1996), sections 2.4 and
2.9.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

#: Singular values below this fraction of the largest are taken for zero.
_RCOND = 1e-13
#: Size of the scaled Gram matrix's inverse that one step of refinement mends.
_MOST_INVERSE = 1e10
#: The same with a ridge, which leaves no weights that cancel.
_MOST_INVERSE_WITH_RIDGE = 1e14
#: Columns by which that size is estimated.
_PROBES = 3
#: Pivots of the triangle, as a share of the largest, below which its rank is in doubt.
_LEAST_SHARE = 1e-10
#: Lists rows (k, m) of A, entries (k,) of b, and whatever follows, block after block.
_Blocks = Callable[[], Iterable[tuple[Tensor, ...]]]


@dataclass(frozen=True)
class Solution:
    """The solution of ``A c = b``, and a map of products with A to those with Q.

    Q is an orthonormal basis of A's range (with a ridge: of A above the rows that stand
    for it).

    Attributes:
        coefficients: c, (m,).
        whiten: from ``A'X`` (m, p) to ``Q'X`` (rank, p).
    """

    coefficients: Tensor
    whiten: Callable[[Tensor], Tensor]


def gram_matrix(matrix: Tensor) -> Tensor:
    """Multiply out ``A'A`` (m, m) of A (N, m)."""
    rows = matrix.numpy()  # numpy sees the symmetry and takes half of torch's time
    return torch.from_numpy(rows.T @ rows)


def solve(blocks: _Blocks, ridge: float) -> Solution:
    """Minimise ``|A c - b|^2 + ridge |c|^2``, c's last entry out of the ridge.

    Of several solutions it is the shortest for columns of unit length.

    Raises:
        FloatingPointError: an entry is not finite.
    """
    gram = torch.zeros(())
    moment = torch.zeros(())
    for matrix, right, *_ in blocks():
        gram = gram + gram_matrix(matrix)
        moment = moment + matrix.T @ right
    gram.diagonal()[:-1].add_(ridge)
    # S A'A S with S = diag(scale): columns of unit length.
    squares = gram.diagonal().clone()
    scale = torch.where(squares > 0, squares.rsqrt(), 0.0)
    if not torch.isfinite(scale @ moment):
        raise FloatingPointError("least squares met a number that is not finite")
    gram *= scale[:, None] * scale
    gram.diagonal().add_((squares == 0).to(gram.dtype))  # zeros get no weight
    factor, failed = torch.linalg.cholesky_ex(gram)
    most_inverse = _MOST_INVERSE_WITH_RIDGE if ridge > 0 else _MOST_INVERSE
    if failed or not _inverse_size(factor) < most_inverse:
        return _solve_by_rotations(blocks, ridge, scale)

    def solve_normal(moment: Tensor) -> Tensor:
        return scale * torch.cholesky_solve((scale * moment)[:, None], factor)[:, 0]

    coefficients = solve_normal(moment)
    # One step of refinement: A'(b - A c) - ridge c, which should be zero.
    rest = torch.zeros_like(moment)
    for matrix, right, *_ in blocks():
        rest += matrix.T @ torch.addmv(right, matrix, coefficients, alpha=-1)
    rest[:-1] -= ridge * coefficients[:-1]

    def whiten(products: Tensor) -> Tensor:  # A S = Q L', L the factor
        scaled = scale[:, None] * products
        return torch.linalg.solve_triangular(factor, scaled, upper=False)

    return Solution(coefficients + solve_normal(rest), whiten)


def _inverse_size(factor: Tensor) -> Tensor:
    """Estimate the size of (L L')^-1 by its products with three vectors of cosines."""
    places = torch.arange(len(factor), dtype=factor.dtype)
    probes = torch.cos(places[:, None] * torch.arange(1, _PROBES + 1))
    return torch.cholesky_solve(probes, factor).norm()


def _solve_by_rotations(blocks: _Blocks, ridge: float, scale: Tensor) -> Solution:
    """Solve by the triangle R of a QR factorisation of A, columns times ``scale``.

    Where its rank is in doubt, by the singular values of R.
    """
    m = len(scale)
    # The triangle of A with b as one more column, over sqrt(ridge) in each column that
    # bears the ridge: all of A's but the last.
    with_ridge = m - 1 if ridge else 0
    triangle = torch.eye(m + 1, dtype=scale.dtype)[:with_ridge] * ridge**0.5
    for matrix, right, *_ in blocks():
        rows = torch.cat([matrix, right[:, None]], dim=1)
        triangle = torch.linalg.qr(torch.cat([triangle, rows]), mode="r").R
    # Columns times scale: what solves for these, times scale, solves for A.
    q, r = torch.linalg.qr(triangle[:, :-1] * scale)
    projected = q.T @ triangle[:, -1:]
    pivots = r.diagonal().abs()
    if len(r) == m and pivots.min() > _LEAST_SHARE * pivots.max():
        solution = torch.linalg.solve_triangular(r, projected, upper=True)
        forward = partial(torch.linalg.solve_triangular, r.T, upper=False)
        return Solution(scale * solution[:, 0], lambda x: forward(scale[:, None] * x))
    u, s, vh = torch.linalg.svd(r, full_matrices=False)
    kept = s > _RCOND * s[0]
    u, s, vh = u[:, kept], s[kept, None], vh[kept]
    solution = vh.T @ ((u.T @ projected) / s)
    return Solution(scale * solution[:, 0], lambda x: vh @ (scale[:, None] * x) / s)
