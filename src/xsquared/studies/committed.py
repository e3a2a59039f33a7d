"""Committed rows of the studies: read, completed, compared.

``results/NAME.csv`` holds a study's rows, one a network, sorted and rounded; ``results/NAME.toml``
says what made them. Both are shipped with the package. A study may be committed in part: its .toml
then says ``part_of``, the number of all its trials.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import tempfile
import tomllib
from collections.abc import Iterable
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

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

#: What tells a row from every other of its study, what they are sorted by, and what is compared.
_NETWORK = ["key", "problem", "n", "seed"]
_ORDER = ["problem", "unit", "gate", "protocol", "points", "settings", "seed", "n", "key"]
_COMPARED = ("parameters", "train_rmse", "test_rmse", "integral_rmse", "author_rmse", "nats")
#: By what share an error may differ: training amplifies the last bits, in which processors differ.
TOLERANCE = 0.02
_CHECKOUT = Path(__file__).parents[3]
_NONE = pd.DataFrame({"key": []}, dtype=object)
#: In the environment of a chapter that runs as committed: a missing row is then an error.
COMMITTED_ONLY = "XSQUARED_COMMITTED_ONLY"
#: What is said of rows added earlier, where a study was committed in parts.
_EARLIER = ("trials", "commit", "fingerprint", "versions", "machine", "date")


def rows(name: str, trials: Iterable[Trial] | None = None, jobs: int = 1) -> pd.DataFrame:
    """Give rows of a study, one a network: all committed ones, or those of trials in their order.

    What is missing is computed, so many ``jobs`` at a time, and kept: in a checkout below
    ``_build/studies``, elsewhere as ``NAME.sqlite`` in the current folder.

    Raises:
        ValueError: the committed rows are damaged.
        RuntimeError: a row is missing, and a chapter runs that was given no parameter.
    """
    found = _read(name)
    if not _intact(name):
        raise ValueError(f"rows of {name} are damaged: restore its .csv and .toml, or run it")
    if trials is None:
        return found
    wanted = {trial_key(trial): trial for trial in trials}
    missing = _without(found, wanted.values())
    if missing and os.environ.get(COMMITTED_ONLY):
        count = f"{len(missing)} of {len(wanted)} rows"
        raise RuntimeError(f"{count} of the study {name} are missing: `xsquared study {name}`")
    if missing:
        with local_client(jobs) if jobs > 1 else nullcontext() as client:
            computed = sweep(missing, find_study(name).run, _path(name, ".sqlite"), client)
        if len(found):
            computed = computed.reindex(columns=found.columns)
            found = pd.concat([found, computed])
        else:
            found = computed
    place = {key: k for k, key in enumerate(wanted)}
    found = found[found["key"].isin(place)]
    return found.sort_values("key", key=lambda k: k.map(place), kind="stable", ignore_index=True)


def run(
    name: str, client: Client | None = None, part: bool = False
) -> tuple[pd.DataFrame, list[str]]:
    """Finish a study and write its rows; with ``part`` compute nothing and write what is there.

    Committed rows count as done. Where other sources made them, the study's sample runs first:
    if it does not come out again, all rows are void, and all trials run.

    Returns:
        The study's rows, and a line for each row of the sample that is not as committed.
    """
    study = find_study(name)
    if (line := study.missing()) and not part:
        raise RuntimeError(f"{name}: {line}")
    trials = study.trials()
    origin = _origin(name)
    committed = _read(name) if origin else _NONE
    before = committed[committed["key"].isin(map(trial_key, trials))]
    moved: list[str] = []
    if len(before) and not part and origin["fingerprint"] != fingerprint(study.run):
        lacking = _without(before, study.sample())
        sample = [trial for trial in study.sample() if trial not in lacking]
        moved = check(name, sample, client)
        before = _NONE if moved else before
    missing = _without(before, trials)
    store = _path(name, ".sqlite")
    added = stored(missing, study.run, store) if part else sweep(missing, study.run, store, client)
    lost = len(missing) - added["key"].nunique()
    if lost and not part:
        raise RuntimeError(f"{name}: {lost} of {len(trials)} trials were lost: run it again")
    if len(added) or len(before) < len(committed):
        earlier = _earlier(origin, fingerprint(study.run)) if len(before) else []
        before = pd.concat([before, added]) if len(before) else added
        before = before.sort_values([column for column in _ORDER if column in before])
        _write_rows(name, study, before, lost, earlier)
    return before, moved


def check(name: str, trials: Iterable[Trial], client: Client | None = None) -> list[str]:
    """Run some trials of a study anew; lines for rows that are not as committed."""
    with tempfile.TemporaryDirectory() as folder:
        made = sweep(trials, find_study(name).run, Path(folder) / "check.sqlite", client)
    return compare(rows(name), made)


def compare(before: pd.DataFrame, made: pd.DataFrame) -> list[str]:
    """Give a line for each row that is new, or has another number than before."""
    lines, nothing = [], float("nan")
    old = {tuple(row[c] for c in _NETWORK): row for row in before.to_dict("records")}
    for row in made.to_dict("records"):
        said = [str(row[c]) for c in ("problem", "unit", "protocol", "settings")]
        name = f"{', '.join(said)}: n = {row['n']}, seed {row['seed']}"
        if (was := old.get(tuple(row[c] for c in _NETWORK))) is None:
            lines.append(f"{name}: new")
            continue
        for column in _COMPARED:
            then, now = was.get(column, nothing), row.get(column, nothing)
            if not np.isclose(now, then, TOLERANCE, 0, equal_nan=True):
                lines.append(f"{name}: {column} {then:.6g}, now {now:.6g}, {row['status']}")
    return lines


def _without(found: pd.DataFrame, trials: Iterable[Trial]) -> list[Trial]:
    """Trials that have no row."""
    known = set(found["key"])
    return [trial for trial in trials if trial_key(trial) not in known]


def _read(name: str) -> pd.DataFrame:
    """The committed rows of a study as they stand; none where they were never written."""
    table = _committed(name, ".csv")
    if not table.exists():
        find_study(name)  # refuses an unknown name
        return _NONE
    return pd.read_csv(table, dtype={"key": str})


def _intact(name: str) -> bool:
    """Whether a study's rows are those of which its .toml speaks, or there are none."""
    return not _committed(name, ".csv").exists() or bool(_origin(name))


def _origin(name: str) -> dict[str, Any]:
    """What made a study's committed rows; nothing where there are none, or damaged ones."""
    described, table = _committed(name, ".toml"), _committed(name, ".csv")
    if not (described.exists() and table.exists()):
        return {}
    origin = tomllib.loads(described.read_text(encoding="utf-8"))
    return origin if origin["sha256"] == _sum(table) else {}


def _earlier(origin: dict[str, Any], sources: str) -> list[dict[str, Any]]:
    """What made the rows that are there already, part by part, where other sources did."""
    parts = origin.get("earlier", [])
    last = {word: origin[word] for word in _EARLIER}
    last["trials"] -= sum(part["trials"] for part in parts)
    return [part for part in (*parts, last) if part["fingerprint"] != sources]


def _write_rows(
    name: str, study: Study, made: pd.DataFrame, lacking: int, earlier: list[dict[str, Any]]
) -> None:
    """Write a study's rows, rounded, and what made them."""
    made = made.assign(seconds=made["seconds"].round(1))
    before = _read(name)
    known = [column for column in before if column in made and len(before)]
    written = made[known + [c for c in made if c not in (*known, "message")]]
    trials = made["key"].nunique()
    # Before the rows: writing them makes the tree another.
    origin = {
        "title": study.title,
        **{f"protocol_{word}": text for word, text in study.protocols.items()},
        "trials": trials,
        **({"part_of": trials + lacking} if lacking else {}),
        "commit": _commit(),
        "fingerprint": fingerprint(study.run),
        "versions": versions(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "cpu_seconds": round(made.drop_duplicates("key")["seconds"].sum()),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "rows": len(made),
    }
    text = written.to_csv(index=False, lineterminator="\n", float_format="%.6g")
    _write(_path(name, ".csv"), text)
    origin["sha256"] = _sum(_path(name, ".csv"))
    lines = [f"{word} = {json.dumps(value)}\n" for word, value in origin.items()]
    for part in earlier:
        lines += ["\n[[earlier]]\n"]
        lines += [f"{word} = {json.dumps(value)}\n" for word, value in part.items()]
    _write(_path(name, ".toml"), "".join(lines))


def _write(path: Path, text: str) -> None:
    """Write a file; who reads it sees the old one or the new one, whole."""
    unfinished = path.with_name(f".{os.getpid()}.{path.name}")
    unfinished.write_text(text, encoding="utf-8", newline="\n")
    unfinished.replace(path)


def _commit() -> str:
    """The commit of the sources that make rows; another study's rows may lie there uncommitted."""
    commit = _git("describe", "--always", "--abbrev=12") or "unknown"
    return commit + "-dirty" * bool(_git("status", "--porcelain", "--", "src"))


def _sum(table: Path) -> str:
    """The checksum of a table's text, however its lines end."""
    return hashlib.sha256(table.read_text(encoding="utf-8").encode()).hexdigest()


def _git(*arguments: str) -> str:
    """What git prints; nothing outside a repository."""
    same: Any = {"cwd": _CHECKOUT, "capture_output": True, "text": True, "check": False}
    return subprocess.run(["git", *arguments], **same).stdout.strip()


def _path(name: str, suffix: str) -> Path:
    """Where a study's file is written: inside a checkout, else in the current folder."""
    folder = Path.cwd()
    if (_CHECKOUT / "_toc.yml").is_file():
        folder = _CHECKOUT / ("_build/studies" if suffix == ".sqlite" else "results")
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}{suffix}"


def _committed(name: str, suffix: str) -> Path:
    """Where a study's file is read: where it is written, else inside the package."""
    written = _path(name, suffix)
    return written if written.exists() else Path(__file__).parent / "results" / written.name
