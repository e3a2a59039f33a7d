"""Run a sweep: skip what is stored, run the rest, store each result as it comes, report."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path

import pandas as pd

# Not tqdm.auto, which warns on import in every notebook whose environment has no ipywidgets.
from tqdm import tqdm

from xsquared.studies.executors import RunTrial, in_this_process, on_cluster
from xsquared.studies.provenance import fingerprint
from xsquared.studies.store import Store
from xsquared.studies.trial import COMPLETED, Result, Trial


@dataclass(frozen=True)
class Report:
    """What came of a sweep.

    Attributes:
        results: one per trial, in the order of the trials.
        resumed: how many of them were in the store beforehand.
    """

    results: tuple[Result, ...]
    resumed: int

    @property
    def failures(self) -> tuple[Result, ...]:
        """Results of trials that did not complete."""
        return tuple(result for result in self.results if result.status != COMPLETED)

    def __str__(self) -> str:
        done = len(self.results) - len(self.failures)
        lines = [f"{done} of {len(self.results)} trials completed, {self.resumed} from the store"]
        counts = Counter(result.status for result in self.failures)
        lines += [f"{count} {status}" for status, count in sorted(counts.items())]
        lines += [f"  {r.status}: {r.trial}: {r.message}" for r in self.failures]
        return "\n".join(lines)


def run_sweep(
    trials: Iterable[Trial],
    run_trial: RunTrial,
    path: Path | str,
    jobs: int = 1,
    scheduler: str = "",
    progress: bool = True,
) -> Report:
    """Run what the store does not have; each result is stored the moment it is known.

    Stopped in any way and called again, it goes on where it stopped. Rows of other sources than
    those at hand are neither read nor touched, and trials that failed are not repeated.

    Args:
        trials: what to run; a trial that occurs twice is run once.
        run_trial: runs one; a function at the top of an importable module.
        path: of the store.
        jobs: trials at a time on this machine; with 1, they run in this process.
        scheduler: address of a Dask scheduler, ``tcp://host:port``, to run them there instead.
        progress: whether to show a bar with the time to finish.

    Raises:
        ValueError: no trials, ``jobs`` below 1, or a function that cannot be imported by its name.
        StoreError: results cannot be written; raised before the first trial starts.
        ConnectionError: no scheduler answers, or it stops answering.
        RuntimeError: as for :func:`xsquared.studies.executors.on_cluster`.
    """
    wanted = list(dict.fromkeys(trials))
    if not wanted:
        raise ValueError("a sweep needs at least one trial, got none")
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise ValueError(f"jobs must be an integer of at least 1, got {jobs!r}")
    sources = fingerprint(run_trial)
    store = Store(path)
    missing = [trial for trial in wanted if not store.has(trial, sources)]
    resumed = len(wanted) - len(missing)
    if missing:
        with (
            store.reserved(len(missing)),
            tqdm(
                total=len(wanted),
                initial=resumed,
                desc="trials",
                unit="trial",
                disable=not progress,
            ) as bar,
        ):
            _run(missing, run_trial, store, sources, jobs, scheduler, bar)
    rows = [store.result(trial, sources) for trial in wanted]
    return Report(tuple(row for row in rows if row is not None), resumed)


def _run(
    missing: list[Trial],
    run_trial: RunTrial,
    store: Store,
    sources: str,
    jobs: int,
    scheduler: str,
    bar: tqdm,
) -> None:
    def pending() -> Iterator[Trial]:
        """Trials as executors ask for them, without those that another process did meanwhile."""
        for trial in missing:
            if store.has(trial, sources):
                bar.update()
            else:
                yield trial

    if scheduler or jobs > 1:
        results = on_cluster(pending(), run_trial, sources, jobs, scheduler)
    else:
        results = in_this_process(pending(), run_trial, sources)
    failures = 0
    with closing(results):
        for result in results:
            store.append(result)
            failures += result.status != COMPLETED
            bar.set_postfix({"not completed": failures} if failures else {}, refresh=False)
            bar.update()


def to_frame(results: Iterable[Result]) -> pd.DataFrame:
    """Results as a table: the trial's fields, the row's, and a column for every value measured.

    Domain and options become JSON. Values that a row has not are missing.
    """
    rows = []
    for result in results:
        described = {field.name: getattr(result.trial, field.name) for field in fields(Trial)}
        described["domain"] = json.dumps(result.trial.domain)
        described["options"] = json.dumps(dict(result.trial.options))
        rest = [field.name for field in fields(Result) if field.name not in ("trial", "values")]
        rows.append(described | {name: getattr(result, name) for name in rest} | {**result.values})
    return pd.DataFrame(rows)


def export_parquet(results: Iterable[Result], path: Path | str) -> None:
    """Write results as a parquet file; who reads it sees the old one or the new one, whole.

    Raises:
        OSError: the file cannot be written.
    """
    path = Path(path)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        to_frame(results).to_parquet(unfinished, engine="pyarrow", index=False)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
