"""The command line: what it runs, what it says."""

import subprocess
import sys
from pathlib import Path

import pytest

from xsquared.book.cli import main, typed_value
from xsquared.book.project import Project
from xsquared.studies import committed


def test_errors_are_one_line(
    small_project: Project,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(small_project.root)
    assert main(["book", "--only", "99_none"]) == 1
    message = "xsquared: no chapter named 99_none; the chapters are 01_good\n"
    assert capsys.readouterr().err == message
    assert main(["book", "-p", "n", "5"]) == 2
    assert "that --only names" in capsys.readouterr().err
    assert main(["book", "--jobs", "two"]) == 2
    assert "Invalid value for '--jobs'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "value"), [("5", 5), ("[1, 2]", [1, 2]), ("sin(x)", "sin(x)")]
)
def test_a_value_is_a_literal_where_it_is_one(text: str, value: object) -> None:
    assert typed_value(text) == value


@pytest.mark.parametrize(
    ("absent", "command", "remedy"),
    [
        ("nbformat", ["book"], "pip install 'xsquared[book]'"),
        ("nbformat", ["fill"], "pip install 'xsquared[book]'"),
        (
            "distributed",
            ["study", "line", "--check", "1"],
            "pip install 'xsquared[cluster]', or run one trial at a time by --jobs 1",
        ),
    ],
)
def test_without_an_extra_a_command_says_what_to_install(
    absent: str, command: list[str], remedy: str
) -> None:
    code = f"""import sys
sys.modules[{absent!r}] = None  # whatever is installed
from xsquared.book.cli import main
sys.exit(main({command!r}))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("xsquared: ")
    assert done.stderr.endswith(f": {remedy}\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("differences", [[], ["n = 3, seed 0: train_rmse 2, not 1"]])
def test_a_check_that_finds_a_difference_says_it_and_fails(
    differences: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(committed, "check", lambda *_: differences)
    assert main(["study", "line", "--check", "2"]) == len(differences)
    assert "".join(differences) in capsys.readouterr().out


@pytest.mark.slow
def test_a_speedrun_prints_the_slopes_of_the_authors_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["speedrun", "--out", str(tmp_path / "a.png")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "MLP  slope -2.098, printed -2.098" in lines
    assert "GLU  slope -3.093, printed -3.093" in lines
    assert (tmp_path / "a.png").stat().st_size > 10_000
