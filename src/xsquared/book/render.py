"""Check the executed chapters, and build the site with Jupyter Book, every warning an
error.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat

from xsquared.book.project import BookError, Project, read_source, said


def check_chapters(project: Project) -> None:
    """Refuse chapters that are missing, out of date, not executed, or hold a traceback.

    Sphinx renders a notebook with a traceback, or with no outputs at all, without a
    word.

    Raises:
        BookError: naming each, and what to do.
    """
    problems = []
    for source in project.sources():
        path = project.chapters / f"{source.stem}.ipynb"
        if not path.is_file():
            problems.append(
                f"{path.name} is missing: run `xsquared book --only {source.stem}`"
            )
            continue
        notebook = nbformat.read(path, as_version=4)
        if said(notebook) != said(read_source(source)):
            remedy = f"run `xsquared book --only {source.stem}`"
            problems.append(f"{path.name} is not what {source.name} says now: {remedy}")
        outputs = [
            output for cell in notebook.cells for output in cell.get("outputs", [])
        ]
        if not outputs:
            problems.append(f"{path.name} has no outputs")
        if any(output.output_type == "error" for output in outputs):
            problems.append(f"{path.name} holds a traceback")
    if problems:
        raise BookError("\n".join(problems))


def render(project: Project, *options: str) -> Path:
    """Build the site from the pages and the executed chapters; options are Jupyter
    Book's.

    Returns:
        The folder ``_build/html``.

    Raises:
        BookError: chapters are not as they should be, or Sphinx warns.
    """
    check_chapters(project)
    command = [
        str(Path(sys.executable).with_name("jupyter-book")),
        "build",
        str(project.root),
    ]
    # --all: else a second build of a broken book exits 0, and text glued elsewhere
    # stays stale.
    command += ["--all", "-W", "-n", "--keep-going", "-q", *options]
    run = subprocess.run(
        command, cwd=project.root, capture_output=True, text=True, check=False
    )
    if run.returncode != 0:
        raise BookError(
            f"the site does not build:\n{run.stdout[-6000:]}{run.stderr[-6000:]}"
        )
    return project.html
