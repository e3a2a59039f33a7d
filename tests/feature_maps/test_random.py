"""Unbiased in the statistical sense: a z-test that the estimator passes and a biased twin fails."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.polynomial.polynomial import polyval

from xsquared.feature_maps.polynomials import chebyshev_fit
from xsquared.feature_maps.random import (
    draw_random_maclaurin,
    draw_sketch,
    draw_variance,
    sign_moment,
)
from xsquared.feature_maps.series import gelu, taylor_gelu

DRAWS = 200_000
#: Rows w and inputs x of several dimensions, with w . x near 0.5, 1.2, -1.1 and 1.2.
PAIRS = [
    (np.array([1.0, -0.5]), np.array([0.8, 0.6])),
    (np.array([0.9, 0.3, -0.7]), np.array([1.0, 0.2, -0.3])),
    (np.array([1.1, 0.2, 0.4]), np.array([-1.0, 0.1, -0.1])),
    (np.full(6, 0.4), np.array([0.6, 0.5, 0.5, 0.4, 0.6, 0.4])),
]


def z_score(w: np.ndarray, x: np.ndarray, seed: int, cut: int | None = None) -> float:
    """Distance of the mean of all draws from GELU, in standard deviations known in closed form."""
    rate = sign_moment(w, x) / 2
    draws = draw_random_maclaurin(len(w), DRAWS, rate, seed, cut).draws(w, x)
    deviation = math.sqrt(draw_variance(w, x, rate) / DRAWS)
    return float((draws.mean() - gelu(w @ x)) / deviation)


@pytest.mark.parametrize(("w", "x"), PAIRS, ids=["d2", "d3", "d3-negative", "d6"])
def test_mean_is_gelu(w: np.ndarray, x: np.ndarray) -> None:
    assert abs(z_score(w, x, seed=11)) < 3.5


@pytest.mark.parametrize(("w", "x"), PAIRS[1::2], ids=["d3", "d6"])
def test_a_biased_twin_fails_the_same_test(w: np.ndarray, x: np.ndarray) -> None:
    """Without its orders from 1 on the estimator's mean is the series of one term."""
    assert abs(z_score(w, x, seed=11, cut=1)) > 7


def test_cut_estimator_has_the_cut_series_as_mean() -> None:
    w, x = PAIRS[1]
    rate = sign_moment(w, x) / 2
    draws = draw_random_maclaurin(3, DRAWS, rate, 5, cut=2).draws(w, x)
    deviation = math.sqrt(draw_variance(w, x, rate) / DRAWS)
    assert abs(draws.mean() - taylor_gelu(w @ x, 2)) < 4 * deviation


@pytest.mark.parametrize(("w", "x"), PAIRS, ids=["d2", "d3", "d3-negative", "d6"])
@pytest.mark.parametrize("factor", [0.5, 0.8])
def test_variance_is_the_closed_form(w: np.ndarray, x: np.ndarray, factor: float) -> None:
    """Shorter rows than above: the larger V, the heavier the tails of a sampled variance."""
    w = 0.7 * w
    rate = factor * sign_moment(w, x)
    draws = draw_random_maclaurin(len(w), DRAWS, rate, 3).draws(w, x)
    assert draws.var() == pytest.approx(draw_variance(w, x, rate), rel=0.1)


def test_variance_is_least_near_half_the_moment_where_that_is_large() -> None:
    w, x = 3 * PAIRS[3][0], PAIRS[3][1]
    moment = sign_moment(w, x)
    rates = moment * np.linspace(0.1, 1.5, 60)
    best = rates[np.argmin([draw_variance(w, x, rate) for rate in rates])]
    assert 0.4 < best / moment < 0.6


def test_sign_moment_by_enumeration() -> None:
    w, x = PAIRS[1]
    signs = np.array([[a, b, c] for a in (1, -1) for b in (1, -1) for c in (1, -1)])
    assert sign_moment(w, x) == pytest.approx(np.mean((signs @ w) ** 2 * (signs @ x) ** 2))


def test_product_of_maps_is_the_mean_of_the_draws() -> None:
    rng = np.random.default_rng(2)
    W, x = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    maps = draw_random_maclaurin(3, 50, 1.5, 8)
    product = maps.psi(x) @ maps.phi(W).T
    assert maps.psi(x).shape == (5, 53)
    expected = [[maps.draws(w, v).mean() for w in W] for v in x]
    np.testing.assert_allclose(product, expected, rtol=1e-9)


def test_no_variance_where_the_input_vanishes() -> None:
    assert draw_variance(np.ones(2), np.zeros(2), 1.0) == 0.0


def test_sketches_are_unbiased_for_their_polynomial_and_improve() -> None:
    rng = np.random.default_rng(4)
    W, x = rng.normal(size=(3, 6)) / 3, rng.normal(size=(20, 6)) / 2
    c = chebyshev_fit(6, 3.0)
    exact = polyval(x @ W.T, c)
    products = {}
    for m in (24, 384):
        maps = [draw_sketch(6, c, m, seed) for seed in range(0, 600, 6)]
        products[m] = np.array([s.psi(x) @ s.phi(W).T for s in maps])
    few, many = (np.sqrt(np.mean((p - exact) ** 2)) for p in products.values())
    assert many < few / 2
    deviation = products[384].std(axis=0) / 10
    assert (np.abs(products[384].mean(axis=0) - exact) < 5 * deviation).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: draw_random_maclaurin(0, 4, 1.0, 0), "d must be an integer of at least 1, got 0"),
        (lambda: draw_random_maclaurin(2, 0, 1.0, 0), "n_features must be an integer of at least"),
        (lambda: draw_random_maclaurin(2, 4, 0.0, 0), "rate must be positive and finite, got 0"),
        (lambda: draw_random_maclaurin(2, 4, 1.0, 0, cut=0), "cut must be at least 1 or None"),
        (lambda: draw_random_maclaurin(10**9, 4, 1.0, 0), "would not fit in"),
        (lambda: draw_random_maclaurin(2, 4, 1.0, 0).phi(np.ones((3, 3))), r"shape \(n, 2\), got"),
        (lambda: sign_moment(np.ones(2), np.ones(3)), "two vectors of one length"),
        (lambda: draw_variance(np.ones(2), np.ones(2), -1.0), "rate must be positive"),
        (lambda: draw_sketch(3, np.array([0, 0.5]), 8, 0), "a power beyond the linear"),
        (lambda: draw_sketch(3, np.ones(5), 2, 0), "expected at least 3 features, got 2"),
    ],
)
def test_bad_input_is_refused(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
