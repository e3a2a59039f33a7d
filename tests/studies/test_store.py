"""The store: torn writes, several writers, full disks, folders that cannot be written."""

import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.studies.trainers import (
    RUNS,
    SOURCES,
    append_all,
    count_runs,
    die_in_the_middle_of_a_write,
    fill_disk_on_seed_1,
    leave_the_folder,
    result,
    started,
    swept,
    trials,
)
from xsquared_studies import Store, StoreError, fingerprint
from xsquared_studies.store import _TABLE


def stored(path: Path) -> list[int]:
    """Seeds of the rows of a store that sqlite itself finds whole."""
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
        return [json.loads(row[17:])["trial"]["seed"] for (row,) in database.execute(ROWS)]


ROWS = "select row from results order by rowid"


@pytest.fixture(autouse=True)
def no_runs() -> Iterator[None]:
    RUNS.clear()
    yield
    RUNS.clear()


def test_a_changed_fingerprint_or_key_is_seen_when_a_store_is_opened(path: Path) -> None:
    """Found by a tester: rows are looked up by them, and a row that no longer had them was lost."""
    rows = [result(trial) for trial in trials(5)]
    assert all(Store(path).append(row) for row in rows)
    whole = path.read_bytes()
    for text in (SOURCES, rows[2].trial.key):
        places = [found.start() for found in re.finditer(text.encode(), whole)]
        assert len(places) > 1  # the table's and the index's
        for place in places:
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            with pytest.raises(StoreError):
                Store(path).results(SOURCES)


def test_rows_come_back_in_their_order(path: Path) -> None:
    store = Store(path)
    rows = [result(trial) for trial in trials(5)]
    assert all(store.append(row) for row in rows)
    assert store.results(SOURCES) == rows
    assert Store(store.path).results(SOURCES) == rows
    assert store.results("others") == []
    assert store.result(rows[2].trial, SOURCES) == rows[2]
    assert store.result(rows[2].trial, "others") is None


def test_a_store_stays_the_file_that_was_named_where_the_folder_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report = swept(trials(3), leave_the_folder, Path("rows.sqlite"))
    assert len(report.results) == 3
    assert stored(tmp_path / "rows.sqlite") == [0, 1, 2]


def test_a_row_is_stored_once_but_a_lost_one_is_replaced(path: Path) -> None:
    store = Store(path)
    (trial,) = trials(1)
    assert store.append(result(trial, "lost"))
    assert not store.has(trial, SOURCES)
    assert store.append(result(trial, "failed"))
    assert store.has(trial, SOURCES)
    assert not store.append(result(trial))
    assert [row.status for row in store.results(SOURCES)] == ["failed"]
    retry = Store(path, retry_failed=True)
    assert not retry.has(trial, SOURCES)
    assert retry.append(result(trial))
    assert not retry.append(result(trial, "failed"))
    assert [row.status for row in store.results(SOURCES)] == ["completed"]


@pytest.mark.slow
def test_a_write_cut_short_by_a_kill_is_undone(path: Path) -> None:
    rows = [result(trial) for trial in trials(3)]
    for row in rows[:2]:
        Store(path).append(row)
    whole = path.read_bytes()
    writer = started(die_in_the_middle_of_a_write, path)
    writer.join()
    assert writer.exitcode == -signal.SIGKILL
    assert path.read_bytes() != whole, "nothing had been written when it was killed"
    assert Store(path).results(SOURCES) == rows[:2]
    assert Store(path).append(rows[2])
    assert stored(path) == [0, 1, 2]


def text_file(path: Path) -> None:
    path.write_text("nonsense\n" * 100)


def half_a_file(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def another_table(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as database:
        database.execute("create table results (name text)")


def another_row(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("update results set row = '{}'")


def no_row(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("update results set row = null")


def one_bit(path: Path) -> None:
    """A digit of an error becomes another one."""
    content = path.read_bytes()
    place = content.index(b'"train_rmse": 0.') + len(b'"train_rmse": 0.')
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (text_file, "cannot read results from {}: file is not a database"),
        (half_a_file, "cannot read results from {}: database disk image is malformed"),
        (another_table, "cannot read results from {}: no such column: key"),
        (another_row, "{} holds what is no result: the row of trial"),
        (no_row, "{} holds what is no result: "),
        (one_bit, "{} holds what is no result: the row of trial"),
    ],
)
def test_a_damaged_file_is_named_and_left_alone(
    path: Path, damage: Callable[[Path], None], message: str
) -> None:
    Store(path).append(result(trials(1)[0], fingerprint=fingerprint(count_runs)))
    damage(path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=re.escape(message.format(path))):
        swept(trials(1), count_runs, path)
    assert RUNS == []
    assert path.read_bytes() == before


def test_rows_that_vanish_during_the_sweep_are_missed(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute(_TABLE)
        swallow = "create trigger swallow before insert on results begin select raise(ignore); end"
        database.execute(swallow)
    with pytest.raises(StoreError, match=r"has lost 3 of 3 results meanwhile: run it again"):
        swept(trials(3), count_runs, path)


def test_no_name_means_a_store_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(swept(trials(3), count_runs, Path(":memory:")).results) == 3
    assert len(stored(tmp_path / ":memory:")) == 3


def test_rows_of_problems_unknown_today_stand_in_nobodys_way(path: Path) -> None:
    trial, other = trials(2)
    Store(path).append(result(trial, fingerprint="old"))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("update results set row = replace(row, '\"sine\"', '\"forgotten\"')")
    store = Store(path)
    assert store.append(result(other))
    assert len(store.results(SOURCES)) == 1


def test_a_store_sees_what_others_append_and_a_file_put_in_its_place(path: Path) -> None:
    one, other = Store(path), Store(path)
    first, second = (result(trial) for trial in trials(2))
    one.append(first)
    assert not other.append(first)
    other.append(second)
    assert one.results(SOURCES) == [first, second]
    path.unlink()
    assert one.results(SOURCES) == []
    one.append(second)
    assert other.results(SOURCES) == [second]


@pytest.mark.slow
def test_processes_writing_at_once_lose_nothing(path: Path) -> None:
    # Two with rows of their own, and one with the rows of both.
    parts = [range(100), range(100, 200), range(200)]
    writers = [started(append_all, path, part) for part in parts]
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert sorted(stored(path)) == list(range(200))


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
    path = read_only_folder / "rows.sqlite"
    message = r"cannot write 3 results to .*: unable to open database file; no trial was started"
    with without_privileges(), pytest.raises(StoreError, match=message):
        swept(trials(3), count_runs, path)
    assert RUNS == []


def test_so_is_one_that_holds_a_half_filled_store(read_only_folder: Path) -> None:
    path = read_only_folder / "rows.sqlite"
    read_only_folder.chmod(0o755)
    swept(trials(2), count_runs, path)
    path.chmod(0o666)
    read_only_folder.chmod(0o555)
    message = rf"cannot write 1 results to {path}: Permission denied; no trial was started"
    with without_privileges(), pytest.raises(StoreError, match=message):
        swept(trials(3), count_runs, path)
    assert len(RUNS) == 2


def test_a_complete_store_in_a_read_only_folder_can_be_read(read_only_folder: Path) -> None:
    path = read_only_folder / "rows.sqlite"
    read_only_folder.chmod(0o755)
    done = swept(trials(3), count_runs, path)
    path.chmod(0o444)
    read_only_folder.chmod(0o555)
    with without_privileges():
        again = swept(trials(3), count_runs, path)
    assert again.results == done.results
    assert len(RUNS) == 3


def test_a_limit_on_file_sizes_is_one_error_before_any_trial(path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(StoreError, match="File too large; no trial was started"):
            swept(trials(3), count_runs, path)
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
    path = small_disk / "rows.sqlite"
    with pytest.raises(StoreError, match="No space left on device; no trial was started"):
        swept(trials(100), count_runs, path)
    assert RUNS == []
    # What could not be kept was given back: a sweep that fits runs.
    assert not swept(trials(10), count_runs, path).failures


def test_a_disk_that_fills_up_during_the_sweep_loses_no_trial(small_disk: Path) -> None:
    path = small_disk / "rows.sqlite"
    wanted = trials(20, folder=str(small_disk))
    report = swept(wanted, fill_disk_on_seed_1, path)
    assert not report.failures
    assert len(stored(path)) == 20


def test_room_is_kept_on_the_disk_of_the_store_not_on_that_of_a_link(
    small_disk: Path, tmp_path: Path
) -> None:
    (tmp_path / "link.sqlite").symlink_to(small_disk / "rows.sqlite")
    with pytest.raises(StoreError, match="No space left on device; no trial was started"):
        swept(trials(100), count_runs, tmp_path / "link.sqlite")


def test_a_row_that_cannot_be_written_leaves_the_store_as_it_was(small_disk: Path) -> None:
    store = Store(small_disk / "rows.sqlite")
    rows = [replace(result(trial), message="a" * 700) for trial in trials(100)]
    store.append(rows[0])
    filler = small_disk / "filler"
    filler.write_bytes(bytes(180 * 1024))
    with pytest.raises(StoreError, match=r"disk is full; the rows in it are safe"):
        list(map(store.append, rows))
    kept = stored(store.path)
    assert kept == list(range(len(kept)))
    assert 10 < len(kept) < 100
    filler.unlink()
    list(map(store.append, rows))
    assert len(stored(store.path)) == 100


def test_failures_are_tried_again_in_a_store_that_has_no_table_yet(path: Path) -> None:
    path.touch()  # as a process leaves it that is killed at its first moment
    assert len(swept(trials(2), count_runs, path, retry_failed=True).results) == 2


def test_a_database_of_something_else_is_left_as_it_is(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("create table mine (a int)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"holds no results but \['mine'\]"):
        Store(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "reason"), [("a" * 300, "File name too long"), ("a\0b", "embedded null byte")]
)
def test_what_can_be_no_file_is_no_store(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(StoreError, match=rf"^cannot read results from '.*': {reason}$"):
        Store(tmp_path / name)
