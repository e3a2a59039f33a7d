"""Table 1's trials and slopes: which protocol each error belongs to."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from xsquared.data import load
from xsquared.errors import rmse
from xsquared.studies.scaling import (
    Scaling,
    _scaling_trials,
    error_ratio,
    run_scaling,
    scalings,
)
from xsquared.studies.sweep import Trial, to_frame
from xsquared.training import grow, growth
from xsquared.units import PAPER_UNITS, parameter_count


def power_law(trial: Trial) -> dict[str, Any]:
    """Errors P^-2 on training points, 3 P^-1 on others, times a factor of the seed."""
    widths = trial["settings"]["widths"]
    dim = {"sine": 2, "airfoil": 5}[trial["problem"]]
    p = np.array([parameter_count(trial["unit"], dim, n) for n in widths])
    factor = 1 + trial["seed"] / 10
    row = {name: value for name, value in trial.items() if name != "settings"}
    return row | {
        "n": widths,
        "parameters": p.tolist(),
        "train_rmse": (factor * p**-2.0).tolist(),
        "test_rmse": (factor * 3 / p).tolist(),
    }


def test_a_trial_holds_all_widths() -> None:
    trials = _scaling_trials(["sine", "housing"], [4, 8], 3, "paper", PAPER_UNITS)
    assert len(trials) == 2 * 3 * 3
    names = ("problem", "solver", "split", "points", "n")
    assert {tuple(trial.get(name) for name in names) for trial in trials} == {
        ("sine", "growth", "paper", None, 8),
        ("housing", "growth", "paper", 2000, 8),
    }
    assert all(trial["settings"]["widths"] == [4, 8] for trial in trials)
    seeds = [trial["seed"] for trial in trials]
    assert seeds == sorted(seeds)


def test_errors_are_those_of_grown_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "_EXCHANGES", 1)
    trial = _scaling_trials(["sine"], [1, 3], 2, "held-out", ["glu"])[1]
    values = run_scaling({**trial, "points": 150})
    data = load("sine", 1, "held-out", 150)
    results = grow(data, "glu", [1, 3], seed=1)
    assert values["n"] == [1, 3]
    for k, result in enumerate(results):
        least = rmse(result.training_minimiser, data.train.x, data.train.y)
        assert values["train_rmse"][k] == least
        assert values["test_rmse"][k] == result.test_rmse
        assert values["status"][k] == result.status
        assert values["parameters"][k] == parameter_count("glu", 2, values["n"][k])
    assert values["points"] == [150, 150]


def test_every_error_has_its_name() -> None:
    problems = ["sine", "airfoil"]
    trials = [
        trial
        for protocol in ("held-out", "paper")
        for trial in _scaling_trials(problems, [4, 8, 16], 3, protocol, PAPER_UNITS)
        if (trial["problem"], protocol) != ("sine", "paper")
    ]
    table = scalings(to_frame(map(power_law, trials)))
    assert len(table) == len(problems) * len(PAPER_UNITS) * 2
    for problem in problems:
        for unit in PAPER_UNITS:
            training = table[problem, unit, "training"]
            power = training.parameters**-2.0
            np.testing.assert_allclose(training.median, 1.1 * power)
            np.testing.assert_array_equal(training.widths, [4, 8, 16])
            held_out = table[problem, unit, "held-out"]
            np.testing.assert_allclose(held_out.median, 3.3 / held_out.parameters)


def test_the_upper_slope_leaves_narrow_networks_out() -> None:
    widths = np.array([1, 2, 4, 8])
    errors = np.array([1.0, 1.0, 4.0**-3, 8.0**-3])  # falls from 4 neurons on
    several = np.stack([errors / 2, errors, 9 * errors])
    scaling = Scaling(widths, 4 * widths + 1, several)
    assert math.isclose(scaling.upper_slope, -3)


def with_errors(errors: list[list[float]], factor: int) -> Scaling:
    trials = _scaling_trials(["sine"], [4, 8], 2, "held-out", ["mlp"])
    scaling = scalings(to_frame(map(power_law, trials)))["sine", "mlp", "training"]
    parameters = factor * np.array([10, 40])
    return replace(scaling, parameters=parameters, errors=np.array(errors))


def test_units_are_compared_seed_by_seed_at_equal_parameters() -> None:
    draw = np.random.default_rng(2)
    common = np.exp(draw.normal(size=6))  # what a seed's data do to both
    own = np.exp(0.05 * draw.normal(size=6))
    over = with_errors(
        [[8.0 * c * o, 2.0 * c * o] for c, o in zip(common, own, strict=True)], 1
    )
    under = with_errors([[4.0 * c, 1.0 * c] for c in common], 2)
    # Halfway between 10 and 40 on a logarithmic axis the first has 4; the second is at
    # its end.
    ratio = error_ratio(over, under, 20, shared=False)
    logs = np.log(own)
    expected = ttest_1samp(logs, 0).confidence_interval()
    assert ratio.mean == pytest.approx(math.exp(logs.mean()))
    assert (ratio.low, ratio.high) == pytest.approx(
        (math.exp(expected.low), math.exp(expected.high))
    )
