"""Sweeps: trials run here or on Dask workers, each row stored the moment it is known.

``run(trial)``, a function at the top of an importable module, returns what it measured
by name. Rows are filed in a sqlite file under the trial, a dictionary of plain values,
and the sources that ran it; processes may share the file. A sweep that was stopped, in
whatever way, goes on where it was: no row is lost or doubled. Trials that belong
together are a :class:`Study`.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import platform
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

# Not tqdm.auto, which warns on import in every notebook whose environment has no
# ipywidgets.
from tqdm import tqdm

if TYPE_CHECKING:
    from distributed import Client

_PACKAGE = Path(__file__).parents[1]

#: What tells a training run from every other: plain values by name.
Trial = Mapping[str, Any]
#: Gives what was measured by name: a list has an entry a network, ``status`` says how
#: training ended.
Run = Callable[[Trial], Mapping[str, Any]]


@dataclass(frozen=True)
class Study:
    """Trials that belong together; ``protocols`` say what each trains.

    ``sample`` gives trials that tests repeat: narrow, quick, the same on every
    processor; ``missing`` says what to install, if anything.
    """

    title: str
    protocols: Mapping[str, str]
    run: Run
    trials: Callable[[], Sequence[Trial]]
    sample: Callable[[], Sequence[Trial]]
    missing: Callable[[], str] = field(default=str)


#: Of a process that computes: one thread, so that sums keep their order of addition
#: everywhere, and freed memory stays, as asking glibc for it again takes a quarter of a
#: training's time.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_TRIM_THRESHOLD_": str(2**30),
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
}


def sweep(
    trials: Iterable[Trial], run: Run, path: Path | str, client: Client | None = None
) -> pd.DataFrame:
    """Return one row per network, in the trials' order: stored, or computed now.

    A trial that raises has a row that says so, and is not run again by the same
    sources. One that is lost, as its worker was killed or memory ran out, has none, so
    that the next sweep tries it. Trials run in this process or on a Dask cluster's
    workers, of one thread each.
    """
    trials_by_key = {trial_key(trial): trial for trial in trials}
    sources = fingerprint(run)
    with _opened(path) as store:
        known = _rows_in(store, sources)
        missing = [trial for key, trial in trials_by_key.items() if key not in known]
        rows: Iterable[dict[str, Any]] = (attempt(run, trial) for trial in missing)
        if client:
            rows = _rows_of_workers(client, run, missing)
        progress = tqdm(
            rows,
            total=len(trials_by_key),
            initial=len(trials_by_key) - len(missing),
            unit="trial",
            disable=None if missing else True,  # None: where nobody looks
        )
        for row in progress:
            if row["status"] == "lost":
                tqdm.write(f"lost, to be run again: {row['message']}", sys.stderr)
                continue
            values = (row["key"], sources, json.dumps(row))
            store.execute("insert or ignore into rows values (?, ?, ?)", values)
    # Of two processes that ran one trial, the first one's row.
    return stored(trials_by_key.values(), run, path)


def stored(trials: Iterable[Trial], run: Run, path: Path | str) -> pd.DataFrame:
    """Return the rows of trials that are stored, one per network; compute nothing."""
    with _opened(path) as store:
        known = _rows_in(store, fingerprint(run))
    keys = dict.fromkeys(map(trial_key, trials))
    return to_frame(known[key] for key in keys if key in known)


def trial_key(trial: Trial) -> str:
    """Hash what tells a trial from every other, alike in every process and version."""
    text = json.dumps(trial, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def versions() -> str:
    """Name Python and the packages that compute, each with its version."""
    python = f"Python {platform.python_version()}, {platform.machine()}"
    packages = ("numpy", "scipy", "scikit-learn", "torch")
    return ", ".join([python, *(f"{name} {version(name)}" for name in packages)])


@cache
def fingerprint(run: Run) -> str:
    """Hash the files that make run's rows, and the versions that compute, once."""
    digest = hashlib.sha256(f"{versions()} {run.__module__}.{run.__name__}".encode())
    for path in _sources(run):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _sources(run: Run) -> list[Path]:
    """List the file of run's module and those of xsquared it imports, however deep.

    Imports are read from the text, so that one inside a function counts. The book makes
    no rows.

    Raises:
        ValueError: run stands in a notebook or on the command line.
    """
    file = getattr(sys.modules[run.__module__], "__file__", None)
    if file is None:
        raise ValueError(
            f"{run.__name__} must stand in a module with a file, "
            f"not in {run.__module__}"
        )
    files = set[Path]()
    waiting = [Path(file)]
    while waiting:
        path = waiting.pop()
        if path not in files and _PACKAGE / "book" not in path.parents:
            files.add(path)
            waiting += _imported_files(path)
    return sorted(files)


def _imported_files(path: Path) -> Iterator[Path]:
    """Yield the files of xsquared that a file imports.

    Of a name that is no module of its package, that is the package's own file.
    """
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                file = _module_file(alias.name)
                if file:
                    yield file
        elif isinstance(node, ast.ImportFrom):
            package = _module_file(str(node.module))
            if package:
                for alias in node.names:
                    yield _module_file(f"{node.module}.{alias.name}") or package


def _module_file(module: str) -> Path | None:
    """Find the file of a module of xsquared; None of any other name."""
    names = module.split(".")
    if names[0] != _PACKAGE.name:
        return None
    stem = _PACKAGE.parent.joinpath(*names)
    for file in (stem.with_suffix(".py"), stem / "__init__.py"):
        if file.is_file():
            return file
    return None


def attempt(run: Run, trial: Trial) -> dict[str, Any]:
    """Run a trial on one thread; give its columns, overridden by what run measured."""
    from xsquared.threads import one_thread  # brings torch: who reads rows needs none

    measured: dict[str, Any] = {"status": "completed"}
    with one_thread():
        start = time.thread_time()
        try:
            # numpy's numbers become Python's.
            text = json.dumps(run(trial), default=lambda value: value.tolist())
            measured |= json.loads(text)
        except Exception as error:
            # Torch has no error of its own for a lack of memory.
            memory = isinstance(error, MemoryError | OSError) or "memory" in str(error)
            measured["status"] = "lost" if memory else "failed"
            measured["message"] = f"{type(error).__name__}: {error}"[:500]
        processor_seconds = time.thread_time() - start
    columns = dict(trial)
    for name, value in trial.items():
        # A list in a row has an entry a network, which only what was measured has.
        if isinstance(value, list | tuple | dict):
            columns[name] = json.dumps(value, sort_keys=True)
    columns |= measured
    return columns | {"seconds": processor_seconds, "key": trial_key(trial)}


def to_frame(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Take lists in rows of trials apart into rows of networks; repeat the rest."""
    networks: list[dict[str, Any]] = []
    for row in rows:
        lists = {
            name: values for name, values in row.items() if isinstance(values, list)
        }
        entries = zip(*lists.values(), strict=True) if lists else [()]
        networks += [row | dict(zip(lists, entry, strict=True)) for entry in entries]
    if not networks:
        return pd.DataFrame({"status": [], "key": []}, dtype=object)
    frame = pd.DataFrame(networks)
    at_the_end = ("status", "message", "seconds", "key")
    order = [name for name in frame if name not in at_the_end]
    return frame[order + [name for name in at_the_end if name in frame]]


@contextmanager
def local_client(jobs: int | None) -> Iterator[Client]:
    """Start worker processes here, one a core where None, of one thread each."""
    import dask
    from distributed import Client, LocalCluster

    # Dask's own setting has workers give back all memory that they free.
    with dask.config.set({"distributed.nanny.pre-spawn-environ": ENVIRONMENT}):
        cluster = LocalCluster(
            n_workers=jobs or os.cpu_count(),
            threads_per_worker=1,
            memory_limit=0,
            dashboard_address=":0",
            scheduler_kwargs={"allowed_failures": 1},
        )
    with cluster, Client(cluster, set_as_default=False) as client:
        yield client


def _rows_of_workers(
    client: Client, run: Run, trials: list[Trial]
) -> Iterator[dict[str, Any]]:
    """Yield rows as they finish; a worker gets a trial only when a thread is free.

    Dask suspects every task queued at a worker that dies, and gives up on its second
    death.
    """
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    waiting = iter(trials)
    running = as_completed(loop=client.loop)
    while True:
        threads = sum(client.nthreads().values())
        free = max(threads, 1) - running.count()
        for trial in islice(waiting, max(free, 0)):
            running.add(client.submit(attempt, run, trial, pure=False))
        if running.is_empty():
            return
        try:
            yield next(running).result()
        except KilledWorker as error:
            yield {"status": "lost", "message": str(error)}


@contextmanager
def _opened(path: Path | str) -> Iterator[sqlite3.Connection]:
    """Open a store of rows, new or old.

    Raises:
        ValueError: the file is no database, or a damaged one.
        OSError: it cannot be opened or written, as it is locked or the disk is full.
    """
    try:
        # Each statement is one transaction, on the disk when it returns.
        with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as store:
            store.execute("pragma synchronous = extra")
            columns = (
                "key text, fingerprint text, row text, primary key (key, fingerprint)"
            )
            store.execute(f"create table if not exists rows ({columns})")
            yield store
    except sqlite3.OperationalError as error:
        raise OSError(f"{path}: {error}") from error
    except sqlite3.DatabaseError as error:
        todo = "move it away and run again; committed rows count as done"
        raise ValueError(f"{path} is damaged ({error}): {todo}") from error


def _rows_in(store: sqlite3.Connection, sources: str) -> dict[str, dict[str, Any]]:
    """Read the rows of these sources, by their trials' keys."""
    rows = store.execute("select key, row from rows where fingerprint = ?", (sources,))
    return {key: json.loads(row) for key, row in rows}
