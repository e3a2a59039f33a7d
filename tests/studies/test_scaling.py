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
    error_ratio,
    run_scaling,
    scaling_trials,
    scalings,
)
from xsquared.studies.sweep import Trial, to_frame
from xsquared.training import grow, growth
from xsquared.units import PAPER_UNITS, parameter_count


def power_law(trial: Trial) -> dict[str, Any]:
    """Errors P^-2 and 3 P^-1 on training points and others, times a factor that a seed
    has.
    """
    widths, dim = (
        trial["settings"]["widths"],
        {"sine": 2, "airfoil": 5}[trial["problem"]],
    )
    p = np.array([parameter_count(trial["unit"], dim, n) for n in widths])
    errors = {"train": p**-2.0, "test": 3 / p}
    made = {
        f"{k}_rmse": ((1 + trial["seed"] / 10) * v).tolist() for k, v in errors.items()
    }
    said = {name: value for name, value in trial.items() if name != "settings"}
    return {**said, "n": widths, "parameters": p.tolist(), **made}


def test_a_trial_holds_all_widths() -> None:
    trials = scaling_trials(["sine", "housing"], [4, 8], 3, "paper")
    assert len(trials) == 2 * 3 * 3
    assert {
        (t["problem"], t["solver"], t["split"], t.get("points"), t["n"]) for t in trials
    } == {
        ("sine", "growth", "paper", None, 8),
        ("housing", "growth", "paper", 2000, 8),
    }
    assert all(t["settings"]["widths"] == [4, 8] for t in trials)
    assert [t["seed"] for t in trials] == sorted(t["seed"] for t in trials)


def test_errors_are_those_of_grown_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "_EXCHANGES", 1)
    trial = scaling_trials(["sine"], [1, 3], 2, units=["glu"])[1]
    values = run_scaling({**trial, "points": 150})
    data = load("sine", 1, "held-out", 150)
    made = grow(data, "glu", [1, 3], seed=1)
    assert values["n"] == [1, 3]
    for k, one in enumerate(made):
        least = rmse(one.training_minimiser, data.train.x, data.train.y)
        assert values["train_rmse"][k] == least
        assert values["test_rmse"][k] == one.test_rmse
        assert values["status"][k] == one.status
        assert values["parameters"][k] == parameter_count("glu", 2, values["n"][k])
    assert values["points"] == [150, 150]


def test_every_error_has_its_name() -> None:
    problems = ["sine", "airfoil"]
    trials = [
        trial
        for protocol in ("held-out", "paper")
        for trial in scaling_trials(problems, [4, 8, 16], 3, protocol)
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


def scaling(errors: list[list[float]], factor: int) -> Scaling:
    trials = scaling_trials(["sine"], [4, 8], 2, units=["mlp"])
    table = scalings(to_frame(map(power_law, trials)))
    made = table["sine", "mlp", "training"]
    return replace(
        made, parameters=factor * np.array([10, 40]), errors=np.array(errors)
    )


def test_units_are_compared_seed_by_seed_at_equal_parameters() -> None:
    draw = np.random.default_rng(2)
    common = np.exp(draw.normal(size=6))  # what a seed's data do to both
    own = np.exp(0.05 * draw.normal(size=6))
    over = scaling(
        [[8.0 * c * o, 2.0 * c * o] for c, o in zip(common, own, strict=True)], 1
    )
    under = scaling([[4.0 * c, 1.0 * c] for c in common], 2)
    # Halfway between 10 and 40 on a logarithmic axis the first has 4; the second is at
    # its end.
    ratio = error_ratio(over, under, 20)
    logs = np.log(own)
    expected = ttest_1samp(logs, 0).confidence_interval()
    assert ratio.mean == pytest.approx(math.exp(logs.mean()))
    assert (ratio.low, ratio.high) == pytest.approx(
        (math.exp(expected.low), math.exp(expected.high))
    )
