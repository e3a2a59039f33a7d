"""Committed rows of the studies: read, completed, compared.

``results/NAME.csv`` holds a study's rows, one a network, sorted and rounded;
``results/NAME.toml`` says what made them. Both are shipped with the package. A study
may be committed in part: its .toml then says ``part_of``, the number of all its trials.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from xsquared.studies.declared import find_study
from xsquared.studies.sweep import (
    Study,
    Trial,
    fingerprint,
    local_client,
    stored,
    sweep,
    trial_key,
    versions,
)

if TYPE_CHECKING:
    from distributed import Client

#: Opens what trials run on: a Dask client, or None for this process.
_Connect = Callable[[], AbstractContextManager["Client | None"]]

#: What tells a row from every other of its study.
_NETWORK = ["key", "problem", "n", "seed"]
#: What rows are sorted by, as far as their study has these columns.
_ORDER = [
    "problem",
    "unit",
    "gate",
    "protocol",
    "points",
    "settings",
    "seed",
    "n",
    "key",
]
#: Those of them that are sorted as numbers.
_NUMBERS = ("points", "seed", "n")
#: What is compared, of a row and the same network trained anew.
_COMPARED = (
    "parameters",
    "train_rmse",
    "test_rmse",
    "integral_rmse",
    "bound",
    "nats",
)
#: By what share an error may differ: training amplifies the last bits, in which
#: processors differ.
TOLERANCE = 0.02
#: In the environment of a chapter as committed, where a missing row is an error.
COMMITTED_ONLY = "XSQUARED_COMMITTED_ONLY"
#: What is kept of the origin of rows that were written earlier, by other sources.
_EARLIER = ("commit", "fingerprint", "versions", "machine", "date")
_CHECKOUT = Path(__file__).parents[3]
_NO_ROWS = pd.DataFrame({"key": []}, dtype=object)


def rows(
    name: str, trials: Iterable[Trial] | None = None, jobs: int = 1
) -> pd.DataFrame:
    """Give rows of a study, one a network.

    What is missing is computed and kept: in a checkout below ``_build/studies``,
    elsewhere as ``NAME.sqlite`` in the current folder.

    Args:
        name: of the study.
        trials: whose rows are given, in their order; all committed rows where None.
        jobs: trials to compute at a time.

    Raises:
        ValueError: no such study, or its committed rows are damaged.
        RuntimeError: a row is missing, and a chapter runs that was given no parameter,
            or something must be installed to compute it.
    """
    committed = _NO_ROWS
    if _origin(name):
        committed = pd.read_csv(_table(name), dtype={"key": str})
    if trials is None:
        return committed
    trials_by_key = {trial_key(trial): trial for trial in trials}
    missing = _without_rows(trials_by_key.values(), committed)
    if missing and os.environ.get(COMMITTED_ONLY):
        count = f"{len(missing)} of {len(trials_by_key)} rows"
        raise RuntimeError(
            f"{count} of the study {name} are missing: `xsquared study {name}`"
        )
    frame = committed
    if missing:
        study = find_study(name)
        to_install = study.missing()
        if to_install:
            raise RuntimeError(f"{name}: {to_install}")
        with local_client(jobs) if jobs > 1 else nullcontext() as client:
            frame = sweep(missing, study.run, _path(name, ".sqlite"), client)
    if missing and len(committed):
        frame = pd.concat([committed, frame.reindex(columns=committed.columns)])
    position = {key: k for k, key in enumerate(trials_by_key)}
    frame = frame[frame["key"].isin(position)]
    return frame.sort_values(
        "key", key=lambda keys: keys.map(position), kind="stable", ignore_index=True
    )


def run(name: str, connect: _Connect = nullcontext, part: bool = False) -> pd.DataFrame:
    """Finish a study and write its rows.

    Committed rows count as done, but for failed ones. Where other sources made them,
    the study's sample runs first: if it does not come out again, all rows are void, and
    all trials run.

    Args:
        name: of the study.
        connect: opens what trials run on.
        part: run nothing more, and write what is there.

    Returns:
        The study's rows, as written.

    Raises:
        ValueError: the committed rows are damaged.
        RuntimeError: something must be installed, or trials were lost.
    """
    study = find_study(name)
    to_install = study.missing()
    if to_install and not part:
        raise RuntimeError(f"{name}: {to_install}")
    trials = study.trials()
    commit = _commit()  # before the first trial: it names the sources that run
    done = _still_valid(name, study, connect)
    missing = _without_rows(trials, done)
    store = _path(name, ".sqlite")
    if part or not missing:
        added = stored(missing, study.run, store)
    else:
        with connect() as client:
            added = sweep(missing, study.run, store, client)
    absent = len(missing) - added["key"].nunique()
    if absent and not part:
        raise RuntimeError(
            f"{name}: {absent} of {len(trials)} trials were lost: run it again"
        )
    dropped = len(done) < len(rows(name))  # rows that failed, or are of no trial
    if len(added) or dropped:
        _write_rows(name, study, done, added, absent, commit)
    return rows(name)


def check(
    name: str, trials: Sequence[Trial], connect: _Connect = nullcontext
) -> list[str]:
    """Run some trials of a study anew; give a line for each row not as committed.

    Raises:
        RuntimeError: a trial failed, or was lost, so that there is nothing to compare.
    """
    with tempfile.TemporaryDirectory() as folder, connect() as client:
        again = sweep(
            trials, find_study(name).run, Path(folder) / "check.sqlite", client
        )
    if len(trials) > again["key"].nunique():
        raise RuntimeError(f"{name}: trials to be compared were lost: run it again")
    for row in again[again["status"] == "failed"].to_dict("records"):
        raise RuntimeError(f"{name}: a trial to be compared failed: {row['message']}")
    return compare(rows(name), again)


def compare(before: pd.DataFrame, after: pd.DataFrame) -> list[str]:
    """Give a line for each row that is new, or has another number than before."""
    old_rows = {
        tuple(row[name] for name in _NETWORK): row for row in before.to_dict("records")
    }
    lines = []
    for row in after.to_dict("records"):
        case = ("problem", "unit", "protocol", "settings")
        label = ", ".join(str(row[column]) for column in case)
        label = f"{label}: n = {row['n']}, seed {row['seed']}"
        old = old_rows.get(tuple(row[name] for name in _NETWORK))
        if old is None:
            lines.append(f"{label}: new")
            continue
        for column in _COMPARED:
            then, now = old.get(column, math.nan), row.get(column, math.nan)
            if not np.isclose(now, then, TOLERANCE, 0, equal_nan=True):
                change = f"{column} {then:.6g}, now {now:.6g}"
                lines.append(f"{label}: {change}, {row['status']}")
    return lines


def _without_rows(trials: Iterable[Trial], frame: pd.DataFrame) -> list[Trial]:
    """List the trials that have no row."""
    known = set(frame["key"])
    return [trial for trial in trials if trial_key(trial) not in known]


def _still_valid(name: str, study: Study, connect: _Connect) -> pd.DataFrame:
    """Read the rows that need not run again: none where the sample comes out otherwise.

    They are of the study's trials, did not fail, and are text, so that writing them
    again changes no digit. Where the same sources made them no sample runs.
    """
    origin = _origin(name)
    if not origin:
        return _NO_ROWS
    committed = pd.read_csv(_table(name), dtype=str, keep_default_na=False)
    trials_by_key = {trial_key(trial): trial for trial in study.trials()}
    declared = committed["key"].isin(trials_by_key)
    committed = committed[declared & (committed["status"] != "failed")]
    if origin["fingerprint"] == fingerprint(study.run) or committed.empty:
        return committed
    keys = {trial_key(trial) for trial in study.sample()} & set(committed["key"])
    if not keys:  # of a part that has none of the sample, the quickest trials
        seconds = committed.drop_duplicates("key").set_index("key")["seconds"]
        keys = set(pd.to_numeric(seconds).nsmallest(3).index)
    lines = check(name, [trials_by_key[key] for key in sorted(keys)], connect)
    if lines:
        reason = f"{name}: a sample does not come out again, so all trials run:"
        tqdm.write("\n  ".join([reason, *lines]), sys.stderr)
    return _NO_ROWS if lines else committed


def _origin(name: str) -> dict[str, Any]:
    """Read what made a study's committed rows; nothing where there are none.

    Raises:
        ValueError: the table is not the one of which its .toml speaks.
    """
    table, description = _table(name), _table(name).with_suffix(".toml")
    if not table.exists() and not description.exists():
        find_study(name)  # refuses an unknown name
        return {}
    try:
        origin = tomllib.loads(description.read_text(encoding="utf-8"))
        if origin["sha256"] == _sum(table):
            return origin
    except (FileNotFoundError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError):
        pass
    raise ValueError(
        f"{table} is not what its .toml describes: "
        "restore both from git, or remove both to run all trials"
    )


def _write_rows(
    name: str,
    study: Study,
    done: pd.DataFrame,
    added: pd.DataFrame,
    absent: int,
    commit: str,
) -> None:
    """Write rows that are done already and added ones, and what made them.

    Args:
        name: of the study.
        study: that is written.
        done: rows as text, from :func:`_still_valid`.
        added: rows from a sweep.
        absent: number of trials that have no row yet.
        commit: of the sources that made the added rows.
    """
    origin = _origin(name)  # before the table changes
    frame = (
        pd.concat([done, _as_text(added)]).fillna("") if len(done) else _as_text(added)
    )
    table = _sorted_rows(frame).to_csv(index=False, lineterminator="\n")
    trials = frame["key"].nunique()
    seconds = pd.to_numeric(frame.drop_duplicates("key")["seconds"]).sum()
    description: dict[str, Any] = {"title": study.title}
    for protocol, text in study.protocols.items():
        description[f"protocol_{protocol}"] = text
    description["trials"] = trials
    if absent:
        description["part_of"] = trials + absent
    description |= {
        "commit": commit,
        "fingerprint": fingerprint(study.run),
        "versions": versions(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "cpu_seconds": round(float(seconds)),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "rows": len(frame),
        "sha256": hashlib.sha256(table.encode()).hexdigest(),
    }
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in description.items()]
    for earlier in [*origin.get("earlier", []), origin] if len(done) else []:
        if earlier["fingerprint"] != description["fingerprint"]:
            lines.append("\n[[earlier]]\n")
            lines += [f"{key} = {json.dumps(earlier[key])}\n" for key in _EARLIER]
    _write(_path(name, ".csv"), table)
    _write(_path(name, ".toml"), "".join(lines))


def _as_text(added: pd.DataFrame) -> pd.DataFrame:
    """Round rows of a sweep to what is committed, as text."""
    if len(added):
        added = added.assign(seconds=added["seconds"].round(1))
    text = io.StringIO(added.map(_digits).to_csv(index=False))
    return pd.read_csv(text, dtype=str, keep_default_na=False)


def _sorted_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Sort rows, which are text, as they are committed: without messages."""
    frame = frame.sort_values(
        [column for column in _ORDER if column in frame],
        key=lambda text: pd.to_numeric(text) if text.name in _NUMBERS else text,
    )
    return frame.drop(columns="message", errors="ignore")


def _digits(value: Any) -> Any:
    """Write a number with six digits, a whole one whole; other values stay."""
    if not isinstance(value, float) or not np.isfinite(value):
        return value
    whole = value.is_integer() and abs(value) < 1e15
    return f"{value:.0f}" if whole else f"{value:.6g}"


def _write(path: Path, text: str) -> None:
    """Write a file; who reads it sees the old one or the new one, whole."""
    unfinished = path.with_name(f".{path.name}.part")
    unfinished.write_text(text, encoding="utf-8", newline="\n")
    unfinished.replace(path)


def _commit() -> str:
    """Name the commit of the sources that make rows, and whether they are changed.

    Another study's rows may lie there uncommitted.
    """
    commit = _git("describe", "--always", "--abbrev=12") or "unknown"
    changed = _git("status", "--porcelain", "--", "src")
    return f"{commit}-dirty" if changed else commit


def _sum(table: Path) -> str:
    """Compute the checksum of a table's text, however its lines end."""
    return hashlib.sha256(table.read_bytes().replace(b"\r\n", b"\n")).hexdigest()


def _git(*arguments: str) -> str:
    """Give what git prints; nothing outside a repository."""
    done = subprocess.run(
        ["git", *arguments], cwd=_CHECKOUT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def _path(name: str, suffix: str) -> Path:
    """Say where a study's file is written: the checkout, else the current folder."""
    folder = Path.cwd()
    if _in_checkout():
        folder = _CHECKOUT / ("_build/studies" if suffix == ".sqlite" else "results")
        folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}{suffix}"


def _table(name: str) -> Path:
    """Say where rows are read: where they were written, else inside the package."""
    written = _path(name, ".csv")
    if _in_checkout() or written.with_suffix(".toml").is_file():
        return written
    return Path(__file__).parent / "results" / written.name


def _in_checkout() -> bool:
    return (_CHECKOUT / "_toc.yml").is_file()
