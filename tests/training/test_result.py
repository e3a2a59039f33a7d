"""Statuses say what happened and what to try."""

from __future__ import annotations

from typing import get_args, get_type_hints

import numpy as np
import pytest

from xsquared.splines.free_knots import FreeKnotSpline
from xsquared.training import Newton
from xsquared.training.result import STATUSES, Fit, Trained
from xsquared.training.variable_projection import ProjectedFit
from xsquared.units import build


def test_every_status_has_words() -> None:
    assert set(STATUSES) == {
        "converged",
        "iterations",
        "stalled",
        "diverged",
        "failed",
        "inexact",
    }
    for word, status in STATUSES.items():
        assert status.word == word
        assert status.cause
        assert status.remedy


@pytest.mark.parametrize("run", [FreeKnotSpline, ProjectedFit])
def test_every_descents_status_is_known(run: type) -> None:
    assert set(get_args(get_type_hints(run)["status"])) <= set(STATUSES)


def test_a_run_that_ended_before_there_was_a_network_has_nothing_to_show() -> None:
    run = Fit(STATUSES["failed"], 0.1, Newton(), 0)
    assert run.network is run.closest is None
    assert (run.iterations, run.detail, run.history.shape) == (0, "", (0, 2))
    assert np.isnan([run.train_rmse, run.test_rmse, run.gradient_norm]).all()
    assert Trained(build("mlp", 1, 1), "converged", 0).history.shape == (0, 2)
