"""The README's generated parts: replaced between their markers, untouched where they agree."""

import base64

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from xsquared_book import readme
from xsquared_book.project import BookError, Project

PIXEL = base64.b64encode(b"a picture").decode()


def write_chapter(project: Project, name: str) -> None:
    cell = new_code_cell(
        "draw()",
        outputs=[new_output("display_data", data={"image/png": PIXEL})],
        metadata={"mystnb": {"figure": {"name": name, "caption": "c"}}},
    )
    path = project.chapters / f"{readme.FIGURE_CHAPTER}.ipynb"
    nbformat.write(new_notebook(cells=[cell]), path)


def test_table_and_figure_are_brought_up_to_date_once(small_project: Project) -> None:
    write_chapter(small_project, readme.FIGURE_NAME)
    (small_project.book / "_static").mkdir()
    small_project.readme.write_text(f"head\n{readme.BEGIN}\nstale\n{readme.END}\ntail\n")
    readme.update_readme(small_project)
    text = small_project.readme.read_text()
    assert text.startswith("head\n")
    assert text.endswith("tail\n")
    assert "| Gated units |" in text
    assert "stale" not in text
    assert small_project.readme_figure.read_bytes() == b"a picture"
    paths = (small_project.readme, small_project.readme_figure)
    before = [path.stat().st_mtime_ns for path in paths]
    readme.update_readme(small_project)
    assert [path.stat().st_mtime_ns for path in paths] == before


def test_a_missing_figure_and_missing_markers_are_errors(small_project: Project) -> None:
    write_chapter(small_project, "fig-other")
    with pytest.raises(BookError, match="shows no figure named fig-convergence in pixels"):
        readme.current_figure(small_project)
    small_project.readme.write_text("no table here")
    with pytest.raises(BookError, match="lacks the markers"):
        readme.update_readme(small_project)
