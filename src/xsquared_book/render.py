"""Render the site with Jupyter Book, with every Sphinx warning an error."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat

from xsquared_book.api_pages import write_pages
from xsquared_book.project import BookError, Project, busy, read_source


def check_chapters(project: Project) -> None:
    """Refuse chapters that are missing, out of date, not executed, or hold a traceback.

    Sphinx renders a notebook with a traceback, or with no outputs at all, without a word.
    """
    problems = []
    for source in project.sources():
        path = project.chapters / f"{source.stem}.ipynb"
        remedy = f"run `xsquared book --only {source.stem}`"
        if not path.is_file():
            problems.append(f"{path.name} is missing: {remedy}")
            continue
        notebook = nbformat.read(path, as_version=4)
        if _told(notebook) != _told(read_source(source)):
            told = "text, code, tags and settings"
            problems.append(f"{path.name} is not what {source.name} says now, {told}: {remedy}")
        cells = [c for c in notebook.cells if c.cell_type == "code"]
        if not any(cell.outputs for cell in cells):
            problems.append(f"{path.name} has no outputs: {remedy}")
        for index, cell in enumerate(cells, start=1):
            if any(output.output_type == "error" for output in cell.outputs):
                problems.append(f"{path.name}: code cell {index} holds a traceback")
    if problems:
        raise BookError("\n".join(problems))


def _told(notebook: nbformat.NotebookNode) -> list[tuple[Any, ...]]:
    """What the author of a notebook says, which executing it must not change."""
    return [
        (cell.source, cell.metadata.get("tags", []), cell.metadata.get("mystnb"))
        for cell in notebook.cells
    ]


def render(project: Project, destination: Path | None = None) -> Path:
    """Build the HTML site from the pages, the executed chapters and ``_build/proofs.json``.

    Returns:
        The folder that holds ``index.html``: ``_build/html`` under the destination, or where that
        is None in the checkout.
    """
    check_chapters(project)
    out = Project(destination or project.root)
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", str(project.book)]
    command += ["--config", str(project.root / "_config.yml")]
    command += ["--toc", str(project.root / "_toc.yml"), "--path-output", str(out.root)]
    # --all: else a second build of a broken book exits 0, and text glued elsewhere stays stale.
    command += ["--all", "-W", "-n", "--keep-going", "-q"]
    with busy(project):
        write_pages(project)
        if out.html.exists():
            shutil.rmtree(out.html)  # Jupyter Book leaves what earlier builds put there
        run = subprocess.run(command, cwd=project.root, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise BookError(f"the site does not build:\n{run.stdout[-6000:]}{run.stderr[-6000:]}")
    return out.html
