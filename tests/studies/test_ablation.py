"""Every part of the study names something that is there; errors are compared case by case."""

import importlib
import json

import pandas as pd
import pytest

from xsquared.training import SOLVERS, spline_network
from xsquared_studies import STUDIES, rows
from xsquared_studies.ablation import PARTS, Part, run_ablation, worth


@pytest.mark.parametrize("part", PARTS.values(), ids=lambda p: f"{p.solver}-{p.name}-{p.change}")
def test_every_part_is_there_and_changed(part: Part) -> None:
    for name, value in part.values.items():
        module, _, constant = name.rpartition(".")
        place = importlib.import_module(f"xsquared.training.{module}") if module else None
        before = getattr(place or SOLVERS[part.solver](), constant)
        assert value != before
        assert type(value) is type(before)


def test_a_part_is_off_while_its_trial_runs_and_back_afterwards() -> None:
    trials = [
        trial
        for trial in STUDIES["ablation"].trials
        if (trial.solver, trial.unit, trial.n_hidden) == ("free_knots", "gqu", 3)
        and trial.expression == "sin(20*x)"
    ]
    whole, few = (
        next(t for t in trials if t.settings == settings)
        for settings in ((), (("change", "none"), ("part", "narrow")))
    )
    spent = [run_ablation(trial)["iterations"] for trial in (whole, few)]
    assert spent[1] < 0.7 * spent[0]  # type: ignore[operator]
    assert spline_network._NARROW == 8


def test_errors_are_compared_case_by_case() -> None:
    frame = pd.DataFrame(
        [
            {"solver": solver, "problem": problem, "unit": "mlp", "n": n, "seed": 0,
             "protocol": "line", "settings": json.dumps(settings), "integral_rmse": error,
             "train_rmse": 9.0 if solver == "free_knots" else error, "test_rmse": 9.0,
             "seconds": seconds}
            for solver in ("free_knots", "varpro")
            for problem, n, size in (("a", 3, 1.0), ("b", 3, 10.0), ("c", 3, 5.0), ("a", 8, 1e-12))
            for settings, error, seconds in (
                ({}, size, 2.0),
                ({"change": "none", "part": "moves"}, size * "acb".find(problem) + size, 1.0),
            )
        ]
    )  # fmt: skip
    made = worth(frame)
    assert list(made.index) == [(solver, "moves", "none") for solver in ("free_knots", "varpro")]
    assert made["narrow"].tolist() == [2.0, 2.0]
    assert made["narrow 90%"].tolist() == pytest.approx([2.8, 2.8])
    assert made["seconds"].tolist() == [0.5, 0.5]
    assert "wide" not in made  # the default solves that case to rounding


def test_every_part_of_the_solvers_measured_has_rows() -> None:
    found = worth(rows("ablation"))
    assert set(found.index) == set(PARTS)
