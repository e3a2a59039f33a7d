"""Random features whose product has GELU(w . x) as its mean: unbiased in the statistical sense.

Random Maclaurin features (Kar & Karnick 2012): the even part of GELU is the sum over k of
a_k (w . x)^(2k+2). Draw an order k with probability p_k and 2k + 2 vectors omega of independent
signs. As the mean of (omega . w)(omega . x) is w . x, the mean of

    (a_k / p_k) prod (omega_i . w) * prod (omega_i . x)

is the whole series. With Poisson orders the factorials of a_k and p_k cancel. The linear part z/2
is kept exactly, in d features of its own.

The price is the variance, which grows like exp(V) with V = E (omega . w)^2 (omega . x)^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp
from sklearn.kernel_approximation import PolynomialCountSketch

from xsquared.feature_maps.series import gelu_even

#: Largest array of signs that is drawn, in bytes.
SIGN_LIMIT = 2**30


@dataclass(frozen=True)
class RandomMaclaurin:
    """One draw of the feature maps; use :func:`draw_random_maclaurin`.

    Attributes:
        orders: (D,) the order k of each random feature.
        signs: (D, 2 max(k) + 2, d) entries 1 and -1, of which feature j uses the first 2 k_j + 2.
        rate: mean of the Poisson law of the orders.
        cut: orders from this one on count as zero, which makes the estimator biased; None cuts
            nothing.
    """

    orders: np.ndarray
    signs: np.ndarray
    rate: float
    cut: int | None = None

    def phi(self, W: np.ndarray) -> np.ndarray:
        """Features of weight rows: (rows, d) -> (rows, d + D).

        Raises:
            ValueError: ``W`` has another shape.
        """
        W = self._checked(W)
        return np.concatenate([W / 2, self._scales() * self._products(W) / len(self.orders)], -1)

    def psi(self, x: np.ndarray) -> np.ndarray:
        """Features of inputs: (n, d) -> (n, d + D); errors as for :meth:`phi`."""
        x = self._checked(x)
        return np.concatenate([x, self._products(x)], axis=-1)

    def draws(self, w: np.ndarray, x: np.ndarray) -> np.ndarray:
        """What each random feature estimates by itself: (D,) for one row w (d,) and one x (d,).

        Their mean is Phi(w) Psi(x). Errors as for :meth:`phi`.
        """
        w, x = self._checked(w[None]), self._checked(x[None])
        even = self._scales() * self._products(w)[0] * self._products(x)[0]
        return float(w[0] @ x[0]) / 2 + even

    def _scales(self) -> np.ndarray:
        """a_k / p_k of each feature: (D,)."""
        k = self.orders
        scales = (-1.0) ** k * np.exp(self.rate - k * math.log(2 * self.rate)) / (2 * k + 1)
        scales /= math.sqrt(2 * math.pi)
        return scales if self.cut is None else np.where(k < self.cut, scales, 0.0)

    def _products(self, v: np.ndarray) -> np.ndarray:
        """The product of each feature's projections: (n, d) -> (n, D)."""
        out = np.ones((len(v), len(self.orders)))
        for i in range(self.signs.shape[1]):
            used = 2 * self.orders + 2 > i
            out[:, used] *= v @ self.signs[used, i].T
        return out

    def _checked(self, v: np.ndarray) -> np.ndarray:
        v = np.asarray(v, dtype=np.float64)
        d = self.signs.shape[2]
        if v.ndim != 2 or v.shape[1] != d:
            raise ValueError(f"expected vectors of shape (n, {d}), got {v.shape}")
        return v


def draw_random_maclaurin(
    d: int, n_features: int, rate: float, seed: int, cut: int | None = None
) -> RandomMaclaurin:
    """Draw D random features in d dimensions.

    Args:
        d: dimension, at least 1.
        n_features: D, at least 1; the maps have d more, for the linear part.
        rate: mean order, positive. The variance is least near V/2 where V of :func:`sign_moment` is
            large, and nearer V/4 where it is small.
        seed: of the draw.
        cut: for comparison only: drop the orders from this one on, so that the mean is the series
            of ``cut`` terms instead of GELU.

    Raises:
        ValueError: an argument out of its range, or signs that would not fit the limit.
    """
    for name, value in (("d", d), ("n_features", n_features)):
        if not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} must be an integer of at least 1, got {value!r}")
    _check_rate(rate)
    if cut is not None and cut < 1:
        raise ValueError(f"cut must be at least 1 or None, got {cut}")
    rng = np.random.default_rng(seed)
    orders = rng.poisson(rate, n_features)
    shape = (n_features, 2 * int(orders.max()) + 2, d)
    if math.prod(shape) > SIGN_LIMIT:
        raise ValueError(f"signs of shape {shape} would not fit in {SIGN_LIMIT:.3g} bytes")
    signs = (2 * rng.integers(0, 2, shape, dtype=np.int8) - 1).astype(np.int8)
    return RandomMaclaurin(orders, signs, rate, cut)


def sign_moment(w: np.ndarray, x: np.ndarray) -> float:
    """V, the mean of (omega . w)^2 (omega . x)^2 over signs omega.

    It is (w . w)(x . x) + 2 (w . x)^2 - 2 sum w_i^2 x_i^2.

    Raises:
        ValueError: w and x are no vectors of one length.
    """
    w, x = np.asarray(w, dtype=np.float64), np.asarray(x, dtype=np.float64)
    if w.ndim != 1 or w.shape != x.shape:
        raise ValueError(f"expected two vectors of one length, got {w.shape} and {x.shape}")
    return float((w @ w) * (x @ x) + 2 * (w @ x) ** 2 - 2 * np.sum(w**2 * x**2))


def draw_variance(w: np.ndarray, x: np.ndarray, rate: float) -> float:
    """Variance of one draw, in closed form; that of the mean of D draws is this over D.

    With q = V^2/(4 rate): e^rate V^2/(2 pi) sum_k q^k/(k! (2k+1)^2) less the square of the even
    part of GELU.

    Raises:
        ValueError: a rate that is not positive, or as for :func:`sign_moment`.
    """
    _check_rate(rate)
    moment = sign_moment(w, x)
    if moment == 0:
        return 0.0
    q = moment**2 / (4 * rate)
    k = np.arange(int(q + 20 * math.sqrt(q) + 60))
    log_sum = logsumexp(k * math.log(q) - gammaln(k + 1) - 2 * np.log(2 * k + 1))
    second = math.exp(rate + 2 * math.log(moment) + log_sum) / (2 * math.pi)
    return second - float(gelu_even(float(np.dot(w, x)))) ** 2


@dataclass(frozen=True)
class SketchMap:
    """Tensor sketches of a polynomial's powers, one random map for w and for x.

    Attributes:
        coefficients: of the polynomial, by power.
        sketches: by power, scikit-learn's fitted sketch of (w . x)^p.
    """

    coefficients: np.ndarray
    sketches: dict[int, PolynomialCountSketch]

    def phi(self, W: np.ndarray) -> np.ndarray:
        """Features of weight rows: (rows, d) -> (rows, m), coefficients included."""
        parts = [self.coefficients[p] * s.transform(W) for p, s in self.sketches.items()]
        return np.concatenate([np.full((len(W), 1), self.coefficients[0]),
                               self.coefficients[1] * W, *parts], axis=-1)  # fmt: skip

    def psi(self, x: np.ndarray) -> np.ndarray:
        """Features of inputs: (n, d) -> (n, m)."""
        parts = [s.transform(x) for s in self.sketches.values()]
        return np.concatenate([np.ones((len(x), 1)), x, *parts], axis=-1)


def draw_sketch(d: int, coefficients: np.ndarray, n_features: int, seed: int) -> SketchMap:
    """Tensor sketches (Pham & Pagh 2013) of a polynomial, by scikit-learn's PolynomialCountSketch.

    Constant and linear part are kept exactly; the budget is shared evenly by the other powers.

    Args:
        d: dimension, at least 1.
        coefficients: by power, at least one beyond the linear.
        n_features: sketched features in all, at least one for each power.
        seed: of the draw.

    Raises:
        ValueError: an argument out of its range.
    """
    c = np.asarray(coefficients, dtype=np.float64)
    powers = [int(p) for p in np.flatnonzero(c) if p >= 2]
    if d < 1 or c.ndim != 1 or not powers:
        raise ValueError(f"expected d >= 1 and a power beyond the linear, got d = {d}, {c}")
    if n_features < len(powers):
        raise ValueError(f"expected at least {len(powers)} features, got {n_features}")
    share = n_features // len(powers)
    sketches = {
        p: PolynomialCountSketch(
            degree=p, gamma=1.0, coef0=0, n_components=share, random_state=seed + i
        ).fit(np.zeros((1, d)))
        for i, p in enumerate(powers)
    }
    return SketchMap(c, sketches)


def _check_rate(rate: float) -> None:
    if not (math.isfinite(rate) and rate > 0):
        raise ValueError(f"rate must be positive and finite, got {rate}")
