"""Every path of the project, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class BookError(RuntimeError):
    """The book cannot be built; the message says why and what to do."""


@dataclass(frozen=True)
class Project:
    """The folders and files of a checkout.

    Attributes:
        root: the folder that holds ``_config.yml`` and ``_toc.yml``.
    """

    root: Path

    @property
    def notebooks(self) -> Path:
        """Sources of the chapters (MyST-Markdown notebooks without outputs)."""
        return self.root / "notebooks"

    @property
    def book(self) -> Path:
        """Pages and executed chapters, what Jupyter Book reads."""
        return self.root / "book"

    @property
    def chapters(self) -> Path:
        """Executed chapters, committed and never edited by hand."""
        return self.book / "chapters"

    @property
    def build(self) -> Path:
        """Everything generated and not committed."""
        return self.root / "_build"

    @property
    def html(self) -> Path:
        """The rendered site."""
        return self.build / "html"

    @property
    def failed(self) -> Path:
        """Half-executed notebooks of chapters that failed, for reading."""
        return self.build / "failed"

    @property
    def runs(self) -> Path:
        """Chapters executed with parameters other than the committed ones."""
        return self.build / "runs"

    @property
    def proofs(self) -> Path:
        """Outcome of the tests that prove equations and errata."""
        return self.build / "proofs.json"

    @property
    def times(self) -> Path:
        """Wall time of each chapter's last execution, and the machine."""
        return self.build / "times.json"

    @property
    def readme(self) -> Path:
        """The README, whose verdict table is generated."""
        return self.root / "README.md"

    @property
    def readme_figure(self) -> Path:
        """The README's picture, copied out of the chapter that draws it."""
        return self.book / "_static" / "convergence.png"

    def sources(self) -> list[Path]:
        """The notebooks of the book, in reading order.

        Raises:
            BookError: the folder holds none.
        """
        found = sorted(self.notebooks.glob("[0-9][0-9]_*.md"))
        if not found:
            raise BookError(f"no notebook NN_topic.md in {self.notebooks}")
        return found


def find_project(start: Path) -> Project:
    """The project that ``start`` lies in.

    Raises:
        BookError: neither ``start`` nor a folder above it holds ``_config.yml`` and ``_toc.yml``.
    """
    for folder in (start, *start.parents):
        if (folder / "_config.yml").is_file() and (folder / "_toc.yml").is_file():
            return Project(folder)
    raise BookError(f"{start} is not inside a checkout of the book (no _config.yml and _toc.yml)")
