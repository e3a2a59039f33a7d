"""Shares of gates against zonoids that can be drawn."""

from types import SimpleNamespace

import numpy as np
import pytest

from xsquared.splines import zonoid
from xsquared.splines.zonoid import depth


def test_depth_of_a_square() -> None:
    """The zonoid of two unit vectors is the unit square: a share is a coordinate."""
    for point, expected in (((0.5, 0.5), 0.5), ((0.3, 0.5), 0.3), ((0.9, 0.2), 0.1)):
        found, shares = depth(np.eye(2), np.array(point))
        assert found == pytest.approx(expected)
        np.testing.assert_allclose(shares, point)
    # As far outside as inside: the share is 1.2.
    assert depth(np.eye(2), np.array([1.2, 0.5]))[0] == pytest.approx(-0.2)


def test_depth_of_two_segments_that_add_up() -> None:
    """Of one number any shares with the right sum will do, the equal ones are best."""
    found, shares = depth(np.array([[1.0], [3.0]]), np.array([1.0]))
    assert found == pytest.approx(0.25)
    np.testing.assert_allclose(shares, [0.25, 0.25])


def test_a_programme_that_fails_names_no_shares(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failed = SimpleNamespace(x=None)
    monkeypatch.setattr(zonoid, "linprog", lambda *_, **__: failed)
    found, shares = depth(np.eye(2), np.array([0.3, 0.5]))
    assert found == -np.inf
    np.testing.assert_array_equal(shares, [0.5, 0.5])
