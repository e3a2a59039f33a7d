"""Committed rows of the studies: read, completed, run anew, compared.

``results/NAME.csv`` holds a study's rows, one a network, sorted and rounded; ``results/NAME.toml``
says what made them. Both are shipped with the package.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterable
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from xsquared.studies.declared import Study, find_study
from xsquared.studies.sweep import Trial, fingerprint, local_client, sweep, trial_key, versions

if TYPE_CHECKING:
    from distributed import Client

#: What tells a row from every other of its study, what they are sorted by, and what is compared.
_NETWORK = ["key", "problem", "n", "seed"]
_ORDER = ["problem", "unit", "gate", "protocol", "points", "settings", "seed", "n", "key"]
_COMPARED = ("parameters", "train_rmse", "test_rmse", "integral_rmse", "author_rmse", "nats")
#: By what share an error may differ: training amplifies the last bits, in which processors differ.
TOLERANCE = 0.02
_CHECKOUT = Path(__file__).parents[3]


def rows(name: str, trials: Iterable[Trial] | None = None, jobs: int = 1) -> pd.DataFrame:
    """Give rows of a study, one a network: all committed ones, or those of trials in their order.

    What is missing is computed, so many ``jobs`` at a time, and kept: in a checkout below
    ``_build/studies``, elsewhere as ``NAME.sqlite`` in the current folder.
    """
    found = _read(name)
    origin = _path(name, ".toml")
    if len(found) and not (origin.exists() and _sum(name) in origin.read_text(encoding="utf-8")):
        raise ValueError(f"rows of {name} are damaged: restore its .csv and .toml, or run it")
    if trials is None:
        return found
    wanted, there = {trial_key(trial): trial for trial in trials}, set(found["key"])
    if missing := [trial for key, trial in wanted.items() if key not in there]:
        with local_client(jobs) if jobs > 1 else nullcontext() as client:
            made = sweep(missing, find_study(name).run, _path(name, ".sqlite"), client)
        found = pd.concat([found, made.reindex(columns=found.columns)]) if len(found) else made
    place = {key: k for k, key in enumerate(wanted)}
    found = found[found["key"].isin(place)]
    return found.sort_values("key", key=lambda k: k.map(place), kind="stable", ignore_index=True)


def run(name: str, client: Client | None = None) -> tuple[pd.DataFrame, list[str]]:
    """Run or resume a study and write its rows; also a line for each that is not as before."""
    study, before = find_study(name), _read(name)
    if line := study.missing():
        raise RuntimeError(f"{name}: {line}")
    trials = study.trials()
    made = sweep(trials, study.run, _path(name, ".sqlite"), client)
    if lost := len(trials) - made["key"].nunique():
        raise RuntimeError(f"{name}: {lost} of {len(trials)} trials were lost: run it again")
    moved = compare(before, made)
    made = made.sort_values([column for column in _ORDER if column in made])
    made["seconds"] = made["seconds"].round(1)
    known = [column for column in before if column in made and len(before)]
    written = made[known + [c for c in made if c not in (*known, "message")]]
    origin = _origin(study, made)  # before the rows: writing them makes the tree another
    text = written.to_csv(index=False, lineterminator="\n", float_format="%.6g")
    _write(_path(name, ".csv"), text)
    origin |= {"rows": len(made), "sha256": _sum(name)}
    lines = (f"{key} = {json.dumps(value)}\n" for key, value in origin.items())
    _write(_path(name, ".toml"), "".join(lines))
    return made, moved


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


def _read(name: str) -> pd.DataFrame:
    """The committed rows of a study as they stand; none where they were never written."""
    table = _path(name, ".csv")
    if not table.exists():
        find_study(name)  # refuses an unknown name
        return pd.DataFrame({"key": []}, dtype=object)
    return pd.read_csv(table, dtype={"key": str})


def _write(path: Path, text: str) -> None:
    """Write a file; who reads it sees the old one or the new one, whole."""
    unfinished = path.with_name(f".{os.getpid()}.{path.name}")
    unfinished.write_text(text, encoding="utf-8", newline="\n")
    unfinished.replace(path)


def _origin(study: Study, made: pd.DataFrame) -> dict[str, Any]:
    """What made a study's rows."""
    commit = _git("describe", "--always", "--abbrev=12") or "unknown"
    return {
        "title": study.title,
        **{f"protocol_{name}": text for name, text in study.protocols.items()},
        "trials": made["key"].nunique(),
        # Of what makes rows; another study's may lie there uncommitted.
        "commit": commit + "-dirty" * bool(_git("status", "--porcelain", "--", "src")),
        "fingerprint": fingerprint(study.run),
        "versions": versions(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "cpu_seconds": round(made.drop_duplicates("key")["seconds"].sum()),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
    }


def _sum(name: str) -> str:
    """The checksum of a table's text, however its lines end."""
    return hashlib.sha256(_path(name, ".csv").read_text(encoding="utf-8").encode()).hexdigest()


def _git(*arguments: str) -> str:
    """What git prints; nothing outside a repository."""
    same: Any = {"cwd": _CHECKOUT, "capture_output": True, "text": True, "check": False}
    return subprocess.run(["git", *arguments], **same).stdout.strip()


def _path(name: str, suffix: str) -> Path:
    """Where a study's file lies: in a checkout, or where the package and the reader are."""
    stored, folder = suffix == ".sqlite", _CHECKOUT
    if (folder / "_toc.yml").is_file():
        folder /= "_build/studies" if stored else "results"
    else:
        folder = Path.cwd() if stored else Path(__file__).parent / "results"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}{suffix}"
