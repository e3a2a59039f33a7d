"""Sweeps on a Dask cluster: a real scheduler and worker processes on this machine's loopback."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.studies.trainers import (
    RUNS,
    count_runs,
    measure,
    measured,
    swept,
    trials,
    wait_to_be_killed,
)
from tests.waiting import wait_until
from xsquared_studies import Store, executors, fingerprint, sweep

ROOT = Path(__file__).parents[2]


@dataclass
class Cluster:
    """A scheduler and workers, each a process."""

    folder: Path
    path: Path | None = None
    processes: list[subprocess.Popen] = field(default_factory=list)
    workers: list[subprocess.Popen] = field(default_factory=list)

    @property
    def address(self) -> str:
        """Where the scheduler listens."""
        return json.loads((self.folder / "scheduler.json").read_text())["address"]

    def start(self, *arguments: str) -> subprocess.Popen:
        """Start ``dask ...`` with this checkout importable."""
        path = str(self.path or os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments, "--no-dashboard"],
            env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        return process

    def start_scheduler(self) -> subprocess.Popen:
        """Start it, on a free port."""
        file = self.folder / "scheduler.json"
        listening = ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)]
        process = self.start("scheduler", *listening)
        wait_until(
            lambda: file.exists() and file.read_text().rstrip().endswith("}"),
            "there is a scheduler",
        )
        return process

    def need_workers(self, count: int) -> None:
        """Start as many as are missing, such that nobody restarts them."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < count:
            listening = ["worker", self.address, "--no-nanny", "--nthreads", "1"]
            self.workers.append(self.start(*listening))

    def stop(self) -> None:
        """Kill what still runs."""
        for process in self.processes:
            process.kill()
            process.wait()


# Schedulers and workers take their seconds to start and to be missed.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler for every test of this module; each says how many workers it needs."""
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    made.start_scheduler()
    yield made
    made.stop()


def stored(path: Path, function: Callable[..., object] = measure) -> list[int]:
    """Seeds of a function's rows in a store, each as often as it is there."""
    return sorted(row.trial.seed for row in Store(path).results(fingerprint(function)))


@contextmanager
def killing(told: Path) -> Iterator[None]:
    """Kill, in the background, the process that writes its id into that file."""

    def kill() -> None:
        wait_until(told.exists, "the trial has begun")
        os.kill(int(told.read_text()), signal.SIGKILL)

    # A daemon: a test that fails does not wait for it.
    threading.Thread(target=kill, daemon=True).start()
    yield


def test_a_cluster_gives_the_same_rows_and_resumes(cluster: Cluster, path: Path) -> None:
    cluster.need_workers(1)
    here = swept(trials(20), measure, path.with_name("here.sqlite"))
    swept(trials(5), measure, path)
    there = swept(trials(20), measure, path, scheduler=cluster.address)
    assert there.resumed == 5
    assert [row.values for row in there.results] == [row.values for row in here.results]
    assert len(stored(path)) == 20


def test_a_worker_killed_mid_trial_costs_no_row(cluster: Cluster, path: Path) -> None:
    cluster.need_workers(2)
    wanted = trials(60, folder=str(path.parent))
    with killing(path.with_name("pid")):
        report = swept(wanted, wait_to_be_killed, path, scheduler=cluster.address)
    assert not report.failures
    assert [row.values for row in report.results] == [measured(trial) for trial in wanted]
    assert stored(path, wait_to_be_killed) == list(range(60))


def test_workers_with_other_sources_are_refused(
    cluster: Cluster, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.need_workers(1)
    monkeypatch.setattr(sweep, "fingerprint", lambda _: "of another version")
    with pytest.raises(RuntimeError, match=r"cannot run trials: .* has other sources of tests"):
        swept(trials(2), measure, path, scheduler=cluster.address)


@pytest.fixture
def without_xsquared(tmp_path: Path) -> Path:
    """A folder that hides the package from a process that looks there first."""
    (tmp_path / "hidden" / "xsquared").mkdir(parents=True)
    text = "raise ModuleNotFoundError(\"No module named 'xsquared'\")\n"
    (tmp_path / "hidden" / "xsquared" / "__init__.py").write_text(text)
    return tmp_path / "hidden"


def test_a_worker_without_this_package_is_one_line(path: Path, without_xsquared: Path) -> None:
    bare = Cluster(path.parent, path=without_xsquared)
    bare.start_scheduler()
    bare.need_workers(1)
    try:
        with pytest.raises(RuntimeError, match="cannot run trials: No module named 'xsquared'"):
            swept(trials(2), measure, path, scheduler=bare.address)
    finally:
        bare.stop()


@pytest.mark.parametrize(
    "address",
    [
        *("tcp://127.0.0.1:{unused}", "tcp://127.0.0.1:{mute}", "nonsense://127.0.0.1:8786"),
        *("tcp://127.0.0.1:port", "tls://127.0.0.1:8786", "nothing"),
    ],
)
def test_where_no_scheduler_answers_the_error_is_one_line(
    path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "_PATIENCE", 0.5)
    RUNS.clear()
    with socket.socket() as unused, socket.socket() as mute:
        for one in (unused, mute):
            one.bind(("127.0.0.1", 0))
        mute.listen()
        address = address.format(unused=unused.getsockname()[1], mute=mute.getsockname()[1])
        with pytest.raises(ConnectionError, match=f"^no Dask scheduler answers at {address}: "):
            swept(trials(2), count_runs, path, scheduler=address)
    assert RUNS == []


def test_a_scheduler_killed_mid_sweep_keeps_what_is_known(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = Cluster(path.parent)
    scheduler = cluster.start_scheduler()
    cluster.need_workers(1)
    address = cluster.address

    def kill() -> None:
        wait_until(lambda: len(stored(path)) >= 3, "three rows")
        scheduler.kill()

    threading.Thread(target=kill, daemon=True).start()
    try:
        with pytest.raises(ConnectionError, match=f"scheduler at {address} stopped answering"):
            swept(trials(60, seconds=0.05), measure, path, scheduler=address)
    finally:
        cluster.stop()
    assert not [record for record in caplog.records if record.name.startswith("distributed")]
    report = swept(trials(60, seconds=0.05), measure, path)
    assert 3 <= report.resumed < 60
    assert stored(path) == list(range(60))


def test_a_scheduler_without_workers_is_reported_and_waited_for(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = Cluster(path.parent)
    cluster.start_scheduler()

    def start_worker() -> None:
        wait_until(lambda: bool(caplog.messages), "something is said")
        cluster.need_workers(1)

    threading.Thread(target=start_worker, daemon=True).start()
    try:
        report = swept(trials(2), measure, path, scheduler=cluster.address)
    finally:
        cluster.stop()
    assert caplog.messages == [
        f"the Dask scheduler at {cluster.address} has no worker yet: waiting for one"
    ]
    assert [row.status for row in report.results] == ["completed"] * 2


def test_without_dask_the_extra_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(RuntimeError, match=r"needs Dask .*: pip install './xsquared\[cluster\]'"):
        swept(trials(2), measure, path, scheduler="tcp://127.0.0.1:1")


def test_a_script_without_a_guard_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(**_: object) -> None:
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr("distributed.LocalCluster", refuses)
    with pytest.raises(RuntimeError, match=r"no worker could start .* belongs below `if __name__"):
        swept(trials(1), measure, tmp_path / "a.sqlite", jobs=2)
