"""Tables in the built pages: numbered, cited, with headers that say what they head."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from xsquared_book.page_tables import table_cell
from xsquared_book.papers.claims import settle
from xsquared_book.project import BookError, Project
from xsquared_book.tables import Table

TABLE = Table(
    pd.DataFrame({"unit": ["MLP", "GLU"], "error $e$": [0.25, 0.125]}),
    "Errors, of $x^2$.",
    "tab-errors",
    ".3f",
)
CONF = """
extensions = ["myst_nb", "xsquared_book.sphinx_ext"]
nb_execution_mode = "off"
exclude_patterns = ["chapters"]
myst_enable_extensions = ["dollarmath"]
numfig = True
"""


def cell(shown: object, source: str, prompt: str = "") -> nbformat.NotebookNode:
    """A hidden code cell with what it shows."""
    named = {"mystnb": {"code_prompt_show": prompt}} if prompt else {}
    data = shown._repr_mimebundle_()  # type: ignore[attr-defined]
    output = new_output("execute_result", data=data, execution_count=1)
    hidden = {"tags": ["hide-input"], **named}
    return new_code_cell(source, outputs=[output], execution_count=1, metadata=hidden)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with a table, one that names its code itself, and claims."""
    root = tmp_path_factory.mktemp("project") / "book"
    root.mkdir()
    shutil.copy(Path(__file__).parents[2] / "CITATION.cff", root.parent)
    (root / "conf.py").write_text(CONF)
    cells = [
        new_markdown_cell(
            "# A page\n\nAs {numref}`tab-errors` shows, {cell}`tab-errors:MLP,error $e$`."
        ),
        new_markdown_cell("(claim-gu-fig1-piecewise)=\n## Where the page of verdicts has it"),
        cell(TABLE, "Table(frame)"),
        cell(settle({"gu-fig1-piecewise": True}), "settle()", "Code that judges"),
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "P", "language": "python"}}
    nbformat.write(new_notebook(cells=cells, metadata=kernel), root / "index.ipynb")
    (root / "chapters").mkdir()
    shutil.copy(root / "index.ipynb", root / "chapters")
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "-q", "-b", "html"]
    command += [str(root), str(root / "out")]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode == 0, run.stderr
    return (root / "out" / "index.html").read_text()


def test_a_table_is_numbered_captioned_and_cited(page: str) -> None:
    assert 'As <a class="reference internal" href="#tab-errors">' in page
    assert page.count("Table 1") >= 2
    assert re.search(r'caption-text">Errors, of (<span class="unbroken">)?<span class="math', page)
    assert "<p>0.125</p>" in page
    number = (
        '<a class="reference internal" href="#tab-errors"><span class="std std-ref">0.250</span>'
    )
    assert f'shows, <span class="pasted-text">{number}</a></span>.' in page, "a cell leads there"
    assert 'href="#claim-gu-fig1-piecewise"><span class="std std-ref">details' in page


def test_a_cell_is_found_by_its_headers_in_any_chapter(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.chapters.mkdir(parents=True)
    index = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", "x"), ("b", "x")])
    several = Table(pd.DataFrame({"in, all": [1, 2, 3, 4]}, index), "C.", "tab-b")
    for name, table in (("01", TABLE), ("02", several)):
        notebook = new_notebook(cells=[new_markdown_cell("t"), cell(table, "Table(frame)")])
        nbformat.write(notebook, project.chapters / f"{name}.ipynb")
    assert table_cell(project, "tab-errors:GLU,error $e$") == "0.125"
    assert table_cell(project, "tab-b:a,y,in, all") == "2"
    with pytest.raises(BookError, match="expected a table of a chapter, got 'tab-c'"):
        table_cell(project, "tab-c:a,b")
    with pytest.raises(BookError, match="expected one cell of tab-b, such as a,x,in, all"):
        table_cell(project, "tab-b:b,x,in, all")


def test_headers_say_what_they_head_and_hidden_code_is_named(page: str) -> None:
    assert page.count('<th scope="col"') == 2 + 4
    assert page.count('<th scope="row"') == 2 + 1
    assert "Code for Table 1" in page
    assert "Code that judges" in page
    assert "Show code cell" not in page
    assert "Toggle hidden content" not in page


def test_a_table_is_followed_by_how_it_was_made(page: str) -> None:
    assert page.count("How Table 1 was made") == 1
    assert '<a href="#cell-3">cell 3</a> of this chapter' in page
    assert '<a href="_sources/index.ipynb">a notebook</a>' in page
    assert '<a download href="data/tab-errors.csv">as CSV</a>' in page
    assert re.search('<div class="[^"]*" id="cell-3">', page)
