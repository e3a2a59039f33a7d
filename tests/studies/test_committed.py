"""Declared studies and their committed rows: run, read, checked, run again."""

import sqlite3
import subprocess
import sys
import tomllib
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.studies.trainers import measure
from tests.waiting import wait_until
from xsquared.studies import STUDIES, Study, committed, find_study, rows, sweep
from xsquared.studies.committed import TOLERANCE, check, compare, run
from xsquared.studies.experiment import make_trial, run_trial, unit_of
from xsquared.studies.sweep import Trial, fingerprint, trial_key

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::RuntimeWarning"
)  # a row comes out whatever is warned of
def test_a_sample_of_the_committed_rows_comes_out_again(name: str) -> None:
    study = find_study(name)
    if line := study.missing():
        pytest.skip(line)
    assert check(name, study.sample()) == []


@pytest.mark.parametrize("name", STUDIES)
def test_every_row_of_a_study_is_committed_once_and_tells_what_made_it(
    name: str,
) -> None:
    study, found = find_study(name), rows(name)
    trials = study.trials()
    keys = {trial_key(trial) for trial in trials}
    made = tomllib.loads((ROOT / "results" / f"{name}.toml").read_text())
    there = set(found["key"])
    assert (made["rows"], made["trials"]) == (len(found), len(there))
    of_no_trial = found.loc[~found["key"].isin(keys), ["problem", "unit", "protocol"]]
    assert of_no_trial.drop_duplicates().to_dict("records") == []
    # A study may be committed in part, and then says so.
    assert (there < keys) == ("part_of" in made)
    assert made.get("part_of", len(there)) == len(keys) == len(trials)
    assert {trial_key(trial) for trial in study.sample()} <= keys
    assert {trial["protocol"] for trial in trials} <= set(study.protocols)
    assert not found.duplicated(["key", "problem", "n", "seed"]).any()
    # A forward pass that says it misses its spline has an error all the same.
    ended = {"completed", "converged", "iterations", "stalled", "inexact", "diverged"}
    assert set(found["status"]) <= ended
    judged = [error for error in ("train_rmse", "test_rmse") if error in found] or [
        "nats"
    ]
    # These two judge no network: they are of gates, and of all splines.
    networks = found[~found["protocol"].isin(["bend", "pieces"])]
    assert not networks[["parameters", *judged]].isna().to_numpy().any()
    assert "torch" in made["versions"]


@pytest.mark.parametrize("name", STUDIES)
def test_every_unit_and_gate_of_a_row_is_found(name: str) -> None:
    # Tables of what the first paper published have no gates: all are ReLU.
    found = rows(name).reindex(columns=["unit", "gate"], fill_value="relu")
    for row in found.drop_duplicates().to_dict("records"):
        assert unit_of(row).activation == row["gate"]


def test_every_file_of_results_belongs_to_a_study() -> None:
    files = {path.name for path in (ROOT / "results").glob("[!.]*")} - {"README.md"}
    assert files == {f"{name}.{kind}" for name in STUDIES for kind in ("csv", "toml")}


def test_the_dictionary_names_every_column_and_where_it_stands() -> None:
    text = (ROOT / "results" / "README.md").read_text(encoding="utf-8")
    lines = [
        line.strip("| ").split(" | ")
        for line in text.splitlines()
        if line.startswith("| `")
    ]
    described = {line[0].strip("`"): line[-1] for line in lines}
    tables = {name: rows(name) for name in sorted(STUDIES)}
    # One without rows fails the test before.
    tables = {name: table for name, table in tables.items() if len(table)}
    standing: dict[str, list[str]] = {}
    for name, table in tables.items():
        for column in table:
            standing.setdefault(str(column), []).append(name)
    expected = {
        column: "all" if len(names) == len(tables) else ", ".join(names)
        for column, names in standing.items()
    }
    # Two differences, so that a failure names the lines that are wrong, and no others.
    assert dict(expected.items() - described.items()) == {}
    assert described.keys() - expected.keys() == set()


def rows_stored(path: Path) -> int:
    """Rows in a store that another process may be making."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
            return int(store.execute("select count(*) from rows").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def small_trials() -> list[Trial]:
    """Frozen gates, as what keeps rows and not the solver is tested."""
    same: Any = {"domain": ((-1, 1),), "gates": "frozen", "split": "paper"}
    return [
        make_trial("x**2", unit, n, "free_knots", "small", **same)
        for unit in ("mlp", "glu", "gqu")
        for n in (1, 2)
    ]


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A study of six trials in a checkout of its own."""
    (tmp_path / "results").mkdir()
    (tmp_path / "_toc.yml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(committed.COMMITTED_ONLY, raising=False)
    monkeypatch.setattr(committed, "_CHECKOUT", tmp_path)
    protocols = {"small": "as a test needs it"}
    study = Study(
        "Parabolas", protocols, run_trial, small_trials, lambda: small_trials()[:2]
    )
    monkeypatch.setattr(committed, "find_study", lambda _: study)
    return "small"


def change_rows(old: str, new: str) -> None:
    """Edit the small study's table, and say that other sources made it."""
    table, description = Path("results/small.csv"), Path("results/small.toml")
    checksum = committed._sum(table)
    assert old in table.read_text()
    table.write_text(table.read_text().replace(old, new))
    text = description.read_text().replace(checksum, committed._sum(table))
    description.write_text(text.replace(fingerprint(run_trial), "older"))


def test_rows_are_written_sorted_with_their_provenance_and_read_back(
    small: str,
) -> None:
    computed = run(small)
    assert len(computed) == 6
    text = Path("results/small.csv").read_bytes()
    assert b"\r" not in text
    table = pd.read_csv("results/small.csv")
    assert list(table["unit"]) == sorted(table["unit"])
    assert list(table.columns[:5]) == ["problem", "domain", "unit", "gate", "n"]
    origin = Path("results/small.toml").read_text()
    for word in ("commit", "fingerprint", "torch", "cpu_seconds", "as a test needs it"):
        assert word in origin
    found = rows(small, reversed(small_trials()))
    assert list(found["key"]) == [
        trial_key(trial) for trial in reversed(small_trials())
    ]
    assert sorted(found["test_rmse"]) == sorted(computed["test_rmse"])
    run(small)
    assert Path("results/small.csv").read_bytes() == text


def test_rows_of_other_sources_stay_unless_the_sample_does_not_come_out_again(
    small: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = run(small)
    change_rows("paper", "paper")
    text = Path("results/small.csv").read_bytes()
    run(small)
    assert Path("results/small.csv").read_bytes() == text
    sampled = rows(small, small_trials()[1:2])["test_rmse"].item()
    change_rows(f"{sampled:.6g}", "0.5")
    assert 0.5 in list(rows(small)["test_rmse"])
    after = run(small)
    assert "does not come out again, so all trials run" in capsys.readouterr().err
    pd.testing.assert_series_equal(after["test_rmse"], before["test_rmse"])


def test_a_sample_that_fails_voids_nothing(
    small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(small)
    text = Path("results/small.csv").read_bytes()
    # They ask for settings that these trials lack.
    failing = Study("Parabolas", {}, measure, small_trials, small_trials)
    monkeypatch.setattr(committed, "find_study", lambda _: failing)
    with pytest.raises(
        RuntimeError, match="small: a trial to be compared failed: KeyError"
    ):
        run(small)
    assert Path("results/small.csv").read_bytes() == text


def test_a_part_is_written_says_so_and_is_finished(small: str) -> None:
    store = committed._path(small, ".sqlite")
    sweep(small_trials()[:4], run_trial, store)
    assert len(run(small, part=True)) == 4
    assert tomllib.loads(Path("results/small.toml").read_text())["part_of"] == 6
    # Digits that six places would not hold.
    change_rows(",10000,", ",1181568,")
    lines = set(Path("results/small.csv").read_text().splitlines())
    store.unlink()
    frame = run(small)
    assert set(frame["key"]) == {trial_key(trial) for trial in small_trials()}
    assert lines < set(Path("results/small.csv").read_text().splitlines())
    origin = tomllib.loads(Path("results/small.toml").read_text())
    assert "part_of" not in origin
    assert [part["fingerprint"] for part in origin["earlier"]] == ["older"]
    assert (origin["trials"], origin["fingerprint"]) == (6, fingerprint(run_trial))


def test_a_failed_row_is_run_again(small: str) -> None:
    run(small)
    change_rows("converged", "failed")
    assert set(run(small)["status"]) == {"converged"}


def test_a_killed_study_is_finished_in_another_clone(tmp_path: Path) -> None:
    def call(checkout: Path, part: bool = False) -> list[str]:
        code = "import pathlib, sys, tests.studies.trainers as t; "
        code += f"t.run_study_slowly(*map(pathlib.Path, sys.argv[1:]), part={part})"
        return [sys.executable, "-c", code, str(checkout), str(tmp_path)]

    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(
            ["git", *identity, *arguments], cwd=first, check=True, capture_output=True
        )

    first, clone = tmp_path / "first", tmp_path / "clone"
    (first / "results").mkdir(parents=True)
    (first / "_toc.yml").touch()
    (first / ".gitignore").write_text("_build/\n")
    with subprocess.Popen(call(first), cwd=ROOT) as process:
        wait_until(
            lambda: rows_stored(first / "_build/studies/slow.sqlite") >= 3, "three rows"
        )
        process.kill()
    subprocess.run(call(first, part=True), cwd=ROOT, check=True)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "Part")
    git("clone", "-q", ".", str(clone))
    there = pd.read_csv(clone / "results/slow.csv")
    subprocess.run(call(clone), cwd=ROOT, check=True)
    whole = pd.read_csv(clone / "results/slow.csv")
    assert 3 <= there["key"].nunique() < 20
    assert sorted(whole["seed"]) == [seed for seed in range(20) for _ in range(2)]
    ran = Counter((tmp_path / "ran").read_text().split())
    assert len(ran) == 20
    # The one under way when it was killed runs again, if one was; no other.
    assert ran.total() <= 21
    pd.testing.assert_frame_equal(
        whole[whole["key"].isin(there["key"])], there, check_like=True
    )


def test_a_study_cut_short_while_it_writes_keeps_the_rows_before(
    small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(path: Path, *_: object, **__: object) -> None:
        path.write_bytes(b"half a li")
        raise KeyboardInterrupt

    sweep(small_trials()[:4], run_trial, committed._path(small, ".sqlite"))
    run(small, part=True)
    before = Path("results/small.csv").read_bytes()
    monkeypatch.setattr(Path, "write_text", stop)
    with pytest.raises(KeyboardInterrupt):
        run(small)
    assert Path("results/small.csv").read_bytes() == before


@pytest.mark.parametrize("harm", ["cut", "doubled", "digit", "untold"])
def test_rows_whose_checksum_is_wrong_are_refused_until_they_are_removed(
    harm: str, small: str
) -> None:
    run(small)
    table, told = Path("results/small.csv"), Path("results/small.toml")
    head, *lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join([head, *lines]), newline="\r\n")
    assert len(rows(small)) == 6
    match harm:
        case "cut":
            table.write_text("".join([head, *lines[:-1]]))
        case "doubled":
            table.write_text("".join([head, *lines, lines[-1]]))
        case "digit":
            table.write_text("".join([head, *lines]).replace(",1,", ",2,", 1))
        case "untold":  # killed between the two
            told.unlink()
    refusal = r"small\.csv is not what its \.toml describes"
    with pytest.raises(ValueError, match=refusal):
        rows(small, small_trials()[:1])
    with pytest.raises(ValueError, match=refusal):
        run(small)
    table.unlink()
    told.unlink(missing_ok=True)
    assert len(run(small)) == 6


def test_chapters_read_committed_rows_and_compute_the_rest(
    small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(small)
    wider = {**small_trials()[0], "n": 3}
    found = rows(small, [wider, small_trials()[4]])
    assert list(found["n"]) == [3, 1]
    assert list(found.columns) == list(rows(small).columns)
    monkeypatch.setattr(sys.modules["xsquared.studies.sweep"], "attempt", None)
    assert len(rows(small, [wider])) == 1, "kept in the study's store"


def test_a_chapter_as_committed_computes_no_row(
    small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep(small_trials()[:4], run_trial, committed._path(small, ".sqlite"))
    run(small, part=True)
    monkeypatch.setenv(committed.COMMITTED_ONLY, "1")
    assert len(rows(small, small_trials()[:4])) == 4
    with pytest.raises(
        RuntimeError, match="2 of 6 rows of the study small are missing"
    ):
        rows(small, small_trials())


def test_outside_a_checkout_rows_are_kept_and_written_where_the_reader_is(
    small: str,
) -> None:
    Path("_toc.yml").unlink()
    assert len(rows(small, small_trials())) == 6
    assert Path("small.sqlite").exists()
    run(small)
    assert sorted(path.name for path in Path().glob("small.*")) == [
        "small.csv",
        "small.sqlite",
        "small.toml",
    ]
    assert len(rows(small)) == 6


def test_what_moved_is_told(small: str) -> None:
    made = run(small)
    assert check(small, small_trials()[:2]) == []
    moved = made.assign(test_rmse=made["test_rmse"] * (1 + 2 * TOLERANCE))
    first, *others = compare(made[made["n"] == 1], moved)
    assert "x**2, glu, small, {}: n = 1, seed 0: test_rmse" in first
    assert [line.endswith(": new") for line in others] == [
        True,
        False,
        True,
        False,
        True,
    ]
    failed = made[:1].assign(test_rmse=float("nan"), status="failed")
    assert compare(made, failed)[0].endswith("now nan, failed")


def test_an_unknown_study_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown study 'none'; known are line"):
        rows("none")
