"""Random features whose product has GELU(w . x) as its mean: unbiased in the statistical sense.

Random Maclaurin features (Kar & Karnick 2012). The even part of GELU is the sum over k of
a_k (w . x)^(2k+2). Draw an order k with probability p_k and 2k + 2 vectors omega of independent
signs. The mean of (omega . w)(omega . x) is w . x, so

    (a_k / p_k) prod (omega_i . w) * prod (omega_i . x)

has the whole series as its mean, and the mean square sum of a_k^2 V^(2k+2) / p_k, where V is the
mean of (omega . w)^2 (omega . x)^2. For one V the best law is p_k ~ abs(a_k) V^k; on average over
pairs of several V it has the root of E V^(2k+2) in place of V^(k+1) (Cauchy and Schwarz). Low
orders are better kept exactly, as tensor features; so is z/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import gammaln, logsumexp, xlogy

from xsquared.checks import check_number
from xsquared.feature_maps.series import gelu, series_coefficients, taylor_gelu
from xsquared.feature_maps.tensor import TensorMap


@dataclass(frozen=True)
class RandomMaclaurin:
    """One draw of the feature maps; use :func:`draw_random_maclaurin`.

    Attributes:
        orders: (D,) the order k of each random feature, none below ``exact``.
        signs: (D, 2 max(k) + 2, d) entries 1 and -1, of which feature j uses the first 2 k_j + 2.
        moment: (n,) the values of V for which the law of orders is best on average.
        exact: even orders that are kept exactly.
    """

    orders: np.ndarray
    signs: np.ndarray
    moment: np.ndarray
    exact: int

    @property
    def exact_part(self) -> TensorMap:
        """The features of z/2 and of the orders below ``exact``."""
        return TensorMap("symmetric", self.signs.shape[2], series_coefficients(self.exact))

    def phi(self, W: np.ndarray) -> np.ndarray:
        """Features of weight rows: (..., d) -> (..., m), the exact ones first."""
        scaled = self._scales() * self._products(W) / len(self.orders)
        return np.concatenate([self.exact_part.phi(torch.from_numpy(W)).numpy(), scaled], axis=-1)

    def psi(self, x: np.ndarray) -> np.ndarray:
        """Features of inputs: (..., d) -> (..., m)."""
        exact = self.exact_part.psi(torch.from_numpy(x)).numpy()
        return np.concatenate([exact, self._products(x)], axis=-1)

    def draws(self, w: np.ndarray, x: np.ndarray) -> np.ndarray:
        """What each random feature estimates by itself: (D,) for one row w (d,) and one x (d,).

        Their mean is Phi(w) Psi(x).
        """
        products = self._products(w) * self._products(x)
        return float(taylor_gelu(w @ x, self.exact)) + self._scales() * products

    def _scales(self) -> np.ndarray:
        """a_k / p_k of each feature: (D,)."""
        k, largest = self.orders, float(self.moment.max())
        whole = math.exp(logsumexp(_log_law(self.moment, self.exact)[1]))
        scales = (-1.0) ** k * whole / largest**k / math.sqrt(2 * math.pi)
        return scales / np.exp(_log_spread(self.moment, k))

    def _products(self, v: np.ndarray) -> np.ndarray:
        """The product of each feature's projections: (..., d) -> (..., D)."""
        count, depth, _ = self.signs.shape
        v = np.asarray(v, dtype=float)  # products of small integers wrap
        out = np.ones((*v.shape[:-1], count))
        for i in range(depth):
            used = 2 * self.orders + 2 > i
            out[..., used] *= v @ self.signs[used, i].T
        return out


def draw_random_maclaurin(
    d: int, n_features: int, moment: float | np.ndarray, seed: int, exact: int = 0
) -> RandomMaclaurin:
    """Draw ``n_features`` random features; the maps have more, for what is exact.

    Args:
        d: dimension.
        n_features: number D of random features.
        moment: V of :func:`sign_moment` for which the law of orders is best, or many values (n,) of
            it, for which it is best on average.
        seed: of the draw.
        exact: even orders kept exactly beside z/2.

    Raises:
        ValueError: no V above zero.
    """
    values, rng = np.atleast_1d(np.array(moment, dtype=float)), np.random.default_rng(seed)
    check_number("moment", values.max(), above=0)
    k, logs = _log_law(values, exact)
    orders = k[0] + rng.choice(len(k), n_features, p=np.exp(logs - logsumexp(logs)))
    shape = (n_features, 2 * int(orders.max()) + 2, d)
    return RandomMaclaurin(orders, 2 * rng.integers(0, 2, shape, dtype=np.int8) - 1, values, exact)


def sign_moment(w: np.ndarray, x: np.ndarray) -> float:
    """V, the mean of (omega . w)^2 (omega . x)^2 over signs omega.

    It is (w . w)(x . x) + 2 (w . x)^2 - 2 sum w_i^2 x_i^2.
    """
    w, x = np.asarray(w, dtype=float), np.asarray(x, dtype=float)
    return max(0.0, float((w @ w) * (x @ x) + 2 * (w @ x) ** 2 - 2 * np.sum(w**2 * x**2)))


def draw_variance(
    w: np.ndarray, x: np.ndarray, moment: float | np.ndarray, exact: int = 0
) -> float:
    """Variance of one draw, in closed form; that of the mean of D draws is this over D.

    With S(u) the sum over k >= exact of (u/2)^k / (k! (2k+1)) and V that of w and x, it is
    V^2 S(moment) S(V^2/moment) / (2 pi), less the square of what the exact part leaves over. Of
    many moments the largest takes the place of the one. Term k of the first sum is multiplied, of
    the second divided, by the root mean of their shares of it to the power 2k + 2.
    """
    values = np.atleast_1d(np.asarray(moment, dtype=float))
    own, largest = sign_moment(w, x), float(values.max())
    if own == 0:
        return 0.0
    k, terms = _log_terms(own * (own / largest), exact)
    squares = logsumexp(_log_law(values, exact)[1]) + logsumexp(terms - _log_spread(values, k))
    logs = 2 * math.log(own) + float(squares)
    z = float(np.dot(w, x))
    return math.exp(logs) / (2 * math.pi) - float(gelu(z) - taylor_gelu(z, exact)) ** 2


def _log_law(values: np.ndarray, exact: int) -> tuple[np.ndarray, np.ndarray]:
    """Orders k from ``exact`` on, and the logarithms of their probabilities but for a constant."""
    k, terms = _log_terms(float(values.max()), exact)
    return k, terms + _log_spread(values, k)


def _log_spread(values: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Half the logarithm of the mean of (V / max V)^(2k+2), for each order k: zero for one V."""
    shares = (values / values.max()) ** 2
    means, powers = [], np.ones_like(shares)
    for _ in range(int(k.max()) + 1):
        powers *= shares
        means.append(powers.sum() / len(powers))
    return np.log(means)[k] / 2


def _log_terms(u: float, exact: int) -> tuple[np.ndarray, np.ndarray]:
    """Orders k from ``exact`` on, and the logarithms of (u/2)^k / (k! (2k+1))."""
    k = exact + np.arange(int(u / 2 + 20 * math.sqrt(u / 2) + 60))
    return k, xlogy(k, u / 2) - gammaln(k + 1) - np.log(2 * k + 1)
