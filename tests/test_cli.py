"""The command line: what it accepts, what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from xsquared.book.project import Project
from xsquared.cli import main


def test_help_names_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    assert "book" in capsys.readouterr().out


def test_module_and_console_script_agree() -> None:
    script = Path(sys.executable).with_name("xsquared")
    runs = [
        subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
        for command in ([str(script)], [sys.executable, "-m", "xsquared"])
    ]
    assert runs[0] == runs[1]
    assert runs[0].startswith("xsquared ")


def test_outside_a_checkout_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["book"]) == 1
    assert "is not inside a checkout" in capsys.readouterr().err


@pytest.mark.parametrize("jobs", ["0", "-1", "two"])
def test_bad_jobs_are_refused(jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["book", "--jobs", jobs])
    assert stop.value.code == 2
    assert f"expected an integer of at least 1, got '{jobs}'" in capsys.readouterr().err


def test_parameters_are_literals_or_strings_and_stay_under_build(
    small_project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(small_project.root)
    assert main(["book", "--jobs", "1", "-p", "n", "7"]) == 0
    output = small_project.runs / "01_good.ipynb"
    assert str(output) in capsys.readouterr().out
    assert "squared 49" in output.read_text()
    assert list(small_project.chapters.iterdir()) == []
    nbformat.validate(nbformat.read(output, as_version=4))


def test_unknown_chapter_is_one_line(
    small_project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(small_project.root)
    assert main(["book", "--only", "99_none"]) == 1
    assert capsys.readouterr().err == (
        "xsquared: no chapter named 99_none; the chapters are 01_good\n"
    )
