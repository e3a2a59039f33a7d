"""Where trials run: in this process, or on Dask workers, of this machine or of a cluster.

Every executor is a generator of results in the order in which they come. All of them run
:func:`attempt`, which pins numerical libraries to one thread, so that parallel trials do not fight
for cores and times are those of the trial alone, and turns whatever a trial raises into a row.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import platform
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from threadpoolctl import threadpool_limits

from xsquared.processes import ENVIRONMENT
from xsquared_studies.provenance import fingerprint, versions
from xsquared_studies.trial import (
    COMPLETED,
    FAILED,
    LOST,
    NO_MEMORY,
    Result,
    Scalar,
    Trial,
    checked_values,
    printable,
)

if TYPE_CHECKING:
    from distributed import Client

#: Runs a trial and returns what it measured, by name. ``status`` and ``message`` say that it ended
#: in another way than by completing.
RunTrial = Callable[[Trial], Mapping[str, Scalar]]

#: What an executor yields.
Results = Generator[Result, None, None]

_LOG = logging.getLogger(__name__)
#: Held by a trial: torch and numerical libraries have settings that threads of a process share.
_ALONE = threading.RLock()
#: Seconds in which a scheduler must answer.
_PATIENCE = 10
_MESSAGE_LENGTH = 500


def attempt(run_trial: RunTrial, trial: Trial, sources: str) -> Result:
    """Run one trial on one thread; a trial that raises gives a row all the same.

    A process runs one at a time, whatever its threads. What ends it, as an exit by the handler of a
    signal, is no row: it passes.

    Args:
        run_trial: runs it.
        trial: what to run.
        sources: fingerprint of all that computes the trial's row, where it was asked for.

    Raises:
        RuntimeError: another fingerprint here.
    """
    with _ALONE, threadpool_limits(limits=1):  # Python's parser, too, may fail in several threads
        if (here := fingerprint(run_trial)) != sources:
            other = f"other sources of {run_trial.__module__} or other versions of packages"
            found = f"{other} ({versions()}; {here}, here {sources}): install the same there"
            raise RuntimeError(f"the worker on {platform.node()} has {found} and restart it")
        torch.set_num_threads(1)
        values: dict[str, Scalar] = {}
        start = time.thread_time()
        try:
            values = checked_values(run_trial(trial))
            status, message = values.pop("status", COMPLETED[0]), values.pop("message", "")
        except Exception as error:
            status = LOST if _may_pass(error) else FAILED
            message = f"{type(error).__name__}: {error}"
        seconds = time.thread_time() - start
    return _row(trial, sources, str(status), str(message), seconds, **values)


def _row(
    trial: Trial, sources: str, status: str, message: str, seconds: float, /, **values: Scalar
) -> Result:
    """A row that says how a trial ended, now."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    message = printable(message)[:_MESSAGE_LENGTH]
    return Result(trial, sources, status, message, seconds, now, versions(), values)


def _may_pass(error: BaseException) -> bool:
    """Whether another time it may go well: there was no memory, or a file could not be read."""
    said = isinstance(error, RuntimeError) and NO_MEMORY.search(str(error))
    return isinstance(error, MemoryError | OSError) or bool(said)


def in_this_process(run_trial: RunTrial, trials: Iterable[Trial], sources: str) -> Results:
    """One after the other, here; threads are given back at the end."""
    threads = torch.get_num_threads()
    try:
        for trial in trials:
            yield attempt(run_trial, trial, sources)
    finally:
        torch.set_num_threads(threads)


def on_workers(
    run_trial: RunTrial, trials: Iterable[Trial], sources: str, jobs: int = 1, address: str = ""
) -> Results:
    """On Dask's workers: those of a scheduler, or so many processes of this machine's own.

    Each worker process runs one trial at a time: more threads, ``--nthreads``, gain nothing. A
    trial whose worker died, by a signal or for want of memory, is handed to another; one that has
    taken too many with it (a second one here, Dask's ``distributed.scheduler.allowed-failures``
    elsewhere) is :data:`~xsquared_studies.trial.LOST`. Workers may come and go; a scheduler that
    has none at the start is reported and waited for.

    Raises:
        RuntimeError: Dask is not installed; or a worker cannot run trials at all, because it lacks
            this package or has other sources.
        ConnectionError: nothing answers at the address, or it stops answering.
    """
    try:
        from distributed import as_completed
        from distributed.scheduler import KilledWorker
    except ImportError as error:
        needed = f"Dask ({error}): pip install './xsquared[cluster]'"
        raise RuntimeError(f"a sweep in several processes needs {needed}") from error
    with _quiet("distributed"), _client(jobs, address) as client:
        waiting, running = iter(trials), dict[Any, Trial]()
        arriving = as_completed(loop=client.loop)
        if not client.nthreads():
            _LOG.warning("the Dask scheduler at %s has no worker yet: waiting for one", address)
        while True:
            free = max(sum(client.nthreads().values()), 1) - len(running)
            for trial in islice(waiting, max(free, 0)):
                # Unpickled within the task: a worker that cannot would leave the scheduler waiting.
                call = pickle.dumps(_Call(run_trial, trial, sources))
                # Keys of one's own let two sweeps of the same trials share the work.
                future = client.submit(pickle.loads, call, key=f"{sources}-{trial.key}")
                running[future] = trial
                arriving.add(future)
            if not running:
                return
            future = next(arriving)
            trial = running.pop(future)
            raised = future.exception()
            if isinstance(raised, KilledWorker):
                message = f"its worker processes died, killed or out of memory: {raised}"
                yield _row(trial, sources, LOST, message, 0.0)
            elif raised is not None:
                raise RuntimeError(f"a worker cannot run trials: {raised}")
            else:
                yield future.result()


class _Call:
    """Becomes, where it is unpickled, the result of an attempt."""

    def __init__(self, *asked: object) -> None:
        self.asked = asked

    def __reduce__(self) -> tuple[Callable[..., Result], tuple[object, ...]]:
        return attempt, self.asked


@contextmanager
def _client(jobs: int, address: str) -> Iterator[Client]:
    """A client of the scheduler at that address, or of one made for the purpose."""
    import dask
    from distributed import Client, LocalCluster
    from distributed.client import FutureCancelledError
    from distributed.comm.core import connect
    from distributed.security import Security

    if not address:
        # Dask's own has workers give back all memory that they free: trials took 1.6 times as long.
        try:
            with dask.config.set({"distributed.nanny.pre-spawn-environ": ENVIRONMENT}):
                local = LocalCluster(
                    n_workers=jobs,
                    threads_per_worker=1,
                    memory_limit=0,
                    # Without one, its web server would take port 8787 of every interface: of
                    # another sweep.
                    dashboard_address="127.0.0.1:0",
                    host="127.0.0.1",
                    silence_logs=logging.CRITICAL,
                    scheduler_kwargs={"allowed_failures": 1},
                )
        except RuntimeError as error:
            raise RuntimeError(
                f"no worker could start ({error}): a script's sweep belongs below "
                "`if __name__ == '__main__':`, as each worker imports the script"
            ) from error
        with local, Client(local, set_as_default=False) as client:
            yield client
            # One that died is being started again, and Dask cannot end what has not begun.
            with suppress(TimeoutError):
                client.wait_for_workers(jobs, timeout=_PATIENCE)
        return

    async def answers() -> None:
        # Dask's client waits for minutes where a port is open and says nothing.
        made = connect(address, _PATIENCE, **Security().get_connection_args("client"))
        await (await asyncio.wait_for(made, _PATIENCE)).close()

    try:
        with ThreadPoolExecutor(1) as apart:  # from an event loop that may run here
            apart.submit(asyncio.run, answers()).result()
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except Exception as error:
        why = str(error) or "timed out"
        raise ConnectionError(f"no Dask scheduler answers at {address}: {why}") from error
    try:
        with client:
            yield client
    except (OSError, CancelledError, FutureCancelledError) as error:
        raise ConnectionError(f"the Dask scheduler at {address} stopped answering") from error


@contextmanager
def _quiet(library: str) -> Iterator[None]:
    """Keep a library from logging, with tracebacks, what becomes one error here."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith(library)]
    levels = {logging.getLogger(name): logging.getLogger(name).level for name in names}
    for logger in levels:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)
