"""Every path of the project, in one place; how contents and notebooks are read."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import jupytext
import nbformat
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell

from xsquared.book.papers import VERDICT_MIME

#: A notebook's first cell, for those who execute it: no page shows it.
NOTE = (
    "*Numbers in the text are those of the run that made this file; tables and "
    "figures below, which the text counts in their order, are your own once you run "
    "it.*"
)
#: A chapter's third cell where the repository has an address; no page shows it.
INSTALL = (
    "try:\n    import xsquared.book\nexcept ImportError:\n    %pip install -q git+{}"
)


class BookError(RuntimeError):
    """The book cannot be built; the message says why and what to do."""


@dataclass(frozen=True)
class Project:
    """The folders of a checkout.

    Attributes:
        root: the folder that holds ``_config.yml`` and ``_toc.yml``.
    """

    root: Path

    @property
    def notebooks(self) -> Path:
        """Sources of the chapters: MyST-Markdown notebooks without outputs."""
        return self.root / "notebooks"

    @property
    def chapters(self) -> Path:
        """Executed chapters, committed and never edited by hand."""
        return self.root / "book" / "chapters"

    @property
    def html(self) -> Path:
        """The rendered site."""
        return self.root / "_build" / "html"

    @property
    def runs(self) -> Path:
        """Chapters executed with parameters other than the committed ones."""
        return self.root / "_build" / "runs"

    def executed(self, name: str, runs: Sequence[str]) -> Path:
        """Find a chapter's executed notebook, or its run if it is one of these."""
        return (self.runs if name in runs else self.chapters) / f"{name}.ipynb"

    def sources(self) -> list[Path]:
        """List the notebooks of the book, in reading order."""
        return sorted(self.notebooks.glob("*.md"))


def find_project(start: Path) -> Project:
    """Find the project that ``start`` lies in.

    Raises:
        BookError: it lies in none.
    """
    for folder in (start, *start.parents):
        if (folder / "_config.yml").is_file() and (folder / "_toc.yml").is_file():
            return Project(folder)
    raise BookError(
        f"{start} is not inside a checkout of the book (no _config.yml and _toc.yml)"
    )


def contents(project: Project) -> dict[str, str]:
    """Read ``_toc.yml``.

    Returns:
        By each page's path without suffix, in reading order: a chapter's number, an
        appendix's letter, or nothing. A page below another one has its number.
    """
    text = (project.root / "_toc.yml").read_text(encoding="utf-8")
    toc = yaml.safe_load(text)
    numbers = {toc["root"]: ""}
    chapters = count(1)
    letters = iter(ascii_uppercase)
    for part in toc.get("parts", [toc]):
        for page in part["chapters"]:
            number = ""
            if part.get("style") == "alphaupper":
                number = next(letters)
            elif "numbered" in part:
                number = str(next(chapters))
            numbers |= dict.fromkeys(_files(page), number)
    return numbers


def _files(page: dict[str, Any]) -> Iterator[str]:
    """List a page and those below it."""
    yield page["file"]
    for below in page.get("sections", []):
        yield from _files(below)


def read_source(source: Path) -> nbformat.NotebookNode:
    """Read a chapter's notebook without outputs.

    It begins with :data:`NOTE`. Where the repository has an address,
    :data:`INSTALL` follows the title.
    """
    notebook: nbformat.NotebookNode = jupytext.read(source)
    config = source.parents[1] / "_config.yml"
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    url = settings.get("repository", {}).get("url")
    if url:
        cell = new_code_cell(INSTALL.format(url), metadata={"tags": ["remove-cell"]})
        notebook.cells.insert(1, cell)
    cell = new_markdown_cell(NOTE, metadata={"tags": ["remove-cell"]})
    notebook.cells.insert(0, cell)
    name_cells(notebook)
    return notebook


def name_cells(notebook: nbformat.NotebookNode) -> None:
    """Make each cell's id, in place, a digest of its source."""
    seen: Counter[str] = Counter()
    for cell in notebook.cells:
        source = f"{cell.cell_type}\n{cell.source}"
        digest = hashlib.sha256(source.encode()).hexdigest()[:12]
        seen[digest] += 1
        cell.id = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"


def written(notebook: nbformat.NotebookNode) -> list[Any]:
    """List what a notebook's author says by cell: source, tags, how a page shows it.

    Of Markdown the id stands for the source, into which numbers are written later.
    """
    return [
        (
            cell.source if cell.cell_type == "code" else cell.id,
            cell.metadata.get("tags", []),
            cell.metadata.get("mystnb"),
        )
        for cell in notebook.cells
    ]


def outputs_of(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """List the outputs of all cells."""
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def records(notebook: nbformat.NotebookNode) -> list[dict[str, Any]]:
    """List the verdicts of :func:`xsquared.book.papers.claims.settle` in a notebook."""
    return [
        record
        for output in outputs_of(notebook)
        for record in output.get("data", {}).get(VERDICT_MIME, [])
    ]
