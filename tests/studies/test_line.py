"""The study of one dimension: what its protocols train, and on which points."""

from typing import Any

import pytest

from xsquared.functions import target
from xsquared.studies.experiment import data_of, run_trial
from xsquared.studies.line import LINE, LINE_PROTOCOLS, line_trials


@pytest.mark.parametrize("protocol", LINE_PROTOCOLS)
def test_a_protocols_trials_run_on_its_points(protocol: str) -> None:
    mlp, glu, gqu = line_trials(protocol, [3], 1)
    assert [trial["unit"] for trial in (mlp, glu, gqu)] == ["mlp", "glu", "gqu"]
    assert len(data_of(glu).train) == glu.get("points", 10_000)
    assert run_trial(glu)["parameters"] == 16


def test_gates_that_move_do_better_than_gates_that_do_not() -> None:
    error: Any = {
        p: run_trial(line_trials(p, [6], 1)[1])["integral_rmse"] for p in LINE_PROTOCOLS
    }
    assert error["trained"] < error["newton-gates"] < error["newton"] * 1.001
    assert error["trained"] < error["varpro"] * 1.001
    assert error["newton"] == pytest.approx(error["frozen"], rel=1e-2)  # an even width


def test_every_width_to_fifty_is_declared_and_a_budget_names_more_work() -> None:
    trials = LINE.trials()
    for protocol in LINE_PROTOCOLS:
        assert all(trial in trials for trial in line_trials(protocol, (1, 50)))
        once, twice = (line_trials(protocol, [5], 1, budget=b)[0] for b in (1, 2))
        assert twice["settings"]["max_iterations"] >= 10
        assert twice["settings"] != once["settings"]
        assert twice in trials
    assert line_trials("trained", [7], 1, target("1/(1 + 9*x**2)"))[0] in trials
