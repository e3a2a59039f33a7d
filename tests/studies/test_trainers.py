"""Trainers: targets by their formulas, sizes, rates, and what is judged."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from tests.data import raw, unscaled
from xsquared.data import Dataset, Points
from xsquared.studies import trainers
from xsquared.studies.sweep import Trial, attempt
from xsquared.studies.trainer_targets import GROUPS, draw_points
from xsquared.studies.trainers import SIZES, UNITS, _run_trainers, trainer_trials
from xsquared.units import GatedNetwork, build, find_unit, parameter_count

SMOOTH = {"1 input": ("smooth",)}


@pytest.mark.parametrize("group", GROUPS)
def test_targets_that_are_stacked_have_as_many_inputs_and_points(group: str) -> None:
    every = [draw_points(name, group, 0) for name in GROUPS[group]]
    assert len({data.train.x.shape for data in every}) == 1
    assert all(abs(data.train.y.std() - 1) < 0.05 for data in every)


def test_noise_is_where_networks_are_trained_and_chosen_alone() -> None:
    noisy, clean = (draw_points(name, "2 inputs", 3) for name in ("noisy", "smooth"))
    for part, noise in (("train", 0.1), ("validation", 0.1), ("test", 0.0)):
        added = getattr(noisy, part).y - getattr(clean, part).y
        assert added.std() == pytest.approx(noise, rel=0.1, abs=1e-12)


def test_targets_of_several_inputs_are_sums_of_ridges_of_length_one() -> None:
    x, y = raw(draw_points("oscillating", "2 inputs", 5), "test")
    # A sum of sin(6 w x) with |w| = 1 solves Laplace f = -36 f, as do such waves of 60
    # angles; on the square these span it, and nothing of another length.
    angles = np.pi * np.arange(60) / 60
    waves = np.sin(6 * (x[:2000] @ [np.cos(angles), np.sin(angles)]))
    weights = np.linalg.lstsq(waves, y[:2000], rcond=1e-10)[0]
    np.testing.assert_allclose(waves @ weights, y[:2000], atol=1e-6)


def test_a_grid_of_rates_grows_until_its_best_is_inside() -> None:
    (trial,) = trainer_trials(("mlp",), SMOOTH, (20,), 1, steps=100, rates=[1e-4])
    row = attempt(_run_trainers, trial)
    assert np.log(row["rate"][0] / 1e-4) / np.log(3) > 3
    assert row["solved_rmse"][0] < row["test_rmse"][0]


def test_pilots_choose_the_rate_by_their_mean_log_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A mean of errors would choose 0.01.
    errors = {0.01: (0.1, 0.1), 0.03: (1e-4, 1.0), 0.1: (0.1, 0.1)}
    pilots = (1000, 1001)

    def train(
        _: Trial, __: GatedNetwork, cases: Sequence[tuple[str, int, float]]
    ) -> Sequence[tuple[str, int, float]]:
        return cases

    def error(
        _: GatedNetwork, case: tuple[str, int, float], data: Dataset, points: Points
    ) -> float:
        name, seed, rate = case
        assert (
            points is draw_points(name, "1 input", seed).validation is data.validation
        )
        return errors.get(rate, (9.0, 9.0))[pilots.index(seed)]

    monkeypatch.setattr(trainers, "train", train)
    monkeypatch.setattr(trainers, "_error", error)
    (trial,) = trainer_trials(("mlp",), SMOOTH, (20,), 1, rates=[*errors])
    assert trainers.choose_rates(trial, build("mlp", 1, 6)) == {"smooth": 0.03}


def test_units_have_the_neurons_that_come_closest_to_a_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trainers, "train", lambda *_: [None])
    monkeypatch.setattr(trainers, "choose_rates", lambda *_: {"friedman1": 0.01})
    monkeypatch.setattr(trainers, "_judge", lambda *_: {})
    for trial in trainer_trials(UNITS, {"5 inputs": ("friedman1",)}, SIZES, 1):
        row = _run_trainers(trial)
        unit = find_unit(trial["unit"], trial["gate"])
        counts = np.array([parameter_count(unit, 5, n) for n in range(1, 300)])
        closest = [counts[np.argmin(abs(counts - size))] for size in SIZES]
        assert row["parameters"] == closest


def test_validation_points_choose_the_ridge_of_a_solve() -> None:
    draw = np.random.default_rng(0)
    module = build("mlp", 1, 6, generator=torch.Generator().manual_seed(0))
    x, y = draw.uniform(-1, 1, (20, 1)), draw.normal(size=20)

    def features(x: np.ndarray) -> np.ndarray:
        weight, bias = module.G.detach().numpy(), module.g.detach().numpy()
        return np.column_stack([np.maximum(x @ weight.T + bias, 0), np.ones(len(x))])

    def solved(at: np.ndarray, ridge: float) -> np.ndarray:
        """Least squares of F c - y and sqrt(ridge) |F_j| c_j, at other points."""
        columns = features(x)
        penalty = np.diag(np.sqrt(ridge) * np.linalg.norm(columns, axis=0))
        values = np.append(y, np.zeros(columns.shape[1]))
        weights = np.linalg.lstsq(np.vstack([columns, penalty]), values, rcond=None)[0]
        return features(at) @ weights

    # What the largest ridge predicts is right on validation points, and what the
    # smallest does on the test points.
    at = draw.uniform(-1, 1, (50, 1))
    validation, test = Points(at, solved(at, 1e-2)), Points(at, solved(at, 1e-14))
    weights = torch.cat([p.detach().flatten() for p in module.parameters()])
    data = unscaled(Points(x, y), validation, test)
    errors = trainers._judge(module, weights, data)
    apart = np.sqrt(np.mean((validation.y - test.y) ** 2))
    assert apart > 1e-3
    assert errors["solved_rmse"] == pytest.approx(apart, rel=1e-6)
