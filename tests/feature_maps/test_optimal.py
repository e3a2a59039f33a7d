"""The best maps of m features against a brute-force decomposition and against Monte Carlo."""

from __future__ import annotations

import math

import numpy as np
import pytest

from xsquared.feature_maps.optimal import (
    ClosedMap,
    best_mse,
    features_needed,
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


@pytest.mark.parametrize("d", [2, 5, 16])
def test_second_moment_by_sampling(d: int) -> None:
    _, _, y = sample(d)
    assert second_moment(d) == pytest.approx(np.mean(y**2), rel=0.02)


@pytest.mark.parametrize("name", ["affine", "radial", "quadratic"])
@pytest.mark.parametrize("d", [2, 4, 16])
def test_closed_maps_have_their_error_and_no_map_is_better_than_the_best(name, d: int) -> None:
    w, x, y = sample(d, 40_000)
    closed = ClosedMap(name, d)
    features = closed.phi(w), closed.psi(x)
    assert features[0].shape == features[1].shape == (40_000, closed.dimension)
    error = (features[0] * features[1]).sum(axis=-1) - y
    assert closed.mse() == pytest.approx(np.mean(error**2), rel=0.06)
    assert closed.mse() >= best_mse(d, closed.dimension) - 1e-12


def test_radial_and_quadratic_maps_are_within_a_hundredth_of_the_best() -> None:
    for name in ("radial", "quadratic"):
        closed = ClosedMap(name, 16)
        assert closed.mse() < 1.01 * best_mse(16, closed.dimension)


def test_dimensions() -> None:
    assert [ClosedMap(n, 16).dimension for n in ("affine", "radial", "quadratic")] == [17, 17, 152]


def test_affine_map_meets_the_papers_loss_with_seventeen_features() -> None:
    assert ClosedMap("affine", 16).mse() == pytest.approx(1.64, abs=0.005)
    assert ClosedMap("affine", 16).mse() < 2.013


@pytest.mark.parametrize("d", [2, 16])
def test_features_needed_is_the_smallest_number(d: int) -> None:
    m = features_needed(d, 0.2)
    assert best_mse(d, m) <= 0.2 < best_mse(d, m - 1)


def test_more_features_never_hurt() -> None:
    errors = [best_mse(16, m) for m in range(0, 200, 10)]
    assert errors[0] == pytest.approx(second_moment(16))
    assert (np.diff(errors) < 0).all()


@pytest.mark.parametrize(("d", "degree", "count"), [(2, 0, 1), (2, 6, 2), (3, 4, 9), (16, 2, 135)])
def test_harmonics(d: int, degree: int, count: int) -> None:
    assert harmonics(d, degree) == count
    if degree == 2:
        assert count == math.comb(d + 1, 2) - 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ClosedMap("cubic", 3), "name must be affine, radial or quadratic, got 'cubic'"),
        (lambda: ClosedMap("affine", 1), "d must be an integer of at least 2, got 1"),
        (lambda: ClosedMap("affine", 3).psi(np.ones(2)), r"last dimension of 3, got shape \(2,\)"),
        (lambda: second_moment(0), "d must be an integer of at least 2, got 0"),
        (lambda: best_mse(2, -1), "m must be an integer from 0 to"),
        (lambda: features_needed(2, -1.0), "features are not enough for -1 at d = 2"),
    ],
)
def test_bad_input_is_refused(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
