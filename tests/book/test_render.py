"""What is refused before Sphinx sees it."""

import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_output

from xsquared_book.project import BookError, Project, read_source
from xsquared_book.render import check_chapters

STREAM = new_output("stream", name="stdout", text="4\n")
TRACEBACK = new_output("error", ename="KeyError", evalue="'x'", traceback=["KeyError: 'x'"])


def commit(project: Project, *outputs: list[nbformat.NotebookNode]) -> None:
    """Write chapter 01 as its source is, its first code cells with these outputs."""
    notebook = read_source(project.notebooks / "01_good.md")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell, shown in zip(code, outputs, strict=False):
        cell.outputs = shown
    nbformat.write(notebook, project.chapters / "01_good.ipynb")


def test_unfit_chapters_are_named(small_project: Project) -> None:
    with pytest.raises(BookError, match=r"01_good\.ipynb is missing: run `xsquared book --only"):
        check_chapters(small_project)
    commit(small_project)
    with pytest.raises(BookError, match=r"01_good\.ipynb has no outputs"):
        check_chapters(small_project)
    commit(small_project, [STREAM], [TRACEBACK])
    with pytest.raises(BookError, match=r"01_good\.ipynb holds a traceback"):
        check_chapters(small_project)
    commit(small_project, [STREAM])
    check_chapters(small_project)
    source = small_project.notebooks / "01_good.md"
    source.write_text(source.read_text().replace("n + 1", "n + 2"))
    with pytest.raises(BookError, match=r"01_good\.ipynb is not what 01_good\.md says now"):
        check_chapters(small_project)


@pytest.mark.slow
def test_the_standard_tool_builds_a_checkout_without_a_warning(tmp_path: Path) -> None:
    root, tool = Path(__file__).parents[2], Path(sys.executable).with_name("jupyter-book")
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, tmp_path / name)
    (tmp_path / ".pytest_cache").mkdir()
    (tmp_path / ".pytest_cache/README.md").write_text("# What a run of the tests leaves\n")
    command = [str(tool), "build", ".", "-W", "-n", "-q"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[-3000:]
    assert (tmp_path / "_build/html/book/chapters/12_transformer.html").is_file()
