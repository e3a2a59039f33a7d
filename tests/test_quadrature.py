"""Rules on cells against exact integrals."""

import numpy as np
import pytest

from xsquared.quadrature import LEAST_NODES, NODES, between, gauss_legendre, on_cells


@pytest.mark.parametrize("count", [1, 3, 8, 240])
def test_rule_is_exact_for_polynomials(count: int) -> None:
    nodes, weights = gauss_legendre(count)
    for degree in range(min(2 * count, 40)):
        assert weights @ nodes**degree == pytest.approx(1 / (degree + 1), rel=1e-12)


def test_few_cells_share_many_nodes_and_many_have_a_few_each() -> None:
    points, weights = on_cells(np.array([-1.0, -0.9, 0.3, 2.0]))
    assert points.shape == (3, LEAST_NODES // 3)
    np.testing.assert_allclose(weights.sum(axis=1), [0.1, 1.2, 1.7], rtol=1e-13)
    assert np.sum(weights * np.exp(points)) == pytest.approx(
        np.e**2 - np.exp(-1), rel=1e-13
    )
    assert on_cells(np.linspace(0, 1, 501))[0].shape == (500, NODES)
    assert on_cells(np.linspace(0, 1, 501), nodes=12)[0].shape == (500, 12)


def test_knots_inside_cut_an_interval_and_others_do_not() -> None:
    points, weights = between((-1.0, 1.0), np.array([3.0, 0.2, -1.0, 0.2, -0.5]))
    expected = on_cells(np.array([-1.0, -0.5, 0.2, 1.0]))
    np.testing.assert_array_equal(points, expected[0].ravel())
    # Exact for what bends at the knots.
    assert weights @ np.abs(points - 0.2) == pytest.approx(1.04, rel=1e-14)
