"""Sweeps: rows of networks, failures, what is lost, a kill, Dask's workers."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

import xsquared
from tests.studies.trainers import (
    die_on_seed_0,
    fail_on_seed_1,
    measure,
    measure_beside,
    measure_slowly,
    trials,
)
from tests.waiting import wait_until
from xsquared.studies import sweep
from xsquared.studies.sweep import fingerprint, local_client, trial_key

#: Written down: were it to change, no committed row would be found.
KEY = "cb0c60628e7263eb04f4"


def ran(folder: Path) -> Counter[str]:
    """How often each trial ran, by its seed."""
    return Counter((folder / "ran").read_text().split())


def stored(folder: Path) -> int:
    """Rows in a store that another process may be making."""
    try:
        with closing(sqlite3.connect(folder / "rows.sqlite")) as store:
            return int(store.execute("select count(*) from rows").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def test_a_row_a_network_and_each_trial_runs_once(tmp_path: Path) -> None:
    wanted = trials(3, tmp_path)
    made = sweep([*wanted, wanted[0]], measure, tmp_path / "rows.sqlite")
    assert list(made["seed"]) == [0, 0, 1, 1, 2, 2]
    assert list(made["n"]) == [4, 8] * 3
    assert set(made["points"]) == {10}
    assert set(made["settings"]) == {f'{{"folder": "{tmp_path}"}}'}
    assert list(made.columns[-3:]) == ["status", "seconds", "key"]
    again = sweep(reversed(wanted), measure, tmp_path / "rows.sqlite")
    pd.testing.assert_frame_equal(
        again.sort_values(["seed", "n"], ignore_index=True), made
    )
    assert list(again["seed"]) == [2, 2, 1, 1, 0, 0]
    assert ran(tmp_path) == Counter("012")


def test_of_two_sweeps_that_run_a_trial_the_first_ones_row_stays(
    tmp_path: Path,
) -> None:
    rows = sweep(trials(1, tmp_path), measure_beside, tmp_path / "rows.sqlite")
    assert list(rows["n"]) == [0]
    assert stored(tmp_path) == 1


def test_the_key_is_the_same_everywhere_and_in_every_version() -> None:
    assert trial_key({"unit": "glu", "n": 4, "settings": {"b": 1, "a": [2]}}) == KEY
    assert trial_key({"n": 4, "settings": {"a": (2,), "b": 1}, "unit": "glu"}) == KEY
    assert trial_key({"n": 5, "settings": {"a": (2,), "b": 1}, "unit": "glu"}) != KEY


def test_other_sources_have_rows_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.sqlite"
    sweep(trials(1, tmp_path), measure, path)
    assert fingerprint(measure) != fingerprint(measure_slowly)
    monkeypatch.setattr(
        sys.modules["xsquared.studies.sweep"], "fingerprint", lambda _: "others"
    )
    sweep(trials(1, tmp_path), measure, path)
    assert ran(tmp_path) == {"0": 2}


#: Prints the fingerprints of two studies, and again after each change of a file.
FINGERPRINTS = """
import sys
from pathlib import Path
from xsquared.studies import find_study
from xsquared.studies.sweep import fingerprint

runs = [find_study(name).run for name in ("line", "learned_maps")]
for file in ["", *sys.argv[2:]]:
    if file:
        with Path(sys.argv[1], file).open("a") as text:
            text.write("# changed\\n")
        fingerprint.cache_clear()
    print(*map(fingerprint, runs))
"""


def test_a_changed_file_moves_the_fingerprints_of_those_who_import_it(
    tmp_path: Path,
) -> None:
    package = tmp_path / "xsquared"
    shutil.copytree(Path(xsquared.__file__).parent, package)
    files = ["features/learned.py", "training/newton.py", "book/tables.py"]
    command = [sys.executable, "-c", FINGERPRINTS, str(package), *files]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    printed = subprocess.check_output(command, env=environment, text=True)
    line, learned_maps = zip(*map(str.split, printed.splitlines()), strict=True)
    assert [now != then for then, now in pairwise(line)] == [False, True, False]
    assert [now != then for then, now in pairwise(learned_maps)] == [True, True, False]


def test_a_damaged_store_is_named_and_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "rows.sqlite"
    path.write_bytes(b"no database" * 100)
    with pytest.raises(ValueError, match=r"rows\.sqlite is damaged .*: move it away"):
        sweep(trials(1, tmp_path), measure, path)


def test_a_failing_trial_has_a_row_and_one_without_memory_has_none(
    tmp_path: Path,
) -> None:
    wanted, path = trials(5, tmp_path), tmp_path / "rows.sqlite"
    made = sweep(wanted, fail_on_seed_1, path)
    assert list(made["seed"]) == [0, 0, 1, 4, 4]
    (failed,) = made[made["status"] == "failed"].to_dict("records")
    assert failed["message"] == "ZeroDivisionError: a trainer's own mistake"
    (tmp_path / "spared").touch()
    again = sweep(wanted, fail_on_seed_1, path)
    assert list(again["seed"]) == [0, 0, 1, 2, 2, 3, 3, 4, 4]
    assert ran(tmp_path) == Counter("0234")


def test_a_sweep_killed_in_the_middle_goes_on_and_loses_or_doubles_no_row(
    tmp_path: Path,
) -> None:
    script = "import sys, pathlib, tests.studies.trainers as t; "
    script += "t.sweep_slowly(30, pathlib.Path(sys.argv[1]))"
    command = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(command, cwd=Path(__file__).parents[2]) as process:
        wait_until(lambda: stored(tmp_path) >= 3, "three rows")
        process.send_signal(signal.SIGKILL)
    before = stored(tmp_path)
    assert 3 <= before < 30
    made = sweep(trials(30, tmp_path), measure_slowly, tmp_path / "rows.sqlite")
    assert list(made["seed"]) == [seed for seed in range(30) for _ in range(2)]
    assert stored(tmp_path) == 30
    # The one under way was run again, if any was; no other.
    counts = ran(tmp_path)
    assert len(counts) == 30
    assert counts.total() <= 31


@pytest.mark.slow
def test_workers_run_trials_and_one_that_kills_them_is_lost_alone(
    tmp_path: Path,
) -> None:
    wanted, path = trials(9, tmp_path), tmp_path / "rows.sqlite"
    with local_client(2) as client:
        made = sweep(wanted, die_on_seed_0, path, client)
        assert list(made["seed"]) == [seed for seed in range(1, 9) for _ in range(2)]
        assert set(made["threads"]) == {1}
        assert set(made["memory"]) == {str(2**30)}
        (tmp_path / "spared").touch()
        again = sweep(wanted, die_on_seed_0, path, client)
    assert len(again) == 18
    # A result that its worker took with it is computed again.
    assert set(ran(tmp_path)) == {*"012345678"}
    here = sweep(wanted, measure, path)
    pd.testing.assert_series_equal(here["train_rmse"], again["train_rmse"])
