"""Table 1's trials and slopes: which split each error belongs to, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from xsquared.studies import Result, Trial
from xsquared.studies.experiment import run_trial
from xsquared.studies.scaling import LINE, scaling_trials, scalings
from xsquared.units import PAPER_UNITS, parameter_count


def row(trial: Trial, status: str = "completed", **values: float) -> Result:
    return Result(trial, "f", status, "", 0.1, "2026-01-01T00:00:00+00:00", "", values)


def power_law(trial: Trial) -> Result:
    """Errors P^-2 and 3 P^-1, times a factor of the seed."""
    dim = {"sine": 2, "airfoil": 5, "": 1}[trial.problem]
    p = parameter_count(trial.unit, dim, trial.n_hidden)
    factor = 1 + trial.seed / 10
    return row(trial, train_rmse=factor * p**-2.0, test_rmse=3 * factor / p)


def test_synthetic_problems_need_one_trial_and_tables_two() -> None:
    trials = scaling_trials([LINE, "sine", "airfoil", "housing"], [4, 8], 3)
    assert len(set(trials)) == len(trials) == 2 * 3 * 3 * (1 + 1 + 2 + 2)
    assert {(t.problem, t.solver, t.split, t.points) for t in trials} == {
        ("", "free_knots", "paper", None),
        ("sine", "ridge_path", "held-out", None),
        ("airfoil", "ridge_path", "paper", None),
        ("airfoil", "ridge_path", "held-out", None),
        ("housing", "ridge_path", "paper", 2000),
        ("housing", "ridge_path", "held-out", 2000),
    }
    assert [t.n_hidden for t in trials] == sorted(t.n_hidden for t in trials)


def test_more_points_go_to_all_but_the_airfoils() -> None:
    trials = scaling_trials(["sine", "airfoil", "housing"], [4], 2, points=5000)
    assert {(t.problem, t.points) for t in trials} == {
        ("sine", 5000),
        ("airfoil", None),
        ("housing", 5000),
    }


def test_slopes_are_those_of_each_splits_errors() -> None:
    trials = scaling_trials([LINE, "sine", "airfoil"], [4, 8, 16], 3)
    table = scalings(power_law(trial) for trial in trials)
    assert len(table) == 3 * len(PAPER_UNITS) * 2
    for (_, _, split), made in table.items():
        assert made.errors.shape == (3, 3)
        expected = -2.0 if split == "paper" else -1.0
        assert made.slope.value == pytest.approx(expected)
        assert made.slope.low == pytest.approx(expected)
        factor = 1.1 if split == "paper" else 3.3
        np.testing.assert_allclose(made.median, factor * made.parameters**expected)
        np.testing.assert_array_equal(made.widths, [4, 8, 16])


def test_a_tables_errors_come_from_the_trial_of_their_split() -> None:
    trials = scaling_trials(["airfoil"], [4, 8], 2)
    rows = [
        row(t, train_rmse=1.0 / t.n_hidden, test_rmse=7.0 + t.n_hidden)
        if t.split == "paper"
        else row(t, train_rmse=9.0, test_rmse=2.0 / t.n_hidden)
        for t in trials
    ]
    table = scalings(rows)
    np.testing.assert_allclose(table["airfoil", "glu", "paper"].median, [1 / 4, 1 / 8])
    np.testing.assert_allclose(table["airfoil", "glu", "held-out"].median, [2 / 4, 2 / 8])


def test_one_dimension_runs_and_both_splits_agree() -> None:
    trials = [t for t in scaling_trials([LINE], [3, 6], 2) if t.unit == "mlp"]
    table = scalings(
        row(t, **{k: v for k, v in run_trial(t).items() if k.endswith("_rmse")}) for t in trials
    )
    paper, ours = table[LINE, "mlp", "paper"], table[LINE, "mlp", "held-out"]
    np.testing.assert_array_equal(paper.errors, ours.errors)
    assert paper.slope.value < -1


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="seeds: expected an integer from 2 to 1000, got 1"):
        scaling_trials(["sine"], [4], 1)
    with pytest.raises(ValueError, match="unknown problem 'cube'"):
        scaling_trials(["cube"], [4], 2)
    with pytest.raises(ValueError, match="widths: expected an integer >= 1, got 0"):
        scaling_trials(["sine"], [0], 2)
    trials = scaling_trials(["sine"], [4, 8], 2)
    with pytest.raises(ValueError, match=r"no errors of sine: mlp, n = 4.*failed"):
        scalings([row(trials[0], "failed")])
    with pytest.raises(ValueError, match=r"sine, mlp: no result for seed and width \(1, 8\)"):
        scalings([power_law(t) for t in trials if (t.unit, t.seed, t.n_hidden) != ("mlp", 1, 8)])
