"""Sweeps on this machine: killed, resumed, failing, in processes, reported, exported."""

import json
import multiprocessing
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import dask
import pandas as pd
import pyarrow
import pytest
import torch
from threadpoolctl import threadpool_info

from tests.studies.trainers import (
    RUNS,
    count_runs,
    die_on_seed_0,
    exit_once,
    fail_on_odd_seeds,
    measure,
    measured,
    result,
    started,
    sweep_in_branches,
    sweep_slowly,
    swept,
    trials,
    wait_to_be_killed,
)
from tests.waiting import ended, wait_until
from xsquared.processes import ENVIRONMENT
from xsquared_studies import Store, Trial, fingerprint, run_sweep, to_frame
from xsquared_studies.executors import on_workers
from xsquared_studies.sweep import write_table
from xsquared_studies.trial import printable


def threads(_: Trial) -> dict:
    pools = [pool["num_threads"] for pool in threadpool_info()]
    return {"torch": torch.get_num_threads(), "largest": max(pools, default=1)}


def test_trials_run_once_and_rows_tell_everything(path: Path) -> None:
    RUNS.clear()
    wanted = trials(4)
    report = swept([*wanted, wanted[0]], count_runs, path)
    assert [row.trial for row in report.results] == wanted
    assert [row.values for row in report.results] == [measured(trial) for trial in wanted]
    assert all(row.status == "completed" and row.seconds >= 0 for row in report.results)
    assert "torch 2." in report.results[0].versions
    again = swept(reversed(wanted), count_runs, path)
    assert again.results == tuple(reversed(report.results))
    assert (report.resumed, again.resumed) == (0, 4)
    assert wanted == RUNS


def test_trials_that_raise_give_rows_and_are_listed(path: Path) -> None:
    report = swept(trials(11), fail_on_odd_seeds, path)
    failures = {row.trial.seed: (row.status, row.message) for row in report.failures}
    assert failures == {
        1: ("failed", "ZeroDivisionError: a trainer's own mistake"),
        5: ("lost", "MemoryError: no room for 64 neurons"),
        7: ("stopped", "50 s"),
        9: ("failed", "TypeError: curve: expected a number or a string, got array([0, 1, 2])"),
    }
    assert report.results[7].values == {"train_rmse": 0.25}
    first, *text = str(report).splitlines()
    assert first == "7 of 11 trials completed, 0 from the store"
    assert text[:3] == ["2 failed", "1 lost", "1 stopped"]
    assert text[3] == f"  failed: {trials(2)[1]}: ZeroDivisionError: a trainer's own mistake"
    # What the machine lost is tried again, what the trial did is not.
    again = swept(trials(11), fail_on_odd_seeds, path)
    assert again.resumed == 10
    assert len(Store(path).results(report.results[0].fingerprint)) == 11
    # Unless asked for: one failed otherwise than by raising.
    asked = swept(trials(11), fail_on_odd_seeds, path, retry_failed=True)
    assert asked.resumed == 11 - 3


def test_what_failed_stays_where_no_run_of_it_starts(path: Path) -> None:
    swept(trials(11), fail_on_odd_seeds, path)
    before, nowhere = rows_of(path), "nonsense://127.0.0.1:8786"
    with pytest.raises(ConnectionError):
        swept(trials(11), fail_on_odd_seeds, path, scheduler=nowhere, retry_failed=True)
    assert rows_of(path) == before


def test_an_exit_ends_the_sweep_and_leaves_no_row(path: Path) -> None:
    """As a handler of SIGTERM raises it; the trial is run when the sweep is called again."""
    RUNS.clear()
    with pytest.raises(SystemExit):
        swept(trials(3), exit_once, path)
    assert [seed for seed, _, _ in rows_of(path)] == [0]
    again = swept(trials(3), exit_once, path)
    assert (again.resumed, again.failures) == (1, ())


def rows_of(path: Path) -> list[tuple]:
    """Every row of a store, whatever made it: seed, status and values."""
    if not path.exists():
        return []
    with closing(sqlite3.connect(path, timeout=60)) as database:
        if not database.execute("pragma table_info(results)").fetchall():
            return []
        found = [json.loads(row[17:]) for (row,) in database.execute("select row from results")]
    return sorted((r["trial"]["seed"], r["status"], sorted(r["values"].items())) for r in found)


def has_rows(path: Path, count: int) -> bool:
    return len(rows_of(path)) >= count


@pytest.mark.slow
def test_killed_at_ten_random_moments_it_ends_with_the_rows_of_an_uninterrupted_sweep(
    path: Path,
) -> None:
    path, seconds = path.with_name("killed.sqlite"), 0.02
    rng = random.Random(4)
    kills, counts = 0, [0]
    while kills < 10:
        process = started(sweep_slowly, path, 60, seconds)
        # At any moment of a trial or a write, after a few more rows: however busy the machine.
        wanted = counts[-1] + rng.randrange(4)
        wait_until(partial(has_rows, path, wanted), f"{wanted} rows are on the disk")
        time.sleep(rng.uniform(0.0, 0.03))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL, "it ended before it was killed ten times"
        kills += 1
        counts.append(len(Store(path).results(fingerprint(measure))))
    assert counts == sorted(counts)
    assert 0 < counts[-1] < 60
    killed = swept(trials(60, seconds=seconds), measure, path)
    whole = swept(trials(60, seconds=seconds), measure, path.with_name("whole.sqlite"))
    assert killed.resumed == counts[-1]
    assert len(rows_of(path)) == 60
    assert rows_of(path) == rows_of(path.with_name("whole.sqlite"))
    assert [r.values for r in killed.results] == [r.values for r in whole.results]


@pytest.mark.slow
def test_two_sweeps_with_one_store_share_the_work(path: Path) -> None:
    both = [started(sweep_slowly, path, 60, 0.005) for _ in range(2)]
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    assert [seed for seed, *_ in rows_of(path)] == list(range(60))


def test_equal_settings_that_are_written_otherwise_are_other_trials(path: Path) -> None:
    asked = [Trial("mlp", 2, "friedman1", settings=(("a", a),)) for a in (1, True, 1.0, 1)]
    assert len(set(asked)) == 1
    report = run_sweep(asked, threads, path, progress=False)
    assert [one.trial.key for one in report.results] == [one.key for one in asked[:3]]


def test_numerical_libraries_get_one_thread_and_then_theirs_back(path: Path) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        report = swept(trials(2), threads, path)
        assert [dict(row.values) for row in report.results] == [{"torch": 1, "largest": 1}] * 2
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.slow
def test_processes_give_the_same_rows(tmp_path: Path) -> None:
    """Also where the port of Dask's web server is taken, as by another sweep."""
    here = swept(trials(6), measure, tmp_path / "here.sqlite")
    with closing(socket.socket()) as other:
        with suppress(OSError):  # taken already, which serves as well
            other.bind(("", 8787))
        there = swept(trials(6), measure, tmp_path / "there.sqlite", jobs=2)
    assert [row.values for row in there.results] == [row.values for row in here.results]
    assert not there.failures


@pytest.fixture
def branching_workers() -> Iterator[None]:
    """Dask's workers branch off a process that has loaded what they need, as Dask can do it too."""
    import distributed  # noqa: F401  (it brings the settings of which one is changed)

    multiprocessing.get_context("forkserver").set_forkserver_preload(["tests.studies.trainers"])
    forkserver.ensure_running()  # before Dask names what it would load
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("branching_workers")
def test_a_trial_that_kills_its_worker_is_tried_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that does so once, one that never does, and one that always does."""
    for name in ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "once").mkdir()
    (once,) = trials(1, folder=str(tmp_path / "once"), once=True)
    always, never = trials(2, folder=str(tmp_path), once=False)
    wanted = [once, never, always]
    rows = {row.trial: row for row in on_workers(die_on_seed_0, wanted, fingerprint(die_on_seed_0))}
    assert [rows[trial].status for trial in wanted] == ["completed", "completed", "lost"]
    assert len(rows) == 3
    assert rows[never].values["memory"] == ENVIRONMENT["MALLOC_TRIM_THRESHOLD_"]
    assert rows[always].message.startswith("its worker processes died, killed or out of memory")


@pytest.mark.slow
@pytest.mark.usefixtures("branching_workers")
def test_whoever_stops_a_sweep_does_not_wait_for_its_trials(tmp_path: Path) -> None:
    wanted = trials(2, folder=str(tmp_path))
    rows = on_workers(wait_to_be_killed, wanted, fingerprint(wait_to_be_killed), 2)
    assert next(rows).trial == wanted[1]
    told = tmp_path / "pid"
    wait_until(told.exists, "the trial has begun")
    rows.close()
    assert ended(int(told.read_text()))


@pytest.mark.slow
def test_workers_end_when_the_sweep_is_killed(path: Path) -> None:
    sweep = started(sweep_in_branches, path, str(path.parent))
    told = path.with_name("pid")
    wait_until(lambda: told.exists() or not sweep.is_alive(), "the trial has begun")
    assert sweep.is_alive()
    sweep.kill()
    sweep.join()
    wait_until(lambda: ended(int(told.read_text())), "the worker has ended")


@pytest.mark.slow
def test_an_interrupt_from_the_terminal_ends_all_at_once(path: Path) -> None:
    # As a terminal does: the signal goes to every process of the group.
    places = (str(path), str(path.parent))
    # What starts in the background of a shell ignores interrupts, and so would all that it starts.
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += f"from tests.studies.trainers import *; sweep_in_processes{places!r}"
    sweep = subprocess.Popen(
        [sys.executable, "-c", code], start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    told = path.with_name("pid")
    wait_until(lambda: told.exists() or sweep.poll() is not None, "the trial has begun")
    os.killpg(sweep.pid, signal.SIGINT)
    _, said = sweep.communicate(timeout=480)
    assert "KeyboardInterrupt" in said
    assert sweep.returncode not in (0, None)
    wait_until(lambda: ended(int(told.read_text())), "the worker has ended")


@pytest.mark.parametrize("jobs", [0, 1.5, True])
def test_bad_numbers_of_jobs_are_refused(path: Path, jobs: int) -> None:
    with pytest.raises(ValueError, match="jobs: expected an integer >= 1"):
        swept(trials(1), measure, path, jobs=jobs)


def test_the_bar_counts_what_is_done_and_what_failed(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    swept(trials(1), fail_on_odd_seeds, path)
    assert capsys.readouterr().err == ""
    swept(trials(4), fail_on_odd_seeds, path, progress=True)
    shown = capsys.readouterr().err
    assert "1/4" in shown
    assert "4/4" in shown
    assert "not completed=1" in shown


def test_tables_have_a_column_for_everything(tmp_path: Path) -> None:
    on_line = Trial("mlp", 2, expression="x", domain=((0, 1),), solver="test")
    rows = [result(on_line), *(result(trial) for trial in trials(2, starts=3))]
    write_table(to_frame(rows), tmp_path / "rows.parquet")
    table = pd.read_parquet(tmp_path / "rows.parquet")
    pd.testing.assert_frame_equal(table, to_frame(rows), check_dtype=False)
    assert list(table["n"]) == [2, 1, 2]
    assert list(table["train_rmse"]) == [row.values["train_rmse"] for row in rows]
    assert list(table["domain"].fillna("")) == ["[[0.0, 1.0]]", "", ""]
    assert list(table["settings"]) == ["{}", '{"starts": 3}', '{"starts": 3}']
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]


def test_a_message_of_a_trainer_ends_no_row_of_a_csv(tmp_path: Path) -> None:
    """Progress bars return the carriage, and a csv's readers take that for the end of a row."""
    write_table(pd.DataFrame({"message": [printable("1%\r2%")] * 2}), tmp_path / "rows.csv")
    assert list(pd.read_csv(tmp_path / "rows.csv")["message"]) == ["1%\\r2%"] * 2


def test_every_network_of_a_trial_has_a_row() -> None:
    one, other = trials(2)
    values: Any = {"best": 0.1, "rmse[n=4]": 0.2, "status[n=4]": "stalled", "rmse[n=8]": 0.3}
    values["rmse[n=04]"] = 0.4  # another name, no second value
    table = to_frame([replace(result(one), values=values), result(other)])
    assert list(table["key"]) == [one.key, one.key, other.key]
    assert list(table["n"]) == [4, 8, other.n_hidden]
    assert list(table["rmse"])[:2] == [0.2, 0.3]
    assert list(table["best"])[:2] == [0.1, 0.1]
    assert list(table["status"]) == ["stalled", "completed", "completed"]
    assert list(table.columns[-6:]) == [
        "status", "seconds", "message", "versions", "fingerprint", "key"
    ]  # fmt: skip


def test_a_link_to_the_table_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "rows.csv")
    write_table(to_frame([result(trials(1)[0])]), tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert len(pd.read_csv(tmp_path / "rows.csv")) == 1


def test_an_export_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write_table(to_frame([result(trials(1)[0])]), path)
    old = path.read_bytes()
    one, other = trials(2)
    mixed = [replace(result(one), values={"a": 1}), replace(result(other), values={"a": "b"})]
    with pytest.raises(pyarrow.ArrowException):
        write_table(to_frame(mixed), path)
    assert path.read_bytes() == old
    assert [p.name for p in tmp_path.iterdir()] == ["rows.parquet"]
