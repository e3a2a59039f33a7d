"""Declared studies and their committed rows: run, read, checked, and a fixed sample run again."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tests.small_project import commit, git
from xsquared_book.cli import main
from xsquared_book.project import Project
from xsquared_studies import (
    STUDIES,
    Store,
    StoreError,
    Study,
    Trial,
    committed,
    declared,
    fingerprint,
    rows,
    to_frame,
)
from xsquared_studies.committed import TOLERANCE, check, compare, drawn, read, run
from xsquared_studies.executors import RunTrial
from xsquared_studies.experiment import run_trial
from xsquared_studies.trial import COMPLETED

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.slow
def test_a_sample_of_the_committed_rows_comes_out_again(name: str) -> None:
    study = STUDIES[name]
    if line := study.missing():
        pytest.skip(line)
    assert check(study, study.sample) == []


@pytest.mark.parametrize("name", STUDIES)
def test_every_row_of_a_study_is_committed_once_and_tells_what_made_it(name: str) -> None:
    study, found = STUDIES[name], rows(name)
    assert study.name == name
    assert set(found["key"]) == {trial.key for trial in study.trials}
    assert not found.duplicated(["key", "n", "seed"]).any()
    # A forward pass that says it misses its spline has an error all the same.
    assert set(found["status"]) <= {*COMPLETED, "inexact"}
    judged = [error for error in ("train_rmse", "test_rmse") if error in found] or ["nats"]
    assert not found[["parameters", *judged]].isna().to_numpy().any()
    made = tomllib.loads((ROOT / "results" / f"{name}.toml").read_text())
    assert "torch" in made["versions"]
    assert (made["rows"], made["trials"]) == (len(found), len(study.trials))


def test_every_file_of_results_belongs_to_a_study() -> None:
    files = {path.name for path in (ROOT / "results").iterdir()} - {"README.md"}
    assert files == {f"{name}.{kind}" for name in STUDIES for kind in ("csv", "toml")}


def test_the_dictionary_names_every_column_and_where_it_stands() -> None:
    text = (ROOT / "results" / "README.md").read_text(encoding="utf-8")
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    described = {line[0].strip("`"): line[-1] for line in lines}
    standing: dict[str, list[str]] = {}
    for name in sorted(STUDIES):
        for column, empty in rows(name).isna().mean().items():
            standing.setdefault(str(column), []).append(name)
            assert empty < 0.5, (name, column)
    assert described == {
        column: "all" if len(tables) == len(STUDIES) else ", ".join(tables)
        for column, tables in standing.items()
    }


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """A study of six trials in a checkout of its own."""
    (tmp_path / "results").mkdir()
    (tmp_path / "_toc.yml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(committed, "_CHECKOUT", tmp_path)
    trials = tuple(
        Trial(unit, n, expression="x**2", domain=((-1, 1),), solver="free_knots", protocol="small")
        for unit in ("mlp", "glu", "gqu")
        for n in (1, 2)
    )
    # Frozen gates, as the store and not the solver is tested.
    trials = tuple(replace(trial, split="paper", gates="frozen") for trial in trials)
    study = Study("small", "Parabolas", {"small": "as a test needs it"}, trials, trials[:1])
    monkeypatch.setattr(committed, "STUDIES", {"small": study})
    monkeypatch.setattr(declared, "STUDIES", {"small": study})
    return study


def test_rows_are_written_sorted_with_their_provenance_and_read_back(small: Study) -> None:
    report, moved = run(small)
    assert len(moved) == len(report.results) == 6
    text = Path("results/small.csv").read_bytes()
    assert b"\r" not in text
    table = pd.read_csv("results/small.csv")
    assert list(table["unit"]) == sorted(table["unit"])
    assert list(table.columns[:5]) == ["problem", "domain", "unit", "gate", "n"]
    origin = Path("results/small.toml").read_text()
    for word in ("commit", "fingerprint", "torch", "cpu_seconds", "as a test needs it"):
        assert word in origin
    found = rows("small", small.trials)
    expected = to_frame(report.results)
    pd.testing.assert_frame_equal(
        found, expected[found.columns], check_dtype=False, rtol=1e-5, atol=0.06
    )
    assert run(small)[1] == []
    assert Path("results/small.csv").read_bytes() == text


def test_a_study_cut_short_while_it_writes_keeps_the_rows_before(
    small: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(_: pd.DataFrame, path: Path, **__: object) -> None:
        path.write_text("half a li")
        raise KeyboardInterrupt

    run(small)
    before = Path("results/small.csv").read_bytes()
    monkeypatch.setattr(pd.DataFrame, "to_csv", stop)
    with pytest.raises(KeyboardInterrupt):
        run(small)
    assert Path("results/small.csv").read_bytes() == before


@pytest.mark.parametrize("harm", ["cut", "doubled", "digit", "none", "half told", "untold"])
def test_rows_that_are_not_those_written_are_refused_until_the_study_is_run(
    harm: str, small: Study
) -> None:
    run(small)
    table, told = Path("results/small.csv"), Path("results/small.toml")
    head, *lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join([head, *lines]), newline="\r\n")
    assert len(rows("small")) == 6
    match harm:
        case "cut":
            table.write_text("".join([head, *lines[:-1]]))
        case "doubled":
            table.write_text("".join([head, *lines, lines[-1]]))
        case "digit":
            table.write_text("".join([head, *lines]).replace(",1,", ",2,", 1))
        case "none":
            table.unlink()
        case "half told":
            told.write_text(told.read_text()[:-9])
        case "untold":  # killed between the two
            told.unlink()
    with pytest.raises(
        StoreError, match=r"small\.csv is damaged: small\.toml is not of these rows"
    ):
        rows("small", small.trials[:1])
    if harm != "doubled":
        run(small)
        assert len(rows("small")) == 6


def test_only_changed_sources_make_the_commit_dirty(small: Study) -> None:
    def told() -> str:
        run(small)
        return tomllib.loads(Path("results/small.toml").read_text())["commit"]

    source, project = Path("src/module.py"), Project(Path.cwd())
    source.parent.mkdir()
    source.write_text("a = 1\n")
    git(project, "init")
    commit(project)
    Path("_toc.yml").write_text("root: index\n")
    Path("results/another.csv").write_text("key\n")
    clean = told()
    assert len(clean) == 12
    source.write_text("a = 2\n")
    assert told() == f"{clean}-dirty"
    commit(project)
    assert told() not in (clean, f"{clean}-dirty")
    source.with_name("new.py").touch()
    assert told().endswith("-dirty")


def fail(_: Trial) -> dict:
    raise ZeroDivisionError("a trainer's own mistake")


def fail_with_gates(trial: Trial) -> dict:
    return run_trial(trial) if trial.unit == "mlp" else fail(trial)


@pytest.mark.parametrize(
    ("trainer", "status", "completed"), [(fail, 1, 0), (fail_with_gates, 0, 2)]
)
def test_a_study_of_which_every_trial_fails_exits_with_an_error(
    trainer: RunTrial,
    status: int,
    completed: int,
    small: Study,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for module in (committed, declared):
        monkeypatch.setattr(module, "STUDIES", {"small": replace(small, run=trainer)})
    assert main(["study", "small"]) == status
    assert f"small: {completed} of 6 trials completed" in capsys.readouterr().out


def test_chapters_read_committed_rows_and_compute_the_rest(
    small: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(small)
    ran: list[Trial] = []

    def counted(trial: Trial) -> dict:
        ran.append(trial)
        return run_trial(trial)

    counted.__module__, counted.__qualname__ = run_trial.__module__, "run_trial"
    monkeypatch.setattr("xsquared_studies.experiment.run_trial", counted)
    monkeypatch.setattr(committed, "STUDIES", {"small": replace(small, run=counted)})
    wider = replace(small.trials[0], n_hidden=3)
    found = rows("small", [wider, small.trials[4]])
    assert list(found["key"]) == [wider.key, small.trials[4].key]
    assert list(found.columns) == list(rows("small").columns)
    assert ran == [wider]
    rows("small", [wider])
    assert ran == [wider], "kept in the study's store"


def test_what_moved_is_told(small: Study, capsys: pytest.CaptureFixture[str]) -> None:
    run(small)
    path = Path("results/small.csv")
    assert main(["study", "small", "--check", "2", "--seed", "1"]) == 0
    assert "small: 2 rows drawn with seed 1\n0 rows are not as committed" in capsys.readouterr().out
    assert drawn(small, 3, 5) == drawn(small, 3, 5)
    assert len(set(drawn(small, 7, 0))) == 6
    table = pd.read_csv(path)
    table.loc[:, "test_rmse"] *= 1 + 2 * TOLERANCE
    table.to_csv(path, index=False)
    assert main(["study", "small", "--check", "6"]) == 1
    shown = capsys.readouterr().out
    assert "6 rows are not as committed, within 2%" in shown
    assert f"{small.trials[0]}: n = 1, seed 0: test_rmse" in shown
    assert main(["study", "--all"]) == 0
    assert "6 rows are not as committed" in capsys.readouterr().out
    assert main(["study", "--all"]) == 0
    assert "0 rows are not as committed" in capsys.readouterr().out


def test_failures_show_by_their_status(small: Study) -> None:
    report, _ = run(small)
    first = report.results[0]
    name = f"{first.trial}: n = 1, seed 0"
    lost = replace(first, status="lost", message="killed", values={})
    assert compare(read("small"), [lost]) == [f"{name}: {first.status}, now lost killed"]
    assert compare(read("small")[1:0], [first]) == [f"{name}: new"]


@pytest.mark.parametrize("column", ["problem", "unit", "parameters", "solver", "integral_rmse"])
def test_a_row_that_tells_something_else_shows(small: Study, column: str) -> None:
    report, _ = run(small)
    table = read("small").astype(object)
    assert compare(table, report.results) == []
    gone = table.drop(columns=[column])
    assert all(f": {column} " in line for line in compare(gone, report.results))
    assert len(compare(gone, report.results)) >= table[column].notna().sum() > 0
    table.loc[0, column] = 7
    (line,) = compare(table, report.results)
    assert f": {column} 7, now " in line
    with pytest.raises(StoreError, match="expected each row once, got"):
        compare(pd.concat([table, table]), report.results)


@pytest.mark.parametrize(
    ("column", "value"), [("test_rmse", "0.1 m"), ("n", 4.5), ("seed", 0.5), ("n", 10**30)]
)
def test_a_damaged_table_is_named(small: Study, column: str, value: object) -> None:
    run(small)
    table = read("small").astype(object)
    table.loc[0, column] = value
    table.to_csv("results/small.csv", index=False)
    with pytest.raises(StoreError, match=r"small\.csv is damaged: "):
        read("small")
    table.drop(columns=["status"]).to_csv("results/small.csv", index=False)
    with pytest.raises(StoreError, match=r"small\.csv is damaged: "):
        read("small")


def test_outside_a_checkout_what_is_missing_is_kept_where_the_reader_is(
    small: Study, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Path("_toc.yml").unlink()
    assert len(rows("small", small.trials)) == 6
    assert caplog.messages == [f"small: 6 trials to compute, kept in {tmp_path / 'small.sqlite'}"]
    assert len(Store(tmp_path / "small.sqlite").results(fingerprint(run_trial))) == 6
    with pytest.raises(StoreError, match="studies are run in a checkout of the book"):
        run(small)


def test_what_is_refused(small: Study) -> None:
    with pytest.raises(ValueError, match="unknown study 'none'; known are small"):
        rows("none")
    with pytest.raises(ValueError, match="the protocol 'small' is not declared"):
        replace(small, protocols={})
    needy = replace(small, missing=lambda: "weights are missing: pip install them")
    with pytest.raises(StoreError, match="small: weights are missing: pip install them"):
        run(needy)
    with pytest.raises(ValueError, match="expected each trial once"):
        replace(small, trials=small.trials[:1] * 2)
    run(small)
    Path("results/small.csv").write_text("key\nx\n\x00")
    with pytest.raises(StoreError, match=r"small\.csv is damaged"):
        read("small")
