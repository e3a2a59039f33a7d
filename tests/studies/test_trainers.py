"""Targets have the noise and the points that are said, and rates are chosen inside
their grid.
"""

import numpy as np
import pytest

from xsquared.studies.sweep import attempt
from xsquared.studies.trainers import GROUPS, draw_points, run_trainers, trainer_trials


@pytest.mark.parametrize("group", GROUPS)
def test_targets_that_are_stacked_have_as_many_inputs_and_points(group: str) -> None:
    made = [draw_points(name, group, 0) for name in GROUPS[group]]
    assert len({data.train.x.shape for data in made}) == 1
    assert all(abs(data.train.y.std() - 1) < 0.05 for data in made)


def test_noise_is_where_networks_are_trained_and_chosen_alone() -> None:
    noisy, clean = (draw_points(name, "2 inputs", 3) for name in ("noisy", "smooth"))
    for part, noise in (("train", 0.1), ("validation", 0.1), ("test", 0.0)):
        added = getattr(noisy, part).y - getattr(clean, part).y
        assert added.std() == pytest.approx(noise, rel=0.1, abs=1e-12)


def test_a_grid_of_rates_grows_until_its_best_is_inside() -> None:
    few = {"1 input": ("smooth",)}
    (trial,) = trainer_trials(("mlp",), few, (20,), 1, steps=100, rates=[1e-4])
    row = attempt(run_trainers, trial)
    assert np.log(row["rate"][0] / 1e-4) / np.log(3) > 3
    assert row["solved_rmse"][0] < row["test_rmse"][0]
