"""What the executed chapters settled, as the pages say it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from itertools import groupby
from typing import Any

import nbformat

from xsquared.book.papers.coverage import places
from xsquared.book.papers.errata import errata
from xsquared.book.papers.ledger import PAPERS, VERDICTS, Claim, ledger, ways
from xsquared.book.project import BookError, Project, records


def collect(project: Project) -> dict[str, dict[str, Any]]:
    """Collect the verdicts in the executed chapters' outputs, by claim.

    Raises:
        BookError: a claim that no chapter settles, or a verdict other than the one on
            record.
    """
    found = {
        record["claim"]: record
        for path in sorted(project.chapters.glob("*.ipynb"))
        for record in records(nbformat.read(path, as_version=4))
    }
    if missing := sorted(set(ledger()) - set(found)):
        raise BookError(f"no chapter settles {', '.join(missing)}")
    for key, claim in ledger().items():
        if found[key]["verdict"] != claim.verdict:
            raise BookError(
                f"{key}: {found[key]['verdict']}, on record as {claim.verdict}"
            )
    return found


def counts_table(project: Project) -> str:
    """Write a Markdown table of how many claims of each paper got each verdict."""
    collect(project)
    counts = Counter((claim.paper, claim.verdict) for claim in ledger().values())
    rows = ["| Verdict | " + " | ".join(PAPERS.values()) + " |"]
    rows += ["| --- |" + " ---: |" * len(PAPERS)]
    for word, meaning in VERDICTS.items():
        cells = " | ".join(str(counts[paper, word]) for paper in PAPERS)
        rows.append(f"| **{word}**: {meaning} | {cells} |")
    totals = " | ".join(
        str(sum(c.paper == p for c in ledger().values())) for p in PAPERS
    )
    return "\n".join([*rows, f"| all claims | {totals} |"])


def _card(claim: Claim, record: dict[str, Any]) -> str:
    """One claim in Markdown: the verdict and why, how robust it is, what the paper's
    points say.
    """
    says, found, met = ways(), record["found"], record["met"]

    def told(names: Collection[str]) -> str:
        agree = [f"{says[name]} ({found[name]})" for name in names if met.get(name)]
        differ = [
            f"{says[name]} ({found[name]})" for name in names if met.get(name) is False
        ]
        parts = ["also by " + "; ".join(agree)] if agree else []
        return "; ".join([*parts, *(["not by " + "; ".join(differ)] if differ else [])])

    required = f", required {claim.required}" if claim.required else ""
    lines = {
        "Measured": f"{claim.measures.removesuffix('.')}: {record['measured']}{required}; "
        f"{says[claim.way]}.",
        "Robust": told(claim.variations),
        "The paper's points": told(claim.points),
        "Threshold": claim.why,
        "Where": f"{claim.where}; settled in {{doc}}`chapters/{claim.chapter}`.",
    }
    body = "\n".join(f"- *{name}:* {words}" for name, words in lines.items() if words)
    head = f"(claim-{claim.id})=\n**{claim.verdict.capitalize()}.** {claim.sentence}"
    return (
        f"```{{dropdown}} {claim.statement} *{claim.verdict}*\n\n{head}\n\n{body}\n```"
    )


def verdict_list(project: Project, paper: str) -> str:
    """Write every claim of one paper by chapter, each with an anchor ``claim-ID``."""
    found, blocks = collect(project), []
    own = [claim for claim in ledger().values() if claim.paper == paper]
    for chapter, claims in groupby(own, lambda claim: claim.chapter):
        blocks.append(
            f"### Chapter {chapter[:2]}\n\nSettled in {{doc}}`chapters/{chapter}`."
        )
        blocks += [_card(claim, found[claim.id]) for claim in claims]
    return "\n\n".join(blocks)


def _linked(keys: Collection[str]) -> str:
    """Keys of claims, errata and derivations as links."""
    kinds = dict.fromkeys((slip.key for slip in errata()), "erratum-")
    kinds |= dict.fromkeys(ledger(), "claim-")
    return ", ".join(f"{{ref}}`{key} <{kinds.get(key, '')}{key}>`" for key in keys)


def coverage_table(_project: Project, paper: str) -> str:
    """Write every place of one paper, with its entries or the reason for none."""
    rows = ["| Place | What stands there | Entries |", "| --- | --- | --- |"]
    for place in places():
        if place.paper == paper:
            entries = _linked(place.entries) or f"*None.* {place.reason}"
            rows.append(f"| {place.where} | {place.says} | {entries} |")
    return "\n".join(rows)


def errata_list(_project: Project, paper: str) -> str:
    """Write every slip of one paper with its right form, and how that is shown."""
    entries = []
    for slip in errata():
        if slip.paper == paper:
            shown = (
                f"*Evidence:* {slip.evidence}"
                if slip.evidence
                else f"*Shown by:* {slip.shown}"
            )
            head = f"(erratum-{slip.key})=\n**{slip.where}.** {slip.printed}"
            entries.append(f"{head}\n\n*Right:* {slip.right.strip()}\n\n{shown}")
    return "\n\n---\n\n".join(entries)
