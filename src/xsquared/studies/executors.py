"""Where trials run: in this process, in worker processes, or on a Dask cluster.

Every executor is a generator of results in the order in which they come. All of them run
:func:`attempt`, which pins numerical libraries to one thread, so that wall times compare and
parallel trials do not fight for cores, and which turns whatever a trial raises into a row.
"""

from __future__ import annotations

import asyncio
import logging
import platform
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from itertools import islice
from typing import TYPE_CHECKING

import torch
from threadpoolctl import threadpool_limits

from xsquared.studies.provenance import fingerprint
from xsquared.studies.trial import COMPLETED, FAILED, LOST, Result, Scalar, Trial, checked_values

if TYPE_CHECKING:
    from distributed import Client

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


def on_cluster(
    trials: Iterable[Trial], run_trial: RunTrial, expected: str, jobs: int = 1, address: str = ""
) -> Results:
    """On workers of Dask: those of a scheduler, or so many processes of this machine's own.

    Each worker gets one trial per thread at a time. A trial whose worker died, by a signal or for
    want of memory, is handed to another; one that has taken too many with it (a second one here,
    Dask's ``distributed.scheduler.allowed-failures`` elsewhere) is
    :data:`~xsquared.studies.trial.LOST`. Workers may come and go; a scheduler that has none at the
    start is reported and waited for.

    Raises:
        RuntimeError: Dask is not installed; or a worker cannot run trials at all, because it lacks
            this package or has other sources.
        ConnectionError: nothing answers at the address, or it stops answering.
    """
    try:
        from distributed import as_completed
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker
    except ImportError as error:
        raise RuntimeError(
            f"a sweep in several processes needs Dask ({error}): pip install 'xsquared[cluster]'"
        ) from error
    with _quiet("distributed"), _client(jobs, address) as client:
        waiting, running = iter(trials), {}
        arriving = as_completed(loop=client.loop)
        try:
            if not client.nthreads():
                _LOG.warning("the Dask scheduler at %s has no worker yet: waiting for one", address)
            while True:
                free = max(sum(client.nthreads().values()), 1) - len(running)
                for trial in islice(waiting, max(free, 0)):
                    # Keys of one's own let two sweeps of the same trials share the work.
                    key = f"{expected}-{trial.key}"
                    future = client.submit(attempt, run_trial, trial, expected, key=key)
                    running[future] = trial
                    arriving.add(future)
                if not running:
                    return
                future = next(arriving)
                trial = running.pop(future)
                error = future.exception()
                if isinstance(error, KilledWorker):
                    message = f"its worker processes died, killed or out of memory: {error}"
                    yield _result(trial, expected, LOST, message, 0.0, {})
                elif error is not None:
                    raise RuntimeError(f"a worker cannot run trials: {error}")
                else:
                    yield future.result()
        except (OSError, FutureCancelledError) as error:
            raise ConnectionError(f"the Dask scheduler at {address} stopped answering") from error


@contextmanager
def _client(jobs: int, address: str) -> Iterator[Client]:
    """A client of the scheduler at that address, or of one made for the purpose."""
    from distributed import Client, LocalCluster
    from distributed.comm import connect
    from distributed.security import Security

    async def answers() -> None:
        # Dask's client waits for minutes where a port is open and says nothing.
        made = connect(address, _PATIENCE, **Security().get_connection_args("client"))
        await (await asyncio.wait_for(made, _PATIENCE)).close()

    if address:
        try:
            with ThreadPoolExecutor(1) as apart:  # from an event loop that may run here
                apart.submit(asyncio.run, answers()).result()
        except Exception as error:
            raise ConnectionError(
                f"no Dask scheduler answers at {address}: {str(error) or 'timed out'}"
            ) from error
        with Client(address, timeout=_PATIENCE, set_as_default=False) as client:
            yield client
        return
    with (
        LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            memory_limit=0,
            dashboard_address=None,
            host="127.0.0.1",
            silence_logs=logging.CRITICAL,
            scheduler_kwargs={"allowed_failures": 1},
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


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
