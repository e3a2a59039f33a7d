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

from xsquared.features.series import gelu, series_coefficients, taylor_gelu
from xsquared.features.tensor import TensorMap


@dataclass(frozen=True)
class RandomMaclaurin:
    """Hold one draw of the feature maps, made by :func:`draw_random_maclaurin`.

    Feature j of D has an order k, a scale a_k / p_k and uses 2 k + 2 of its signs (D,
    most, d).
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
        """Estimate GELU by each random feature alone, (D,), for one w and one x (d,)."""
        kept = self.exact.product(w[None], x).item()
        return kept + self.scales * self._products(w) * self._products(x)

    def _products(self, v: np.ndarray) -> np.ndarray:
        """Multiply each feature's projections: (..., d) -> (..., D)."""
        out = np.ones((*v.shape[:-1], len(self.orders)))
        for i in range(self.signs.shape[1]):
            used = 2 * self.orders + 2 > i
            out[..., used] *= v @ self.signs[used, i].T
        return out


def draw_random_maclaurin(
    d: int, n_features: int, moment: ArrayLike, seed: int, exact: int = 0
) -> RandomMaclaurin:
    """Draw D = ``n_features`` random features, and ``exact`` even orders kept exactly
    beside z/2.

    The law of orders is best for a ``moment`` V of :func:`sign_moment`, on average over
    many (n,).
    """
    rng, k = np.random.default_rng(seed), _orders(float(np.max(moment)), exact)
    spread = _log_root_mean(moment, k)
    logs = _log_taylor(k) + spread
    drawn = rng.choice(len(k), n_features, p=np.exp(logs - logsumexp(logs)))
    orders, scales = k[drawn], (-1.0) ** k * np.exp(logsumexp(logs) - spread)
    signs = (
        2
        * rng.integers(0, 2, (n_features, 2 * int(orders.max()) + 2, d), dtype=np.int8)
        - 1
    )
    kept = TensorMap("symmetric", d, series_coefficients(exact))
    return RandomMaclaurin(orders, scales[drawn] / math.sqrt(2 * math.pi), signs, kept)


def sign_moment(w: np.ndarray, x: np.ndarray) -> float:
    """Return V, the mean of (omega . w)^2 (omega . x)^2 over signs omega."""
    return max(
        0.0, float((w @ w) * (x @ x) + 2 * (w @ x) ** 2 - 2 * np.sum(w**2 * x**2))
    )


def draw_variance(
    w: np.ndarray, x: np.ndarray, moment: ArrayLike, exact: int = 0
) -> float:
    """Return the variance of one draw; that of the mean of D draws is this over D.

    It is the sum of abs(a_k) v_k times that of abs(a_k) V^(2k+2) / v_k, over k >= exact
    and with V that of w and x, less the square of what the exact part leaves over.
    """
    own, most = sign_moment(w, x), float(np.max(moment))
    k = _orders(max(most, own**2 / most), exact)
    taylor, spread = _log_taylor(k), _log_root_mean(moment, k)
    ours = taylor + (2 * k + 2) * math.log(own) - spread
    square = math.exp(logsumexp(taylor + spread) + logsumexp(ours)) / (2 * math.pi)
    return square - float(gelu(w @ x) - taylor_gelu(w @ x, exact)) ** 2


def _orders(moment: float, exact: int) -> np.ndarray:
    """Return the orders k from ``exact`` on of which abs(a_k) V^(k+1) is above
    rounding.
    """
    return exact + np.arange(int(moment / 2 + 20 * math.sqrt(moment / 2) + 60))


def _log_taylor(k: np.ndarray) -> np.ndarray:
    """Return the logarithms of sqrt(2 pi) abs(a_k) = 1 / (2^k k! (2k+1))."""
    return -k * math.log(2) - gammaln(k + 1) - np.log(2 * k + 1)


def _log_root_mean(moment: ArrayLike, k: np.ndarray) -> np.ndarray:
    """Return the logarithms of v_k, the root of the mean of V^(2k+2), for each k."""
    logs = np.log(np.atleast_1d(moment))
    return (
        logsumexp(np.multiply.outer(2 * k + 2, logs), axis=1) - math.log(len(logs))
    ) / 2
