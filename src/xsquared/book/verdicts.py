"""What the executed chapters settled, as the pages say it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from itertools import groupby
from typing import Any

import nbformat

from xsquared.book.papers.ledger import (
    PAPERS,
    VERDICTS,
    Claim,
    errata,
    ledger,
    places,
    ways,
)
from xsquared.book.project import BookError, Project, records

#: The anchor of a chapter's cell that settles its claims.
SETTLED = "settled"


def collect(project: Project) -> dict[str, dict[str, Any]]:
    """Collect the verdicts in the executed chapters' outputs, by claim.

    Raises:
        BookError: a claim that no chapter settles, or a verdict other than the one on
            record.
    """
    verdicts = {}
    for path in sorted(project.chapters.glob("*.ipynb")):
        for record in records(nbformat.read(path, as_version=4)):
            verdicts[record["claim"]] = record
    missing = sorted(set(ledger()) - set(verdicts))
    if missing:
        raise BookError(f"no chapter settles {', '.join(missing)}")
    for key, claim in ledger().items():
        verdict = verdicts[key]["verdict"]
        if verdict != claim.verdict:
            raise BookError(f"{key}: {verdict}, on record as {claim.verdict}")
    return verdicts


def counts_table(_project: Project) -> str:
    """Write a Markdown table of how many claims of each paper got each verdict."""
    counts = Counter((claim.paper, claim.verdict) for claim in ledger().values())
    lines = ["| Verdict | " + " | ".join(PAPERS.values()) + " |"]
    lines.append("| --- |" + " ---: |" * len(PAPERS))
    for verdict, meaning in VERDICTS.items():
        cells = [str(counts[paper, verdict]) for paper in PAPERS]
        lines.append(f"| **{verdict}**: {meaning} | {' | '.join(cells)} |")
    claims = Counter(claim.paper for claim in ledger().values())
    totals = [str(claims[paper]) for paper in PAPERS]
    lines.append(f"| all claims | {' | '.join(totals)} |")
    return "\n".join(lines)


def verdict_list(project: Project, paper: str) -> str:
    """Write every claim of one paper by chapter, each with an anchor ``claim-ID``."""
    verdicts = collect(project)
    claims = [claim for claim in ledger().values() if claim.paper == paper]
    blocks = []
    for chapter, settled in groupby(claims, lambda claim: claim.chapter):
        blocks.append(f"{{doc}}`chapters/{chapter}`")
        blocks += [_card(claim, verdicts[claim.id]) for claim in settled]
    return "\n\n".join(blocks)


def _card(claim: Claim, record: dict[str, Any]) -> str:
    """Write one claim in Markdown: its verdict in sight, folded how it was found."""
    measures = claim.measures.removesuffix(".")
    required = f", required {claim.required}" if claim.required else ""
    way = ways()[claim.way]
    lines = {
        "Measured": f"{measures}: {record['measured']}{required}; {way}.",
        "Robust": _agreement(claim.variations, record),
        "The paper's points": _agreement(claim.points, record),
        "Threshold": claim.why,
        "Where": f"{claim.where}; settled by "
        f"[this cell](chapters/{claim.chapter}.ipynb#{SETTLED}).",
    }
    body = "\n".join(f"- *{name}:* {text}" for name, text in lines.items() if text)
    head = f"(claim-{claim.id})=\n{claim.sentence}"
    return _folded(f"**{claim.verdict}** {claim.statement}", f"{head}\n\n{body}")


def _folded(title: str, body: str) -> str:
    """Write Markdown of which only the title is in sight."""
    return f":::{{dropdown}} {title}\n\n{body}\n:::"


def _agreement(names: Collection[str], record: dict[str, Any]) -> str:
    """Write which other ways of testing agree with a claim, and which do not."""
    met = record["met"]
    measured = {name: f"{ways()[name]} ({record['found'][name]})" for name in names}
    agree = [measured[name] for name in names if met[name]]
    differ = [measured[name] for name in names if not met[name]]
    clauses = []
    if agree:
        clauses.append("also by " + "; ".join(agree))
    if differ:
        clauses.append("not by " + "; ".join(differ))
    return "; ".join(clauses)


def coverage_table(_project: Project, paper: str) -> str:
    """Write every place of one paper, with its entries or the reason for none."""
    lines = ["| Place | What stands there | Entries |", "| --- | --- | --- |"]
    for place in places():
        if place.paper == paper:
            entries = _linked(place.entries) or f"*None.* {place.reason}"
            lines.append(f"| {place.where} | {place.says} | {entries} |")
    return "\n".join(lines)


def _linked(keys: Collection[str]) -> str:
    """Write keys of claims, errata and derivations as links."""
    prefixes = {slip.key: "erratum-" for slip in errata()}
    prefixes |= dict.fromkeys(ledger(), "claim-")
    return ", ".join(f"{{ref}}`{key} <{prefixes.get(key, '')}{key}>`" for key in keys)


def errata_list(_project: Project, paper: str) -> str:
    """Write every slip of one paper, folded its right form and how that is shown."""
    entries = []
    for slip in errata():
        if slip.paper == paper:
            shown = f"*Shown by:* {slip.shown}"
            if slip.evidence:
                shown = f"*Evidence:* {slip.evidence}"
            right = f"(erratum-{slip.key})=\n*Right:* {slip.right.strip()}"
            title = f"**{slip.where}.** {slip.printed}"
            entries.append(_folded(title, f"{right}\n\n{shown}"))
    return "\n\n".join(entries)
