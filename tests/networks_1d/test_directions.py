"""Directions of gates against a search through all of them."""

import itertools

import numpy as np
import pytest

from xsquared.functions import PAPER_TARGET, target
from xsquared.networks_1d.directions import best_directions
from xsquared.splines.density import equidistributed_knots
from xsquared.splines.free_knots import fit_free_knots, fit_stacked
from xsquared.splines.zonoid import network_depth
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
