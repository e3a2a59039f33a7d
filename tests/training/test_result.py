"""Statuses say what happened and what to try."""

from typing import get_args, get_type_hints

import pytest

from xsquared.splines.free_knots import FreeKnotSpline
from xsquared.training.result import STATUSES
from xsquared.training.variable_projection import ProjectedFit


def test_every_status_has_words() -> None:
    assert set(STATUSES) == {"converged", "iterations", "stalled", "diverged", "failed", "inexact"}
    for word, status in STATUSES.items():
        assert status.word == word
        assert status.cause
        assert status.remedy
    assert "at best at a local optimum" in STATUSES["converged"].cause
    assert "other starts" in STATUSES["converged"].remedy


@pytest.mark.parametrize("run", [FreeKnotSpline, ProjectedFit])
def test_every_descents_status_is_known(run: type) -> None:
    assert set(get_args(get_type_hints(run)["status"])) <= set(STATUSES)
