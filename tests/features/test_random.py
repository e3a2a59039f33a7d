"""Unbiased in the statistical sense, with the variance that a closed form gives."""

import math
from itertools import product

import numpy as np
import pytest

from xsquared.features.polynomials import gelu, series_coefficients, taylor_gelu
from xsquared.features.random import draw_random_maclaurin, draw_variance, sign_moment

DRAWS = 200_000
#: Rows w and inputs x of several dimensions, with w . x near 0.5, 1.2 and -1.1.
PAIRS = [
    (np.array([1.0, -0.5]), np.array([0.8, 0.6])),
    (np.array([0.9, 0.3, -0.7]), np.array([1.0, 0.2, -0.3])),
    (np.array([1.1, 0.2, 0.4]), np.array([-1.0, 0.1, -0.1])),
]


@pytest.mark.parametrize(("w", "x"), PAIRS, ids=["d2", "d3", "d3-negative"])
@pytest.mark.parametrize(
    "factors", [0.7, np.array([0.4, 0.8, 1.3])], ids=["one V", "many"]
)
@pytest.mark.parametrize("exact", [0, 2])
def test_draws_have_gelu_as_mean_and_the_variance_of_the_closed_form(
    w: np.ndarray, x: np.ndarray, factors: float | np.ndarray, exact: int
) -> None:
    """Of short rows: the larger V, the heavier the tails of a sampled variance."""
    w = 0.7 * w
    moment = factors * sign_moment(w, x)
    maps = draw_random_maclaurin(len(w), DRAWS, moment, 3, exact)
    found = maps.draws(w, x)
    assert found.var() == pytest.approx(draw_variance(w, x, moment, exact), rel=0.15)
    assert abs(found.mean() - gelu(w @ x)) < 4 * found.std() / math.sqrt(DRAWS)
    expected = maps.psi(x[None]) @ maps.phi(w[None]).T
    assert found.mean() == pytest.approx(expected.item(), rel=1e-9)


@pytest.mark.parametrize("exact", [0, 2])
def test_the_law_of_many_moments_has_the_least_mean_variance(exact: int) -> None:
    """It is the square of the sum of abs(a_k) sqrt(E V^(2k+2)), less what the exact
    part leaves.

    No single V comes near, nor does a law between that of the best V and this one.
    """
    both = np.random.default_rng(4).normal(size=(60, 2, 4))
    both *= 1.4 / np.linalg.norm(both, axis=2, keepdims=True)
    moments = np.array([sign_moment(w, x) for w, x in both])
    a = np.abs(series_coefficients(40)[2::2])[exact:]
    means = np.array([np.mean(moments ** (2 * k + 2)) for k in range(exact, 40)])
    left = np.mean([(gelu(w @ x) - taylor_gelu(w @ x, exact)) ** 2 for w, x in both])
    least = np.mean([draw_variance(w, x, moments, exact) for w, x in both])
    assert least == pytest.approx(np.sum(a * np.sqrt(means)) ** 2 - left, rel=1e-10)
    for single in np.linspace(1, 12, 12):
        assert (
            np.mean([draw_variance(w, x, single, exact) for w, x in both])
            > 1.001 * least
        )
    law = a * np.sqrt(means) / np.sum(a * np.sqrt(means))
    for share in (0.05, -0.05):
        other = law * (1 + share * np.linspace(-1, 1, len(law)))
        assert np.sum(a**2 * means / other * np.sum(other)) - left > least


def test_sign_moment_by_enumeration() -> None:
    w, x = PAIRS[1]
    signs = np.array(list(product((1, -1), repeat=3)))
    assert sign_moment(w, x) == pytest.approx(
        np.mean((signs @ w) ** 2 * (signs @ x) ** 2)
    )
