"""The store: torn lines, several writers, full disks, folders that cannot be written."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.studies.trainers import (
    RUNS,
    SOURCES,
    append_all,
    count_runs,
    fill_disk_on_seed_1,
    result,
    trials,
)
from xsquared.studies import Result, Store, StoreError, fingerprint, run_sweep


def lines(path: Path) -> list[dict]:
    """Every line of a store, whole."""
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(autouse=True)
def no_runs() -> Iterator[None]:
    RUNS.clear()
    yield
    RUNS.clear()


def test_rows_come_back_in_their_order(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.jsonl")
    rows = [result(trial) for trial in trials(5)]
    assert all(store.append(row) for row in rows)
    assert store.results(SOURCES) == rows
    assert Store(store.path).results(SOURCES) == rows
    assert store.results("others") == []
    assert store.result(rows[2].trial, SOURCES) == rows[2]
    assert store.result(rows[2].trial, "others") is None


def test_a_row_is_stored_once_but_a_lost_one_is_replaced(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.jsonl")
    (trial,) = trials(1)
    assert store.append(result(trial, "lost"))
    assert not store.has(trial, SOURCES)
    assert store.append(result(trial, "failed"))
    assert store.has(trial, SOURCES)
    assert not store.append(result(trial))
    assert [row.status for row in store.results(SOURCES)] == ["failed"]


def test_a_line_torn_at_any_byte_is_skipped_then_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [result(trial) for trial in trials(3)]
    for row in rows:
        Store(path).append(row)
    whole = path.read_bytes()
    last = whole.rfind(b"\n", 0, -1) + 1
    for cut in range(last, len(whole)):
        path.write_bytes(whole[:cut])
        store = Store(path)
        assert store.results(SOURCES) == rows[:2]
        assert path.stat().st_size == cut  # reading repairs nothing: somebody may be writing
        assert store.append(rows[2])
        assert path.read_bytes() == whole


def test_zeros_that_a_crash_leaves_behind_are_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    first, second = (result(trial) for trial in trials(2))
    Store(path).append(first)
    with path.open("ab") as file:
        file.write(bytes(5000))
    store = Store(path)
    assert store.append(second)
    assert [row["trial"]["seed"] for row in lines(path)] == [0, 1]


@pytest.mark.parametrize("line", ["nonsense", "[]", "3", '{"key": 1}', "{}", ""])
def test_whole_lines_that_are_no_rows_are_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "rows.jsonl"
    Store(path).append(result(trials(1)[0]))
    size = path.stat().st_size
    with path.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(StoreError, match=f"holds something that is no result, at byte {size}"):
        Store(path)


def test_rows_of_problems_unknown_today_stand_in_nobodys_way(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    trial, other = trials(2)
    Store(path).append(result(trial, fingerprint="old"))
    path.write_text(path.read_text().replace('"sine"', '"forgotten"'))
    store = Store(path)
    assert store.append(result(other))
    assert len(store.results(SOURCES)) == 1


def test_a_store_sees_what_others_append_and_a_file_put_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    one, other = Store(path), Store(path)
    first, second = (result(trial) for trial in trials(2))
    one.append(first)
    assert not other.append(first)
    other.append(second)
    one.refresh()
    assert one.results(SOURCES) == [first, second]
    path.unlink()
    one.refresh()
    assert one.results(SOURCES) == []
    one.append(second)
    other.refresh()
    assert other.results(SOURCES) == [second]


def test_processes_writing_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.studies.trainers"])
    # Two with rows of their own, and one with the rows of both.
    parts = [range(100), range(100, 200), range(200)]
    writers = [context.Process(target=append_all, args=(path, part)) for part in parts]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert sorted(row["trial"]["seed"] for row in lines(path)) == list(range(200))


@pytest.fixture
def read_only_folder() -> Iterator[Path]:
    """A folder that nobody may write, and that users other than root can reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o555)
    fingerprint(count_runs)  # of sources that a lesser user may not be able to read
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@contextmanager
def without_privileges() -> Iterator[None]:
    """As a user to whom permissions apply."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_read_only_folder_is_one_error_before_any_trial(read_only_folder: Path) -> None:
    path = read_only_folder / "rows.jsonl"
    message = r"cannot write 3 results to .*: Permission denied; no trial was started"
    with without_privileges(), pytest.raises(StoreError, match=message):
        run_sweep(trials(3), count_runs, path, progress=False)
    assert RUNS == []


def test_a_complete_store_in_a_read_only_folder_can_be_read(read_only_folder: Path) -> None:
    path = read_only_folder / "rows.jsonl"
    read_only_folder.chmod(0o755)
    done = run_sweep(trials(3), count_runs, path, progress=False)
    path.chmod(0o444)
    read_only_folder.chmod(0o555)
    with without_privileges():
        again = run_sweep(trials(3), count_runs, path, progress=False)
    assert again.results == done.results
    assert len(RUNS) == 3


def test_a_missing_folder_is_one_error_before_any_trial(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "rows.jsonl"
    with pytest.raises(StoreError, match="No such file or directory; no trial was started"):
        run_sweep(trials(3), count_runs, path, progress=False)
    assert RUNS == []


def test_a_store_that_is_a_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot read results from .*: Is a directory"):
        Store(tmp_path)


def test_a_limit_on_file_sizes_is_one_error_before_any_trial(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(StoreError, match="File too large; no trial was started"):
            run_sweep(trials(3), count_runs, path, progress=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert RUNS == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("no mount command")
    if done.returncode:
        pytest.skip(f"mounting a small disk needs root: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_one_error_before_any_trial(small_disk: Path) -> None:
    path = small_disk / "rows.jsonl"
    with pytest.raises(StoreError, match="No space left on device; no trial was started"):
        run_sweep(trials(100), count_runs, path, progress=False)
    assert RUNS == []
    # What could not be kept was given back: a sweep that fits runs.
    assert not run_sweep(trials(10), count_runs, path, progress=False).failures


def test_a_disk_that_fills_up_during_the_sweep_loses_no_trial(small_disk: Path) -> None:
    path = small_disk / "rows.jsonl"
    wanted = trials(20, folder=str(small_disk))
    report = run_sweep(wanted, fill_disk_on_seed_1, path, progress=False)
    assert not report.failures
    assert len(lines(path)) == 20


def test_a_row_that_cannot_be_written_leaves_the_store_as_it_was(small_disk: Path) -> None:
    store = Store(small_disk / "rows.jsonl")
    rows = [replace(result(trial), message="a" * 700) for trial in trials(100)]
    store.append(rows[0])
    filler = small_disk / "filler"
    filler.write_bytes(bytes(200 * 1024))
    with pytest.raises(StoreError, match=r"No space left on device; the \d+ rows in it are safe"):
        append_rows(store, rows)
    kept = [row["trial"]["seed"] for row in lines(store.path)]
    assert kept == list(range(len(kept)))
    assert 10 < len(kept) < 100
    filler.unlink()
    append_rows(store, rows)
    assert len(lines(store.path)) == 100


def append_rows(store: Store, rows: list[Result]) -> None:
    for row in rows:
        store.append(row)
