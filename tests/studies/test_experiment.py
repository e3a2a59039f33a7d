"""A trial's row is what fit() returns, on whatever a trial names."""

import errno
import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch

from xsquared.data import load, sampled
from xsquared.functions import target
from xsquared.training import AdamW, FreeKnots, Growth, fit
from xsquared.units import find_unit
from xsquared_studies import Trial, experiment, fingerprint
from xsquared_studies.executors import attempt
from xsquared_studies.experiment import check, dataset, run_trial

RUNNING: list[int] = []


def trial(**changes: object) -> Trial:
    described = {
        "unit": "glu",
        "n_hidden": 4,
        "solver": "free_knots",
        "split": "paper",
        "points": 300,
        "expression": "1/(1 + 9*x**2)",
        "domain": ((-1.0, 1.0),),
    }
    return Trial(**described | changes)  # type: ignore[arg-type]


def on_problem(**changes: object) -> Trial:
    described = {"expression": "", "domain": (), "problem": "friedman1", "points": 100}
    return trial(**described | {"solver": "growth", "split": "held-out"} | changes)


def test_row_is_the_fit() -> None:
    row = run_trial(trial())
    done = fit(sampled(target("1/(1 + 9*x**2)"), 300), "glu", 4, solver=FreeKnots())
    assert row["test_rmse"] == done.test_rmse
    assert row["status"] == done.status.word
    assert row["parameters"] == 21


def test_gates_settings_activation_and_seed_reach_the_fit() -> None:
    row = run_trial(
        on_problem(activation="gelu", gates="frozen", settings=(("candidates", 20),), seed=3)
    )
    data = load("friedman1", 3, "held-out", 100)
    solver = Growth(candidates=20)
    done = fit(data, find_unit("glu", "gelu"), 4, solver=solver, gates="frozen", seed=3)
    assert row["train_rmse"] == done.train_rmse
    assert row["test_rmse"] == done.test_rmse


def test_the_split_decides_which_points_are_which() -> None:
    paper = dataset(on_problem(split="paper"))
    assert (paper.train.x == paper.test.x).all()
    held_out = dataset(on_problem())
    assert len(held_out.test) > len(held_out.train) == 100
    drawn = dataset(trial(split="held-out"))
    assert len(drawn.test) > len(drawn.train) == 300


def test_a_message_that_is_no_text_keeps_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("\ud800")

    monkeypatch.setattr(experiment, "fit", fail)
    assert attempt(run_trial, trial(), fingerprint(run_trial)).message == r"ValueError: \ud800"


def test_what_is_wrong_for_some_units_only_stops_no_sweep() -> None:
    mlp, bilinear = trial(unit="mlp"), trial(unit="bilinear")
    check([bilinear, mlp])
    with pytest.raises(ValueError, match="free_knots fits relu gates"):
        check([bilinear, replace(bilinear, n_hidden=9)])


def test_a_diverged_run_is_a_row_with_its_cause() -> None:
    row = run_trial(trial(expression="10**170*x", solver="adamw"))
    assert row["status"] == "diverged"
    assert "infinite or not a number" in str(row["message"])
    assert not math.isfinite(float(str(row["train_rmse"])))


def no_memory() -> RuntimeError:
    """Torch's own error, asked for 2**60 bytes, which no machine has."""
    with pytest.raises(RuntimeError) as raised:
        torch.empty(2**57, dtype=torch.float64)
    return raised.value


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (no_memory(), "lost"),
        (RuntimeError("std::bad_alloc"), "lost"),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"), "lost"),
        (RuntimeError("can't start new thread"), "lost"),
        (RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"), "lost"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "lost"),
        (OSError(errno.ENOMEM, ""), "lost"),
        (OSError(errno.ENOENT, "No such file"), "lost"),
        (ValueError("expected what fits, not what is out of memory"), "failed"),
    ],
)
def test_what_may_go_well_another_time_is_tried_again(
    error: Exception, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_out(*_: object, **__: object) -> None:
        raise error

    for place, name in ((AdamW, "train"), (experiment, "fit"), (experiment, "dataset")):
        monkeypatch.setattr(place, name, run_out)
        row = attempt(run_trial, trial(solver="adamw"), fingerprint(run_trial))
        assert (row.status, str(error)[:400] in row.message) == (status, True)


def overlapping(_: Trial) -> dict[str, int]:
    """How many trials run in this process while this one does."""
    RUNNING.append(1)
    time.sleep(0.02)
    running = len(RUNNING)
    RUNNING.pop()
    return {"running": running}


def test_a_process_runs_one_trial_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker of several threads: what a trial sets is the process's."""
    read = lambda _: str(overlapping(trial())["running"])  # noqa: E731
    monkeypatch.setattr("xsquared_studies.executors.fingerprint", read)
    with ThreadPoolExecutor(3) as threads:
        rows = threads.map(lambda _: attempt(overlapping, trial(), "1"), range(6))
        assert [row.values["running"] for row in rows] == [1] * 6
