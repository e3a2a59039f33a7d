"""Every path of the project, in one place, and how its notebooks are read."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from filelock import FileLock, Timeout

from xsquared_book.papers import VERDICT_MIME


class BookError(RuntimeError):
    """The book cannot be built; the message says why and what to do."""


class _Below:
    """A path below a project's root."""

    def __init__(self, place: str) -> None:
        self.place = place

    def __get__(self, project: Project | None, _owner: object = None) -> Path:
        return project.root / self.place if project else Path(self.place)


@dataclass(frozen=True)
class Project:
    """The folders and files of a checkout.

    Attributes:
        root: the folder that holds ``_config.yml`` and ``_toc.yml``.
    """

    root: Path
    #: Sources of the chapters (MyST-Markdown notebooks without outputs).
    notebooks = _Below("notebooks")
    #: Pages and executed chapters, what Jupyter Book reads.
    book = _Below("book")
    #: Executed chapters, committed and never edited by hand.
    chapters = _Below("book/chapters")
    #: The reference's pages, one for each module, written before Jupyter Book reads them.
    api = _Below("book/api")
    #: Everything generated and not committed.
    build = _Below("_build")
    #: The rendered site.
    html = _Below("_build/html")
    #: Half-executed notebooks of chapters that failed, for reading.
    failed = _Below("_build/failed")
    #: Chapters executed with parameters other than the committed ones.
    runs = _Below("_build/runs")
    #: Outcome of the tests that prove equations and errata.
    proofs = _Below("_build/proofs.json")
    #: Wall time of each chapter's last execution, and the machine.
    times = _Below("_build/times.json")
    #: Committed rows of the studies, each with what made them.
    results = _Below("results")
    #: The README, whose verdict table is generated.
    readme = _Below("README.md")
    #: The README's picture, copied out of the chapter that draws it.
    readme_figure = _Below("book/_static/convergence.png")

    def sources(self) -> list[Path]:
        """The notebooks of the book, in reading order."""
        found = sorted(self.notebooks.glob("[0-9][0-9]_*.md"))
        if not found:
            raise BookError(f"no notebook NN_topic.md in {self.notebooks}")
        return found


def find_project(start: Path) -> Project:
    """The project that ``start`` lies in."""
    for folder in (start, *start.parents):
        if (folder / "_config.yml").is_file() and (folder / "_toc.yml").is_file():
            return Project(folder)
    raise BookError(f"{start} is not inside a checkout of the book (no _config.yml and _toc.yml)")


def read_source(source: Path) -> nbformat.NotebookNode:
    """A chapter's notebook without outputs."""
    try:
        notebook: nbformat.NotebookNode = jupytext.read(source)
    except Exception as error:  # of jupytext, of its YAML reader and of its Markdown reader
        reason = " ".join(str(error).split())[:300]
        raise BookError(f"{source.name} is no MyST notebook: {reason}") from error
    if "kernelspec" not in notebook.metadata:
        raise BookError(f"{source.name}: expected a header with a kernelspec, got none")
    return notebook


def records(notebook: nbformat.NotebookNode) -> list[dict[str, Any]]:
    """The verdicts in a notebook, as :func:`xsquared_book.papers.claims.settle` left them."""
    return [
        record
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        for record in output.get("data", {}).get(VERDICT_MIME, [])
    ]


def git(root: Path, *arguments: str) -> str:
    """What git says of a checkout."""
    words = ["git", "-C", str(root), *arguments]
    try:
        run = subprocess.run(words, capture_output=True, check=True, encoding="utf-8")
    except (OSError, subprocess.CalledProcessError) as error:
        said = " ".join(str(getattr(error, "stderr", error)).partition("\n")[0].split())
        raise BookError(f"expected an answer of git in {root}, got: {said}") from error
    return run.stdout.strip()


@contextmanager
def busy(project: Project) -> Iterator[None]:
    """Keep other processes from executing or building in this checkout meanwhile.

    The system gives the lock back when its holder ends, however it ends; a process that holds it
    may take it again.
    """
    project.build.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(project.build / "busy.lock", timeout=0, is_singleton=True).acquire()
    except Timeout as error:
        raise BookError(
            f"another run is at work in {project.root}: expected it to have ended"
        ) from error
    with lock:
        yield
