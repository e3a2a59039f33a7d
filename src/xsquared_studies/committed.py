"""Committed rows of the declared studies: read, completed, run anew, compared.

``results/NAME.csv`` holds a study's rows, one a network, sorted and rounded; ``results/NAME.toml``
says what made them. Both are shipped with the package. In a checkout a study runs in a store below
``_build``, from which it resumes; elsewhere what is missing is kept in the current folder.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
import random
import subprocess
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from xsquared.checks import check_choice
from xsquared_studies.declared import STUDIES, Study
from xsquared_studies.store import StoreError
from xsquared_studies.sweep import Report, run_sweep, to_frame, write_table
from xsquared_studies.trial import COMPLETED, Result, Trial

_LOG = logging.getLogger(__name__)
#: Columns that no chapter reads and no two machines share, or that the provenance holds.
_LEFT_OUT = ["message", "versions", "fingerprint"]
_ORDER = ["problem", "unit", "gate", "protocol", "points", "settings", "seed", "n", "key"]
#: What tells a row from every other of its study.
_NETWORK = ["key", "n", "seed"]
_ERRORS = ("train_rmse", "test_rmse", "integral_rmse", "author_rmse", "nats")
#: What a trial says, which the key stands for, and what follows from it alone.
_TOLD = (
    *("problem", "unit", "gate", "parameters", "protocol", "split", "gates", "solver"),
    *("settings", "points"),
)
#: By how much an error may differ from the committed one, as a share of it. Training amplifies the
#: last bits, in which processors differ: with the kernels of one without AVX2, errors of networks
#: of four neurons differed by 3e-6 of themselves, at worst by 9e-4; of eight, two in sixty by more
#: than this share, as they had ended in other minima.
TOLERANCE = 0.02
#: The checkout that this package lies in, if it lies in one.
_CHECKOUT = Path(__file__).parents[2]


def rows(name: str, trials: Iterable[Trial] | None = None, jobs: int = 1) -> pd.DataFrame:
    """Rows of a study, one a network; ``results/README.md`` describes the columns.

    Committed rows are read. What is missing of the trials is computed and kept: in a checkout below
    ``_build/studies``, elsewhere as ``NAME.sqlite`` in the current folder.

    Args:
        name: of the study.
        trials: whose rows to give, in their order; all committed ones where None.
        jobs: missing trials to compute at a time.

    Raises:
        ValueError: an unknown study.
        StoreError: committed rows that are damaged, or a store that cannot be used.
    """
    check_choice("study", name, STUDIES)
    found, table = read(name), _folder() / f"{name}.csv"
    told = table.with_suffix(".toml")
    try:
        whole = tomllib.loads(told.read_text(encoding="utf-8")).get("sha256") == _sum(table)
    except (OSError, ValueError):
        whole = not (table.exists() or told.exists())
    if not whole:  # cut, edited, or of a run that was killed between the two
        anew = f"restore both, or run `xsquared study {name}` in a checkout"
        raise StoreError(f"{table} is damaged: {told.name} is not of these rows: {anew}")
    if trials is None:
        return found
    wanted, there = {trial.key: trial for trial in trials}, set(found["key"])
    if missing := [trial for key, trial in wanted.items() if key not in there]:
        store = _store(name)
        if not _in_checkout():
            _LOG.warning("%s: %d trials to compute, kept in %s", name, len(missing), store)
        report = run_sweep(missing, STUDIES[name].run, store, jobs, progress=False)
        made = to_frame(report.results)
        columns = found.columns if len(found) else made.columns
        found = pd.concat([found, made.reindex(columns=columns)]) if len(found) else made
    place = {key: k for k, key in enumerate(wanted)}
    found = found[found["key"].isin(place)]
    return found.sort_values(
        "key", key=lambda keys: keys.map(place), kind="stable", ignore_index=True
    )


def read(name: str) -> pd.DataFrame:
    """The committed rows of a study as they stand; none where they were never written."""
    table = _folder() / f"{name}.csv"
    if not table.exists():
        return pd.DataFrame({"key": []}, dtype=object)
    try:
        kinds = {"key": str, "status": str, "n": int, "seed": int} | dict.fromkeys(_ERRORS, float)
        found = pd.read_csv(table, dtype=kinds)
        _ = found[[*_NETWORK, "status"]]
        return found
    except (OSError, ValueError, KeyError, OverflowError) as error:
        raise StoreError(f"{table} is damaged: {error!r}") from error


def run(study: Study, jobs: int = 1, scheduler: str = "") -> tuple[Report, list[str]]:
    """Run or resume a study and write its rows.

    Returns:
        What came of it, and a line for each row that is not the one committed before.
    """
    if not _in_checkout():
        raise StoreError(f"studies are run in a checkout of the book, and {_CHECKOUT} is none")
    if line := study.missing():
        raise StoreError(f"{study.name}: {line}")
    before = read(study.name)
    report = run_sweep(study.trials, study.run, _store(study.name), jobs, scheduler)
    moved = compare(before, report.results)
    frame = to_frame(report.results).drop(columns=_LEFT_OUT, errors="ignore")
    frame = frame.sort_values([name for name in _ORDER if name in frame])
    frame["seconds"] = frame["seconds"].round(1)
    # Before the rows: writing them makes the tree another.
    made = _origin(study, report)
    # Six digits are what one machine reproduces.
    table = _folder() / f"{study.name}.csv"
    write_table(frame, table, float_format="%.6g")
    made |= {"rows": len(frame), "sha256": _sum(table)}
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in made.items()]
    table.with_suffix(".toml").write_text("".join(lines), encoding="utf-8", newline="\n")
    return report, moved


def check(study: Study, trials: Sequence[Trial], jobs: int = 1, scheduler: str = "") -> list[str]:
    """Run some trials of a study anew; lines for rows not as committed, as ``compare`` has them."""
    with tempfile.TemporaryDirectory() as folder:
        report = run_sweep(
            trials, study.run, Path(folder) / "check.sqlite", jobs, scheduler, progress=False
        )
    return compare(read(study.name), report.results)


def drawn(study: Study, count: int, seed: int) -> list[Trial]:
    """So many trials of a study at random, at most all."""
    return random.Random(seed).sample(study.trials, min(count, len(study.trials)))


def compare(before: pd.DataFrame, results: Iterable[Result]) -> list[str]:
    """A line for each row that is new, ends otherwise, or has errors off by :data:`TOLERANCE`.

    Other measured columns, as a bound or a count of features, are not compared.

    Raises:
        StoreError: a row that stands there twice.
    """
    old = before.set_index(_NETWORK) if len(before) else before
    if not old.index.is_unique:
        raise StoreError(f"expected each row once, got {old[old.index.duplicated()].index[0]}")
    lines = []
    for result in results:
        for _, row in to_frame([result]).iterrows():
            name = f"{result.trial}: n = {row['n']}, seed {row['seed']}"
            if (place := tuple(row[_NETWORK])) not in old.index:
                lines.append(f"{name}: new")
                continue
            was = old.loc[place]
            if (was["status"] in COMPLETED) != (row["status"] in COMPLETED):
                lines.append(f"{name}: {was['status']}, now {row['status']} {row['message']}")
            elif row["status"] in COMPLETED:
                lines += [
                    f"{name}: {told} {was.get(told)}, now {row.get(told)}"
                    for told in _TOLD
                    if not _same(was.get(told), row.get(told))
                ]
                lines += [
                    f"{name}: {error} {then:.6g}, now {now:.6g}"
                    for error in _ERRORS
                    for then, now in [(was.get(error, np.nan), row.get(error, np.nan))]
                    if not np.isclose(then, now, TOLERANCE, 0, equal_nan=True)
                ]
    return lines


def _same(was: object, now: object) -> bool:
    """Whether a table's value is the one that was written; nothing is written as a gap."""
    return was == now or (bool(pd.isna(was)) and (now == "" or bool(pd.isna(now))))


def _origin(study: Study, report: Report) -> dict[str, Any]:
    last = report.results[-1]
    commit = _git("describe", "--always", "--abbrev=12") or "unknown"
    # What makes rows; another study's rows may lie there uncommitted.
    changed = _git("status", "--porcelain", "--", "src")
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return {
        "title": study.title,
        **{f"protocol_{name}": text for name, text in study.protocols.items()},
        "trials": len(report.results),
        "commit": commit + "-dirty" * bool(changed),
        "fingerprint": last.fingerprint,
        "versions": last.versions,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores{gpu}",
        "cpu_seconds": round(sum(result.seconds for result in report.results)),
        "date": max(result.finished for result in report.results)[:10],
    }


def _sum(table: Path) -> str:
    """The checksum of a table's text, however its lines end."""
    return hashlib.sha256(table.read_text(encoding="utf-8").encode()).hexdigest()


def _git(*arguments: str) -> str:
    """What git prints; nothing outside a repository."""
    return subprocess.run(
        ["git", *arguments], cwd=_CHECKOUT, capture_output=True, text=True, check=False
    ).stdout.strip()


def _in_checkout() -> bool:
    return (_CHECKOUT / "_toc.yml").is_file()


def _folder() -> Path:
    """Where the rows lie: in a checkout at its top, where they are edited; else in the package."""
    return _CHECKOUT / "results" if _in_checkout() else Path(__file__).parent / "results"


def _store(name: str) -> Path:
    if not _in_checkout():
        return Path.cwd() / f"{name}.sqlite"
    folder = _CHECKOUT / "_build" / "studies"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}.sqlite"
