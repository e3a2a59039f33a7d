"""References for the noise in data, on data whose noise is known."""

from __future__ import annotations

import numpy as np
import pytest

from xsquared.data.problems import Points, from_arrays, load
from xsquared.noise import boosted_rmse, neighbour_noise


def test_neighbours_find_the_noise_of_repeated_rows() -> None:
    draw = np.random.default_rng(0)
    x = np.repeat(draw.standard_normal((2000, 3)), 2, axis=0)
    y = x[:, 0] ** 2 + 0.3 * draw.standard_normal(4000)
    found, same = neighbour_noise(Points(x, y))
    assert found == pytest.approx(0.3, rel=0.05)
    assert same == 1


def test_neighbours_that_are_merely_near_bound_it_from_above() -> None:
    draw = np.random.default_rng(1)
    x = draw.uniform(-1, 1, (3000, 2))
    noise = 0.2 * draw.standard_normal(3000)
    found, same = neighbour_noise(Points(x, np.sin(2 * x[:, 0]) + noise))
    assert 0.19 < found < 0.25
    assert same == 0
    with pytest.raises(ValueError, match="at least 2 points, got 1"):
        neighbour_noise(Points(x[:1], noise[:1]))


def test_trees_reach_the_noise_and_no_less() -> None:
    draw = np.random.default_rng(2)
    x = draw.uniform(-1, 1, (2000, 2))
    data = from_arrays(x, x[:, 0] + 0.5 * draw.standard_normal(2000), seed=3)
    share = 0.5 / data.target_scale
    assert share < boosted_rmse(data, rounds=30) < 1.2 * share


def test_trees_are_reproducible() -> None:
    data = load("airfoil", 0)
    assert boosted_rmse(data, 5) == boosted_rmse(data, 5)
