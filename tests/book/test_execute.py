"""Execution: what succeeds replaces, what fails is named, what did not change stays."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tests.small_project import add_chapter, notebook_text
from xsquared.book.execute import _execute_one as execute_one
from xsquared.book.execute import execute, printed
from xsquared.book.pictures import SVG
from xsquared.book.project import BookError, Project, find_project, read_source
from xsquared.book.render import check_chapters
from xsquared.studies.committed import COMMITTED_ONLY

#: Whether a row of a study that is missing is an error.
ASK = f"""import os
print('rows are committed:', 'yes' if os.environ['{COMMITTED_ONLY}'] else 'no')"""


def outputs(path: Path) -> str:
    cells = nbformat.read(path, as_version=4).cells
    return "".join(o.get("text", "") for cell in cells for o in cell.get("outputs", []))


@pytest.mark.slow
def test_execution_again_leaves_what_prints_the_same(small_project: Project) -> None:
    drawing = """from xsquared.book.plotting import plt, use_style
use_style()
_ = plt.plot([n, 3], [1, 5])"""
    add_chapter(small_project, "02_drawn", notebook_text(drawing))
    chunks = "import time\nprint('a', flush=True)\ntime.sleep(0.3)\nprint('b')"
    add_chapter(small_project, "03_chunks", notebook_text(chunks))
    first = execute(small_project)
    check_chapters(small_project)
    assert [path.parent for path in first] == [small_project.chapters] * 3
    assert "squared 4" in outputs(first[0])
    (output,) = nbformat.read(first[1], as_version=4).cells[-1].outputs
    assert sorted(output.data) == [SVG, "text/plain"]
    (stream,) = nbformat.read(first[2], as_version=4).cells[-1].outputs
    assert stream.text == "a\nb\n"
    # As if another processor had drawn it.
    drawn = first[1].read_text().replace("<svg ", "<svg  ")
    first[1].write_text(drawn)
    (again,) = execute(small_project, ["02_drawn"])
    assert again.read_text() == drawn


def test_a_chapter_stays_where_only_a_figures_lines_differ() -> None:
    def chapter(shown: str, length: float) -> nbformat.NotebookNode:
        drawn = new_output(
            "display_data", data={SVG: f'<svg d="{length}">', "text/plain": shown}
        )
        return new_notebook(cells=[new_code_cell("plot()", outputs=[drawn])])

    assert printed(chapter("a", 1.0)) == printed(chapter("a", 2.0))
    assert printed(chapter("a", 1.0)) != printed(chapter("b", 1.0))


@pytest.mark.slow
def test_a_failing_cell_is_named_and_good_ones_take_parameters(
    small_project: Project,
) -> None:
    bad = notebook_text("raise KeyError('lost')", parameters="m = 1")
    add_chapter(small_project, "02_bad", bad)
    committed = small_project.chapters / "02_bad.ipynb"
    before = nbformat.writes(new_notebook())
    committed.write_text(before)
    with pytest.raises(
        BookError, match=r"02_bad, cell \d+ \(In \[2\]\): KeyError: 'lost'"
    ):
        execute(small_project)
    assert committed.read_text() == before
    source = small_project.notebooks / "01_good.md"
    source.write_text(notebook_text(f"print('squared', n**2)\n{ASK}"))
    (run,) = execute(small_project, ["01_good"], {"n": 5})
    assert "rows are committed: no" in outputs(run)
    assert run == small_project.runs / "01_good.ipynb"
    assert "squared 25" in outputs(run)
    assert "squared 4" in outputs(small_project.chapters / "01_good.ipynb")
    (chapter,) = execute(small_project, ["01_good"])
    assert "rows are committed: yes" in outputs(chapter)


def test_a_kernel_that_does_not_come_up_is_started_again(
    small_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    def start(_source: str, output: str, **_: Any) -> None:
        started.append(output)
        if len(started) == 1:
            raise RuntimeError("Kernel didn't respond in 60 seconds")
        nbformat.write(new_notebook(), output)

    monkeypatch.setattr("papermill.execute_notebook", start)
    plain = small_project.root / "04_late.ipynb"
    _, failure = execute_one(plain, tmp_path, small_project.chapters, {})
    assert (len(started), failure) == (2, "")


def test_an_unknown_chapter_or_parameter_is_refused(small_project: Project) -> None:
    with pytest.raises(
        BookError, match="no chapter named 9_x; the chapters are 01_good"
    ):
        execute(small_project, ["9_x"])
    with pytest.raises(BookError, match="01_good has no parameter m; it has n"):
        execute(small_project, ["01_good"], {"m": 5})


def test_a_notebook_without_a_head_is_named(small_project: Project) -> None:
    add_chapter(small_project, "02_bare", "# A chapter\n")
    with pytest.raises(BookError, match=r"02_bare\.md does not begin with"):
        execute(small_project, ["02_bare"])


def test_find_project_walks_up(small_project: Project) -> None:
    assert find_project(small_project.chapters) == small_project
    with pytest.raises(BookError, match=r"no _config\.yml and _toc\.yml"):
        find_project(Path("/"))


def test_ids_of_cells_follow_their_sources_and_are_unique(
    small_project: Project,
) -> None:
    (source,) = small_project.sources()
    short = read_source(source)
    source.write_text(notebook_text("1 + 1", "print(n)", "n + 1", "n + 1"))
    long = read_source(source)
    assert short.cells[-1].id == long.cells[-2].id
    assert len({cell.id for cell in long.cells}) == len(long.cells)
