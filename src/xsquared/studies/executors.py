"""Where trials run: in this process, in worker processes, or on a Dask cluster.

Every executor is a generator of results in the order in which they come. All of them run
:func:`attempt`, which pins numerical libraries to one thread, so that wall times compare and
parallel trials do not fight for cores, and which turns whatever a trial raises into a row.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from itertools import islice
from multiprocessing.connection import wait as wait_for_sentinels

import torch
from threadpoolctl import threadpool_limits

from xsquared.studies.provenance import fingerprint
from xsquared.studies.trial import COMPLETED, FAILED, LOST, Result, Scalar, Trial, checked_values

#: Runs a trial and returns what it measured, by name. ``status`` and ``message`` say that it ended
#: in another way than by completing.
RunTrial = Callable[[Trial], Mapping[str, Scalar]]

#: What an executor yields.
Results = Generator[Result, None, None]

_LOG = logging.getLogger(__name__)
#: Seconds in which a scheduler must answer.
_PATIENCE = 10
_MESSAGE_LENGTH = 500


def attempt(run_trial: RunTrial, trial: Trial, expected: str) -> Result:
    """Run one trial on one thread; a trial that raises gives a row all the same.

    Raises:
        RuntimeError: this process has other sources than the one that asked.
    """
    found = fingerprint(run_trial)
    if found != expected:
        raise RuntimeError(
            f"the worker on {platform.node()} has other sources of {run_trial.__module__} than "
            f"this process ({found}, here {expected}): install the same version and restart it"
        )
    torch.set_num_threads(1)
    values: dict[str, Scalar] = {}
    start = time.perf_counter()
    with threadpool_limits(limits=1):
        try:
            values = checked_values(run_trial(trial))
            status, message = values.pop("status", COMPLETED), values.pop("message", "")
        except (Exception, SystemExit) as error:
            status = LOST if isinstance(error, MemoryError) else FAILED
            message = f"{type(error).__name__}: {error}"
    wall_s = time.perf_counter() - start
    return _result(trial, expected, str(status), str(message), wall_s, values)


def in_this_process(trials: Iterable[Trial], run_trial: RunTrial, expected: str) -> Results:
    """One after the other, here; threads are given back at the end."""
    threads = torch.get_num_threads()
    try:
        for trial in trials:
            yield attempt(run_trial, trial, expected)
    finally:
        torch.set_num_threads(threads)


def in_processes(trials: Iterable[Trial], run_trial: RunTrial, expected: str, jobs: int) -> Results:
    """So many at a time, each in a worker process of its own.

    When a worker dies, by a signal or for want of memory, nobody can say which of the running
    trials killed it. They are run again, each alone: one that dies then is
    :data:`~xsquared.studies.trial.LOST`.
    """
    waiting = iter(trials)
    while suspects := (yield from _until_a_worker_dies(waiting, run_trial, expected, jobs)):
        for trial in suspects:
            start = time.perf_counter()
            if (yield from _until_a_worker_dies(iter([trial]), run_trial, expected, 1)):
                message = "its worker process died, twice: killed, or out of memory"
                yield _result(trial, expected, LOST, message, time.perf_counter() - start, {})


def _until_a_worker_dies(
    waiting: Iterator[Trial], run_trial: RunTrial, expected: str, jobs: int
) -> Generator[Result, None, list[Trial]]:
    """Results of one pool of workers; returns the trials that ran when it broke, if it did."""
    running: dict[Future[Result], Trial] = {}
    suspects: list[Trial] = []
    with _pool(run_trial, jobs) as pool:
        while True:
            for trial in islice(waiting, 0 if suspects else jobs - len(running)):
                try:
                    running[pool.submit(attempt, run_trial, trial, expected)] = trial
                except BrokenProcessPool:
                    suspects.append(trial)
                    break
            if not running:
                return suspects
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                trial = running.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool:
                    suspects.append(trial)
                else:
                    yield result


@contextmanager
def _pool(run_trial: RunTrial, jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Workers forked from a server that has imported and never run anything.

    Forks of this process would inherit torch's threads in an undefined state; fresh interpreters
    would import everything anew, for seconds, whenever a worker has died.
    """
    before = set(multiprocessing.active_children())
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, run_trial.__module__])
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_die_with_parent)
    try:
        yield pool
    except BaseException:
        # Whoever stops a sweep does not wait for the trials that are running.
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _die_with_parent() -> None:
    """End this worker when its parent is killed; it would wait for work for ever.

    A Ctrl-C, which reaches every process of the terminal, is the parent's to answer.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is None:
        raise RuntimeError("only a worker process has a parent to follow")

    def follow() -> None:
        wait_for_sentinels([parent.sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def on_cluster(
    trials: Iterable[Trial], run_trial: RunTrial, expected: str, address: str
) -> Results:
    """On the workers of a Dask scheduler, all trials handed over at once.

    The scheduler hands on a trial whose worker died. One that has taken too many workers with it
    (Dask's ``distributed.scheduler.allowed-failures``) is :data:`~xsquared.studies.trial.LOST`.
    Workers may come and go; a scheduler that has none at the start is reported and waited for.

    Raises:
        RuntimeError: Dask is not installed; or a worker cannot run trials at all, because it lacks
            this package or has other sources.
        ConnectionError: nothing answers at the address, or it stops answering.
    """
    try:
        from distributed import Client, as_completed
        from distributed.scheduler import KilledWorker
    except ImportError as error:
        raise RuntimeError(
            f"a sweep on a cluster needs Dask ({error}): pip install 'xsquared[cluster]'"
        ) from error
    client = None
    with suppress(OSError, ValueError), _quiet("distributed.client"):
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    if client is None:
        # A client that failed to start closes when it is collected. Were that to happen while the
        # next one starts, the two would wait for each other for ever.
        gc.collect()
        raise ConnectionError(f"no Dask scheduler answers at {address}")
    with _quiet("distributed.client"), client:
        if not client.scheduler_info()["workers"]:
            _LOG.warning("the Dask scheduler at %s has no worker yet: waiting for one", address)
        # Keys of one's own let two sweeps of the same trials share the work.
        futures = {
            client.submit(attempt, run_trial, trial, expected, key=f"{expected}-{trial.key}"): trial
            for trial in trials
        }
        for future in as_completed(futures, loop=client.loop):
            trial = futures.pop(future)
            if future.status == "finished":
                yield future.result()
            elif future.status == "error" and isinstance(future.exception(), KilledWorker):
                message = f"workers died with it: {future.exception()}"
                yield _result(trial, expected, LOST, message, 0.0, {})
            elif future.status == "error":
                raise RuntimeError(f"a worker cannot run trials: {future.exception()}")
            else:
                raise ConnectionError(f"the Dask scheduler at {address} stopped answering")


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Keep a library from logging, with tracebacks, what becomes one error here."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _result(
    trial: Trial,
    expected: str,
    status: str,
    message: str,
    wall_s: float,
    values: Mapping[str, Scalar],
) -> Result:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    message = message[:_MESSAGE_LENGTH]
    return Result(trial, expected, status, message, wall_s, now, _versions(), values)


@cache
def _versions() -> str:
    packages = ("numpy", "scipy", "torch", "scikit-learn")
    named = [f"{name} {version(name)}" for name in packages]
    return ", ".join([f"Python {platform.python_version()}", *named])
