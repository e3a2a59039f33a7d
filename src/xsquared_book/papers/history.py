"""When each claim got its thresholds, protocol and first number, by the repository's history.

``python -m xsquared_book.papers.history`` reads it and writes ``history.csv`` beside this
module. The page of verdicts says of each claim what came after its first number.
"""

from __future__ import annotations

import csv
import json
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

#: Where the ledger lay, first to last.
_LEDGERS: tuple[str, ...] = ("src/xsquared/claims.toml", "src/xsquared/papers/claims.toml")
_LEDGERS += ("src/xsquared_book/papers/claims.toml",)


@dataclass(frozen=True)
class Past:
    """What the main branch held since when; times are in UTC, to the minute.

    Attributes:
        claim: its id.
        thresholds: the present ones, as :func:`thresholds` has them; empty for true or false.
        thresholds_since: when they came.
        protocol: the claim's own, by its present name.
        protocol_since: when it came. Those of the first edition had no names.
        measured_since: when a chapter first held a number for the claim; empty while none does.
    """

    claim: str
    thresholds: str
    thresholds_since: str
    protocol: str
    protocol_since: str
    measured_since: str

    @property
    def later(self) -> tuple[str, ...]:
        """What came after the first number: thresholds, protocol."""
        since = {"thresholds": self.thresholds_since, "protocol": self.protocol_since}
        if not self.thresholds:
            del since["thresholds"]
        return tuple(what for what, time in since.items() if "" < self.measured_since < time)

    def __str__(self) -> str:
        told = f"thresholds {self.thresholds_since}, " if self.thresholds else ""
        told += f"protocol {self.protocol_since}"
        if self.measured_since:
            told += f", first number {self.measured_since}"
        if self.later:
            told += f". {' and '.join(self.later).capitalize()} came after the first number"
        return f"{told}."


def thresholds(row: Mapping[str, Any]) -> str:
    """A claim's numbers as one text."""
    numbers = ("value", "tolerance", "at_least", "at_most")
    return " ".join(f"{key}={row[key]:g}" for key in numbers if row.get(key) is not None)


@cache
def pasts() -> dict[str, Past]:
    """Every claim's past by its id, as last written."""
    text = (files("xsquared_book.papers") / "history.csv").read_text(encoding="utf-8")
    return {row["claim"]: Past(**row) for row in csv.DictReader(text.splitlines())}


def trace(root: Path) -> list[Past]:
    """Every claim's past, from the history of the repository at ``root`` and its work tree."""
    texts = [
        (time, _git(root, "show", f"{commit}:{path}"))
        for time, commit in _commits(root, *_LEDGERS)
        for path in _LEDGERS
    ]
    texts.append((f"{datetime.now(UTC):%F %H:%M}", (root / _LEDGERS[-1]).read_text("utf-8")))
    found: dict[str, dict[str, str]] = {}
    for time, text in texts:
        rows = tomllib.loads(text).get("claim", ())
        for row in rows:
            past = found.setdefault(row["id"], {})
            now = {"thresholds": thresholds(row), "protocol": row.get("protocol", "")}
            for what, words in now.items():
                if past.get(what) != words:
                    past |= {what: words, f"{what}_since": time}
    ids = [row["id"] for row in rows]
    measured = _first_numbers(root, set(ids))
    return [Past(key, **found[key], measured_since=measured.get(key, "")) for key in ids]


def _first_numbers(root: Path, claims: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for time, commit in _commits(root, "book/chapters"):
        changed = _git(root, "show", "--first-parent", "--name-only", "--format=", commit)
        for path in changed.split():
            if path.endswith(".ipynb") and (text := _git(root, "show", f"{commit}:{path}")):
                cells = json.loads(text)["cells"]
                outputs = json.dumps([cell.get("outputs", []) for cell in cells])
                found |= {key: time for key in claims - found.keys() if f'"{key}"' in outputs}
    return found


def _commits(root: Path, *paths: str) -> Iterator[tuple[str, str]]:
    """Times and names of the main branch's commits that touch the paths, oldest first."""
    words = ("--first-parent", "--reverse", "--format=%cd %H", "--date=format-local:%F %H:%M")
    for line in _git(root, "log", *words, "--", *paths).splitlines():
        time, _, commit = line.rpartition(" ")
        yield time, commit


def _git(root: Path, *words: str) -> str:
    """What git prints; empty where a commit lacks the file."""
    environment = {"TZ": "UTC", "PATH": "/usr/bin:/bin:/usr/local/bin"}
    return subprocess.run(
        ["git", *words], cwd=root, capture_output=True, text=True, env=environment
    ).stdout


if __name__ == "__main__":
    here = Path(__file__)
    with here.with_name("history.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(Past))
        writer.writerows(map(astuple, trace(here.parents[3])))
