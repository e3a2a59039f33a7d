"""The command line: what it accepts, what it says."""

import gc
import io
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pandas as pd
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


#: Options that an unknown variable of a shell would leave empty.
TEXTS = ("target", "problem", "data", "y", "activation", "solver")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("sweep --targ -x**2", "No such option '--targ'"),
        ("sweep --dom -1e-3 1", "No such option '--dom'"),
        ("book --job 2", "No such option '--job'"),
        ("study --al", "No such option '--al'"),
        ("", "Missing command"),
        ("x" * 10**5, "No such command 'xxx"),
        ("book --jobs 0", "xsquared book: error: Invalid value for '--jobs': 0 "),
        ("book --jobs two", "Invalid value for '--jobs': 'two' "),
        ("sweep --widths 0:4", "widths of at least 1 as 5:50, 5:50:5 or 4,8,16, got '0:4'"),
        ("sweep --widths 8:5:-1", "widths of at least 1 as 5:50, 5:50:5 or 4,8,16, got '8:5:-1'"),
        ("sweep --widths 9:4", "got '9:4'"),
        ("sweep --widths two", "got 'two'"),
        (f"sweep --widths 1:1{'0' * 30}", "got '1:1000"),
        ("sweep --seeds 0", "0 is not in the range 1<=x<=2147483647"),
        ("sweep --gates all", "'all' is not one of"),
        ("sweep --split all", "'all' is not one of"),
        ("sweep --set 3", "expected name=value, got '3'"),
        ("sweep --set starts=1 --set starts=2", "'--set': expected each name once"),
        ("sweep --data a.csv --problem sine", "expected one of --target, --problem and --data"),
        *((f"sweep --{name}=", f"'--{name}': expected text, got none") for name in TEXTS),
    ],
)
def test_misuse_exits_with_2_and_a_short_line(given: str, named: str, capsys: Said) -> None:
    assert main(given.split()) == 2
    error = capsys.readouterr().err
    assert named in error
    assert len(error) < 1000
    assert error.count("\n") == 1 or not given


@pytest.mark.parametrize(
    "given",
    [
        ("sweep", "--solver", "lbfgs", "--set", "max_iterations=1if 1else 2"),
        ("sweep", "--data", "a.csv", "--y", "\udcff"),
    ],
)
def test_odd_texts_are_one_line_too(given: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,y\n1,2\n")
    call = f"from xsquared_book.cli import main; raise SystemExit(main({given!r}))"
    ran = subprocess.run(
        [sys.executable, "-c", call], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert ran.stderr.count("\n") == 1


def sweep(*arguments: str) -> list[str]:
    return ["sweep", "--unit", "mlp,glu", "--widths", "2:4:2", "--seeds", "2", *arguments]


@pytest.mark.slow
def test_sweep_writes_a_row_per_trial_and_resumes(tmp_path: Path, capsys: Said) -> None:
    out = tmp_path / "rows.parquet"
    arguments = sweep("--target", "-1/(1+9*x**2)", "--domain", "-1e0", "1", "--out", str(out))
    assert main(arguments) == 0
    table = pd.read_parquet(out)
    assert len(table) == 8
    values = {"problem": "-1/(1+9*x**2)", "unit": ("mlp", "glu"), "n": (2, 4)}
    for name, expected in (values | {"solver": "free_knots"}).items():
        assert set(table[name]) == {*np.atleast_1d(expected).tolist()}
    assert set(table["status"]) <= {"converged", "iterations"}
    names = "problem domain unit gate n parameters protocol split gates solver settings seed points"
    first = [*names.split(), "train_rmse", "test_rmse"]
    assert list(table.columns[: len(first)]) == first
    assert (table["parameters"] == table["unit"].map({"mlp": 3, "glu": 5}) * table["n"] + 1).all()
    capsys.readouterr()
    assert main(arguments) == 0
    assert "8 from the store" in capsys.readouterr().out
    pd.testing.assert_frame_equal(pd.read_parquet(out), table)


def test_a_name_that_no_output_can_hold_ends_no_sweep(tmp_path: Path, monkeypatch: Patch) -> None:
    out, said = tmp_path / "größe.csv", io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(said, "ascii", write_through=True))
    cheap = ["--unit", "mlp", "--widths", "2", "--solver", "varpro", "--gates", "frozen"]
    assert main(["sweep", *cheap, "--out", str(out)]) == 0
    assert b"gr\\xf6\\xdfe.csv (1 rows;" in said.getvalue()


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


def test_a_sweep_that_completes_nothing_exits_with_an_error(tmp_path: Path, capsys: Said) -> None:
    hopeless = ["--target", "10**170*x", "--solver", "adamw", "--points", "50"]
    assert main(sweep(*hopeless, "--out", str(tmp_path / "rows.csv"))) == 1
    assert "0 of 8 trials completed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--target 1/x", "the value of 1/x is not finite at x=0: inf"),
        ("--domain 1 -1", "expected an interval with finite a < b, got (1.0, -1.0)"),
        ("--unit mlp,rnn", "unknown unit 'rnn'; known are mlp, glu, gqu"),
        ("--set directions={[]:1}", "directions: expected "),
        ("--set speed=3", "unknown setting of free_knots 'speed'"),
        ("--data none.csv --y a", "none.csv: No such file"),
        ("--data none.csv", "expected data and the column y to predict"),
        ("--y price", "together, got 'price' for 1/"),
        ("--problem sine --domain 0 1", "sine: expected no domain beside its own"),
        ("--out missing/rows.parquet", "cannot write missing/rows.parquet: No such file"),
        ("--out rows.sqlite", "expected a name ending in one of .csv, .parquet"),
        ("--out /dev/null", "cannot write /dev/null"),
        # Wrong for every trial: said before any.
        ("--points 1", "n_points: expected an integer from 2"),
        ("--activation gelu", "free_knots fits relu gates with up to two factors, got unit 'mlp'"),
        ("--target x*y --solver free_knots", "free_knots fits points of one input, and"),
        ("--widths 2,99999999", "free_knots for 99999999 neurons on 10000 points: expected at"),
    ],
)
def test_bad_values_one_line(
    arguments: str, expected: str, tmp_path: Path, monkeypatch: Patch, capsys: Said
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", "--widths", "2", *arguments.split()]) == 1
    error = capsys.readouterr().err
    assert expected in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "y", "expected"),
    [
        ("mine.csv", "nope", "mine.csv: expected a column 'nope', got ['a', 'b']"),
        ("mine.txt", "b", "expected a file .csv or .parquet, got 'mine.txt'"),
        ("endless.csv", "b", "endless.csv: it is no file"),
    ],
)
def test_a_table_that_no_trial_can_read_starts_none(
    name: str, y: str, expected: str, tmp_path: Path, capsys: Said
) -> None:
    data, out = tmp_path / name, tmp_path / "rows.csv"
    if name == "endless.csv":
        data.symlink_to("/dev/zero")
    else:
        data.write_text("a,b\n" + "".join(f"{i},{i * i % 7}\n" for i in range(60)))
    assert main(sweep("--data", str(data), "--y", y, "--out", str(out))) == 1
    assert expected in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [data]


@pytest.mark.parametrize("command", [["sweep", "--widths", "2"], ["speedrun"]])
def test_only_regular_files_are_written(command: list[str], tmp_path: Path, capsys: Said) -> None:
    out = tmp_path / ("rows.csv" if command[0] == "sweep" else "lines.png")
    out.symlink_to("/dev/null")
    assert main([*command, "--out", str(out)]) == 1
    assert f"cannot write {out}: it is no regular file" in capsys.readouterr().err
    assert out.is_symlink()
    assert main([*command, "--out", str(tmp_path / f"o\n{out.name}")]) == 1
    assert capsys.readouterr().err.endswith("expected a name on one line\n")


@pytest.mark.parametrize("name", ["mine.csv", "./other/../mine.csv", "link.csv", "hard.csv"])
def test_no_sweep_writes_over_its_table(name: str, tmp_path: Path, capsys: Said) -> None:
    data = tmp_path / "mine.csv"
    (tmp_path / "other").mkdir()
    data.write_text("a,b\n" + "".join(f"{i},{i * i % 7}\n" for i in range(60)))
    (tmp_path / "link.csv").symlink_to(data)
    (tmp_path / "hard.csv").hardlink_to(data)
    before = data.read_text()
    for one, other in ((data, tmp_path / name), (tmp_path / name, data)):
        assert main(sweep("--data", str(one), "--y", "b", "--out", str(other))) == 1
        assert f"cannot write {other}: it is the table to be read" in capsys.readouterr().err
    assert data.read_text() == before


def test_a_link_to_nothing_stays_and_its_name_says_the_format(tmp_path: Path) -> None:
    out, real = tmp_path / "rows.csv", tmp_path / "real.txt"
    out.symlink_to(real)
    assert main(sweep("--target", "no", "--out", str(out))) == 1
    assert out.is_symlink()
    assert not real.exists()
    assert main(sweep("--target", "x**4", "--out", str(out))) == 0
    assert out.is_symlink()
    assert len(pd.read_csv(real)) == 8


@pytest.mark.parametrize("raised", [KeyboardInterrupt, click.Abort])
def test_an_interrupt_is_said(
    raised: type[BaseException], capsys: Said, monkeypatch: Patch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr("xsquared_book.cli.commands.main", interrupted)
    assert main(["sweep"]) == 130
    assert capsys.readouterr().err == "xsquared: interrupted\n"


def test_a_picture_format_is_refused(tmp_path: Path, capsys: Said, monkeypatch: Patch) -> None:
    """Before the work."""
    monkeypatch.setattr("xsquared_studies.speedrun.speedrun", None)
    assert main(["speedrun", "--out", str(tmp_path / "lines.xyz")]) == 1
    assert "lines.xyz: expected a name ending in one of ." in capsys.readouterr().err


def test_speedrun_prints_three_slopes_and_draws(tmp_path: Path, capsys: Said) -> None:
    out = tmp_path / "speedrun.png"
    assert main(["speedrun", "--out", str(out)]) == 0
    assert gc.isenabled()
    lines = capsys.readouterr().out.splitlines()
    printed = [line for line in lines if "slope" in line]
    assert printed == [f"{run.unit.upper()}  slope {run.slope}" for run in speedrun(progress=False)]
    assert out.read_bytes().startswith(b"\x89PNG")
