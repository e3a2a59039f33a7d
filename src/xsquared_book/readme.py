"""The README's verdict table and its figure, taken from the executed chapters."""

from __future__ import annotations

import nbformat

from xsquared_book.pictures import PNG, picture_of
from xsquared_book.project import BookError, Project
from xsquared_book.verdicts import summary_table

BEGIN, END = "<!-- verdicts:begin -->", "<!-- verdicts:end -->"
FIGURE_CHAPTER, FIGURE_NAME = "03_constructions", "fig-convergence"


def table_in(project: Project) -> str:
    """The table that stands between the README's markers."""
    text = project.readme.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise BookError(f"{project.readme} lacks the markers {BEGIN} and {END}")
    return text.partition(BEGIN)[2].partition(END)[0].strip()


def current_figure(project: Project) -> bytes:
    """The convergence figure's PNG, from the output of the chapter's cell."""
    notebook = nbformat.read(project.chapters / f"{FIGURE_CHAPTER}.ipynb", as_version=4)
    for cell in notebook.cells:
        name = cell.metadata.get("mystnb", {}).get("figure", {}).get("name")
        if name != FIGURE_NAME:
            continue
        for output in cell.outputs:
            if (picture := picture_of(output)) and picture[0] == PNG:
                return picture[1]
    raise BookError(f"{FIGURE_CHAPTER} shows no figure named {FIGURE_NAME} in pixels")


def update_readme(project: Project) -> None:
    """Bring table and figure up to date; files that already agree are not touched."""
    text = project.readme.read_text(encoding="utf-8")
    new = text.replace(table_in(project), summary_table(project))
    if new != text:
        project.readme.write_text(new, encoding="utf-8")
    figure = current_figure(project)
    if not project.readme_figure.is_file() or project.readme_figure.read_bytes() != figure:
        project.readme_figure.write_bytes(figure)
