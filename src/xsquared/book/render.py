"""Check the executed chapters; build the site, or pages of it, with Jupyter Book."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shutil import copytree, ignore_patterns

import nbformat
from jupyter_book.sphinx import build_sphinx

from xsquared.book.project import (
    BookError,
    Project,
    outputs_of,
    read_source,
    same_code,
)
from xsquared.book.prose import Prose


def check_chapters(project: Project, names: Sequence[str] = ()) -> None:
    """Refuse chapters that are missing, out of date, not executed, or hold a traceback.

    Sphinx renders a notebook with a traceback, or with no outputs at all, without a
    word.

    Args:
        project: the checkout.
        names: of chapters; all where empty.

    Raises:
        BookError: naming each, and what to do.
    """
    problems = []
    prose = Prose(project)
    for source in project.sources(names):
        path = project.chapters / f"{source.stem}.ipynb"
        remedy = f"run `xsquared book --only {source.stem}`"
        if not path.is_file():
            problems.append(f"{path.name} is missing: {remedy}")
            continue
        notebook = nbformat.read(path, as_version=4)
        if not same_code(notebook, read_source(source)):
            problems.append(f"{path.name} is not what {source.name} runs now: {remedy}")
        elif notebook != prose.filled(source.stem):
            problems.append(
                f"{path.name} is not what {source.name} says now: run `xsquared fill`"
            )
        outputs = outputs_of(notebook)
        if not outputs:
            problems.append(f"{path.name} has no outputs")
        if any(output.output_type == "error" for output in outputs):
            problems.append(f"{path.name} holds a traceback")
    if problems:
        raise BookError("\n".join(problems))


def render(project: Project) -> Path:
    """Build the site from the pages and the executed chapters, warnings being errors.

    Returns:
        The folder ``_build/html``.

    Raises:
        BookError: chapters are not as they should be, or Sphinx warns.
    """
    check_chapters(project)
    _build(project, project.html, project.html.with_name(".doctrees"), (), ())
    return project.html


def render_pages(project: Project, names: Sequence[str], runs: bool) -> list[Path]:
    """Build the pages of chapters alone, beside a site that is built already.

    Runs with other parameters are shown in a copy of the site, ``_build/runs``, so that
    their links lead somewhere and the book stays as it is. Where there is no site, all
    of it is built first.

    Args:
        project: the checkout.
        names: of chapters.
        runs: show their runs, with what is not as committed marked.

    Returns:
        The pages.

    Raises:
        BookError: committed chapters are not as they should be, or Sphinx fails. Its
            warnings are shown: a run may lack a row that the text cites, and a label
            that has moved seems to be there twice.
    """
    check_chapters(project, names)
    site = project.html
    doctrees = project.html.with_name(".doctrees")
    if not ((site / "index.html").is_file() and doctrees.is_dir()):
        render(project)  # the other pages, to which links lead
    if runs:
        ran = [f"{path.stem}.html" for path in project.runs.glob("*.ipynb")]
        site = copytree(
            project.html,
            project.runs,
            ignore=ignore_patterns(*ran),
            dirs_exist_ok=True,
        )
        doctrees = copytree(doctrees, site / ".doctrees", dirs_exist_ok=True)
    pages = [project.chapters / f"{name}.ipynb" for name in names]
    _build(project, site, doctrees, pages, names if runs else ())
    return [site / "book" / "chapters" / f"{name}.html" for name in names]


def _build(
    project: Project,
    site: Path,
    doctrees: Path,
    pages: Sequence[Path],
    runs: Sequence[str],
) -> None:
    """Build pages, or all of them anew, warnings being errors then."""
    # As the command `jupyter-book build` sets them: pages read before stay valid.
    settings = {
        "external_toc_path": str(project.root / "_toc.yml"),
        "latex_individualpages": False,
        "nitpicky": True,
        "xsquared_runs": [*runs],
    }
    failure = build_sphinx(
        project.root,
        site,
        path_config=project.root / "_config.yml",
        noconfig=True,
        confoverrides=settings,
        doctreedir=doctrees,
        filenames=[str(page) for page in pages],
        # Else a second build of a broken book succeeds, and numbers of other chapters
        # stay as they were.
        force_all=not pages,
        warningiserror=not pages,
        keep_going=True,
        quiet=True,
    )
    if failure:
        raise BookError(f"the site does not build: {failure}")
