"""Tables of the chapters as tables of the page: captioned, numbered and cited as figures are.

myst-nb finds :class:`PageTables` by the entry point of its group in ``pyproject.toml``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from xsquared.papers.claims import VERDICT_MIME
from xsquared.tables import TABLE_MIME

if TYPE_CHECKING:
    from myst_nb.core.render import MimeData, NbElementRenderer

#: Classes of cells that open with a verdict's mark.
_MARKS = {"✔": "holds", "✘": "fails"}


class PageTables:
    """A myst-nb plugin that turns :data:`~xsquared.tables.TABLE_MIME` into a docutils table."""

    mime_priority_overrides: ClassVar = [("*", TABLE_MIME, 1)]

    @staticmethod
    def handle_mime(
        renderer: NbElementRenderer, data: MimeData, _inline: bool
    ) -> list[nodes.Element] | None:
        """The nodes of one output; none for the verdicts' records; None for others' types."""
        if data.mime_type == VERDICT_MIME:
            return []
        if data.mime_type != TABLE_MIME:
            return None
        myst, table = renderer.renderer, data.content
        claims = table["name"].startswith("tab-claims-")

        def parsed(node: nodes.Element, text: str) -> nodes.Element:
            with myst.current_node_context(node):
                myst.nested_render_text(text, data.line or 0, inline=True)
            return node

        def row(cells: list[str]) -> nodes.row:
            made = nodes.row()
            for head, cell, number in zip(table["columns"], cells, table["numeric"], strict=True):
                if claims and head == "Entry" != cell:
                    cell = f"{{ref}}`{cell} <claim-{cell}>`"
                kind = "number" if number else _MARKS.get(cell[:1], "")
                entry = nodes.entry(classes=[kind] if kind else [])
                made += entry
                entry += parsed(nodes.paragraph(), cell)
            return made

        node = nodes.table(classes=["xs-table"], names=[table["name"]])
        myst.document.note_explicit_target(node, node)
        node += parsed(nodes.title(), table["caption"])
        group = nodes.tgroup(cols=len(table["columns"]))
        node += group
        for place in range(len(table["columns"])):
            group += nodes.colspec(colwidth=1, **({"stub": 1} if place < table["stubs"] else {}))
        group += nodes.thead("", row(table["columns"]))
        group += nodes.tbody("", *map(row, table["rows"]))
        return [node]


class NameHiddenCode(SphinxPostTransform):
    """Let the summary of hidden code name the figures and tables that the code makes.

    A cell that shows neither says itself what it does (``mystnb.code_prompt_show``).
    """

    default_priority = 150  # before myst-nb hides the code

    def run(self, **_: Any) -> None:
        """Rewrite the prompts of this page's cells."""
        numbers = self.env.toc_fignumbers.get(self.env.docname, {})
        for cell in self.document.findall(nodes.container):
            if "{type}" not in cell.get("prompt_show", ""):
                continue
            made = [
                f"{word} {'.'.join(map(str, numbers[kind][shown['ids'][0]]))}"
                for shown in cell.findall(lambda n: isinstance(n, nodes.figure | nodes.table))
                for kind, word in (("figure", "Fig."), ("table", "Table"))
                if shown["ids"] and shown["ids"][0] in numbers.get(kind, {})
            ]
            if made:
                cell["prompt_show"] = f"Code for {' and '.join(made)}"
