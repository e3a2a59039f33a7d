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
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from xsquared.book.tables import VERDICT_MIME

#: The type under which a glued number travels in a notebook's output.
GLUED = "application/papermill.record/text/plain"
#: A notebook's first cell, for those who execute it: no page shows it.
NOTE = (
    "*Numbers in the text are those of the run that made this file; tables and "
    "figures below, which the text counts in their order, are your own once you run "
    "it.*"
)
#: A chapter's third cell where the repository has an address; no page shows it.
_INSTALL = (
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

    def sources(self, only: Sequence[str] = ()) -> list[Path]:
        """List the notebooks of the book by their names, or those of such names.

        Raises:
            BookError: there is no such notebook.
        """
        sources = sorted(self.notebooks.glob("*.md"))
        names = [source.stem for source in sources]
        unknown = sorted({*only} - {*names})
        if unknown:
            raise BookError(
                f"no chapter named {', '.join(unknown)}; the chapters are "
                f"{', '.join(names)}"
            )
        return [source for source in sources if not only or source.stem in only]


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


def read_source(source: Path) -> NotebookNode:
    """Read a chapter's notebook without outputs; ids of cells are their digests.

    It begins with :data:`NOTE`. Where the repository has an address,
    :data:`_INSTALL` follows the title.

    Raises:
        BookError: it has no head, which names its kernel.
    """
    notebook: NotebookNode = jupytext.read(source)
    if "kernelspec" not in notebook.metadata:
        raise BookError(f"{source.name} does not begin with the other notebooks' head")
    kernel = notebook.metadata.kernelspec
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    notebook.metadata = nbformat.from_dict(metadata)
    config = source.parents[1] / "_config.yml"
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    url = settings.get("repository", {}).get("url")
    if url:
        cell = new_code_cell(_INSTALL.format(url), metadata={"tags": ["remove-cell"]})
        notebook.cells.insert(1, cell)
    cell = new_markdown_cell(NOTE, metadata={"tags": ["remove-cell"]})
    notebook.cells.insert(0, cell)
    seen: Counter[str] = Counter()
    for cell in notebook.cells:
        text = f"{cell.cell_type}\n{cell.source}"
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        seen[digest] += 1
        cell.id = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
    return notebook


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """List the cells that are executed."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def same_code(one: NotebookNode, other: NotebookNode) -> bool:
    """Whether two notebooks execute the same."""
    cells = code_cells(one), code_cells(other)
    return [cell.source for cell in cells[0]] == [cell.source for cell in cells[1]]


def shows_outputs(cell: NotebookNode) -> bool:
    """Whether a page shows what a cell puts out."""
    return not {"remove-cell", "remove-output"} & {*cell.metadata.get("tags", [])}


def outputs_of(notebook: NotebookNode) -> list[NotebookNode]:
    """List the outputs of all cells."""
    return [output for cell in code_cells(notebook) for output in cell.outputs]


def glued(notebook: NotebookNode) -> dict[str, str]:
    """Read the numbers that a notebook makes known to the prose, as Python, by name."""
    return {
        output.metadata.scrapbook.name: output.data[GLUED]
        for output in outputs_of(notebook)
        if GLUED in output.get("data", {})
    }


def records(notebook: NotebookNode) -> list[dict[str, Any]]:
    """List the verdicts of :func:`xsquared.book.papers.claims.settle` in a notebook."""
    return [
        record
        for output in outputs_of(notebook)
        for record in output.get("data", {}).get(VERDICT_MIME, [])
    ]
