"""Committed rows of the declared studies: run, written, read, compared.

``results/NAME.csv`` holds a study's rows, sorted and rounded, ``results/NAME.toml`` what made them.
A study runs in a store of its own below ``_build``, from which it resumes; rows of other sources or
versions than those at hand are computed again.
"""

from __future__ import annotations

import math
import os
import platform
import random
import subprocess
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from xsquared.checks import check_choice, check_integer
from xsquared_studies.declared import STUDIES, Study
from xsquared_studies.provenance import write_origin
from xsquared_studies.store import StoreError
from xsquared_studies.sweep import Report, run_sweep, to_frame
from xsquared_studies.trial import Result, Trial

#: Columns that no chapter reads and no two machines share, or that the provenance holds.
_LEFT_OUT = ["gradient_norm", "message", "versions", "fingerprint"]
_ORDER = ["problem", "unit", "activation", "n_hidden", "split", "solver", "gates", "seed", "key"]
_ERRORS = ("train_rmse", "test_rmse")
#: By how much an error may differ from the committed one, as a share of it. Training amplifies the
#: last bits, in which processors differ: with the kernels of one without AVX2, errors of networks
#: of four neurons differed by 3e-6 of themselves, at worst by 9e-4; of eight, two in sixty by more
#: than this share, as they had ended in other minima.
TOLERANCE = 0.02


def find_study(name: str) -> Study:
    """The study of that name.

    Raises:
        ValueError: an unknown name.
    """
    return STUDIES[check_choice("study", name, STUDIES)]


def rows(
    name: str, trials: Iterable[Trial], jobs: int = 1, progress: bool = False
) -> tuple[Result, ...]:
    """Results of a study's trials, or of others like them, as chapters need them.

    Committed rows are read; the rest is computed, and kept in the study's store.

    Raises:
        ValueError: an unknown study.
        StoreError: not inside a checkout, or committed rows that are damaged.
    """
    study, wanted = find_study(name), tuple(trials)
    found = read(study)
    if missing := [trial for trial in wanted if trial not in found]:
        report = run_sweep(missing, study.run, _store(study), jobs, progress=progress)
        found |= {result.trial: result for result in report.results}
    return tuple(found[trial] for trial in wanted)


def read(study: Study) -> dict[Trial, Result]:
    """The committed rows of a study; none where they were never written.

    Raises:
        StoreError: not inside a checkout, or rows that are damaged.
    """
    table, origin = _files(study)
    if not table.exists():
        return {}
    known = {trial.key: trial for trial in study.trials}
    try:
        made = tomllib.loads(origin.read_text(encoding="utf-8"))
        frame = pd.read_csv(table).astype(object)
        described = _described(study.trials[0])
        measured = [name for name in frame if name not in described]
        # What the study no longer declares is nobody's row.
        found = {
            known[row["key"]]: _result(known[row["key"]], row, measured, made)
            for row in frame.to_dict("records")
            if row["key"] in known
        }
    except (OSError, ValueError, KeyError) as error:
        raise StoreError(f"{table} or {origin.name} is damaged: {error!r}") from error
    return found


def run(study: Study, jobs: int = 1, scheduler: str = "") -> tuple[Report, list[str]]:
    """Run or resume a study and write its rows.

    Returns:
        What came of it, and a line for each row that is not the one committed before.

    Raises:
        StoreError: as for :func:`read`; or results cannot be written.
    """
    before = read(study)
    report = run_sweep(study.trials, study.run, _store(study), jobs, scheduler)
    moved = compare(before, report.results)
    table, origin = _files(study)
    made = _origin(study, report)  # before the rows: writing them makes the tree another
    frame = to_frame(report.results).drop(columns=_LEFT_OUT, errors="ignore").sort_values(_ORDER)
    frame["seconds"] = frame["seconds"].round(1)
    # Six digits are what one machine reproduces.
    frame.to_csv(table, index=False, float_format="%.6g", lineterminator="\n")
    write_origin(origin, made)
    return report, moved


def check(study: Study, trials: Sequence[Trial], jobs: int = 1, scheduler: str = "") -> list[str]:
    """Run some trials of a study anew; a line for each that does not come out as committed.

    Raises:
        StoreError: as for :func:`read`.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = run_sweep(
            trials, study.run, Path(folder) / "check.sqlite", jobs, scheduler, progress=False
        )
    return compare(read(study), report.results)


def drawn(study: Study, count: int, seed: int) -> list[Trial]:
    """So many trials of a study at random.

    Raises:
        ValueError: fewer than one, or more than the study has.
    """
    check_integer(f"rows of {study.name} to check", count, 1, len(study.trials))
    return random.Random(seed).sample(study.trials, count)


def compare(before: dict[Trial, Result], results: Iterable[Result]) -> list[str]:
    """A line for each result whose row is missing, or farther off than :data:`TOLERANCE`."""
    lines = []
    for result in results:
        old = before.get(result.trial)
        if old is None:
            lines.append(f"{result.trial}: new")
        elif old.completed != result.completed:
            lines.append(f"{result.trial}: {old.status}, now {result.status} {result.message}")
        else:
            for name in _ERRORS if result.completed else ():
                was, now = float(old.values[name]), float(result.values[name])  # type: ignore[arg-type]
                if not math.isclose(was, now, rel_tol=TOLERANCE):
                    lines.append(f"{result.trial}: {name} {was:.6g}, now {now:.6g}")
    return lines


def _described(trial: Trial) -> set[str]:
    """The columns of a table of results that say what was run, and how it went."""
    empty = to_frame([Result(trial, "", "", "", 0.0, "", "", {})])
    return {*empty.columns} - {"parameters", *_ERRORS}


def _result(trial: Trial, row: dict[str, Any], measured: list[str], made: dict[str, Any]) -> Result:
    values = {name: row[name] for name in measured if row[name] == row[name]}
    origin = (made["fingerprint"], row["status"], "", float(row["seconds"]), made["date"])
    return Result(trial, *origin, made["versions"], values)


def _origin(study: Study, report: Report) -> dict[str, Any]:
    last = report.results[-1]
    commit = _git("describe", "--always", "--abbrev=12") or "unknown"
    # What makes rows; another study's rows may lie there uncommitted.
    changed = _git("status", "--porcelain", "--", "src")
    return {
        "title": study.title,
        **{f"protocol_{name}": text for name, text in study.protocols.items()},
        "rows": len(report.results),
        "commit": commit + "-dirty" * bool(changed),
        "fingerprint": last.fingerprint,
        "versions": last.versions,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "cpu_seconds": round(sum(result.seconds for result in report.results)),
        "date": max(result.finished for result in report.results)[:10],
    }


def _git(*arguments: str) -> str:
    """What git prints; nothing outside a repository."""
    return subprocess.run(
        ["git", *arguments], cwd=_root(), capture_output=True, text=True, check=False
    ).stdout.strip()


def _files(study: Study) -> tuple[Path, Path]:
    folder = _root() / "results"
    return folder / f"{study.name}.csv", folder / f"{study.name}.toml"


def _store(study: Study) -> Path:
    folder = _root() / "_build" / "studies"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{study.name}.sqlite"


def _root() -> Path:
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "results").is_dir() and (folder / "_toc.yml").is_file():
            return folder
    raise StoreError(f"{here} is not inside a checkout of the book (no results and _toc.yml)")
