"""Runs with other parameters: what is not as committed is marked."""

from typing import Any

import nbformat
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tests.small_project import notebook_text
from xsquared.book.cli import main
from xsquared.book.pictures import SVG
from xsquared.book.project import Project
from xsquared.book.runs import mark_run
from xsquared.book.tables import TABLE_MIME, Table

TABLE = """
import pandas as pd
from xsquared.book.tables import Table, glue_numbers

glue_numbers({"twice": 2.0 * n})
frame = pd.DataFrame({"k": range(40), "value": [7] * 39 + [n]}).set_index("k")
Table(frame, "Values.", "tab-values")
"""
FIGURE = """---
mystnb:
  figure: {name: fig-line, caption: A line.}
  image: {alt: a line}
---
from xsquared.book.plotting import plt, use_style

use_style()
_ = plt.plot([0, n], [0, 1])
"""


def write(project: Project, n: int, rows: pd.DataFrame, length: float) -> None:
    """Write a chapter as executed, or its run where n is not 2; 4 prints nothing."""
    table = Table(rows, "Errors.", "tab-a")._repr_mimebundle_()
    line = {SVG: f'<svg id="i{n}1234abcd-0" d="M{length} 0L8 0">'}
    glued = {"application/papermill.record/text/plain": str(n)}
    scrap = {"scrapbook": {"name": "answer"}}
    outputs: list[list[Any]] = [
        [new_output("display_data", data=glued, metadata=scrap)],
        [new_output("display_data", data=table)],
        [new_output("display_data", data=line)],
        [new_output("stream", name="stdout", text=f"{n}\n")] if n != 4 else [],
    ]
    cells = [
        new_code_cell(str(k), id=f"cell-{k}", outputs=shown)
        for k, shown in enumerate(outputs)
    ]
    cells.insert(0, new_code_cell("n = 2", metadata={"tags": ["parameters"]}))
    folder = project.chapters
    if n != 2:
        folder = project.runs
        tags = {"tags": ["injected-parameters"]}
        cells.insert(1, new_code_cell(f"# Parameters\nn = {n}", metadata=tags))
    kernel = {"name": "python3", "display_name": "Python 3"}
    notebook = new_notebook(cells=cells, metadata={"kernelspec": kernel})
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / "01_good.ipynb")


def test_changes_are_found_by_headers_and_counted(small_project: Project) -> None:
    units = pd.Index(["mlp", "mlp", "glu"], name="unit")
    rows = pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]}, units)
    write(small_project, 2, rows, 1.25)
    others = pd.Index(["gqu", "mlp", "mlp"], name="unit")
    changed = pd.DataFrame({"b": [0, 4, 9], "a": [0, 1, 2]}, others)
    write(small_project, 3, changed, 1.3)
    page, changes = mark_run(small_project, "01_good")
    (table,) = (
        output.data[TABLE_MIME]
        for cell in page.cells
        for output in cell.get("outputs", [])
        if TABLE_MIME in output.get("data", {})
    )
    plain = ["", "", ""]
    assert table["committed"] == [["", "–", "–"], plain, ["", "5", ""]]
    assert table["caption"] == "Errors. As committed also: glu."
    values = ["- n: `3` (`2`)", "- answer: `3` (`2`)"]
    counts = ["- cells of tables: 3, marked", "- other outputs: 1, marked"]
    assert changes.splitlines()[2:] == values + counts
    write(small_project, 3, rows, 1.5)
    page, changes = mark_run(small_project, "01_good")
    counts[0] = "- figures: 1, marked"
    assert changes.splitlines()[2:] == values + counts
    write(small_project, 4, rows, 1.25)
    _, silent = mark_run(small_project, "01_good")
    assert silent.splitlines()[-1] == counts[1]
    shown = [cell for cell in page.cells if cell.source == "# committed"]
    assert [SVG in cell.outputs[1].data for cell in shown] == [True, False]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_run_is_a_page_that_marks_a_far_cell_and_a_figure(
    small_project: Project,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(small_project.root)
    source = small_project.notebooks / "01_good.md"
    text = notebook_text(TABLE, FIGURE)
    source.write_text(f"{text}\nIts last value is {{cell}}`tab-values:39,value`.\n")
    assert main(["book", "--only", "01_good"]) == 0
    committed = small_project.html / "book/chapters/01_good.html"
    before = committed.read_text()
    assert before.count('alt="a line"') == 1
    assert main(["book", "--only", "01_good", "-p", "n", "5"]) == 0
    page = small_project.runs / "book/chapters/01_good.html"
    assert str(page) in capsys.readouterr().out
    run = page.read_text()
    assert run.count("xs-changed") == 1
    assert "<p>5</p>\n<p>(2)</p>" in run
    assert run.count('alt="a line"') == 2
    assert run.count("As committed:") == 1
    assert "Its last value is" in run
    assert committed.read_text() == before
