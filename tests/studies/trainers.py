"""What the tests of sweeps run in place of trainers; worker processes import it by this name."""

import multiprocessing
import os
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path

import dask
import numpy as np

from xsquared_studies import Store, Trial, run_sweep
from xsquared_studies.trial import Result, Scalar

SOURCES = "0123456789abcdef"
RUNS: list[Trial] = []
swept = partial(run_sweep, progress=False)


def trials(count: int, **settings: Scalar) -> list[Trial]:
    """So many different trials."""
    return [
        Trial(
            unit=("mlp", "glu", "gqu")[k % 3],
            n_hidden=k + 1,
            solver="test",
            split="paper",
            points=10,
            seed=k,
            problem="sine",
            settings=tuple(settings.items()),
        )
        for k in range(count)
    ]


def result(trial: Trial, status: str = "completed", fingerprint: str = SOURCES) -> Result:
    """A row without running anything."""
    return Result(
        trial, fingerprint, status, "", 0.5, "2026-01-01T00:00:00", "none", measured(trial)
    )


def measured(trial: Trial) -> dict[str, Scalar]:
    """What every trainer below measures."""
    rng = np.random.default_rng(trial.seed)
    return {"train_rmse": float(rng.random()), "parameters": 3 * trial.n_hidden + 1, "why": "x²\n"}


def measure(trial: Trial) -> dict[str, Scalar]:
    """Measure, after the time that the settings give."""
    time.sleep(dict(trial.settings).get("seconds", 0.0))  # type: ignore[arg-type]
    return measured(trial)


def fail_on_odd_seeds(trial: Trial) -> dict[str, Scalar]:
    """Raise, run out of memory, stop early, or return what no row can hold."""
    match trial.seed:
        case 1:
            raise ZeroDivisionError("a trainer's own mistake")
        case 5:
            raise MemoryError("no room for 64 neurons")
        case 7:
            return {"status": "stopped", "message": "50 s", "train_rmse": 0.25}
        case 9:
            return {"curve": np.arange(3)}  # type: ignore[dict-item]
    return measured(trial)


def exit_once(trial: Trial) -> dict[str, Scalar]:
    """Receive, the first time that seed 1 runs, a signal whose handler exits."""
    RUNS.append(trial)
    if trial.seed == 1 and RUNS.count(trial) == 1:
        before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.signal(signal.SIGTERM, before)
    return measured(trial)


def leave_the_folder(trial: Trial) -> dict[str, Scalar]:
    """Measure, and change the working folder as a trainer may."""
    os.chdir("/")
    return measured(trial)


def count_runs(trial: Trial) -> dict[str, Scalar]:
    """Measure, and keep a list of the trials run in this process."""
    RUNS.append(trial)
    return measured(trial)


def die_on_seed_0(trial: Trial) -> dict[str, Scalar]:
    """Kill the process that runs the trial, with ``once`` only the first time; or tell of it."""
    if trial.seed == 0:
        marker = folder(trial) / "died"
        if not (dict(trial.settings)["once"] and marker.exists()):
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return measured(trial) | {"memory": os.environ.get("MALLOC_TRIM_THRESHOLD_", "")}


def wait_to_be_killed(trial: Trial) -> dict[str, Scalar]:
    """On seed 0 the first process tells its id and waits; a later one measures."""
    told = folder(trial) / "pid"
    if trial.seed == 0 and not told.exists():
        unfinished = folder(trial) / "pid.tmp"
        unfinished.write_text(str(os.getpid()))
        unfinished.rename(told)
        time.sleep(600)
    return measured(trial)


def fill_disk_on_seed_1(trial: Trial) -> dict[str, Scalar]:
    """Write into the folder until nothing more fits."""
    if trial.seed == 1:
        with (folder(trial) / "filler").open("wb", buffering=0) as file:
            for size in (4096, 1):
                with suppress(OSError):
                    while True:
                        file.write(bytes(size))
    return measured(trial)


def folder(trial: Trial) -> Path:
    """The folder that the settings name."""
    return Path(str(dict(trial.settings)["folder"]))


def started(function: Callable[..., None], *arguments: object) -> BaseProcess:
    """A process that runs a function of this module; a server branches it off, which loads fast."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=function, args=arguments)
    process.start()
    return process


def sweep_slowly(path: Path, count: int, seconds: float) -> None:
    """The sweep that is killed."""
    swept(trials(count, seconds=seconds), measure, path)


def sweep_in_branches(path: Path, where: str) -> None:
    """As the next, in processes that branch off a loaded one, which takes no time."""
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        sweep_in_processes(path, where)


def sweep_in_processes(path: Path, where: str) -> None:
    """A sweep whose worker waits to be killed."""
    swept(trials(1, folder=where), wait_to_be_killed, path, jobs=2)


def append_all(path: Path, seeds: range) -> None:
    """Append rows as fast as they go."""
    store, all_trials = Store(path), trials(seeds.stop)
    for seed in seeds:
        store.append(result(all_trials[seed]))


def die_in_the_middle_of_a_write(path: Path) -> None:
    """Be killed in a transaction of which so much is written that pages have left the memory."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("pragma cache_size = 1")
    database.execute("begin immediate")
    for k in range(200):
        values = (str(k), SOURCES, "completed", "{}" * 3000)
        database.execute("insert into results values (?, ?, ?, ?)", values)
    database.execute("delete from results where key < '1'")
    os.kill(os.getpid(), signal.SIGKILL)
