"""Execution: what succeeds replaces, what fails is kept aside and named."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tests.small_project import execute_drawing, notebook_text
from tests.waiting import ended, wait_until
from xsquared_book.execute import execute, keep_figures, select, tidy
from xsquared_book.pictures import SVG, plotted_in
from xsquared_book.project import BookError, Project, find_project


def outputs(path: Path) -> str:
    found = [o for c in nbformat.read(path, as_version=4).cells for o in c.get("outputs", [])]
    return "".join(o.get("text", "") or o.get("data", {}).get("text/plain", "") for o in found)


def test_a_chapters_process_starts_without_what_only_its_kernel_needs() -> None:
    """Each imports the module once more; with sympy and torch that took seconds a chapter."""
    heavy = {"torch", "sympy", "scipy"}
    code = f"import sys, xsquared_book.execute; print(*{heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.slow
def test_execution_twice_leaves_the_same_bytes_and_notes_times(small_project: Project) -> None:
    (first,) = execute(small_project, jobs=1)
    committed = first.output.read_bytes()
    assert first.output == small_project.chapters / "01_good.ipynb"
    assert "squared 4" in outputs(first.output)
    (second,) = execute(small_project, jobs=1)
    assert second.output.read_bytes() == committed
    times = json.loads(small_project.times.read_text())
    assert list(times["chapters"]) == ["01_good"]


@pytest.mark.slow
def test_a_figure_is_svg_with_its_numbers_and_always_the_same(small_project: Project) -> None:
    first = execute_drawing(small_project, "plt.plot([n, 3], [1 / 3, 5], label='two')")
    committed = first.output.read_bytes()
    cells = nbformat.read(first.output, as_version=4).cells
    (output,) = cells[-1].outputs
    assert sorted(output.data) == [SVG, "text/plain"]
    assert plotted_in(output) == "panel,line,x,y\n1,two,2,0.333333\n1,two,3,5\n"
    execute(small_project, jobs=1)
    assert first.output.read_bytes() == committed
    left_out = (rb'^ *"<svg ', rb'^ *"plotted": "')
    assert [sum(bool(re.match(a, b)) for b in committed.splitlines()) for a in left_out] == [1, 1]


def test_parameters_write_under_build_only(small_project: Project) -> None:
    (run,) = execute(small_project, parameters={"n": 5}, jobs=1)
    assert run.output == small_project.runs / "01_good.ipynb"
    assert "squared 25" in outputs(run.output)
    assert list(small_project.chapters.iterdir()) == []
    tags = [cell.metadata.get("tags", []) for cell in nbformat.read(run.output, 4).cells]
    assert ["hide-input" in own for own in tags if "injected-parameters" in own] == [True]


@pytest.mark.slow
def test_only_chapters_with_the_parameter_are_executed(small_project: Project) -> None:
    other = small_project.notebooks / "02_other.md"
    other.write_text(notebook_text("print(m)", parameters="m = 1"))
    runs = execute(small_project, parameters={"n": 5}, jobs=1)
    assert [run.name for run in runs] == ["01_good"]
    assert [path.name for path in small_project.runs.iterdir()] == ["01_good.ipynb"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"parameters": {"m": 5}}, r"parameter 'm'; they have n"),
        ({"parameters": {"n": "x"}}, "parameter n: expected a whole number, such as 2, got 'x'"),
        ({"only": ["9_x"]}, r"no chapter named 9_x; the chapters are 01_good"),
        ({"jobs": 0}, "at least 1, got 0"),
    ],
)
def test_what_cannot_be_is_refused(
    small_project: Project, asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(BookError, match=message):
        execute(small_project, **asked)
    assert not small_project.runs.exists()


@pytest.mark.slow
def test_failing_cell_is_named_and_the_committed_chapter_stays(small_project: Project) -> None:
    bad = small_project.notebooks / "02_bad.md"
    bad.write_text(notebook_text("a = 1", "raise KeyError('lost')", "print('never')"))
    committed = small_project.chapters / "02_bad.ipynb"
    committed.write_text("as it was")
    with pytest.raises(BookError, match=r"02_bad\.md, cell \d+ \(In \[3\]\): KeyError: 'lost'"):
        execute(small_project, jobs=2)
    assert committed.read_text() == "as it was"
    assert "KeyError" in (small_project.failed / "02_bad.ipynb").read_text()
    assert (small_project.chapters / "01_good.ipynb").is_file(), "the good chapter is kept"


@pytest.mark.slow
def test_unexpected_verdict_keeps_out_a_chapter_but_no_readers_run(small_project: Project) -> None:
    only, source = ["03_claim"], small_project.notebooks / "03_claim.md"
    settle = "from xsquared_book.papers.claims import settle\nsettle({'gu-eq9-rate': float(-n)})"
    source.write_text(notebook_text(settle))
    (run,) = execute(small_project, only, jobs=1)
    assert "✔ holds" in outputs(run.output)
    committed = run.output.read_bytes()
    (readers,) = execute(small_project, only, parameters={"n": 3}, jobs=1)
    assert "unexpected: the ledger gives no reason" in outputs(readers.output)
    source.write_text(notebook_text(settle, parameters="n = 3"))
    said = r"03_claim\.md, gu-eq9-rate: measured -3.0*, the ledger gives"
    with pytest.raises(BookError, match=said):
        execute(small_project, only, jobs=1)
    assert run.output.read_bytes() == committed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("os._exit(3)", r", cell \d+: the kernel died"),
        ("os.kill(os.getppid(), 9)", ": its process ended with code -9"),
    ],
)
def test_what_dies_is_its_chapters_failure(small_project: Project, code: str, message: str) -> None:
    bad = small_project.notebooks / "02_bad.md"
    bad.write_text(notebook_text("import os", code, "print('never')"))
    with pytest.raises(BookError, match=rf"02_bad\.md{message}"):
        execute(small_project, jobs=2)
    assert (small_project.chapters / "01_good.ipynb").is_file(), "the good chapter is kept"


@pytest.mark.slow
def test_a_kernel_that_does_not_start_is_started_once_more(
    small_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one does whose port another process has taken."""
    before = tmp_path / "before"
    before.mkdir()
    code = "import os, sys\nfrom pathlib import Path\nstarts = Path(__file__).with_name('starts')\n"
    code += "if any('ipykernel' in word for word in sys.orig_argv):\n"
    code += "    starts.open('a').write('x')\n    starts.read_text() == 'x' and os._exit(1)\n"
    (before / "sitecustomize.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(before))
    (run,) = execute(small_project, jobs=1)
    assert "squared 4" in outputs(run.output)
    assert (before / "starts").read_text() == "xx"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a process table to look into")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.slow
def test_a_stopped_book_leaves_no_kernel_behind(small_project: Project, number: int) -> None:
    said = small_project.root / "pid"
    slow = f"import os, time, pathlib\npathlib.Path({str(said)!r}).write_text(str(os.getpid()))"
    (small_project.notebooks / "01_good.md").write_text(notebook_text(slow, "time.sleep(600)"))
    # What starts in the background of a shell ignores interrupts, and so would all that it starts.
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "from tests.book.test_execute import *\n"
    code += "if __name__ == '__main__': execute(find_project(Path()))"
    (small_project.root / "book.py").write_text(code)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    book = subprocess.Popen(
        [sys.executable, "book.py"], cwd=small_project.root, env=environment, stderr=subprocess.PIPE
    )
    wait_until(lambda: said.is_file() and said.read_text() != "", "the kernel runs")
    kernel = int(said.read_text())
    assert not ended(kernel)
    book.send_signal(number)
    book.communicate(timeout=60)
    wait_until(lambda: ended(kernel), "the kernel has ended", 60)


def test_a_second_run_in_one_checkout_is_refused(small_project: Project) -> None:
    code = "import sys; from pathlib import Path; from xsquared_book.project import *\n"
    code += "with busy(Project(Path(sys.argv[1]))): print('held', flush=True); sys.stdin.read()"
    other = subprocess.Popen(
        [sys.executable, "-c", code, small_project.root],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert other.stdout.readline() == "held\n"
    with pytest.raises(BookError, match="another run is at work in"):
        execute(small_project, jobs=1)
    other.communicate(timeout=60)
    assert len(execute(small_project, jobs=1)) == 1


def test_build_may_lie_on_another_file_system(
    small_project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def within_one_folder(self: Path, target: Path) -> Path:
        if self.parent != target.parent:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", within_one_folder)
    (run,) = execute(small_project, jobs=1)
    assert [path.name for path in small_project.chapters.iterdir()] == [run.output.name]


def figure_cell(length: float) -> nbformat.NotebookNode:
    shown = new_output("display_data", data={SVG: f'<svg d="{length}">'})
    drawn = {"mystnb": {"figure": {"name": "fig-a"}}}
    return new_code_cell("plot()", outputs=[shown], metadata=drawn)


def test_a_figure_on_record_stays_where_only_rounding_differs(tmp_path: Path) -> None:
    nbformat.write(new_notebook(cells=[figure_cell(1.0)]), tmp_path / "01_good.ipynb")
    for length, kept in ((1.01, 1.0), (1.1, 1.1)):
        notebook = new_notebook(cells=[new_code_cell("other = 1"), figure_cell(length)])
        keep_figures(notebook, tmp_path / "01_good.ipynb")
        assert notebook.cells[1].outputs == figure_cell(kept).outputs


def test_find_project_walks_up_and_names_what_is_missing(
    small_project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert find_project(small_project.chapters) == small_project
    with pytest.raises(BookError, match=r"no _config\.yml and _toc\.yml"):
        find_project(tmp_path_factory.mktemp("elsewhere"))
    (small_project.notebooks / "01_good.md").unlink()
    with pytest.raises(BookError, match=r"no notebook NN_topic\.md"):
        select(small_project)


def test_tidy_makes_ids_follow_the_source_and_joins_streams() -> None:
    def notebook(extra: list[nbformat.NotebookNode]) -> nbformat.NotebookNode:
        chunks = [new_output("stream", name="stdout", text=text) for text in ("a\n", "b\n")]
        cell = new_code_cell("print('a'); print('b')", outputs=chunks)
        cell.metadata["execution"] = {"iopub.execute_input": "2020-01-01T00:00:00Z"}
        twin = new_code_cell("print('a'); print('b')")
        return new_notebook(cells=[*extra, cell, twin], metadata={"papermill": {"duration": 3.1}})

    short, long = notebook([]), notebook([new_code_cell("1 + 1")])
    tidy(short)
    tidy(long)
    assert short.metadata.get("papermill") is None
    assert [o.text for o in short.cells[0].outputs] == ["a\nb\n"]
    assert "execution" not in short.cells[0].metadata
    assert [c.id for c in short.cells] == [c.id for c in long.cells[1:]]
    assert len({c.id for c in long.cells}) == 3
