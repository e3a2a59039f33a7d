"""Directions of gates against a search through all of them; their shares against
zonoids that can be drawn.
"""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from xsquared.functions import PAPER_TARGET, target
from xsquared.networks_1d import directions
from xsquared.networks_1d.directions import best_directions, depth, network_depth
from xsquared.splines.density import equidistributed_knots
from xsquared.splines.free_knots import fit_free_knots, fit_stacked
from xsquared.units import PAPER_UNITS as UNITS
from xsquared.units import space


@pytest.mark.parametrize("unit", UNITS)
def test_best_directions_are_those_of_a_search_through_all(unit: str) -> None:
    knots = equidistributed_knots(PAPER_TARGET, space(unit), 6)
    found = best_directions(PAPER_TARGET, unit, knots, 4)

    def errors_of(directions: np.ndarray) -> list[float]:
        starts = np.tile(knots, (len(directions), 1))
        splines = fit_stacked(PAPER_TARGET, space(unit), starts, 0, directions)
        return sorted(spline.rmse for spline in splines)

    errors = errors_of(np.array([*itertools.product([-1, 1], repeat=5)]))
    reached = errors_of(np.array(found))
    np.testing.assert_allclose(reached[:3], errors[:3], rtol=1e-6)
    # The first is the best of those that open away from one cell.
    assert (np.diff(found[0]) >= 0).all()


@pytest.mark.parametrize("n", [20, 24])
def test_wide_gqus_lose_little_to_their_directions(n: int) -> None:
    """Three conditions need combinations of many cells: of a few they cost a tenth."""
    knots = equidistributed_knots(f := target("sin(4*x)"), space("gqu"), n + 1)
    free = fit_free_knots(f, space("gqu"), knots)
    ways = best_directions(f, "gqu", free.knots, 8)
    starts = np.tile(free.knots, (len(ways), 1))
    splines = fit_stacked(f, space("gqu"), starts, 25, np.array(ways))
    assert min(spline.rmse for spline in splines) < 1.02 * free.rmse


def test_a_programme_decides_whether_a_cell_is_lost() -> None:
    deep = [network_depth(target(f"sin(4*x) + {c}*x"), 2) for c in (10, 12.1)]
    assert deep[0] == pytest.approx(0.107, abs=1e-3)
    assert max(deep[1], network_depth(target("x**2"), 3)) < 0


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
    monkeypatch.setattr(directions, "linprog", lambda *_, **__: failed)
    found, shares = depth(np.eye(2), np.array([0.3, 0.5]))
    assert found == -np.inf
    np.testing.assert_array_equal(shares, [0.5, 0.5])
