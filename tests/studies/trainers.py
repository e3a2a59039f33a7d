"""What the tests of sweeps run in place of trainers.

Other processes import it by this name.
"""

import os
import signal
import time
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from xsquared.studies import committed, sweep
from xsquared.studies.sweep import Study, Trial


def trials(count: int, folder: Path) -> list[dict[str, Any]]:
    """So many different trials."""
    settings = {"folder": str(folder)}
    return [
        {"unit": "glu", "n": 4, "settings": settings, "seed": k} for k in range(count)
    ]


def measure(trial: Trial) -> dict[str, Any]:
    """Note that the trial runs, and return a number for each of two networks."""
    with (folder(trial) / "ran").open("a") as file:
        file.write(f"{trial['seed']}\n")
    error = np.random.default_rng(trial["seed"]).random()
    return {
        "n": [4, 8],
        "train_rmse": np.array([error, error / 2]),
        "points": np.int64(10),
    }


def measure_slowly(trial: Trial) -> dict[str, Any]:
    """The same, later."""
    time.sleep(0.1)
    return measure(trial)


def measure_beside(trial: Trial) -> dict[str, Any]:
    """Return 1, after another sweep has run the trial and stored 0."""
    store = folder(trial) / "rows.sqlite"
    first = folder(trial) / "first"
    if first.exists():
        return {"n": 0}
    first.touch()
    sweep([trial], measure_beside, store)
    return {"n": 1}


def fail_on_seed_1(trial: Trial) -> dict[str, Any]:
    """Raise, or run out of memory on seed 2 and need more than there is on seed 3."""
    if trial["seed"] == 1:
        raise ZeroDivisionError("a trainer's own mistake")
    if trial["seed"] == 2 and not (folder(trial) / "spared").exists():
        raise MemoryError
    if trial["seed"] == 3 and not (folder(trial) / "spared").exists():
        import_module("torch").empty(2**57)
    return measure(trial)


def die_on_seed_0(trial: Trial) -> dict[str, Any]:
    """Kill the process that runs the trial."""
    if trial["seed"] == 0 and not (folder(trial) / "spared").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    threads = import_module(
        "torch"
    ).get_num_threads()  # for seconds: not where it is killed
    memory = os.environ.get("MALLOC_TRIM_THRESHOLD_", "")
    return measure(trial) | {"threads": threads, "memory": memory}


def folder(trial: Trial) -> Path:
    """The folder that the settings name."""
    return Path(trial["settings"]["folder"])


def sweep_slowly(count: int, path: Path) -> None:
    """The sweep that is killed."""
    sweep(trials(count, path), measure_slowly, path / "rows.sqlite")


def run_study_slowly(checkout: Path, noted: Path, part: bool = False) -> None:
    """Run a study of 20 trials in a checkout, or write what is there.

    The folder ``noted`` sees each run.
    """

    def all_trials() -> list[dict[str, Any]]:
        return [{"problem": "none", **trial} for trial in trials(20, noted)]

    study = Study(
        "Slow", {"slow": "as a test needs it"}, measure_slowly, all_trials, list
    )
    with (
        patch.object(committed, "_CHECKOUT", checkout),
        patch.object(committed, "find_study", return_value=study),
    ):
        committed.run("slow", part=part)
