"""What the executed chapters settled, and what the pages say of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import nbformat

from xsquared_book.claim_graph import Node, as_table, draw
from xsquared_book.papers.claims import WORDS, Sort
from xsquared_book.papers.coverage import places
from xsquared_book.papers.errata import errata
from xsquared_book.papers.history import pasts
from xsquared_book.papers.ledger import (
    PAPERS,
    Claim,
    all_rests,
    foundations,
    ledger,
    protocols,
    standing,
)
from xsquared_book.project import BookError, Project, records
from xsquared_book.proofs import read_proofs
from xsquared_book.search import readable

#: What became of claims, in four words, by kinds of verdicts.
GROUPS = {
    "held": (Sort.AGREED, Sort.UNTRIED),
    "split": (Sort.CONTESTED, Sort.ALONE, Sort.RESCUED),
    "failed": (Sort.REFUTED, Sort.FAILED),
    "not judged": (Sort.UNJUDGED, Sort.OPEN),
}


@dataclass(frozen=True)
class Entry:
    """A claim, its kind of verdict, and what its chapter recorded of it.

    Attributes:
        claim: of the ledger.
        sort: the kind.
        record: as :meth:`xsquared_book.papers.claims.Verdict.as_record` has it; empty while open.
        rests: what does not stand as printed of all that a holding claim rests on, in words.
    """

    claim: Claim
    sort: Sort
    record: dict[str, Any] = field(default_factory=dict)
    rests: str = ""

    @property
    def mark(self) -> str:
        """A tick, a cross or a circle."""
        return WORDS[self.sort.holds][0]

    @property
    def group(self) -> str:
        """One of :data:`GROUPS`."""
        return next(group for group, sorts in GROUPS.items() if self.sort in sorts)

    @property
    def sentence(self) -> str:
        """The verdict in words, with how many ways of testing agree."""
        if self.sort is Sort.OPEN:
            return "Open."
        if self.sort is Sort.UNJUDGED:
            return f"Cannot be judged: {self.claim.unjudged.strip()}"
        held, ways = sum(self.record["outcomes"].values()), len(self.record["outcomes"])
        word = "Holds" if self.sort.holds else "Fails"
        if self.group != "split":
            return word + (f" in all {ways} ways tried." if ways > 1 else ".")
        other = ways - held if self.sort.holds else held
        turned = "fails" if self.sort.holds else "holds"
        return f"{word} by its own protocol; {turned} in {other} of {ways - 1} other ways."


def collect(chapters: Path, broken: frozenset[str] = frozenset()) -> list[Entry]:
    """Every claim of the ledger, with the verdict that its chapter's outputs hold.

    Args:
        chapters: the folder of executed notebooks.
        broken: keys of equations and errata whose proof fails.
    """
    claims = ledger()
    settled: dict[str, dict[str, Any]] = {}
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
            settled[claim.id] = record
    judged = {key: row["holds"] for key, row in settled.items() if row["holds"] is not None}
    rests = standing(judged, broken)
    return [
        Entry(claim, Sort(settled[key]["sort"]), settled[key], rests.get(key, ""))
        if key in settled
        else Entry(claim, Sort.UNJUDGED if claim.unjudged else Sort.OPEN)
        for key, claim in claims.items()
    ]


def _all(project: Project) -> list[Entry]:
    """Every claim, by paper."""
    broken: frozenset[str] = frozenset()
    if project.proofs.is_file():
        broken = frozenset(
            k for k, proof in read_proofs(project.proofs).items() if not proof.passed
        )
    found = collect(project.chapters, broken)
    return sorted(found, key=lambda entry: list(PAPERS).index(entry.claim.paper))


def _of_paper(project: Project, paper: str) -> list[Entry]:
    return [entry for entry in _all(project) if entry.claim.paper == paper]


def summary_table(project: Project) -> str:
    """A Markdown table: how many claims of each paper held, are split, failed, were not judged."""
    entries = {paper: _of_paper(project, paper) for paper in PAPERS}
    says = {"held": "held in every way tried", "failed": "failed in every way tried"}
    says["split"] = "split: it depends on the way"
    shown = {
        says.get(group, group): [
            sum(entry.group == group for entry in entries[paper]) for paper in PAPERS
        ]
        for group in GROUPS
    }
    shown["claims"] = [len(entries[paper]) for paper in PAPERS]
    shown["of those that hold, via an amended form"] = [
        sum(bool(entry.rests) for entry in entries[paper]) for paper in PAPERS
    ]
    rows = [f"| Verdict | {' | '.join(PAPERS.values())} |", "| --- |" + " ---: |" * len(PAPERS)]
    rows += [f"| {word} | {' | '.join(map(str, row))} |" for word, row in shown.items() if any(row)]
    return "\n".join(rows)


def verdict_bar(project: Project) -> str:
    """Raw HTML: one bar of all claims, and its legend, whose links show the claims."""
    entries = _all(project)
    counts = Counter(entry.group for entry in entries)
    own = Counter(entry.sort.holds for entry in entries if entry.group == "split")
    says = {
        "held": "in every way that we tried",
        "split": f"{own[True]} hold by their own protocol and fail in another reasonable way, "
        f"{own[False]} the other way round",
        "failed": "in every way that we tried",
        "not judged": "their source names no measure, or leaves open what decides",
    }
    bar, legend = "", ""
    for group in GROUPS:
        if count := counts[group]:
            kind = _slug(group)
            bar += f'<span class="xs-{kind}" style="flex-grow:{count}"></span>'
            asked = f"verdicts.html?outcome={kind}#filter"
            legend += (
                f'<li class="xs-{kind}"><a href="{asked}">{count} {group}</a>: {says[group]}.</li>'
            )
    return (
        f'```{{raw}} html\n<div class="xs-bar" aria-hidden="true">{bar}</div>\n'
        f'<ul class="xs-legend">{legend}</ul>\n```'
    )


def _slug(words: str) -> str:
    """A sort or outcome as class names and addresses have it."""
    return re.sub(r"\W+", "-", words)


def filter_form(project: Project) -> str:
    """Raw HTML: what to choose claims by; ``verdicts.js`` shows those that are asked for."""
    entries = _all(project)
    seen = {entry.group for entry in entries}
    outcomes = {_slug(group): group for group in GROUPS if group in seen}
    outcomes |= {"xs-holds": "holds by its own protocol", "xs-fails": "fails by it"}
    chapters = sorted({entry.claim.chapter[:2] for entry in entries})
    offered = {
        "paper": {"": "any"} | PAPERS,
        "outcome": {"": "any"} | outcomes,
        "chapter": {"": "all"} | {f"chapter-{number}": number for number in chapters},
    }
    labels = []
    for name, options in offered.items():
        made = "".join(f'<option value="{key}">{word}</option>' for key, word in options.items())
        labels.append(f'<label>{name.capitalize()} <select name="{name}">{made}</select></label>')
    return (
        '```{raw} html\n<div id="filter"><form class="xs-controls" aria-label="Claims to show" '
        f'autocomplete="off">\n{"".join(labels)}\n<button type="reset">Show all</button>\n'
        f"<output>{len(entries)} claims</output>\n</form></div>\n"
        '<script defer src="verdicts.js"></script>\n```'
    )


def failure_list(project: Project) -> str:
    """Markdown: every claim that fails in every way, with quantity, measured and required."""
    failing = [entry for entry in _all(project) if entry.group == "failed"]
    told = []
    for claim, record in ((entry.claim, entry.record) for entry in failing):
        why = f"{claim.estimand} Measured {record['measured']}, required {claim.required}."
        if not claim.required:
            why = claim.refuted.strip()
        told.append(f"- [{claim.statement}](#claim-{claim.id}) {why}")
    body = "\n".join(told)
    return (
        f"````{{dropdown}} The {len(failing)} that failed in every way\n"
        f":class-container: xs-claim xs-fails\n\n{body}\n````"
    )


@cache
def equation_places(project: Project) -> dict[str, str]:
    """Where the first mark of each equation stands, as pages beside the front page link to it."""
    return {
        key: f"chapters/{source.stem}.html#mark-{key}"
        for source in reversed(project.sources())
        for key in re.findall(r"\{proof\}`([\w-]+)`", source.read_text(encoding="utf-8"))
    }


def _linked(project: Project, keys: Collection[str]) -> str:
    """Keys of claims, equations and errata as links."""
    kinds = dict.fromkeys((slip.key for slip in errata()), "erratum")
    kinds |= dict.fromkeys(ledger(), "claim")
    links = {key: f'<a href="{place}">{key}</a>' for key, place in equation_places(project).items()}
    links |= {key: f"{{ref}}`{key} <{kind}-{key}>`" for key, kind in kinds.items()}
    return ", ".join(links.get(key, f"`{key}`") for key in keys)


def _written(project: Project, entry: Entry) -> str:
    """One claim in Markdown: what is claimed, how it was judged, what was found, what flips it."""
    claim, record, number = entry.claim, entry.record, entry.claim.chapter[:2]
    ways = protocols()
    settled = f"settled in {{ref}}`chapter {number} <tab-claims-{number}>`"

    def found(name: str) -> str:
        mark = "✔" if record["outcomes"][name] else "✘"
        return f"{mark} {ways[name].says}: {record['found'][name]}"

    others = [found(name) for name in claim.alternatives if name in record.get("found", ())]
    measured = f"{record['measured']}; required {claim.required}" if record else ""
    told = {
        "Quantity": claim.estimand,
        "Measured": measured if claim.required else "",
        "Why it fails": claim.refuted.strip(),
        "Why this threshold": claim.why,
        "Tested by": f"{ways[claim.protocol].says} ({ways[claim.protocol]})",
        "Tested otherwise": "; ".join(others),
        "Note": record.get("note", ""),
        "Where": f"{claim.where}; {settled if record else f'awaits chapter {number}'}",
        "Since": str(pasts().get(claim.id, "")),
        "Rests on": _linked(project, claim.uses),
    }
    body = "\n".join(f"- *{name}:* {words}" for name, words in told.items() if words)
    stands = f" ({entry.rests})" if entry.rests else ""
    judged = {True: "xs-holds ", False: "xs-fails ", None: ""}[entry.sort.holds]
    look = f":class-container: xs-claim {judged}xs-verdict {claim.paper} "
    look += f"{_slug(entry.group)} chapter-{number}"
    # The anchor stands inside: a browser that follows a link to it opens what holds it.
    head = f"(claim-{claim.id})=\n**{entry.sentence}**{stands}"
    return f"```{{dropdown}} {entry.mark} {claim.statement}\n{look}\n\n{head}\n\n{body}\n```"


def _drawn(project: Project, chapter: str, entries: dict[str, Entry]) -> str:
    """What one chapter's claims rest on, as a graph and as a table; empty where on nothing."""
    rests = all_rests()
    here = (entry.claim for entry in entries.values() if entry.claim.chapter == chapter)
    own = [claim.id for claim in here if claim.uses]
    if not own:
        return ""
    amended = {slip.key for slip in errata()}
    marks = equation_places(project)

    def node(key: str) -> Node:
        if key in entries:
            kind = {"✔": "holds", "✘": "fails"}.get(entries[key].mark, "not judged")
            said = re.sub(
                r"\$(.*?)\$", lambda found: readable(found[1]), entries[key].claim.statement
            )
            return Node(key, kind, said, f"#claim-{key}")
        if key in amended:
            return Node(key, "amended form", "see the errata", f"errata.html#erratum-{key}")
        return Node(key, "equation", "checked by algebra", marks.get(key, "coverage.html"))

    below = sorted(set().union(*map(foundations, own)) - set(own))
    nodes = {key: node(key) for key in (*below, *own)}
    title = f"What the claims of chapter {chapter[:2]} rest on"
    drawn = f'<div class="xs-graph-box">{draw(nodes, rests, title)}</div>'
    return (
        f"````{{dropdown}} {title}\n:class-container: xs-claim\n\n"
        f"```{{raw}} html\n{drawn}\n```\n\n{as_table(nodes, rests)}\n````"
    )


def full_table(project: Project, paper: str) -> str:
    """Markdown: every claim of one paper by chapter, each with an anchor ``claim-ID``."""
    found = {entry.claim.id: entry for entry in _of_paper(project, paper)}
    later = [pasts()[key].later for key in found if key in pasts()]
    blocks = [
        "What came when, by the repository's history, stands with each claim. After the first "
        f"number came the thresholds of {sum('thresholds' in past for past in later)} of "
        f"{len(found)} claims, and the names of {sum('protocol' in past for past in later)} "
        "protocols, by the rules above; the first edition's protocols had no names."
    ]
    for chapter, entries in groupby(found.values(), lambda entry: entry.claim.chapter):
        blocks.append(f"### Chapter {chapter[:2]}\n\nSettled in {{doc}}`chapters/{chapter}`.")
        blocks += filter(None, [_drawn(project, chapter, found)])
        blocks += [_written(project, entry) for entry in entries]
    return "\n\n".join(blocks)


def protocol_list(_project: Project) -> str:
    """Markdown: every protocol."""
    return "\n".join(f"- *{protocol.says}*: {protocol}" for protocol in protocols().values())


def coverage_table(project: Project, paper: str) -> str:
    """A Markdown table: every place of one paper, with its entries or the reason for none."""
    rows = ["| Place | What stands there | Entries |", "| --- | --- | --- |"]
    for place in places():
        if place.paper == paper:
            entries = _linked(project, place.entries) or f"*None.* {place.reason}"
            rows.append(f"| {place.where} | {place.says} | {entries} |")
    return "\n".join(rows)
