"""What the executed chapters settled, and the tables made of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from xsquared.book.project import BookError, Project
from xsquared.checks import check_choice
from xsquared.papers.claims import PAPERS, VERDICT_MIME, Claim, ledger

_MARKS = {"holds": "✔\u00a0holds", "fails": "✘\u00a0fails", "open": "○\u00a0open"}


@dataclass(frozen=True)
class Entry:
    """A claim with its verdict ("holds", "fails", "open"), and what its chapter printed of it."""

    claim: Claim
    verdict: str
    measured: str = ""
    note: str = ""


def records(notebook: nbformat.NotebookNode) -> list[dict[str, Any]]:
    """The verdicts in a notebook's outputs, as :func:`xsquared.papers.claims.settle` left them."""
    return [
        record
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        for record in output.get("data", {}).get(VERDICT_MIME, [])
    ]


def collect(chapters: Path) -> list[Entry]:
    """Every claim of the ledger, with the verdict that its chapter's outputs hold.

    Args:
        chapters: the folder of executed notebooks.

    Raises:
        BookError: a chapter settles an unknown claim, one that another chapter has settled or one
            that the ledger gives to another chapter.
    """
    claims = ledger()
    settled: dict[str, Entry] = {}
    for path in sorted(chapters.glob("*.ipynb")):
        for record in records(nbformat.read(path, as_version=4)):
            claim = claims.get(record["claim"])
            settles = f"{path.name} settles {record['claim']}"
            if claim is None:
                raise BookError(f"{settles}, not in the ledger")
            if claim.chapter != path.stem:
                raise BookError(f"{settles}, which the ledger gives to {claim.chapter}")
            if claim.id in settled:
                raise BookError(f"{settles} twice")
            word = "holds" if record["holds"] else "fails"
            settled[claim.id] = Entry(claim, word, record["measured"], record["note"])
    return [settled.get(claim.id, Entry(claim, "open")) for claim in claims.values()]


def _of_paper(project: Project, paper: str) -> list[Entry]:
    check_choice("paper", paper, PAPERS)
    return [entry for entry in collect(project.chapters) if entry.claim.paper == paper]


def summary_table(project: Project) -> str:
    """A Markdown table: how many claims of each paper hold, fail and are open."""
    rows = ["| Paper | claims | hold | fail | open |", "| --- | ---: | ---: | ---: | ---: |"]
    for paper, title in PAPERS.items():
        words = [entry.verdict for entry in _of_paper(project, paper)]
        counts = [len(words), *(words.count(word) for word in _MARKS)]
        rows.append(f"| {title} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(rows)


def full_table(project: Project, paper: str) -> str:
    """A Markdown table of every claim of one paper; chapter names are links between pages."""
    rows = [
        "| Verdict | Claim | Where | Paper | Measured | Chapter |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for entry in _of_paper(project, paper):
        claim = entry.claim
        statement, chapter = claim.statement, claim.chapter[:2]
        if entry.verdict != "open":
            chapter = f"{{doc}}`{chapter} <chapters/{claim.chapter}>`"
            statement += f" **Why it fails:** {claim.refuted.strip()}" if claim.refuted else ""
            statement += f" *({entry.note.strip()})*" if entry.note else ""
        value = "" if claim.value is None else f"{claim.value:g} ± {claim.tolerance:g}"
        cells = [_MARKS[entry.verdict], f"{statement} <br>`{claim.id}`", claim.where, value]
        cells = [cell.replace("|", "\\|").replace("\n", " ").strip() for cell in cells]
        rows.append(f"| {' | '.join([*cells, entry.measured, chapter])} |")
    return "\n".join(rows)


def tolerances(project: Project, paper: str) -> str:
    """A Markdown list: the reason for each tolerance."""
    entries = _of_paper(project, paper)
    return "\n".join(f"- `{entry.claim.id}`: {entry.claim.why}" for entry in entries)
