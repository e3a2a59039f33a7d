"""Tables of the chapters as tables of the page: captioned, numbered and cited as figures are.

myst-nb finds :class:`PageTables` by the entry point of its group in ``pyproject.toml``.
"""

from __future__ import annotations

import csv
import io
import json
import re
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from xsquared_book.papers import VERDICT_MIME
from xsquared_book.papers.ledger import protocols
from xsquared_book.project import BookError, Project
from xsquared_book.tables import TABLE_MIME

if TYPE_CHECKING:
    from myst_nb.core.render import MimeData, NbElementRenderer
    from sphinx.environment import BuildEnvironment

#: Classes of cells that open with a verdict's mark.
_MARKS = {"✔": "holds", "✘": "fails"}
#: A cell of numbers only, such as an interval, which no line break may part.
_NUMBERS = re.compile(r"[\d.,()\[\]–±+e -]+")
#: A protocol's name before what was measured by it.
_NAMES = re.compile(rf"\b({'|'.join(sorted(protocols(), key=len, reverse=True))})(?= \S)")


#: Letters that a row has room for, its cells' margins among them.
_ROOM = 86


def width_of(table: dict[str, Any]) -> int:
    """Letters that the longest parts of a table's columns take side by side."""
    return sum(
        2
        + max(
            len(cell if _NUMBERS.fullmatch(cell) else max(cell.split(), key=len, default=""))
            for cell in column
        )
        for column in zip(table["columns"], *table["rows"], strict=True)
    )


class PageTables:
    """A myst-nb plugin: :data:`~xsquared_book.tables.TABLE_MIME` as a docutils table."""

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
                    cell = f"{{ref}}`details <claim-{cell}>`"
                if claims and head == "Otherwise":
                    cell = _NAMES.sub(lambda name: f"{protocols()[name[1]].says}:", cell)
                kind = "number" if number else _MARKS.get(cell[:1], "")
                kind = kind or ("unbroken" if _NUMBERS.fullmatch(cell) else "")
                # On a phone a claim is a card, whose style sheet names what a number is.
                column = f"of-{head.lower()}" if claims and cell != "–" else ""
                entry = nodes.entry(classes=[*filter(None, (kind, column))])
                made += entry
                entry += parsed(nodes.paragraph(), cell)
            return made

        dense = ["xs-dense"] if not claims and width_of(table) > _ROOM else []
        node = nodes.table(classes=["xs-table", *dense], names=[table["name"]])
        myst.document.note_explicit_target(node, node)
        lines = io.StringIO()
        csv.writer(lines, lineterminator="\n").writerows([table["columns"], *table["rows"]])
        node["csv"] = lines.getvalue()
        node += parsed(nodes.title(), table["caption"])
        group = nodes.tgroup(cols=len(table["columns"]))
        node += group
        for place in range(len(table["columns"])):
            group += nodes.colspec(colwidth=1, **({"stub": 1} if place < table["stubs"] else {}))
        group += nodes.thead("", row(table["columns"]))
        group += nodes.tbody("", *map(row, table["rows"]))
        return [node]


def numbered(env: BuildEnvironment, page: str, shown: nodes.Element) -> str:
    """A figure or table of a page by its number, such as "Table 8.2"; empty where it has none."""
    kind, word = ("figure", "Fig.") if isinstance(shown, nodes.figure) else ("table", "Table")
    numbers = env.toc_fignumbers.get(page, {}).get(kind, {})
    found = next((numbers[place] for place in shown["ids"] if place in numbers), ())
    return f"{word} {'.'.join(map(str, found))}" if found else ""


@cache
def _cells(chapter: Path, _modified: int) -> dict[str, dict[str, str]]:
    """Of each table of a chapter, the cells by ``"row,column"``, but those that share theirs."""
    found: dict[str, dict[str, str]] = {}
    for cell in json.loads(chapter.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            if table := output.get("data", {}).get(TABLE_MIME):
                counted: dict[str, list[str]] = {}
                for row in table["rows"]:
                    stubs = row[: table["stubs"]]
                    for head, shown in zip(table["columns"], row, strict=True):
                        counted.setdefault(",".join([*stubs, head]), []).append(shown)
                found[table["name"]] = {k: one for k, (one, *more) in counted.items() if not more}
    return found


def table_cell(project: Project, asked: str) -> str:
    """A cell of a table of the executed chapters, as shown.

    Args:
        project: the checkout.
        asked: the table's name, its row's headers and the column's, as in
            ``"tab-slopes:mlp,slope"``.
    """
    name, _, place = " ".join(asked.split()).partition(":")
    tables: dict[str, dict[str, str]] = {}
    for chapter in sorted(project.chapters.glob("*.ipynb")):
        tables |= _cells(chapter, chapter.stat().st_mtime_ns)
    if name not in tables:
        raise BookError(f"{asked}: expected a table of a chapter, got {name!r}")
    if place not in tables[name]:
        near = get_close_matches(place, tables[name], 4, 0)
        raise BookError(f"{asked}: expected one cell of {name}, such as {'; '.join(near)}")
    return tables[name][place]


class NameHiddenCode(SphinxPostTransform):
    """Let the summary of hidden code name the figures and tables that the code makes.

    A cell that shows neither says itself what it does (``mystnb.code_prompt_show``).
    """

    default_priority = 150  # before myst-nb hides the code

    def run(self, **_: Any) -> None:
        """Rewrite the prompts of this page's cells."""
        for cell in self.document.findall(nodes.container):
            if "{type}" not in cell.get("prompt_show", ""):
                continue
            shown = cell.findall(lambda n: isinstance(n, nodes.figure | nodes.table))
            titles = (numbered(self.env, self.env.docname, one) for one in shown)
            if made := list(filter(None, titles)):
                cell["prompt_show"] = f"Code for {' and '.join(made)}"
