"""Random features whose product has GELU(w . x) as its mean (Kar & Karnick 2012).

The even part of GELU is the sum over k of a_k (w . x)^(2k+2). Draw an order k with
probability p_k and 2k + 2 vectors omega of independent signs. The mean of (omega .
w)(omega . x) is w . x, so

    (a_k / p_k) prod (omega_i . w) * prod (omega_i . x)

has the whole series as its mean, and the mean square sum of a_k^2 V^(2k+2) / p_k, where
V is the mean of (omega . w)^2 (omega . x)^2. The best law is p_k ~ abs(a_k) v_k, with
v_k the root of the mean of V^(2k+2) over pairs. Low orders are better kept exactly, as
tensor features; so is z/2.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, logsumexp

from xsquared.features.polynomials import gelu, series_coefficients, taylor_gelu
from xsquared.features.tensor import TensorMap


@dataclass(frozen=True)
class RandomMaclaurin:
    """Hold one draw of D features, made by :func:`draw_random_maclaurin`.

    Attributes:
        orders: k of each feature, (D,).
        scales: a_k / p_k of each feature, (D,).
        signs: vectors omega, (D, most, d), of which a feature uses the first 2 k + 2.
        exact: the features of z/2 and of the orders that are not drawn.
    """

    orders: np.ndarray
    scales: np.ndarray
    signs: np.ndarray
    exact: TensorMap

    def phi(self, W: np.ndarray) -> np.ndarray:
        """Map weight rows: (..., d) -> (..., m), the exact features first."""
        scaled = self.scales * self._products(W) / len(self.orders)
        return np.concatenate([self.exact.phi(W).numpy(), scaled], axis=-1)

    def psi(self, x: np.ndarray) -> np.ndarray:
        """Map inputs: (..., d) -> (..., m)."""
        return np.concatenate([self.exact.psi(x).numpy(), self._products(x)], axis=-1)

    def draws(self, w: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Estimate GELU by each random feature alone, (D,), for w and x (d,)."""
        exact = self.exact.product(w[None], x).item()
        return exact + self.scales * self._products(w) * self._products(x)

    def _products(self, v: np.ndarray) -> np.ndarray:
        """Multiply each feature's projections: (..., d) -> (..., D)."""
        products = np.ones((*v.shape[:-1], len(self.orders)))
        for i in range(self.signs.shape[1]):
            used = 2 * self.orders + 2 > i
            products[..., used] *= v @ self.signs[used, i].T
        return products


def draw_random_maclaurin(
    d: int, n_features: int, moment: ArrayLike, seed: int, exact: int = 0
) -> RandomMaclaurin:
    """Draw D = ``n_features`` random features by the law that is best for a moment.

    Args:
        d: dimensions of w and x.
        n_features: D.
        moment: V of :func:`sign_moment`, or those of many pairs, (n,).
        seed: of the orders and signs.
        exact: how many even orders are kept exactly, beside z/2.
    """
    rng = np.random.default_rng(seed)
    k = _orders(float(np.max(moment)), exact)
    # All in logarithms: p_k = |a_k| v_k / c, so a_k / p_k = sign(a_k) c / v_k.
    log_v = _log_root_mean(moment, k)
    log_law = _log_taylor(k) + log_v
    log_c = logsumexp(log_law)
    scale_of_order = (-1.0) ** k * np.exp(log_c - log_v)
    drawn = rng.choice(len(k), n_features, p=np.exp(log_law - log_c))
    orders = k[drawn]
    most = 2 * int(orders.max()) + 2
    signs = 2 * rng.integers(0, 2, (n_features, most, d), dtype=np.int8) - 1
    return RandomMaclaurin(
        orders,
        scale_of_order[drawn] / math.sqrt(2 * math.pi),
        signs,
        TensorMap("symmetric", d, series_coefficients(exact)),
    )


def sign_moment(w: np.ndarray, x: np.ndarray) -> float:
    """Return V, the mean of (omega . w)^2 (omega . x)^2 over signs omega.

    It is (w . w)(x . x) + 2 (w . x)^2 - 2 sum_i (w_i x_i)^2.
    """
    moment = (w @ w) * (x @ x) + 2 * (w @ x) ** 2 - 2 * np.sum(w**2 * x**2)
    return max(0.0, float(moment))


def draw_variance(
    w: np.ndarray, x: np.ndarray, moment: ArrayLike, exact: int = 0
) -> float:
    """Return the variance of one draw; that of the mean of D draws is this over D.

    With p_k = abs(a_k) v_k / c the mean square is c times the sum over k >= exact of
    abs(a_k) V^(2k+2) / v_k, V that of w and x. Subtracted is the square of what the
    exact part leaves over.
    """
    pair_moment = sign_moment(w, x)
    most = float(np.max(moment))
    k = _orders(max(most, pair_moment**2 / most), exact)
    log_a = _log_taylor(k)
    log_v = _log_root_mean(moment, k)
    log_terms = log_a + (2 * k + 2) * math.log(pair_moment) - log_v
    log_c = logsumexp(log_a + log_v)
    square = math.exp(log_c + logsumexp(log_terms)) / (2 * math.pi)
    return square - float(gelu(w @ x) - taylor_gelu(w @ x, exact)) ** 2


def _orders(moment: float, exact: int) -> np.ndarray:
    """Return the orders from ``exact`` on whose abs(a_k) V^(k+1) is above rounding.

    It is largest near k = V/2, as V^k / (2^k k!) is, whose deviation is sqrt(V/2).
    """
    peak = moment / 2
    return exact + np.arange(int(peak + 20 * math.sqrt(peak) + 60))


def _log_taylor(k: np.ndarray) -> np.ndarray:
    """Return the logarithms of sqrt(2 pi) abs(a_k) = 1 / (2^k k! (2k+1))."""
    return -k * math.log(2) - gammaln(k + 1) - np.log(2 * k + 1)


def _log_root_mean(moment: ArrayLike, k: np.ndarray) -> np.ndarray:
    """Return the logarithms of v_k, the root of the mean of V^(2k+2), for each k."""
    log_moments = np.log(np.atleast_1d(moment))
    log_powers = np.multiply.outer(2 * k + 2, log_moments)  # (orders, n)
    return (logsumexp(log_powers, axis=1) - math.log(len(log_moments))) / 2
