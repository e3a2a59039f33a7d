"""Tables of the chapters as tables of the page: captioned, numbered, cited cell by
cell.

myst-nb finds :class:`PageTables` by the entry point of its group in ``pyproject.toml``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from docutils import nodes

from xsquared.book.papers import VERDICT_MIME
from xsquared.book.project import BookError, Project
from xsquared.book.tables import TABLE_MIME

if TYPE_CHECKING:
    from myst_nb.core.render import MimeData, NbElementRenderer


class PageTables:
    """A myst-nb plugin: :data:`~xsquared.book.tables.TABLE_MIME` as a docutils table."""

    mime_priority_overrides: ClassVar = [("*", TABLE_MIME, 1)]

    @staticmethod
    def handle_mime(
        renderer: NbElementRenderer, data: MimeData, _inline: bool
    ) -> list[nodes.Element] | None:
        """Make the nodes of one output; none for the verdicts' records; None for
        others' types.
        """
        if data.mime_type == VERDICT_MIME:
            return []
        if data.mime_type != TABLE_MIME:
            return None
        myst, table = renderer.renderer, data.content

        def parsed(node: nodes.Element, text: str) -> nodes.Element:
            with myst.current_node_context(node):
                myst.nested_render_text(text, data.line or 0, inline=True)
            return node

        def row(cells: list[str], committed: list[str]) -> nodes.row:
            made = nodes.row()
            for cell, mark, number in zip(
                cells, committed, table["numeric"], strict=True
            ):
                entry = nodes.entry(classes=["number"] if number else [])
                made += entry
                entry += parsed(nodes.paragraph(), cell)
                if mark:
                    entry["classes"].append("xs-changed")
                    entry += parsed(nodes.paragraph(), f"({mark})")
            return made

        node = nodes.table(classes=["xs-table"], names=[table["name"]])
        myst.document.note_explicit_target(node, node)
        node += parsed(nodes.title(), table["caption"])
        group = nodes.tgroup(cols=len(table["columns"]))
        node += group
        for place in range(len(table["columns"])):
            group += nodes.colspec(
                colwidth=1, **({"stub": 1} if place < table["stubs"] else {})
            )
        plain = [""] * len(table["columns"])
        marks = table.get("committed", [plain] * len(table["rows"]))
        group += nodes.thead("", row(table["columns"], plain))
        group += nodes.tbody("", *map(row, table["rows"], marks))
        return [node]


@cache
def _cells(chapter: Path, _modified: int) -> dict[str, dict[str, str]]:
    """The cells of each table of a chapter by ``"row,column"``, but those that share
    theirs.
    """
    found: dict[str, dict[str, str]] = {}
    for cell in json.loads(chapter.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            if table := output.get("data", {}).get(TABLE_MIME):
                counted: dict[str, list[str]] = {}
                for row in table["rows"]:
                    stubs = row[: table["stubs"]]
                    for head, shown in zip(table["columns"], row, strict=True):
                        counted.setdefault(",".join([*stubs, head]), []).append(shown)
                found[table["name"]] = {
                    k: one for k, (one, *more) in counted.items() if not more
                }
    return found


def table_cell(project: Project, asked: str, runs: Sequence[str] = ()) -> str:
    """Look up a cell of a chapter's table as shown: ``"tab-slopes:mlp,slope"``.

    Args:
        project: the checkout.
        asked: the table's name, a colon, row headers and column.
        runs: chapters whose runs with other parameters are asked first.

    Raises:
        BookError: no such cell, or several.
    """
    name, _, place = " ".join(asked.split()).partition(":")
    chapters = [project.runs / f"{run}.ipynb" for run in runs]
    chapters += sorted(project.chapters.glob("*.ipynb"))
    for chapter in chapters:
        if table := _cells(chapter, chapter.stat().st_mtime_ns).get(name):
            if place in table:
                return table[place]
            raise BookError(
                f"{asked}: expected one cell of {name}, which has {'; '.join(table)}"
            )
    raise BookError(f"{asked}: no chapter has a table {name}")
