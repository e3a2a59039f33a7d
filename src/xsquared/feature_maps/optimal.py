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
from scipy.special import eval_jacobi, gammaln, roots_genlaguerre, roots_jacobi

from xsquared.feature_maps.polynomials import gelu_second_moment
from xsquared.feature_maps.series import gelu_even

#: Nodes of the rules in length and angle; doubling them moves no digit that is shown.
_RADIAL = 60
_ANGULAR = 160
#: Highest degree of spherical harmonics that is resolved.
_DEGREES = 16

MapName = Literal["affine", "radial", "quadratic"]


def second_moment(d: int) -> float:
    """E GELU(w . x)^2 for standard normal w and x in d dimensions.

    Given x the product is normal, its deviation the length of x, whose law is chi; the closed form
    of :func:`xsquared.feature_maps.polynomials.gelu_second_moment` is averaged over it.

    Raises:
        ValueError: d below 2.
    """
    r, weights = _lengths(d)
    return float(weights @ [gelu_second_moment(float(length)) for length in r])


@cache
def singular_values(d: int) -> np.ndarray:
    """Singular values of GELU(w . x) as an operator, with multiplicity, largest first.

    Values below 1e-9, those of harmonics beyond degree 16, and all beyond the first 4000 are left
    out: they are smaller than the ones listed.

    Returns:
        Of shape (m_max,) with m_max at most 4000.

    Raises:
        ValueError: d below 2.
    """
    r, weights = _lengths(d)
    found = [np.full(d, 0.5)]
    for degree in range(0, _DEGREES + 1, 2):
        kernel = _radial_kernel(d, degree, np.outer(r, r))
        matrix = np.sqrt(weights)[:, None] * kernel * np.sqrt(weights)
        radial = np.abs(np.linalg.eigvalsh(matrix))
        count = min(harmonics(d, degree), 4000)
        found.append(np.repeat(radial[radial > 1e-9], count))
    values = np.sort(np.concatenate(found))[::-1][:4000]
    values.setflags(write=False)  # it is kept for the next call
    return values


def best_mse(d: int, m: int) -> float:
    """The smallest mean squared error that any Phi, Psi of m features can have.

    Raises:
        ValueError: d below 2, m negative or beyond the values listed.
    """
    values = singular_values(d)
    if not isinstance(m, int | np.integer) or not 0 <= m <= len(values):
        raise ValueError(f"m must be an integer from 0 to {len(values)}, got {m!r}")
    return max(0.0, second_moment(d) - float(np.sum(values[:m] ** 2)))


def features_needed(d: int, mse: float) -> int:
    """The smallest m for which :func:`best_mse` is at most ``mse``.

    Raises:
        ValueError: d below 2, or no m up to the number of values listed.
    """
    left = second_moment(d) - np.concatenate([[0.0], np.cumsum(singular_values(d) ** 2)])
    enough = np.flatnonzero(left <= mse)
    if not len(enough):
        raise ValueError(f"{len(left) - 1} features are not enough for {mse:g} at d = {d}")
    return int(enough[0])


def harmonics(d: int, degree: int) -> int:
    """Number of spherical harmonics of a degree in d dimensions."""
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

    Attributes:
        name: which map.
        d: dimension, at least 2.

    Raises:
        ValueError: an unknown name, or d below 2.
    """

    name: MapName
    d: int

    def __post_init__(self) -> None:
        if self.name not in ("affine", "radial", "quadratic"):
            raise ValueError(f"name must be affine, radial or quadratic, got {self.name!r}")
        _lengths(self.d)

    @property
    def dimension(self) -> int:
        """Number of features m."""
        return self.d + (self.d * (self.d + 1) // 2 if self.name == "quadratic" else 1)

    def phi(self, w: np.ndarray) -> np.ndarray:
        """Features of weight rows, coefficients included: (..., d) -> (..., m).

        Raises:
            ValueError: another last dimension.
        """
        w = self._checked(w)
        level, curvature = self._coefficients()
        if self.name == "affine":
            return np.concatenate([w / 2, np.full((*w.shape[:-1], 1), level)], axis=-1)
        length = np.linalg.norm(w, axis=-1, keepdims=True)
        if self.name == "radial":
            return np.concatenate([w / 2, level * length], axis=-1)
        # <u u^T, v v^T> = cos^2, and the trace makes a constant of the unit vectors.
        isotropic = (level - curvature / self.d) * np.eye(self.d)
        unit = w / length
        form = curvature * unit[..., :, None] * unit[..., None, :] + isotropic
        rows, columns = np.tril_indices(self.d)
        times = np.where(rows == columns, 1.0, 2.0)
        return np.concatenate([w / 2, length * form[..., rows, columns] * times], axis=-1)

    def psi(self, x: np.ndarray) -> np.ndarray:
        """Features of inputs: (..., d) -> (..., m); errors as for :meth:`phi`."""
        x = self._checked(x)
        if self.name == "affine":
            return np.concatenate([x, np.ones((*x.shape[:-1], 1))], axis=-1)
        length = np.linalg.norm(x, axis=-1, keepdims=True)
        if self.name == "radial":
            return np.concatenate([x, length], axis=-1)
        rows, columns = np.tril_indices(self.d)
        return np.concatenate([x, x[..., rows] * x[..., columns] / length], axis=-1)

    def mse(self) -> float:
        """Mean squared error under the law, by quadrature."""
        r, weights = _lengths(self.d)
        t, angles = _angles(self.d)
        p = np.outer(r, r)[:, :, None]
        level, curvature = self._coefficients()
        if self.name == "affine":
            fit = np.full_like(p * t, level)
        else:
            fit = p * (level + curvature * (t**2 - 1 / self.d))
        square = ((gelu_even(p * t) - fit) ** 2) @ angles
        return float(weights @ square @ weights)

    def _coefficients(self) -> tuple[float, float]:
        """Least-squares level and, for the quadratic map, curvature."""
        r, weights = _lengths(self.d)
        t, angles = _angles(self.d)
        p = np.outer(r, r)[:, :, None]
        even = gelu_even(p * t)
        if self.name == "affine":
            return float(weights @ (even @ angles) @ weights), 0.0

        def coefficient(shape: np.ndarray) -> float:
            return float(
                (weights @ ((even * p * shape) @ angles) @ weights)
                / (weights @ ((p * shape) ** 2 @ angles) @ weights)
            )

        level = coefficient(np.ones_like(t))
        if self.name == "radial":
            return level, 0.0
        return level, coefficient(t**2 - 1 / self.d)

    def _checked(self, v: np.ndarray) -> np.ndarray:
        v = np.asarray(v, dtype=np.float64)
        if v.ndim < 1 or v.shape[-1] != self.d:
            raise ValueError(f"expected a last dimension of {self.d}, got shape {v.shape}")
        return v


def _radial_kernel(d: int, degree: int, p: np.ndarray) -> np.ndarray:
    """mu_l at products p of two lengths, of p's shape."""
    t, weights = _angles(d)
    order = (d - 3) / 2
    basis = eval_jacobi(degree, order, order, t) / eval_jacobi(degree, order, order, 1.0)
    return gelu_even(p[..., None] * t) @ (weights * basis)


def _angles(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss rule for the cosine of the angle between two random directions."""
    t, weights = roots_jacobi(_ANGULAR, (d - 3) / 2, (d - 3) / 2)
    return t, weights / weights.sum()


def _lengths(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss rule for the length of a standard normal vector: half its square is Gamma(d/2)."""
    if not isinstance(d, int | np.integer) or d < 2:
        raise ValueError(f"d must be an integer of at least 2, got {d!r}")
    half_square, weights = roots_genlaguerre(_RADIAL, d / 2 - 1)
    return np.sqrt(2 * half_square), weights / math.exp(gammaln(d / 2))
