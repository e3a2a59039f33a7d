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
from scipy.special import gammaln, logsumexp, xlogy

from xsquared.checks import check_finite_array, check_integer, check_number, check_size
from xsquared.feature_maps import check_vectors
from xsquared.feature_maps.series import gelu_even

#: Largest mean order and largest exponent of a variance: exp of it is in float64.
MOST_EXPONENT = 650.0


@dataclass(frozen=True)
class RandomMaclaurin:
    """One draw of the feature maps; use :func:`draw_random_maclaurin`.

    Attributes:
        orders: (D,) the order k of each random feature, from a Poisson law with mean ``rate``.
        signs: (D, 2 max(k) + 2, d) entries 1 and -1, of which feature j uses the first 2 k_j + 2.
    """

    orders: np.ndarray
    signs: np.ndarray
    rate: float

    def phi(self, W: np.ndarray) -> np.ndarray:
        """Features of weight rows: (..., d) -> (..., d + D).

        Raises:
            ValueError: as for :func:`~xsquared.feature_maps.check_vectors`.
        """
        W, products = self._products(W)
        return np.concatenate([W / 2, self._scales() * products / len(self.orders)], axis=-1)

    def psi(self, x: np.ndarray) -> np.ndarray:
        """Features of inputs: (..., d) -> (..., d + D); errors as for :meth:`phi`."""
        return np.concatenate(self._products(x), axis=-1)

    def draws(self, w: np.ndarray, x: np.ndarray) -> np.ndarray:
        """What each random feature estimates by itself: (D,) for one row w (d,) and one x (d,).

        Their mean is Phi(w) Psi(x). Errors as for :meth:`phi`.
        """
        w, of_w = self._products(check_finite_array("w", w, ndim=1))
        x, of_x = self._products(check_finite_array("x", x, ndim=1))
        return float(w @ x) / 2 + self._scales() * of_w * of_x

    def _scales(self) -> np.ndarray:
        """a_k / p_k of each feature: (D,)."""
        k = self.orders
        scales = (-1.0) ** k * np.exp(self.rate - k * math.log(2 * self.rate)) / (2 * k + 1)
        return scales / math.sqrt(2 * math.pi)

    def _products(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The vectors, checked, and the product of each feature's projections: (..., D)."""
        count, depth, d = self.signs.shape
        v = check_vectors(vectors, d, d + count, depth)
        out = np.ones((*v.shape[:-1], count))
        for i in range(depth):
            used = 2 * self.orders + 2 > i
            out[..., used] *= v @ self.signs[used, i].T
        return v, out


def draw_random_maclaurin(d: int, n_features: int, rate: float, seed: int) -> RandomMaclaurin:
    """Draw ``n_features`` random features; the maps have d more, for the linear part.

    The mean order ``rate`` is positive and at most 650. The variance is least near V/2 where V of
    :func:`sign_moment` is large, and nearer V/4 where it is small.

    Raises:
        ValueError: an argument out of its range, or signs that memory should not hold.
    """
    d, n_features = check_integer("d", d, 1), check_integer("n_features", n_features, 1)
    rate = check_number("rate", rate, above=0, most=MOST_EXPONENT)
    rng = np.random.default_rng(check_integer("seed", seed))
    check_size("signs", n_features, 2, d)
    orders = rng.poisson(rate, n_features)
    shape = (n_features, 2 * int(orders.max()) + 2, d)
    check_size("signs", *shape)
    return RandomMaclaurin(orders, 2 * rng.integers(0, 2, shape, dtype=np.int8) - 1, rate)


def sign_moment(w: np.ndarray, x: np.ndarray) -> float:
    """V, the mean of (omega . w)^2 (omega . x)^2 over signs omega.

    It is (w . w)(x . x) + 2 (w . x)^2 - 2 sum w_i^2 x_i^2.

    Raises:
        ValueError: w and x are no finite vectors of one length, or too large for float64.
    """
    w, x = check_finite_array("w", w, ndim=1), check_finite_array("x", x, ndim=1)
    if w.shape != x.shape:
        raise ValueError(f"w, x: expected vectors of one length, got {w.shape} and {x.shape}")
    w, x = (check_vectors(v, len(w), 1, power=4) for v in (w, x))
    return max(0.0, float((w @ w) * (x @ x) + 2 * (w @ x) ** 2 - 2 * np.sum(w**2 * x**2)))


def draw_variance(w: np.ndarray, x: np.ndarray, rate: float) -> float:
    """Variance of one draw, in closed form; that of the mean of D draws is this over D.

    With q = V^2/(4 rate): e^rate V^2/(2 pi) sum_k q^k/(k! (2k+1)^2) less the square of the even
    part of GELU.

    Raises:
        ValueError: a rate outside (0, 650], a rate + q above that, or as for :func:`sign_moment`.
    """
    rate = check_number("rate", rate, above=0, most=MOST_EXPONENT)
    moment = sign_moment(w, x)
    if moment == 0:
        return 0.0
    q = check_number("V^2/(4 rate)", moment * (moment / rate) / 4, most=MOST_EXPONENT - rate)
    k = np.arange(int(q + 20 * math.sqrt(q) + 60))
    log_sum = logsumexp(xlogy(k, q) - gammaln(k + 1) - 2 * np.log(2 * k + 1))
    second = math.exp(rate + 2 * math.log(moment) + log_sum) / (2 * math.pi)
    return second - float(gelu_even(float(np.dot(w, x)))) ** 2
