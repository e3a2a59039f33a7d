"""Tables of chapters as tables of pages, captioned and numbered.

myst-nb finds :class:`PageTables` by the entry point of its group in ``pyproject.toml``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes

from xsquared.book.tables import TABLE_MIME

if TYPE_CHECKING:
    from myst_nb.core.render import MimeData, NbElementRenderer


class PageTables:
    """A myst-nb plugin: shows a :class:`~xsquared.book.tables.Table` as docutils do."""

    mime_priority_overrides: ClassVar = [("*", TABLE_MIME, 1)]

    @staticmethod
    def handle_mime(
        renderer: NbElementRenderer, data: MimeData, _inline: bool
    ) -> list[nodes.Element] | None:
        """Make the nodes of one output.

        Returns:
            A table; None for other types, which myst-nb shows itself.
        """
        if data.mime_type != TABLE_MIME:
            return None
        return [_table(renderer, data.content, data.line or 0)]


def _table(
    renderer: NbElementRenderer, content: dict[str, Any], line: int
) -> nodes.table:
    """Make a docutils table of a table's strings, which hold MyST-Markdown.

    Where a run with other parameters has marked cells that changed, the committed ones
    stand below them in brackets.
    """
    myst = renderer.renderer

    def fill(node: nodes.Element, text: str) -> nodes.Element:
        with myst.current_node_context(node):
            myst.nested_render_text(text, line, inline=True)
        return node

    def row(cells: list[str], committed: list[str]) -> nodes.row:
        entries = nodes.row()
        for cell, before, numeric in zip(
            cells, committed, content["numeric"], strict=True
        ):
            entry = nodes.entry(classes=["number"] if numeric else [])
            entries += entry
            entry += fill(nodes.paragraph(), cell)
            if before:
                entry["classes"].append("xs-changed")
                entry += fill(nodes.paragraph(), f"({before})")
        return entries

    columns = content["columns"]
    unmarked = [""] * len(columns)
    marks = content.get("committed", [unmarked] * len(content["rows"]))
    table = nodes.table(classes=["xs-table"], names=[content["name"]])
    myst.document.note_explicit_target(table, table)
    table += fill(nodes.title(), content["caption"])
    group = nodes.tgroup(cols=len(columns))
    table += group
    for k in range(len(columns)):
        header = {"stub": 1} if k < content["stubs"] else {}
        group += nodes.colspec(colwidth=1, **header)
    group += nodes.thead("", row(columns, unmarked))
    group += nodes.tbody("", *map(row, content["rows"], marks))
    return table
