"""Sphinx directives and roles that print what test runs and chapters found.

- ``{proof}`key```: a mark with the paper's number, which opens what the test showed.
- ``{cell}`tab-name:row,column```: a cell of a chapter's table, as the table shows it, linked to it.
- ``{plain}`tab-name:row,column```: the same, its numbers written out, as 5,700 for 5.7e+03.
- ``{idea}``: the front page's picture.
- ``{verdict-summary}``, ``{verdict-bar}``, ``{failures}``, ``{verdict-filter}``,
  ``{verdicts} PAPER``, ``{protocols}``: the claims ledger with the chapters' verdicts;
  ``{coverage} PAPER``: what of the paper it covers.
- ``{errata} PAPER``: every slip with its right form and proof.
- ``{chapter-times}``: the last execution's wall time per chapter.
- ``{how-to-cite}``: a BibTeX entry, from ``CITATION.cff``.
- ``{explorable}``: data and still figure of the page on which knots move.
- ``{moving} NAME``: a small figure with sliders.
- ``{rooms} FIRST LAST``: every module of these rooms of the package and those between.

Nothing here is typed into a page, so nothing on a page can disagree with the runs.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Callable
from decimal import Decimal
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from myst_nb.ext.glue.roles import PasteTextRole
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective, SphinxRole

from xsquared.checks import check_choice
from xsquared_book import choose, downloads, explore, front, metadata, moving, search, verdicts
from xsquared_book.api_pages import hide_long_values, keep_whole, write_rooms
from xsquared_book.how_made import HowMade
from xsquared_book.page_html import mend_page
from xsquared_book.page_tables import NameHiddenCode, table_cell
from xsquared_book.papers import gated_units, gelu_linearization, ours_splines, ours_units
from xsquared_book.papers.errata import errata
from xsquared_book.project import BookError, Project
from xsquared_book.proofs import Proof, read_proofs

if TYPE_CHECKING:
    from docutils.parsers.rst.states import system_message
    from sphinx.application import Sphinx


def mark(proof: Proof, in_errata: bool) -> tuple[str, str]:
    """The words of a mark and its CSS class.

    Args:
        proof: what the test run says.
        in_errata: whether the key names a slip of a paper; a passed proof is then of the right
            form. An equation of our own has no printed form and is just ``proved``.
    """
    if not proof.passed:
        return "✘ its proof fails", "fails"
    if in_errata:
        return "✘ not as printed; the right form is proved", "amended"
    if proof.as_printed is None:
        return "✔ proved", "holds"
    return "✔ holds as printed", "holds"


class FoundRole(SphinxRole):
    """A role that prints what a run found, or an error, which stops the book."""

    def run(self) -> tuple[list[nodes.Node], list[system_message]]:
        """Make the nodes."""
        try:
            return [self.found(Project(Path(self.env.srcdir).parent))], []
        except (BookError, ValueError) as error:
            message = self.inliner.reporter.error(str(error), line=self.lineno)
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]

    def found(self, project: Project) -> nodes.Node:
        """The node that the role's text asks for."""
        raise NotImplementedError


class CellRole(FoundRole):
    """``{cell}`tab-name:row,column```: see the module's docstring."""

    def found(self, project: Project) -> nodes.Node:
        """The cell's text, as a link to its table."""
        name, text = (
            self.text.partition(":")[0].strip(),
            self.written(table_cell(project, self.text)),
        )
        goal = {"refdomain": "std", "reftype": "ref", "reftarget": name, "refdoc": self.env.docname}
        link = addnodes.pending_xref(
            "", nodes.inline("", text), refexplicit=True, refwarn=True, **goal
        )
        return nodes.inline("", "", link, classes=["pasted-text"])

    def written(self, text: str) -> str:
        """How a cell's text stands in a sentence."""
        return text


class GluedRole(PasteTextRole):  # type: ignore[misc]  # of a package without types
    """``{glue:text}`name:format```, with its name: :class:`HowMade` links it to its cell."""

    def run(self) -> tuple[list[nodes.Node], list[system_message]]:
        """Make the nodes."""
        found, messages = super().run()
        for node in found:
            node["glued"] = self.text.partition(":")[0]
        return found, messages


class PlainRole(CellRole):
    """``{plain}`tab-name:row,column```: see the module's docstring."""

    def written(self, text: str) -> str:
        """Numbers written out."""
        return re.sub(r"\d[.\d]*e[+-]\d+", lambda number: f"{Decimal(number[0]):,f}", text)


#: Longer statements of sympy are counted, not shown.
_SHOWN = 300


def proof_html(proof: Proof, place: str, said: str, label: str) -> str:
    """A mark that opens: a button, and what the tests showed in a popover without a script.

    Args:
        proof: what the test run says.
        place: the popover's id.
        said: what the mark says in words.
        label: the mark.
    """
    links = "".join(
        f"<span class='xs-link'>{escape(says)}"
        + (f": <code>{escape(sides)}</code>" if len(sides) <= _SHOWN else "")
        + f", residual {escape(residual)}</span>"
        for says, sides, residual in proof.links
    )
    name = escape(f"{said}: what was shown")
    return (
        f'<button type="button" class="xs-tick" popovertarget="{place}" aria-label="{name}">'
        f'{escape(label)}</button><span popover class="xs-shown" id="{place}" role="dialog" '
        f'aria-label="{name}"><strong>{escape(said)}</strong> ({proof.counted}){links}'
        f"<span class='xs-link'>To repeat it: <code>{escape(proof.command)}</code></span></span>"
    )


class ProofRole(FoundRole):
    """``{proof}`key```: see the module's docstring."""

    def found(self, project: Project) -> nodes.Node:
        """The mark."""
        proofs = read_proofs(project.proofs)
        proof = proofs[check_choice("proof", self.text, sorted(proofs))]
        words, kind = mark(proof, self.text in {slip.key for slip in errata()})
        papers = (
            source.paper for source in (gated_units, gelu_linearization, ours_splines, ours_units)
        )
        number = next((p.numbers[self.text] for p in papers if self.text in p.numbers), "")
        said = f"Eq. {number} {words}" if number[:1].isdigit() else words
        label = f"{words[0]} Eq. {number}" if number[:1].isdigit() else words[0]
        place = f"proof-{self.env.new_serialno('proof')}"
        first = self.env.new_serialno(f"mark-{self.text}") == 0
        ids = [f"mark-{self.text}"] if first else []
        node = nodes.inline(classes=["proof", f"proof-{kind}"], ids=ids)
        node += nodes.raw("", proof_html(proof, place, said, label), format="html")
        return node


def write_errata(project: Project, paper: str) -> str:
    """Every slip of one paper with its right form and its proof or evidence."""
    proofs = read_proofs(project.proofs)
    entries = []
    for slip in errata():
        if slip.paper != paper:
            continue
        if slip.evidence:
            shown = f"*Evidence:* {slip.evidence}"
        elif proof := proofs.get(slip.key):
            state = "passed" if proof.passed else "FAILED"
            shown = f"*Proof:* `{proof.test_name}` ({proof.counted}, {state}) "
            shown += f"{{proof}}`{slip.key}`"
        else:
            raise BookError(f"no test proves the erratum {slip.key}")
        right = slip.right.strip()
        head = f"(erratum-{slip.key})=\n**{slip.where}.** {slip.printed}"
        entries.append(f"{head}\n\n*Right:* {right}\n\n{shown}")
    return "\n\n---\n\n".join(entries)


def write_times(project: Project) -> str:
    """A table of the last execution, or how to get one."""
    if not project.times.is_file():
        return "Not executed on this machine yet: `make book` measures and prints the times here."
    record = json.loads(project.times.read_text(encoding="utf-8"))
    rows = ["| Chapter | seconds |", "| --- | ---: |"]
    rows += [f"| {name} | {seconds:.1f} |" for name, seconds in record["chapters"].items()]
    return f"Machine: {record['machine']}; one thread per chapter.\n\n" + "\n".join(rows)


#: What each directive writes, in Markdown, from the project and the directive's arguments.
WRITERS: dict[str, Callable[..., str]] = {
    "verdict-summary": verdicts.summary_table,
    "verdict-bar": verdicts.verdict_bar,
    "idea": front.write_idea,
    "failures": verdicts.failure_list,
    "verdict-filter": verdicts.filter_form,
    "verdicts": verdicts.full_table,
    "protocols": verdicts.protocol_list,
    "coverage": verdicts.coverage_table,
    "errata": write_errata,
    "chapter-times": write_times,
    "rooms": write_rooms,
    "explorable": explore.write_explorable,
    "moving": moving.write_moving,
    "unit-chooser": choose.write_chooser,
    "how-to-cite": metadata.how_to_cite,
}


class Written(SphinxDirective):
    """A directive of :data:`WRITERS`."""

    optional_arguments = 2

    def run(self) -> list[nodes.Node]:
        """Parse the Markdown in place."""
        try:
            text = WRITERS[self.name](Project(Path(self.env.srcdir).parent), *self.arguments)
        except (BookError, TypeError, ValueError) as error:
            raise self.error(f"{self.name} {' '.join(self.arguments)}: {error}") from error
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def check_alt_texts(_app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Refuse a picture without a text for those who cannot see it."""
    for image in doctree.findall(nodes.image):
        if not image.get("alt", "").strip():
            raise ExtensionError(f"{docname}: the image {image.get('uri')} has no alt text")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register everything with Sphinx."""
    gc.set_threshold(200_000, 50, 100)  # to look for garbage among pages took half of a build
    app.add_role("proof", ProofRole())
    app.add_role("cell", CellRole())
    app.add_role("plain", PlainRole())
    app.add_role_to_domain("glue", "text", GluedRole(), override=True)
    for name in WRITERS:
        app.add_directive(name, Written)
    app.add_post_transform(HowMade)
    app.add_post_transform(NameHiddenCode)
    app.connect("doctree-resolved", check_alt_texts)
    app.connect("config-inited", metadata.set_addresses, priority=100)
    app.setup_extension("sphinx.ext.autodoc")  # whose event follows
    app.connect("autodoc-process-docstring", keep_whole, priority=100)  # before napoleon
    app.connect("doctree-read", hide_long_values)
    app.connect("html-page-context", metadata.add_metadata)
    app.connect("html-page-context", mend_page, priority=900)
    app.connect("doctree-resolved", search.collect)
    app.connect("build-finished", search.write_index)
    app.connect("build-finished", downloads.write_downloads)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
