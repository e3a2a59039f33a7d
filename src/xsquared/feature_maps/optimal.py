"""Closed-form maps of few features, and the best that any map of m features can do.

Let rows w and inputs x be independent standard normal vectors in d dimensions, the law of the
paper's section 3. How small can E (GELU(w . x) - Phi(w) Psi(x))^2 be with m features? GELU(w . x)
is then the kernel of an integral operator, and the answer is what its m largest singular values
leave over (Eckart, Young, Schmidt): no network, however large or well trained, does better.

The law is invariant under rotations, so the operator splits. The odd part z/2 has d singular values
1/2. The even part has, for each even degree l of spherical harmonics, a radial kernel

    mu_l(r s),  mu_l(p) = E_t E(p t) P_l(t),

with t the cosine of a random angle and P_l the Gegenbauer polynomial with P_l(1) = 1 (Funk, Hecke).
Each singular value of it, r and s being lengths of normal vectors, counts as often as there are
harmonics of that degree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.special import eval_jacobi

from xsquared.checks import check_integer, quoted
from xsquared.feature_maps import check_vectors
from xsquared.feature_maps.series import gelu_even
from xsquared.quadrature import on_cells

#: Nodes of the rule in length, cells of that in angle; more of them move no digit that is shown.
_RADIAL = 60
_CELLS = 16
#: Highest degree of spherical harmonics that is resolved, and how many singular values are listed.
_DEGREES = 16
_LISTED = 4000
#: Largest dimension.
MOST_D = 10_000
#: Nodes and weights.
_Rule = tuple[np.ndarray, np.ndarray]


def second_moment(d: int) -> float:
    """E GELU(w . x)^2 for standard normal w and x in d dimensions: that of z/2 is d/4.

    Raises:
        ValueError: d outside 2 to 10,000, as everywhere below.
    """
    (_, weights), (_, angles), _, even = _law(d)
    return d / 4 + float(weights @ (even**2 @ angles) @ weights)


def singular_values(d: int) -> np.ndarray:
    """Singular values of GELU(w . x) as an operator, with multiplicity, largest first.

    Values below 1e-9, those of harmonics beyond degree 16, and all beyond the first 4000 are left
    out: they are smaller than the ones listed. (4000,) or fewer, read-only.
    """
    return _singular_values(check_integer("d", d, 2, MOST_D))


@cache
def _singular_values(d: int) -> np.ndarray:
    (_, weights), (t, angles), _, even = _law(d)
    order = (d - 3) / 2
    found = [np.full(d, 0.5)]
    for degree in range(0, _DEGREES + 1, 2):
        harmonic = eval_jacobi(degree, order, order, t) / eval_jacobi(degree, order, order, 1.0)
        root = np.sqrt(weights)
        matrix = root[:, None] * (even @ (angles * harmonic)) * root
        radial = np.abs(np.linalg.eigvalsh(matrix))
        found.append(np.repeat(radial[radial > 1e-9], min(harmonics(d, degree), _LISTED)))
    values = np.sort(np.concatenate(found))[::-1][:_LISTED]
    values.setflags(write=False)  # it is kept for the next call
    return values


def best_mse(d: int) -> np.ndarray:
    """The smallest mean squared error that any Phi, Psi of m features can have: at index m."""
    explained = np.cumsum([0.0, *singular_values(d) ** 2])
    return np.maximum(0.0, second_moment(d) - explained)


def harmonics(d: int, degree: int) -> int:
    """Number of spherical harmonics of a degree, up to 1000, in d dimensions.

    Raises:
        ValueError: a degree or a dimension out of bounds.
    """
    d, degree = check_integer("d", d, 2, MOST_D), check_integer("degree", degree, 0, 1000)
    lower = math.comb(d + degree - 3, degree - 2) if degree >= 2 else 0
    return math.comb(d + degree - 1, degree) - lower


@dataclass(frozen=True)
class ClosedMap:
    """A feature map without anything to train, for standard normal w and x.

    ========== ================ ==========================================================
    name       features         prediction
    ========== ================ ==========================================================
    affine     d + 1            z/2 + c
    radial     d + 1            z/2 + c rho(w) rho(x), with rho the vector's length
    quadratic  d(d+1)/2 + d     z/2 + a rho(w) rho(x) + b (z^2/(rho rho) - rho rho/d)
    ========== ================ ==========================================================

    Lengths stand where constants could, because they cost no feature. The coefficients are least
    squares under the law. The quadratic map is linear in the products of two entries of the unit
    vector times the length, of which the length itself is the trace.

    Raises:
        ValueError: an unknown name, or d outside 2 to 10,000.
    """

    name: Literal["affine", "radial", "quadratic"]
    d: int

    def __post_init__(self) -> None:
        if self.name not in ("affine", "radial", "quadratic"):
            raise ValueError(f"name: expected affine, radial or quadratic, got {quoted(self.name)}")
        check_integer("d", self.d, 2, MOST_D)

    @property
    def dimension(self) -> int:
        """Number of features m."""
        return self.d + (self.d * (self.d + 1) // 2 if self.name == "quadratic" else 1)

    def phi(self, w: np.ndarray) -> np.ndarray:
        """Features of weight rows, coefficients included: (..., d) -> (..., m).

        Raises:
            ValueError: as for :func:`~xsquared.feature_maps.check_vectors`.
        """
        w, length, unit = self._checked(w)
        level, curvature = self._coefficients()
        if self.name != "quadratic":
            return np.concatenate([w / 2, level * length], axis=-1)
        # <u u^T, v v^T> = cos^2, and the trace makes a constant of the unit vectors.
        rows, columns = np.tril_indices(self.d)
        diagonal = rows == columns
        form = curvature * unit[..., rows] * unit[..., columns]
        form += (level - curvature / self.d) * diagonal
        return np.concatenate([w / 2, length * form * np.where(diagonal, 1, 2)], axis=-1)

    def psi(self, x: np.ndarray) -> np.ndarray:
        """Features of inputs: (..., d) -> (..., m); errors as for :meth:`phi`."""
        x, length, unit = self._checked(x)
        if self.name != "quadratic":
            return np.concatenate([x, length], axis=-1)
        rows, columns = np.tril_indices(self.d)
        return np.concatenate([x, x[..., rows] * unit[..., columns]], axis=-1)

    def mse(self) -> float:
        """Mean squared error under the law, by quadrature."""
        (_, weights), (t, angles), p, even = self._law()
        level, curvature = self._coefficients()
        square = (even - p * (level + curvature * (t**2 - 1 / self.d))) ** 2
        return float(weights @ (square @ angles) @ weights)

    def _coefficients(self) -> tuple[float, float]:
        """Least-squares level and, for the quadratic map, curvature."""
        (_, weights), (t, angles), p, even = self._law()

        def coefficient(shape: np.ndarray) -> float:
            """Of p times a function of the angle; the functions used are orthogonal."""
            part, whole = (even * p * shape) @ angles, ((p * shape) ** 2) @ angles
            return float((weights @ part @ weights) / (weights @ whole @ weights))

        level = coefficient(np.ones_like(t))
        return level, coefficient(t**2 - 1 / self.d) if self.name == "quadratic" else 0.0

    def _law(self) -> tuple[_Rule, _Rule, np.ndarray, np.ndarray]:
        """The law, with one for the product of lengths where the map is affine."""
        lengths, angles, p, even = _law(self.d)
        return lengths, angles, p**0 if self.name == "affine" else p, even

    def _checked(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The vectors, their lengths (..., 1) (one for the affine map), and directions."""
        v = check_vectors(vectors, self.d, self.dimension, power=2)
        length = np.linalg.norm(v, axis=-1, keepdims=True)
        unit = v / np.where(length > 0, length, 1.0)  # the vector zero has none
        return v, length**0 if self.name == "affine" else length, unit


def _law(d: int) -> tuple[_Rule, _Rule, np.ndarray, np.ndarray]:
    """The rules for lengths and angles, products of two lengths, GELU's even part at all nodes."""
    lengths, angles = _lengths(d), _angles(d)
    p = np.outer(lengths[0], lengths[0])[:, :, None]
    return lengths, angles, p, gelu_even(p * angles[0])


def _angles(d: int) -> _Rule:
    """Rule for even functions of the cosine t = sin(phi) of the angle between random directions.

    The density is cos(phi)^(d-2). Cells halve towards t = 0, where E(p t) bends within 1/p.
    """
    phi, weights = on_cells(np.array([0.0, *np.pi * 2.0 ** -np.arange(_CELLS, 0, -1)]))
    weights *= np.cos(phi) ** (d - 2)
    return np.sin(phi).ravel(), weights.ravel() / weights.sum()


def _lengths(d: int) -> _Rule:
    """Gauss rule for the length of a standard normal vector: half its square is Gamma(d/2).

    Nodes and weights come from the recurrence of Laguerre's polynomials (Golub, Welsch); scipy's
    own weights do not sum to one and overflow from d = 344 on.
    """
    d = check_integer("d", d, 2, MOST_D)
    k = np.arange(_RADIAL)
    half_square, vectors = eigh_tridiagonal(2 * k + d / 2, np.sqrt(k * (k + d / 2 - 1))[1:])
    return np.sqrt(2 * half_square), vectors[0] ** 2
