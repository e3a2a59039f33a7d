"""Directions of gates against a search through all of them."""

import itertools

import numpy as np
import pytest

from xsquared.functions import PAPER_TARGET
from xsquared.splines.density import equidistributed_knots
from xsquared.splines.free_knots import fit_free_knots
from xsquared.training.directions import best_directions, sign_patterns
from xsquared.units import PAPER_UNITS as UNITS
from xsquared.units import space


@pytest.mark.parametrize("unit", UNITS)
def test_best_directions_are_those_of_a_search_through_all(unit: str) -> None:
    knots = equidistributed_knots(PAPER_TARGET, space(unit), 6)
    found = best_directions(PAPER_TARGET, unit, knots, 4)
    errors = sorted(
        fit_free_knots(PAPER_TARGET, space(unit), knots, 0, np.array(ways)).rmse
        for ways in itertools.product([-1, 1], repeat=5)
    )
    reached = [fit_free_knots(PAPER_TARGET, space(unit), knots, 0, ways).rmse for ways in found]
    np.testing.assert_allclose(sorted(reached)[:3], errors[:3], rtol=1e-6)
    # The first is the best of those that open away from one cell.
    assert (np.diff(found[0]) >= 0).all()


@pytest.mark.parametrize("n", [1, 2, 5, 30, 60, 1000])
def test_combinations_of_cells_are_few_and_distinct(n: int) -> None:
    count = 0
    for chosen in sign_patterns(n):
        assert chosen.shape[1] % 2 == 1
        assert (np.diff(chosen, axis=1) > 0).all()
        assert chosen.min() >= 0
        assert chosen.max() == n - 1
        count += len(np.unique(chosen, axis=0))
    assert count <= 25_000
    if n <= 5:
        assert count == 2 ** (n - 1), "all that there are"
