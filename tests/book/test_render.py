"""What is refused before Sphinx sees it, and what the marks say."""

from collections.abc import Callable

import nbformat
import pytest
from nbformat.v4 import new_output

from xsquared_book.project import BookError, Project, read_source
from xsquared_book.proofs import Proof
from xsquared_book.render import check_chapters, render
from xsquared_book.sphinx_ext import mark

STREAM = new_output("stream", name="stdout", text="4\n")
TRACEBACK = new_output("error", ename="KeyError", evalue="'x'", traceback=["KeyError: 'x'"])


def commit(project: Project, *outputs: list[nbformat.NotebookNode]) -> None:
    """Write chapter 01 as its source is, its first code cells with these outputs."""
    notebook = read_source(project.notebooks / "01_good.md")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell, shown in zip(code, outputs, strict=False):
        cell.outputs = shown
    nbformat.write(notebook, project.chapters / "01_good.ipynb")


@pytest.mark.parametrize("call", [check_chapters, render])
def test_unfit_chapters_are_named(
    small_project: Project, call: Callable[[Project], object]
) -> None:
    with pytest.raises(BookError, match=r"01_good\.ipynb is missing: run `xsquared book --only"):
        call(small_project)
    commit(small_project, [], [])
    with pytest.raises(BookError, match=r"01_good\.ipynb has no outputs"):
        call(small_project)
    commit(small_project, [STREAM], [TRACEBACK])
    with pytest.raises(BookError, match=r"01_good\.ipynb: code cell 2 holds a traceback"):
        call(small_project)


@pytest.mark.parametrize(
    "change",
    [
        ("n + 1", "n + 2"),
        ("# A chapter", "# The chapter"),
        ("ipython3\nn + 1", "ipython3\n:tags: [nbval-ignore-output]\n\nn + 1"),
    ],
)
def test_a_change_in_a_source_is_noticed(small_project: Project, change: tuple[str, str]) -> None:
    commit(small_project, [STREAM])
    check_chapters(small_project)
    source = small_project.notebooks / "01_good.md"
    source.write_text(source.read_text().replace(*change))
    with pytest.raises(BookError, match=r"01_good\.ipynb is not what 01_good\.md says now"):
        check_chapters(small_project)


@pytest.mark.parametrize(
    ("passed", "as_printed", "amended", "words", "kind"),
    [
        (True, True, False, "✔ holds as printed", "holds"),
        (True, None, False, "✔ proved", "holds"),
        (True, False, True, "✘ not as printed; the right form is proved", "amended"),
        (True, None, True, "✘ not as printed; the right form is proved", "amended"),
        (False, True, False, "✘ its proof fails", "fails"),
    ],
)
def test_marks(passed: bool, as_printed: bool | None, amended: bool, words: str, kind: str) -> None:
    proof = Proof("k", ("tests/test_a.py::test_b[k]",), 1, passed, as_printed)
    assert mark(proof, amended) == (words, kind)
