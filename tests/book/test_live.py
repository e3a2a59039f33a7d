"""Derivations in the reader's browser: what is sent there, and how cells run."""

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from tests.site_in_browser import PROJECT
from xsquared.book import live
from xsquared.book.session import Session


def code_cells(name: str) -> list[nbformat.NotebookNode]:
    return live.page_cells(PROJECT.chapters / f"{name}.ipynb")


def test_pages_that_sympy_alone_can_run_get_the_button() -> None:
    names = [source.stem for source in PROJECT.sources()]
    chosen = [name for name in names if live.runs_in_browser(code_cells(name))]
    assert chosen == [f"A_derivations_{name}" for name in ("gated", "gelu")]


def test_a_session_prints_what_the_kernel_printed() -> None:
    session, cells = Session(), code_cells("A_derivations_gated")[:6]
    for index, cell in enumerate(cells):
        assert session.run(index, cell.source) == live.committed_output(cell)


def test_a_cell_that_runs_again_finds_the_names_that_it_found_before() -> None:
    session = Session()
    double = "x = 1\ndef double():\n    return 2 * x"
    for index, source in enumerate([double, "x = x + 1\ndouble()", "x = 30"]):
        session.run(index, source)
    assert session.run(1, "x = x + 2\ndouble()") == {"text": "6"}
    assert session.run(2, "print(x)") == {"text": "3\n"}


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("x = 1\n\nassert x == 2, 'two'", "AssertionError: two (line 3)"),
        ("x = 1\nx = = 2", "SyntaxError: invalid syntax (line 2)"),
        ("print('seen')\n1 / 0", "ZeroDivisionError: division by zero (line 2)"),
    ],
)
def test_an_error_names_its_line(source: str, error: str) -> None:
    output = Session().run(0, source)
    assert output["error"] == error
    assert output.get("text", "seen\n") == "seen\n"


@pytest.mark.parametrize("missing", ["npm", "the network"])
def test_without_npm_or_the_network_pages_have_no_button(
    missing: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    npm = None if missing == "npm" else "false"  # fails as npm does offline
    monkeypatch.setattr(live, "which", lambda _: npm)
    assert not live.install(tmp_path, tmp_path / "html")
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("Derivations have no Run button: ")
    assert not (tmp_path / "html").exists()


def test_another_tarball_is_refused(tmp_path: Path) -> None:
    tarball = tmp_path / "_build" / "live" / live.PYODIDE
    tarball.parent.mkdir(parents=True)
    tarball.write_bytes(b"another")
    with pytest.raises(ValueError, match="not the one that was tried"):
        live.fetch(tmp_path)
    assert not tarball.exists()


def test_output_of_a_cell_is_collected_by_kind() -> None:
    cell = new_code_cell("x")
    cell.outputs = [
        nbformat.v4.new_output("stream", name="stdout", text="seen\n"),
        nbformat.v4.new_output("execute_result", data={"text/plain": "3"}),
    ]
    assert live.committed_output(cell) == {"text": "seen\n3"}
