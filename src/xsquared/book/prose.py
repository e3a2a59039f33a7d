"""Prose with its numbers: what stands in the place of a source's roles.

Executed chapters are read in Jupyter too, which knows no roles. :func:`fill` writes
into them, and Sphinx into pages, for

- ``{glue:text}`key:.2f```: the number that a chapter glued, its key in a comment;
- ``{cell}`tab-name:row,column```: the table's cell, a link to it, and such a comment;
- ``numref``, ``eq``, ``doc``, ``ref``, ``cite``: links of plain Markdown.

Tables, figures and equations get the numbers that Sphinx gives them.
"""

from __future__ import annotations

import ast
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook
from pybtex.database import BibliographyData, Person, parse_file

from xsquared.book.papers.ledger import errata, ledger
from xsquared.book.project import (
    BookError,
    Project,
    code_cells,
    contents,
    glued,
    outputs_of,
    read_source,
    same_code,
    shows_outputs,
)
from xsquared.book.tables import TABLE_MIME, with_powers

_ROLE = re.compile(r"\{([a-z:]+)\}`([^`]+)`")
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
#: What a label stands above, and the formula that one stands behind.
_LABEL = re.compile(r"^ *\(([\w-]+)\)=$", re.MULTILINE)
_FORMULA = re.compile(r"^ *\$\$ \(([\w-]+)\)$", re.MULTILINE)


class Prose:
    """What the prose of a book may cite, and the text in its place.

    Attributes:
        root: the checkout.
        pages: what ``_toc.yml`` lists, as :func:`contents` returns it.
        runs: of these chapters, the runs with other parameters are read.
        chapters: those that are executed, by name, with the prose of their sources.
        glued: glued values, by chapter and key.
        tables: by table its cells, by headers and column.
        places: by label a page and words for it; a page has its path, without suffix.
    """

    def __init__(self, project: Project, runs: Sequence[str] = ()) -> None:
        self.root = project.root
        self.pages = contents(project)
        self.runs = runs
        self.chapters: dict[str, NotebookNode] = {}
        self.glued: dict[tuple[str, str], Any] = {}
        self.tables: dict[str, dict[str, list[str]]] = {}
        for source in project.sources():
            name = source.stem
            path = project.executed(name, runs)
            if not path.is_file():
                continue
            executed = nbformat.read(path, as_version=4)
            self.chapters[name] = _unfilled(read_source(source), executed)
            for key, text in glued(executed).items():
                self.glued[name, key] = ast.literal_eval(text)
            for output in outputs_of(executed):
                if TABLE_MIME in output.get("data", {}):
                    table = output.data[TABLE_MIME]
                    self.tables[table["name"]] = _cells(table)
        self.places = _places(project, self.pages, self.chapters)

    def filled(self, name: str) -> NotebookNode:
        """Make an executed chapter with its numbers and links.

        Raises:
            BookError: it is on no page, or cites what is not there.
        """
        if f"book/chapters/{name}" not in self.pages:
            raise BookError(f"{name} is not in _toc.yml: no page is built of it")
        notebook: NotebookNode = nbformat.from_dict(self.chapters[name])
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                page = f"book/chapters/{name}.ipynb"
                cell.source = self.fill(cell.source, page, ROLES)
        return notebook

    def fill(self, text: str, page: str, roles: Mapping[str, _Role]) -> str:
        """Replace roles in the Markdown of a page, whose path starts at the root.

        Raises:
            BookError: what is cited is not there; a dash stands in its place in a run
                with other parameters, which may lack it.
        """

        def replaced(match: re.Match[str]) -> str:
            cited = " ".join(match[2].split())
            if match[1] not in roles:
                return match[0]
            try:
                return roles[match[1]](self, cited, page)
            except (KeyError, ValueError) as error:
                if self.runs:
                    return f"–<!-- {cited} -->"
                raise BookError(f"{page}: {match[0]}: no {error}") from error

        return _ROLE.sub(replaced, text)

    def glue(self, cited: str, page: str) -> str:
        """Write a glued number, one of another chapter behind its path and ``::``."""
        path, _, name = cited.rpartition("::")
        key, _, spec = name.partition(":")
        value = self.glued[Path(path or page).stem, key]
        return f"{with_powers(format(value, spec))}<!-- {cited} -->"

    def cell(self, cited: str, page: str) -> str:
        """Write the one cell of a table with such headers, linked to the table."""
        name, _, address = cited.partition(":")
        cells = self.tables[name]
        if len(cells.get(address, [])) != 1:
            raise KeyError(f"one such cell in {'; '.join(cells)}")
        place, _ = self.places[name]
        return f"{_link(cells[address][0], place, name, page)}<!-- {cited} -->"

    def reference(self, cited: str, page: str) -> str:
        """Write a link to a label, with words of its own where they come before it."""
        words, label = _split(cited)
        place, text = self.places[label]
        if not words + text:
            raise KeyError(f"words for {label}")
        return _link(words or text, place, label, page)

    def document(self, cited: str, page: str) -> str:
        """Write a link to a page, the path to which starts at this one."""
        words, path = _split(cited)
        place, text = self.places[os.path.normpath(Path(page).parent / path)]
        return _link(words or text, place, "", page)

    def citation(self, cited: str, page: str) -> str:
        """Write authors and years of works, linked to the bibliography."""
        links = []
        for key in map(str.strip, cited.split(",")):
            work = self._works.entries[key]
            title = re.sub(r"[{}]", "", work.fields["title"]).replace('"', "'")
            text = f"{_names(work.persons['author'])}, {work.fields['year']}"
            target = f'{key} "{title}"'
            links.append(_link(text, "book/bibliography.md", target, page))
        return f"[{', '.join(links)}]"

    @cached_property
    def _works(self) -> BibliographyData:
        return parse_file(str(self.root / "book" / "references.bib"))


#: What writes the text for a role's content, on a page.
_Role = Callable[[Prose, str, str], str]
#: What prints numbers. Pages keep the other roles: Sphinx alone reads them.
NUMBER_ROLES = {"glue:text": Prose.glue, "cell": Prose.cell}
ROLES = NUMBER_ROLES | {
    "numref": Prose.reference,
    "eq": Prose.reference,
    "ref": Prose.reference,
    "doc": Prose.document,
    "cite": Prose.citation,
}


def fill(project: Project, runs: Sequence[str] = ()) -> list[Path]:
    """Write what sources say besides code into executed chapters, with numbers, links.

    Nothing is executed, and no output changes. A chapter stays where its code is not
    what was executed.

    Args:
        project: the checkout.
        runs: chapters whose runs with other parameters are filled, instead of the
            committed chapters, by their own numbers.

    Returns:
        The notebooks that changed.

    Raises:
        BookError: a chapter cites what is not there.
    """
    prose = Prose(project, runs)
    changed = []
    for name in runs or prose.chapters:
        path = project.executed(name, runs)
        filled = prose.filled(name)
        if filled != nbformat.read(path, as_version=4):
            nbformat.write(filled, path)
            changed.append(path)
    return changed


def _unfilled(source: NotebookNode, executed: NotebookNode) -> NotebookNode:
    """Give a source the outputs of its execution, if that is of the same code."""
    if not same_code(source, executed):
        return executed
    for cell, ran in zip(code_cells(source), code_cells(executed), strict=True):
        cell.outputs = ran.outputs
        cell.execution_count = ran.execution_count
    return source


def _places(
    project: Project, pages: Mapping[str, str], chapters: Mapping[str, NotebookNode]
) -> dict[str, tuple[str, str]]:
    """Find the page of every label, and words for it: a page's title, or a number.

    Tables, figures and equations are counted as Sphinx does: from one behind the number
    of a chapter or the letter of an appendix, and through all other pages.
    """
    places = {f"claim-{key}": ("book/ledger.md", "") for key in ledger()}
    places |= {f"erratum-{slip.key}": ("book/ledger.md", "") for slip in errata()}
    counts: Counter[str] = Counter()
    for name, number in pages.items():
        prefix = f"{number}." if number else ""
        notebook = chapters.get(Path(name).name)
        page = f"{name}.ipynb" if notebook else f"{name}.md"
        if notebook is None:
            path = project.root / page
            text = path.read_text(encoding="utf-8") if path.is_file() else ""
            notebook = new_notebook(cells=[new_markdown_cell(text)])
        for words, label in _labels(name, notebook):
            if "{}" in words:
                counts[words + prefix] += 1
                words = words.format(f"{prefix}{counts[words + prefix]}")
            places.setdefault(label, (page, words))
    return places


def _labels(name: str, notebook: NotebookNode) -> Iterator[tuple[str, str]]:
    """List what Sphinx calls things, with ``{}`` for their number, and their labels.

    They come in the order in which Sphinx counts them.
    """
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield from ((title, name) for title in _TITLE.findall(cell.source))
            yield from (("", label) for label in _LABEL.findall(cell.source))
            yield from (("({})", label) for label in _FORMULA.findall(cell.source))
        if not shows_outputs(cell):
            continue
        figure = cell.metadata.get("mystnb", {}).get("figure", {})
        if "name" in figure:
            yield "Fig. {}", figure["name"]
        for output in cell.get("outputs", []):
            if TABLE_MIME in output.get("data", {}):
                yield "Table {}", output.data[TABLE_MIME]["name"]


def _cells(table: dict[str, Any]) -> dict[str, list[str]]:
    """Index the cells of a table by ``"headers,column"``."""
    cells = defaultdict(list)
    for row in table["rows"]:
        headers = row[: table["stubs"]]
        for column, text in zip(table["columns"], row, strict=True):
            cells[",".join([*headers, column])].append(text)
    return cells


def _split(cited: str) -> tuple[str, str]:
    """Split ``words <target>``; a target alone has no words."""
    words, _, target = cited.removesuffix(">").rpartition("<")
    return words.strip(), target


def _link(text: str, place: str, label: str, page: str) -> str:
    """Link from a page to another, or to a label there."""
    path = "" if place == page and label else os.path.relpath(place, Path(page).parent)
    return f"[{text}]({path}{'#' if label else ''}{label})"


def _names(authors: Sequence[Person]) -> str:
    """Write the last names of one or two authors, or that of the first of more."""
    names = [
        "\N{NO-BREAK SPACE}".join(
            map(str, author.rich_prelast_names + author.rich_last_names)
        )
        for author in authors
    ]
    return " and ".join(names) if len(names) < 3 else f"{names[0]} *et al.*"
