"""The best maps of m features against a brute-force decomposition and against Monte Carlo."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2

from xsquared.feature_maps.optimal import (
    ClosedMap,
    best_mse,
    harmonics,
    second_moment,
    singular_values,
)
from xsquared.feature_maps.series import gelu


def sample(d: int, n: int = 200_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(d)
    w, x = rng.normal(size=(n, d)), rng.normal(size=(n, d))
    return w, x, gelu((w * x).sum(axis=-1))


def test_singular_values_are_those_of_the_whole_operator() -> None:
    """In two dimensions it fits on a tensor grid of Gauss-Hermite nodes, symmetry unused.

    The grid's own error is some 5e-4, seen in its pairs of values that ought to be equal.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(32)
    weights /= weights.sum()
    points = np.array([(a, b) for a in nodes for b in nodes])
    root = np.sqrt(np.outer(weights, weights).ravel())
    values = np.linalg.svd(root[:, None] * gelu(points @ points.T) * root, compute_uv=False)
    np.testing.assert_allclose(singular_values(2)[:20], values[:20], atol=6e-4)
    np.testing.assert_allclose(singular_values(2)[:5], values[:5], atol=1e-4)


@pytest.mark.parametrize("d", [2, 3])
def test_squares_of_all_singular_values_are_the_second_moment(d: int) -> None:
    assert np.sum(singular_values(d) ** 2) == pytest.approx(second_moment(d), rel=1e-5)


@pytest.mark.parametrize("d", [2, 5, 16, 300, 4096])
def test_second_moment_is_that_of_a_normal_variable_averaged_over_its_deviation(d: int) -> None:
    """Given x, w . x is normal and its deviation the length of x, whose square is chi-squared."""

    def given_square(v: float) -> float:
        angle = v * math.asin(v / (1 + v)) / (2 * math.pi)
        return v / 4 + angle + v**2 / (math.pi * (1 + v) * math.sqrt(1 + 2 * v))

    spread = math.sqrt(2 * d)
    expected = chi2(d).expect(given_square, lb=max(0, d - 9 * spread), ub=d + 9 * spread + 99)
    _, _, y = sample(5)
    assert np.mean(y**2) == pytest.approx(chi2(5).expect(given_square), rel=0.02)
    assert second_moment(d) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("name", ["affine", "radial", "quadratic"])
@pytest.mark.parametrize("d", [2, 4, 16])
def test_closed_maps_have_their_error_and_no_map_is_better_than_the_best(name, d: int) -> None:
    w, x, y = sample(d, 40_000)
    closed = ClosedMap(name, d)
    features = closed.phi(w), closed.psi(x)
    assert features[0].shape == features[1].shape == (40_000, closed.dimension)
    error = (features[0] * features[1]).sum(axis=-1) - y
    assert closed.mse() == pytest.approx(np.mean(error**2), rel=0.06)
    assert closed.mse() >= best_mse(d)[closed.dimension] - 1e-12


def test_radial_and_quadratic_maps_are_within_a_hundredth_of_the_best() -> None:
    for name in ("radial", "quadratic"):
        closed = ClosedMap(name, 16)
        assert closed.mse() < 1.01 * best_mse(16)[closed.dimension]


def test_dimensions() -> None:
    assert [ClosedMap(n, 16).dimension for n in ("affine", "radial", "quadratic")] == [17, 17, 152]


def test_affine_map_meets_the_papers_loss_with_seventeen_features() -> None:
    assert ClosedMap("affine", 16).mse() == pytest.approx(1.64, abs=0.005)
    assert ClosedMap("affine", 16).mse() < 2.013


def test_more_features_never_hurt() -> None:
    errors = best_mse(16)
    assert errors[0] == second_moment(16)
    assert len(errors) == len(singular_values(16)) + 1
    assert (np.diff(errors[:200]) < 0).all()
    assert (np.diff(errors) <= 0).all()


@pytest.mark.parametrize("d", [300, 344, 4096])
def test_large_dimensions_do_not_overflow(d: int) -> None:
    """There lengths and angles concentrate: z is normal with deviation sqrt(d), nearly."""
    errors = best_mse(d)
    assert np.isfinite(errors).all()
    assert errors[0] == second_moment(d)
    radial = ClosedMap("radial", d).mse()
    missing = max(0, d + 1 - 4000) / 4  # of the values 1/2, which are not all listed
    assert 0 <= radial + missing - errors[min(d + 1, 4000)] < 1e-4 * radial


def test_the_vector_zero_has_features_and_predicts_zero() -> None:
    closed = ClosedMap("quadratic", 3)
    assert not closed.phi(np.zeros(3)).any()
    assert not closed.psi(np.zeros((1, 3))).any()


@pytest.mark.parametrize(("d", "degree", "count"), [(2, 0, 1), (2, 6, 2), (3, 4, 9), (16, 2, 135)])
def test_harmonics(d: int, degree: int, count: int) -> None:
    assert harmonics(d, degree) == count
    if degree == 2:
        assert count == math.comb(d + 1, 2) - 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ClosedMap("cubic", 3), "name: expected affine, radial or quadratic, got 'cubic'"),
        (lambda: ClosedMap("affine", 1), "d: expected an integer from 2 to 10000, got 1"),
        (lambda: ClosedMap("affine", 3).psi(np.ones(2)), r"shape \(\.\.\., 3\), got \(2,\)"),
        (lambda: ClosedMap("radial", 3).psi([1.0, 2.0, math.nan]), "vectors: .* got nan at index"),
        (
            lambda: ClosedMap("quadratic", 3).phi(np.full(3, 1e160)),
            "expected entries below .* got 1e",
        ),
        (lambda: ClosedMap("quadratic", 10_000).psi(np.ones((3, 10_000))), "features: expected at"),
        (lambda: second_moment(0), "d: expected an integer from 2 to 10000, got 0"),
        (lambda: best_mse(10**9), "d: expected an integer from 2 to 10000, got 1000000000"),
    ],
)
def test_bad_input_is_refused(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
