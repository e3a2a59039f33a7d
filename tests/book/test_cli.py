"""The command line: what it accepts, what it says."""

import gc
import subprocess
import sys
from pathlib import Path

import click
import pytest

from xsquared_book.cli import main
from xsquared_book.project import Project
from xsquared_studies.speedrun import speedrun

Said = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


def test_module_and_console_script_agree() -> None:
    script = Path(sys.executable).with_name("xsquared")
    commands = [str(script), "--version"], [sys.executable, "-m", "xsquared_book", "--version"]
    first, second = (subprocess.check_output(command, text=True) for command in commands)
    assert first == second
    assert first.startswith("xsquared ")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--only", "99_none"], "xsquared: no chapter named 99_none; the chapters are 01_good\n"),
        (["--only", "x" * 10**5], "xxx...xxx"),
        (["-p", "x" * 10**5, "1"], "xxx...xxx"),
    ],
)
def test_what_a_book_has_not_is_said_and_shortened(
    given: list[str], said: str, small_project: Project, monkeypatch: Patch, capsys: Said
) -> None:
    monkeypatch.chdir(small_project.root)
    assert main(["book", *given]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert len(error) < 600


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("book --job 2", "No such option '--job'"),
        ("study --al", "No such option '--al'"),
        ("", "Missing command"),
        ("x" * 10**5, "No such command 'xxx"),
        ("book --jobs 0", "xsquared book: error: Invalid value for '--jobs': 0 "),
        ("book --jobs two", "Invalid value for '--jobs': 'two' "),
    ],
)
def test_misuse_exits_with_2_and_a_short_line(given: str, named: str, capsys: Said) -> None:
    assert main(given.split()) == 2
    error = capsys.readouterr().err
    assert named in error
    assert len(error) < 1000
    assert error.count("\n") == 1 or not given


@pytest.mark.parametrize("raised", [KeyboardInterrupt, click.Abort])
def test_an_interrupt_is_said(
    raised: type[BaseException], capsys: Said, monkeypatch: Patch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr("xsquared_book.cli.commands.main", interrupted)
    assert main(["speedrun"]) == 130
    assert capsys.readouterr().err == "xsquared: interrupted\n"


def test_speedrun_prints_three_slopes_and_draws(tmp_path: Path, capsys: Said) -> None:
    out = tmp_path / "speedrun.png"
    assert main(["speedrun", "--out", str(out)]) == 0
    assert gc.isenabled()
    lines = capsys.readouterr().out.splitlines()
    printed = [line for line in lines if "slope" in line]
    assert printed == [f"{run.unit.upper()}  slope {run.slope}" for run in speedrun(progress=False)]
    assert out.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_rows_of_a_study_are_run_anew_and_compared(capsys: Said) -> None:
    assert main(["study", "best_splines", "--check", "1", "--seed", "1", "--jobs", "1"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("best_splines: 1 rows drawn with seed 1\n0 rows are not as committed")
    assert main(["study"]) == 1
