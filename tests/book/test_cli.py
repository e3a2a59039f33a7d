"""The command line: what it accepts, what it says."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest

from xsquared_book.cli import main
from xsquared_book.project import Project
from xsquared_studies.speedrun import speedrun


def test_help_names_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "book" in capsys.readouterr().out


def test_module_and_console_script_agree() -> None:
    script = Path(sys.executable).with_name("xsquared")
    runs = [
        subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
        for command in ([str(script)], [sys.executable, "-m", "xsquared_book"])
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
    assert main(["book", "--jobs", jobs]) == 2
    error = capsys.readouterr().err
    assert error.startswith("xsquared book: error: Invalid value for '--jobs': ")
    assert jobs in error
    assert error.count("\n") == 1


@pytest.mark.slow
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


@pytest.mark.parametrize("given", [["--only", "x" * 10**5], ["-p", "x" * 10**5, "1"]])
def test_what_was_given_at_length_is_shortened(
    given: list[str],
    small_project: Project,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(small_project.root)
    assert main(["book", *given]) == 1
    error = capsys.readouterr().err
    assert "xxx...xxx" in error
    assert len(error) < 600


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["sweep", "--targ", "-x**2"], "No such option '--targ'"),
        (["sweep", "--dom", "-1e-3", "1"], "No such option '--dom'"),
        (["book", "--job", "2"], "No such option '--job'"),
        (["study", "--al"], "No such option '--al'"),
        ([], "Missing command"),
        (["x" * 10**5], "No such command 'xxx"),
    ],
)
def test_options_have_one_name_and_errors_are_short(
    given: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(given) == 2
    error = capsys.readouterr().err
    assert named in error
    assert len(error) < 1000


def sweep(*arguments: str) -> list[str]:
    return ["sweep", "--unit", "mlp,glu", "--widths", "2:4:2", "--seeds", "2", *arguments]


@pytest.mark.slow
def test_sweep_writes_a_row_per_trial_and_resumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rows.parquet"
    arguments = sweep("--target", "-1/(1+9*x**2)", "--domain", "-1e0", "1", "--out", str(out))
    assert main(arguments) == 0
    table = pd.read_parquet(out)
    assert len(table) == 8
    assert set(table["problem"]) == {"-1/(1+9*x**2)"}
    assert set(table["unit"]) == {"mlp", "glu"}
    assert sorted(set(table["n"])) == [2, 4]
    assert set(table["solver"]) == {"free_knots"}
    assert set(table["status"]) <= {"converged", "iterations"}
    first = ["problem", "domain", "unit", "gate", "n", "parameters", "protocol", "split", "gates"]
    first += ["solver", "settings", "seed", "points", "train_rmse", "test_rmse"]
    assert list(table.columns[: len(first)]) == first
    assert (table["parameters"] == table["unit"].map({"mlp": 3, "glu": 5}) * table["n"] + 1).all()
    capsys.readouterr()
    assert main(arguments) == 0
    assert "8 from the store" in capsys.readouterr().out
    pd.testing.assert_frame_equal(pd.read_parquet(out), table)


@pytest.mark.slow
def test_sweep_takes_a_problem_and_a_table_of_ones_own(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(draw.normal(size=(80, 2)), columns=["size", "age"])
    frame["price"] = frame["size"] ** 2 - frame["age"]
    frame["-price"] = -frame["price"]
    frame.to_csv(tmp_path / "mine.csv", index=False)
    mine = ["--data", str(tmp_path / "mine.csv"), "--y", "price", "--set", "candidates=20"]
    few = ["--widths", "2", "--seeds", "1"]
    out = tmp_path / "rows.csv"
    assert main([*sweep(*mine), *few, "--out", str(out)]) == 0
    table = pd.read_csv(out)
    assert set(table["problem"]) == {"mine.csv"}
    assert set(table["split"]) == {"held-out"}
    assert set(table["settings"]) == {'{"candidates": 20}'}
    minus = [*mine[:2], "--y", "-price", *mine[4:]]
    assert main([*sweep(*minus), *few, "--out", str(out)]) == 0
    assert set(pd.read_csv(out)["status"]) <= {"converged", "iterations"}
    ours = ["--problem", "friedman1", "--points", "60", "--split", "paper", "--solver", "lbfgs"]
    assert main(sweep(*ours, "--seeds", "1", "--gates", "frozen", "--out", str(out))) == 0
    table = pd.read_csv(out)
    assert set(table["gates"]) == {"frozen"}
    assert (table["train_rmse"] == table["test_rmse"]).all()
    assert table["parameters"].max() == (2 * 5 + 1 + 2) * 4 + 1


def test_a_sweep_that_completes_nothing_exits_with_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hopeless = ["--target", "10**170*x", "--solver", "adamw", "--points", "50"]
    assert main(sweep(*hopeless, "--out", str(tmp_path / "rows.csv"))) == 1
    assert "0 of 8 trials completed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--widths", "0:4"], "expected widths of at least 1 as 5:50, 5:50:5 or 4,8,16, got '0:4'"),
        (["--widths", "9:4"], "got '9:4'"),
        (["--widths", "two"], "got 'two'"),
        (["--seeds", "0"], "0 is not in the range 1<=x<=2147483647"),
        (["--gates", "all"], "'all' is not one of"),
        (["--split", "all"], "'all' is not one of"),
        (["--set", "3"], "expected name=value, got '3'"),
        (
            ["--data", "a.csv", "--problem", "sine"],
            "expected one of --target, --problem and --data",
        ),
    ],
)
def test_bad_sweep_arguments_are_refused(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", *arguments]) == 2
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--target", "1/x"], "the value of 1/x is not finite at x=0: inf"),
        (["--target", "-foo(x)"], "unknown function 'foo'"),
        (["--domain", "1", "-1"], "expected an interval with finite a < b, got (1.0, -1.0)"),
        (["--unit", "mlp,rnn"], "unknown unit 'rnn'; known are mlp, glu, gqu"),
        (["--activation", "step"], "unknown activation 'step'"),
        (["--solver", "sgd"], "unknown solver 'sgd'; known are varpro"),
        (["--set", "speed=3"], "unknown setting of free_knots 'speed'"),
        (["--problem", "iris"], "unknown problem 'iris'"),
        (["--data", "none.csv", "--y", "a"], "none.csv: No such file"),
        (["--data", "none.csv"], "expected data and the name y of their column"),
        (["--y", "price"], "together, got 'price' for 1/"),
        (["--problem", "sine", "--domain", "0", "1"], "sine: expected no domain beside its own"),
        (["--out", "missing/rows.parquet"], "cannot write missing/rows.parquet: No such file"),
        (["--out", "rows.sqlite"], "expected a name ending in one of .csv, .parquet"),
        (["--out", "rows"], "expected a name ending in one of .csv, .parquet"),
        (["--out", "/dev/null"], "cannot write /dev/null"),
    ],
)
def test_bad_sweep_values_are_one_line(
    arguments: list[str],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", "--widths", "2", *arguments]) == 1
    error = capsys.readouterr().err
    assert expected in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["sweep", "--widths", "2"], ["speedrun"]])
def test_only_regular_files_are_written(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / ("rows.csv" if command[0] == "sweep" else "lines.png")
    out.symlink_to("/dev/null")
    assert main([*command, "--out", str(out)]) == 1
    assert f"cannot write {out}: it is no regular file" in capsys.readouterr().err
    assert out.is_symlink()


@pytest.mark.parametrize("name", ["lines", "lines.xyz"])
def test_a_picture_format_is_refused_before_the_work(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xsquared_studies.speedrun.speedrun", None)
    assert main(["speedrun", "--out", str(tmp_path / name)]) == 1
    assert f"{name}: expected a name ending in one of ." in capsys.readouterr().err


def test_speedrun_prints_three_slopes_and_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "speedrun.png"
    assert main(["speedrun", "--out", str(out)]) == 0
    assert gc.isenabled()
    lines = capsys.readouterr().out.splitlines()
    printed = [line for line in lines if "slope" in line]
    assert printed == [f"{run.unit.upper()}  slope {run.slope}" for run in speedrun(progress=False)]
    assert out.read_bytes().startswith(b"\x89PNG")
