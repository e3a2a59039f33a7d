"""What is refused before Sphinx sees it, and what the marks say."""

from __future__ import annotations

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from xsquared.book.project import BookError, Project
from xsquared.book.proofs import Proof
from xsquared.book.render import check_chapters, render
from xsquared.book.sphinx_ext import mark

STREAM = new_output("stream", name="stdout", text="4\n")
TRACEBACK = new_output("error", ename="KeyError", evalue="'x'", traceback=["KeyError: 'x'"])


def commit(project: Project, *outputs: list) -> None:
    """Write chapter 01 with one code cell per list of outputs."""
    cells = [new_code_cell("2 + 2", outputs=o) for o in outputs]
    nbformat.write(new_notebook(cells=cells), project.chapters / "01_good.ipynb")


def test_executed_chapters_pass(small_project: Project) -> None:
    commit(small_project, [STREAM], [])
    check_chapters(small_project)


@pytest.mark.parametrize("call", [check_chapters, render])
def test_unfit_chapters_are_refused_by_name(small_project: Project, call) -> None:
    with pytest.raises(BookError, match=r"01_good\.ipynb is missing: run `xsquared book --only"):
        call(small_project)
    commit(small_project, [], [])
    with pytest.raises(BookError, match=r"01_good\.ipynb has no outputs"):
        call(small_project)
    commit(small_project, [STREAM], [TRACEBACK])
    with pytest.raises(BookError, match=r"01_good\.ipynb: code cell 2 holds a traceback"):
        call(small_project)


@pytest.mark.parametrize(
    ("passed", "as_printed", "in_errata", "words", "kind"),
    [
        (True, True, False, "✔ holds as printed", "holds"),
        (True, None, False, "✔ proved", "holds"),
        (True, False, True, "✘ not as printed; the right form is proved", "amended"),
        (True, None, True, "✘ not as printed; the right form is proved", "amended"),
        (False, True, False, "✘ its proof fails", "fails"),
    ],
)
def test_marks(
    passed: bool, as_printed: bool | None, in_errata: bool, words: str, kind: str
) -> None:
    proof = Proof("k", ("tests/test_a.py::test_b[k]",), passed, as_printed)
    assert mark(proof, in_errata) == (words, kind)
