"""Peers reach what is theirs, choose on validation points, and are judged as networks are."""

import numpy as np
import pytest

from xsquared_studies import rows
from xsquared_studies.committed import TOLERANCE
from xsquared_studies.peers import METHODS, OURS, choices, peer_trials, run_peer
from xsquared_studies.sweep import trial_key
from xsquared_studies.which_unit import KINDS, SIZES


def test_splines_find_a_cubic() -> None:
    x, at = np.random.default_rng(0).uniform(-1.7, 1.7, (1000, 1)), np.linspace(-1.6, 1.6, 50)
    found = choices("splines", x, x[:, 0] ** 3 - x[:, 0], 7)
    assert min(abs(predict(at[:, None]) - at**3 + at).max() for predict in found) < 1e-8


def test_each_target_has_every_peer_that_is_for_it_and_four_units() -> None:
    trials = peer_trials()
    assert len(trials) == len(KINDS) * (len(SIZES) * (len(OURS) + len(METHODS)) - 2)
    several = {t["solver"] for t in trials if t["settings"]["inputs"] > 1}
    assert several == {"varpro", *METHODS} - {"splines"}


def test_validation_points_choose_and_have_noise_where_training_has() -> None:
    wanted = [trial for trial in peer_trials() if trial["solver"] == "splines"]
    kinds = {trial["settings"]["kind"]: run_peer(trial) for trial in wanted}
    assert kinds["smooth"]["test_rmse"] < 1e-4
    noisy = kinds["noisy"]
    assert 0.08 < noisy["validation_rmse"] < 0.12  # the noise
    assert noisy["test_rmse"] < 0.03  # judged without it; 208 cells would have 0.05
    assert noisy["train_rmse"] > 0.08
    committed = rows("peers").set_index("key")["test_rmse"]
    for trial in wanted:
        row = kinds[trial["settings"]["kind"]]
        assert row["test_rmse"] == pytest.approx(committed[trial_key(trial)], rel=TOLERANCE)
