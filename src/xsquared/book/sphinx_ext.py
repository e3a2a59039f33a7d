"""What Sphinx needs to print what chapters found.

- Numbers of :mod:`xsquared.book.prose` in pages, and targets of its links.
- ``{verdict-counts}``, ``{verdicts} PAPER``: the claims with the chapters' verdicts,
  and an anchor for the cells that settle them.
- ``{picture} FIGURE``, ``{claim-squares}``: what the front page shows of both.
- ``{coverage} PAPER``, ``{errata} PAPER``: what of a paper is covered, and its slips.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from xsquared.book import front, live, verdicts
from xsquared.book.project import BookError, Project
from xsquared.book.prose import NUMBER_ROLES, Prose
from xsquared.book.runs import mark_run

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.environment import BuildEnvironment

#: What each directive writes, in Markdown, from the project and the directive's
#: arguments.
_DIRECTIVES: dict[str, Callable[..., str]] = {
    "picture": front.picture,
    "claim-squares": front.claim_squares,
    "verdict-counts": verdicts.counts_table,
    "verdicts": verdicts.verdict_list,
    "coverage": verdicts.coverage_table,
    "errata": verdicts.errata_list,
}


class _MarkdownDirective(SphinxDirective):
    """A directive of :data:`_DIRECTIVES`, with its argument and content if any."""

    optional_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Parse the Markdown in place."""
        write = _DIRECTIVES[self.name]
        words = [*self.arguments, *filter(None, ["\n".join(self.content)])]
        try:
            text = write(Project(Path(self.env.srcdir)), *words)
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


def link_repository(_app: Sphinx, config: Config) -> None:
    """Link pages to their sources and to Colab, where the repository has an address."""
    options = config.html_theme_options
    url = options.get("repository_url")
    if not url:
        return

    options["use_repository_button"] = True
    options["use_source_button"] = True
    if "github.com" in url:  # Colab opens no others
        options["launch_buttons"] = {"colab_url": "https://colab.research.google.com"}


def _read_sources(app: Sphinx, config: Config) -> None:
    """Write numbers into pages; read runs in their chapters' places, with marks."""
    project = Project(Path(app.srcdir))
    runs = {f"book/chapters/{name}": name for name in config.xsquared_runs}
    prose = Prose(project)

    def read(app: Sphinx, page: str, text: list[str]) -> None:
        path = os.fspath(app.env.doc2path(page, base=False))
        if page in runs:
            run, _ = mark_run(project, runs[page])
            text[0] = nbformat.writes(run)
        elif path.endswith(".md"):
            text[0] = prose.fill(text[0], path, NUMBER_ROLES)

    app.connect("env-get-outdated", lambda *_: [*runs])
    app.connect("source-read", read)


def _anchor_settled(app: Sphinx, doctree: nodes.document) -> None:
    """Give a chapter's cell that settles claims an anchor, inside its fold."""
    slugs = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
    for code in doctree.findall(nodes.literal_block):
        if re.search(r"^settle\(", code.astext(), re.MULTILINE):
            code.parent["ids"].append(verdicts.SETTLED)
            slugs[verdicts.SETTLED] = (0, verdicts.SETTLED, "")


def _name_targets(_app: Sphinx, env: BuildEnvironment) -> None:
    """Let links of Markdown lead to every label of a page, formula and work.

    MyST knows headings alone behind the path of a page.
    """
    standard, formulas = env.domaindata["std"], env.domaindata["math"]
    targets = [
        *(
            (page, key, anchor)
            for key, (page, anchor) in standard["anonlabels"].items()
        ),
        *(
            (page, key, f"equation-{key}")
            for key, (page, _) in formulas["objects"].items()
        ),
        *(
            (work.bibliography_key.docname, work.key, work.citation_id)
            for work in getattr(env.domains.get("cite"), "citations", [])
        ),
    ]
    for page, key, anchor in targets:
        env.metadata[page].setdefault("myst_slugs", {})[key] = (0, anchor, "")


def _leave_kernels_out(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any
) -> None:
    """Drop the scripts of live kernels, which no page has and all declare twice."""
    scripts = context["script_files"]
    scripts[:] = [script for script in scripts if "thebe" not in str(script).lower()]


def _print_plain_code(app: Sphinx, doctree: nodes.document, _docname: str) -> None:
    """Leave code on paper without colours: marks of each word were half of the file."""
    if app.builder.name == "singlehtml":
        for code in doctree.findall(nodes.literal_block):
            code["language"] = "none"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register everything with Sphinx."""
    for name in _DIRECTIVES:
        app.add_directive(name, _MarkdownDirective)
    app.add_config_value("xsquared_runs", [], "")
    app.connect("config-inited", _read_sources)
    app.connect("doctree-read", _anchor_settled)
    app.connect("env-updated", _name_targets, priority=900)  # after the bibliography
    app.connect("config-inited", link_repository)
    app.connect("doctree-resolved", check_alt_texts)
    app.connect("doctree-resolved", _print_plain_code)
    app.connect("html-page-context", live.offer_run)
    app.connect("html-page-context", _leave_kernels_out)
    app.connect("build-finished", lambda app, _: front.write_curves(Path(app.outdir)))
    return {"version": "1", "parallel_read_safe": True}
