"""Every path of the project, in one place, and how its notebooks are read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupytext
import nbformat

from xsquared_book.papers import VERDICT_MIME


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
    def build(self) -> Path:
        """Everything generated and not committed."""
        return self.root / "_build"

    @property
    def html(self) -> Path:
        """The rendered site."""
        return self.build / "html"

    @property
    def runs(self) -> Path:
        """Chapters executed with parameters other than the committed ones."""
        return self.build / "runs"

    def sources(self) -> list[Path]:
        """The notebooks of the book, in reading order."""
        return sorted(self.notebooks.glob("*.md"))


def find_project(start: Path) -> Project:
    """Find the project that ``start`` lies in.

    Raises:
        BookError: it lies in none.
    """
    for folder in (start, *start.parents):
        if (folder / "_config.yml").is_file() and (folder / "_toc.yml").is_file():
            return Project(folder)
    raise BookError(f"{start} is not inside a checkout of the book (no _config.yml and _toc.yml)")


def read_source(source: Path) -> nbformat.NotebookNode:
    """Read a chapter's notebook without outputs."""
    notebook: nbformat.NotebookNode = jupytext.read(source)
    return notebook


def records(notebook: nbformat.NotebookNode) -> list[dict[str, Any]]:
    """The verdicts in a notebook, as :func:`xsquared_book.papers.claims.settle` left them."""
    return [
        record
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        for record in output.get("data", {}).get(VERDICT_MIME, [])
    ]
