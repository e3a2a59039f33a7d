"""A trial's row is what fit() returns."""

from __future__ import annotations

import math

import pytest
from xsquared.data.samples import sampled

from xsquared.functions import target
from xsquared.studies import Trial
from xsquared.studies.experiment import run_trial, samples_of
from xsquared.training.fit import fit


def trial(**changes: object) -> Trial:
    described = {
        "unit": "glu",
        "n_hidden": 4,
        "optimizer": "varpro",
        "protocol": "full",
        "points": 300,
        "expression": "1/(1 + 9*x**2)",
        "domain": ((-1.0, 1.0),),
    }
    return Trial(**described | changes)  # type: ignore[arg-type]


def test_row_is_the_fit() -> None:
    row = run_trial(trial())
    done = fit(sampled(target("1/(1 + 9*x**2)"), 300), "glu", 4)
    assert row["test_rmse"] == done.test_rmse
    assert row["status"] == "completed"
    assert row["fit_status"] == done.status.word
    assert row["parameters"] == 21


def test_a_problem_names_how_its_points_are_split() -> None:
    described = {"expression": "", "domain": (), "problem": "friedman1", "points": 100}
    samples = samples_of(trial(**described, protocol="paper"))
    assert (samples.x_train == samples.x_test).all()
    held_out = samples_of(trial(**described, protocol="held-out"))
    assert len(held_out.y_test) > len(held_out.y_train)


def test_a_diverged_run_is_a_row_with_its_cause() -> None:
    row = run_trial(trial(expression="10**170*x", optimizer="adamw"))
    assert row["status"] == "diverged"
    assert "infinite or not a number" in str(row["message"])
    assert math.isnan(float(str(row["train_rmse"]))) or math.isinf(float(str(row["train_rmse"])))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"optimizer": "sgd"}, "optimizer must be one of varpro, newton, adamw, lbfgs, got 'sgd'"),
        ({"protocol": "all"}, "protocol must be one of spline, gates, full, got 'all'"),
    ],
)
def test_bad_names_are_refused(changes: dict[str, object], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        run_trial(trial(**changes))
