"""Sphinx roles and directives that print what chapters found.

- ``{cell}`tab-name:row,column```: a cell of a chapter's table, linked to it.
- ``{verdict-counts}``, ``{verdicts} PAPER``: the claims with the chapters' verdicts.
- ``{coverage} PAPER``, ``{errata} PAPER``: what of a paper is covered, and its slips.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from docutils import nodes
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective, SphinxRole

from xsquared.book import figure, verdicts
from xsquared.book.page_tables import table_cell
from xsquared.book.project import BookError, Project
from xsquared.book.runs import mark_run

if TYPE_CHECKING:
    from docutils.parsers.rst.states import system_message
    from sphinx.application import Sphinx
    from sphinx.config import Config

#: What each directive writes, in Markdown, from the project and the directive's
#: arguments.
DIRECTIVES: dict[str, Callable[..., str]] = {
    "verdict-counts": verdicts.counts_table,
    "verdicts": verdicts.verdict_list,
    "coverage": verdicts.coverage_table,
    "errata": verdicts.errata_list,
}


class CellRole(SphinxRole):
    """``{cell}`tab-name:row,column```: see the module's docstring."""

    def run(self) -> tuple[list[nodes.Node], list[system_message]]:
        """Make the cell's text a link to its table."""
        project = Project(Path(self.env.srcdir))
        try:
            text = table_cell(project, self.text, self.config.xsquared_runs)
        except BookError as error:
            message = self.inliner.reporter.error(str(error), line=self.lineno)
            problem = self.inliner.problematic(self.rawtext, self.rawtext, message)
            return [problem], [message]
        link = addnodes.pending_xref(
            "",
            nodes.inline("", text),
            refdomain="std",
            reftype="ref",
            reftarget=self.text.partition(":")[0].strip(),
            refdoc=self.env.docname,
            refexplicit=True,
            refwarn=True,
        )
        return [nodes.inline("", "", link, classes=["pasted-text"])], []


class MarkdownDirective(SphinxDirective):
    """A directive of :data:`DIRECTIVES`."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Parse the Markdown in place."""
        write = DIRECTIVES[self.name]
        try:
            text = write(Project(Path(self.env.srcdir)), *self.arguments)
        except (BookError, ValueError) as error:
            raise self.error(
                f"{self.name} {' '.join(self.arguments)}: {error}"
            ) from error
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def check_alt_texts(_app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Refuse a picture without a text for those who cannot see it."""
    for image in doctree.findall(nodes.image):
        if not image.get("alt", "").strip():
            raise ExtensionError(
                f"{docname}: the image {image.get('uri')} has no alt text"
            )


def link_repository(app: Sphinx, config: Config) -> None:
    """Name the repository's address on pages; link their sources, and Colab.

    Without an address pages stay as they are.
    """
    options = config.html_theme_options
    url = options.get("repository_url")
    if not url:
        return

    def name_address(_app: Sphinx, _page: str, text: list[str]) -> None:
        text[0] = text[0].replace("<address>", url)

    app.connect("source-read", name_address)
    options["use_repository_button"] = True
    options["use_source_button"] = True
    if "github.com" in url:  # Colab opens no others
        options["launch_buttons"] = {"colab_url": "https://colab.research.google.com"}


def _show_runs(app: Sphinx, config: Config) -> None:
    """Read runs in their chapters' places, with what is not as committed marked."""
    pages = {f"book/chapters/{name}": name for name in config.xsquared_runs}

    def read_run(app: Sphinx, page: str, text: list[str]) -> None:
        if page in pages:
            run, _ = mark_run(Project(Path(app.srcdir)), pages[page])
            text[0] = nbformat.writes(run)

    app.connect("env-get-outdated", lambda *_: [*pages])
    app.connect("source-read", read_run)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register everything with Sphinx."""
    app.add_role("cell", CellRole())
    for name in DIRECTIVES:
        app.add_directive(name, MarkdownDirective)
    app.add_config_value("xsquared_runs", [], "")
    app.connect("config-inited", _show_runs)
    app.connect("config-inited", link_repository)
    app.connect("doctree-resolved", check_alt_texts)
    app.connect("build-finished", lambda app, _: figure.write_script(Path(app.outdir)))
    return {"version": "1", "parallel_read_safe": True}
