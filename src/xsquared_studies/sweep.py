"""Run a sweep: skip what is stored, run the rest, store each result as it comes, report."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

# Not tqdm.auto, which warns on import in every notebook whose environment has no ipywidgets.
from tqdm import tqdm

from xsquared.checks import check_integer, quoted
from xsquared_studies.executors import RunTrial, in_this_process, on_workers
from xsquared_studies.provenance import fingerprint
from xsquared_studies.store import Store, StoreError
from xsquared_studies.trial import Result, Scalar, Trial

#: A value of one of a trial's networks: its name, and the column and number that tell which.
_INDEXED = re.compile(r"(\w+)\[(n|seed)=(0|[1-9][0-9]*)\]")
#: The last columns of a table: how a trial went.
_HOW = ("status", "seconds", "message", "versions", "fingerprint", "key")


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
        return tuple(result for result in self.results if not result.completed)

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
    retry_failed: bool = False,
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
        retry_failed: whether to run trials again that failed; their rows stay until new ones come.

    Raises:
        TypeError: no trials, or what is none, or no function.
        ValueError: ``jobs`` below 1, or a function that cannot be imported by its name.
        StoreError: results cannot be written, raised before the first trial starts, or are gone.
        ConnectionError: no scheduler answers, or it stops answering.
        RuntimeError: as for :func:`xsquared_studies.executors.on_workers`.
    """
    wanted = list(trials) if isinstance(trials, Iterable) else [trials]
    good = wanted and all(isinstance(trial, Trial) for trial in wanted)
    if not good or not callable(run_trial):
        found = f"{quoted(wanted)}, {quoted(run_trial)}"
        raise TypeError(f"expected trials and a function, got {found}")
    check_integer("jobs", jobs, 1)
    wanted = list({trial.key: trial for trial in wanted}.values())  # 1 and True are equal
    store, sources = Store(path, retry_failed), fingerprint(run_trial)
    missing = [trial for trial in wanted if not store.has(trial, sources)]
    resumed = len(wanted) - len(missing)
    if missing:
        shown = {"total": len(wanted), "initial": resumed, "disable": not progress}
        with store.reserved(len(missing)), tqdm(unit="trial", **shown) as bar:
            asked = run_trial, _pending(missing, store, sources, bar), sources
            apart = scheduler or jobs > 1
            results = on_workers(*asked, jobs, scheduler) if apart else in_this_process(*asked)
            failures = 0
            with closing(results):
                for result in results:
                    store.append(result)
                    failures += not result.completed
                    bar.set_postfix({"not completed": failures} if failures else {}, refresh=False)
                    bar.update()
    rows = [row for trial in wanted if (row := store.result(trial, sources))]
    if lost := len(wanted) - len(rows):
        raise StoreError(f"{path} has lost {lost} of {len(wanted)} results meanwhile: run it again")
    return Report(tuple(rows), resumed)


def _pending(missing: list[Trial], store: Store, sources: str, bar: tqdm) -> Iterator[Trial]:
    """Trials as executors ask for them, without those that another process did meanwhile."""
    for trial in missing:
        if store.has(trial, sources):
            bar.update()
        else:
            yield trial


def to_frame(results: Iterable[Result]) -> pd.DataFrame:
    """Results as a table, a row a network: what was run, what came of it, how it went.

    A value named ``rmse[n=4]`` belongs to the row of the trial's network with ``n = 4``; values
    without an index are repeated in each of the trial's rows. Domain and settings become JSON;
    ``domain``, ``points`` and errors are left out where no row has them.
    """
    frame = pd.DataFrame([row for result in results for row in _networks(result)])
    frame = frame[[name for name in frame if name not in _HOW] + [*_HOW]]
    optional = ("domain", "points", "train_rmse", "test_rmse")
    empty = [name for name in optional if frame[name].isna().all()]
    return frame.drop(columns=empty)


def _networks(result: Result) -> list[dict[str, object]]:
    """The rows of a trial: one, or one for each index among its values."""
    trial, common = result.trial, dict[str, Scalar]()
    networks: dict[tuple[str, int], dict[str, Scalar]] = {}
    for name, value in result.values.items():
        if found := _INDEXED.fullmatch(name):
            name, index, place = found.groups()
            networks.setdefault((index, int(place)), {})[name] = value
        else:
            common[name] = value
    described = {
        "problem": trial.subject,
        "domain": json.dumps(trial.domain) if trial.domain else None,
        "unit": trial.unit,
        "gate": trial.record.activation,
        "n": trial.n_hidden,
        "parameters": None,
        "protocol": trial.protocol,
        "split": trial.split,
        "gates": trial.gates,
        "solver": trial.solver,
        "settings": json.dumps(dict(trial.settings)),
        "seed": trial.seed,
        "points": trial.points,
        "train_rmse": None,
        "test_rmse": None,
    }
    how = [result.status, result.seconds, result.message]
    how += [result.versions, result.fingerprint, trial.key]
    row = described | common | dict(zip(_HOW, how, strict=True))
    networks = networks or {("n", trial.n_hidden): {}}
    return [row | own | {index: place} for (index, place), own in networks.items()]


def write_table(frame: pd.DataFrame, path: Path | str, **form: str) -> None:
    """Write a table; who reads it sees the old one or the new one, whole.

    Args:
        frame: the rows.
        path: ending in ``.parquet`` or ``.csv``.
        form: of a csv's numbers, as pandas calls it.
    """
    suffix, path = Path(path).suffix, Path(path).resolve()  # where a link points
    unfinished = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        if suffix == ".csv":
            frame.to_csv(unfinished, index=False, lineterminator="\n", **form)
        else:
            frame.to_parquet(unfinished, engine="pyarrow", index=False)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
