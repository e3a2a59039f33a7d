"""Every path of the project, in one place, and how its notebooks are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import jupytext
import nbformat
from filelock import FileLock, Timeout


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


def read_source(source: Path) -> nbformat.NotebookNode:
    """A chapter's notebook without outputs.

    Raises:
        BookError: the text is no MyST notebook, or its header names no kernel.
    """
    try:
        notebook: nbformat.NotebookNode = jupytext.read(source)
    except Exception as error:  # of jupytext, of its YAML reader and of its Markdown reader
        reason = " ".join(str(error).split())[:300]
        raise BookError(f"{source.name} is no MyST notebook: {reason}") from error
    if "kernelspec" not in notebook.metadata:
        raise BookError(f"{source.name}: expected a header with a kernelspec, got none")
    return notebook


@contextmanager
def busy(project: Project) -> Iterator[None]:
    """Keep other processes from executing or building in this checkout meanwhile.

    The system gives the lock back when its holder ends, however it ends; a process that holds it
    may take it again.

    Raises:
        BookError: another process holds it.
    """
    project.build.mkdir(parents=True, exist_ok=True)
    lock = FileLock(project.build / "busy.lock", timeout=0, is_singleton=True)
    try:
        lock.acquire()
    except Timeout as error:
        raise BookError(
            f"another run is at work in {project.root}: expected it to have ended"
        ) from error
    try:
        yield
    finally:
        lock.release()
