"""Rules on cells against exact integrals."""

import numpy as np
import pytest

from xsquared.quadrature import LEAST_NODES, NODES, between, gauss_legendre, on_cells


@pytest.mark.parametrize("count", [1, 3, 8, 240])
def test_rule_is_exact_for_polynomials(count: int) -> None:
    nodes, weights = gauss_legendre(count)
    for degree in range(min(2 * count, 40)):
        assert weights @ nodes**degree == pytest.approx(1 / (degree + 1), rel=1e-12)


def test_rules_are_shared_and_cannot_be_written() -> None:
    nodes, _ = gauss_legendre(5)
    assert gauss_legendre(5)[0] is nodes
    with pytest.raises(ValueError, match="read-only"):
        nodes[0] = 0.0


def test_points_lie_in_their_cells_and_weights_sum_to_the_widths() -> None:
    edges = np.array([-1.0, -0.9, 0.3, 2.0])
    points, weights = on_cells(edges)
    assert points.shape == (3, LEAST_NODES // 3)
    assert ((points > edges[:-1, None]) & (points < edges[1:, None])).all()
    np.testing.assert_allclose(weights.sum(axis=1), np.diff(edges), rtol=1e-13)
    assert np.sum(weights * np.exp(points)) == pytest.approx(np.e**2 - np.exp(-1), rel=1e-13)


def test_many_cells_have_the_nodes_asked_for() -> None:
    assert on_cells(np.linspace(0, 1, 501))[0].shape == (500, NODES)
    assert on_cells(np.linspace(0, 1, 501), nodes=12)[0].shape == (500, 12)


def test_knots_inside_cut_an_interval_and_others_do_not() -> None:
    points, weights = between((-1.0, 1.0), np.array([3.0, 0.2, -1.0, 0.2, -0.5]))
    edges = np.array([-1.0, -0.5, 0.2, 1.0])
    expected = on_cells(edges)
    np.testing.assert_array_equal(points, expected[0].ravel())
    np.testing.assert_array_equal(weights, expected[1].ravel())
    # Exact for what bends at the knots.
    assert weights @ np.abs(points - 0.2) == pytest.approx(1.04, rel=1e-14)
