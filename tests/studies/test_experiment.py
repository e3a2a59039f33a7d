"""A trial's row is what fit() returns, on whatever a trial names."""

import math

import pytest

from xsquared.data import load, sampled
from xsquared.errors import rmse
from xsquared.functions import target
from xsquared.studies.experiment import data_of, make_trial, run_trial
from xsquared.training import FreeKnots, VariableProjection, fit
from xsquared.units import find_unit

ON_LINE = make_trial(
    "1/(1 + 9*x**2)",
    "glu",
    4,
    "free_knots",
    "",
    domain=((-1, 1),),
    split="paper",
    points=300,
)
ON_PROBLEM = make_trial("friedman1", "glu", 4, "growth", "", points=100)


def test_a_trial_says_what_its_row_will() -> None:
    assert ON_LINE == {
        "problem": "1/(1 + 9*x**2)",
        "domain": [[-1.0, 1.0]],
        "unit": "glu",
        "gate": "relu",
        "n": 4,
        "protocol": "",
        "split": "paper",
        "gates": "trained",
        "solver": "free_knots",
        "settings": {},
        "seed": 0,
        "points": 300,
    }


def test_a_name_that_a_trial_lacks_is_refused() -> None:
    formula = make_trial("x**2", "mlp", 2, "free_knots", "")
    with pytest.raises(ValueError, match=r"unknown problem 'x\*\*2'; known are sine"):
        run_trial(formula)
    with pytest.raises(ValueError, match="unknown solver 'newtons'; known are varpro"):
        run_trial({**ON_LINE, "solver": "newtons"})


def test_row_is_the_fit() -> None:
    row = run_trial(ON_LINE)
    done = fit(sampled(target("1/(1 + 9*x**2)"), 300), "glu", 4, solver=FreeKnots())
    assert row["test_rmse"] == done.test_rmse
    assert row["status"] == done.status
    assert row["parameters"] == 21


def test_gates_settings_activation_and_seed_reach_the_fit() -> None:
    changes = {
        "gate": "gelu",
        "gates": "frozen",
        "solver": "varpro",
        "settings": {"max_iterations": 3},
        "seed": 3,
    }
    row = run_trial({**ON_PROBLEM, **changes})
    data = load("friedman1", 3, "held-out", 100)
    solver = VariableProjection(max_iterations=3)
    done = fit(data, find_unit("glu", "gelu"), 4, solver=solver, gates="frozen", seed=3)
    least = rmse(done.training_minimiser, data.train.x, data.train.y)
    assert row["train_rmse"] == least
    assert row["test_rmse"] == done.test_rmse


def test_the_split_decides_which_points_are_which() -> None:
    paper = data_of({**ON_PROBLEM, "split": "paper"})
    assert (paper.train.x == paper.test.x).all()
    held_out = data_of(ON_PROBLEM)
    assert len(held_out.test) > len(held_out.train) == 100
    drawn = data_of({**ON_LINE, "split": "held-out"})
    assert len(drawn.test) > len(drawn.train) == 300


def test_a_diverged_run_is_a_row() -> None:
    row = run_trial({**ON_LINE, "problem": "10**170*x", "solver": "lbfgs"})
    assert row["status"] == "diverged"
    assert not math.isfinite(row["train_rmse"])
