"""Peers reach what is theirs, and choose on validation points."""

import numpy as np
import pytest

from xsquared.studies import peers
from xsquared.studies.peers import METHODS, _run_peer, choices, peer_trials
from xsquared.studies.trainer_targets import GROUPS, draw_points


def test_splines_find_a_cubic() -> None:
    x = np.random.default_rng(0).uniform(-1.7, 1.7, (1000, 1))
    at = np.linspace(-1.6, 1.6, 50)
    splines = choices("splines", x, x[:, 0] ** 3 - x[:, 0], 7)
    errors = [abs(spline(at[:, None]) - at**3 + at).max() for spline in splines]
    assert min(errors) < 1e-8


def test_each_target_has_every_peer_that_is_for_it() -> None:
    trials = peer_trials()
    several = {trial["solver"] for trial in trials if trial["problem"] != "1 input"}
    assert several == {*METHODS} - {"splines"}
    targets = sum(map(len, GROUPS.values()))
    assert len(trials) == targets * len(several) + len(GROUPS["1 input"])


def test_validation_points_choose_and_have_noise_where_training_has() -> None:
    trials = [trial for trial in peer_trials() if trial["solver"] == "splines"]
    rows = {trial["settings"]["target"]: _run_peer(trial) for trial in trials}
    assert rows["smooth"]["test_rmse"] < 1e-4
    noisy = rows["noisy"]
    assert 0.08 < noisy["validation_rmse"] < 0.12  # the noise
    assert noisy["test_rmse"] < 0.03  # judged without it; 208 cells would have 0.05
    assert noisy["train_rmse"] > 0.08


def test_predictions_are_confined_to_the_widened_range(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(peers, "choices", lambda *_: [lambda x: np.full(len(x), 1e9)])
    trial = peer_trials()[0]
    data = draw_points(trial["settings"]["target"], trial["problem"], trial["seed"])
    highest = data.train.y.max() + 0.1 * np.ptp(data.train.y)
    wanted = np.sqrt(np.mean((highest - data.test.y) ** 2))
    assert _run_peer(trial)["test_rmse"] == pytest.approx(wanted)
