"""What survives: sweeps killed, shared, on a lost cluster and on a full disk; prints the counts.

Run from the root: ``python benchmarks/kills.py [--rounds N]``. Each line repeats a test of
``tests/studies`` so many times, each time from another random moment, and counts the rows that were
lost, that are there twice, and that differ from those of an uninterrupted sweep.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from xsquared_studies import run_sweep

sys.path.insert(0, str(Path(__file__).parents[1]))  # worker processes inherit it
from tests.studies.test_cluster import Cluster
from tests.studies.test_sweep import rows_of
from tests.studies.trainers import (
    fill_disk_on_seed_1,
    measure,
    measured,
    sweep_slowly,
    trials,
)

SECONDS, ROWS = 0.02, 60


def expected() -> list[tuple]:
    """The rows of an uninterrupted sweep: seed, status and values."""
    return [(t.seed, "completed", sorted(measured(t).items())) for t in trials(ROWS)]


def report(what: str, kills: int, found: list[list[tuple]]) -> None:
    """Count what is lost, twice there, or different, over the stores found."""
    lost = sum(len({row[0] for row in expected()} - {row[0] for row in rows}) for rows in found)
    twice = sum(len(rows) - len({row[0] for row in rows}) for rows in found)
    other = sum(row not in expected() for rows in found for row in rows)
    print(
        f"{what:34} {kills:4} kills {len(found) * ROWS:5} rows   {lost} lost, {twice} twice, "
        f"{other} different",
        flush=True,
    )


def killed(folder: Path, rng: random.Random, writers: int = 1) -> tuple[int, list[tuple]]:
    """Ten SIGKILLs at random moments, of one of so many writers, then an end."""
    path = folder / "rows.sqlite"
    context = multiprocessing.get_context("forkserver")
    kills = 0
    for _ in range(10):
        sweeps = [
            context.Process(target=sweep_slowly, args=(path, ROWS, SECONDS)) for _ in range(writers)
        ]
        for sweep in sweeps:
            sweep.start()
        before = len(rows_of(path))
        while len(rows_of(path)) <= before and any(sweep.is_alive() for sweep in sweeps):
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.05))
        for sweep in sweeps:
            kills += sweep.is_alive()
            sweep.kill()
            sweep.join()
    run_sweep(trials(ROWS, seconds=SECONDS), measure, path, progress=False)
    return kills, rows_of(path)


def on_cluster(
    folder: Path, rng: random.Random, victim: Callable[[Cluster], list[subprocess.Popen]]
) -> tuple[int, list[tuple]]:
    """A sweep on two workers, of whose processes one is killed; started again where it ended."""
    path, cluster = folder / "rows.sqlite", Cluster(folder)
    cluster.start_scheduler()
    cluster.need_workers(2)
    at = rng.randrange(3, 40)

    def kill() -> None:
        while len(rows_of(path)) < at:
            time.sleep(0.005)
        victim(cluster)[0].kill()

    threading.Thread(target=kill, daemon=True).start()
    wanted = trials(ROWS, seconds=SECONDS)
    try:
        run_sweep(wanted, measure, path, scheduler=cluster.address, progress=False)
    except ConnectionError:
        run_sweep(wanted, measure, path, progress=False)
    finally:
        cluster.stop()
    return 1, rows_of(path)


def on_full_disk(folder: Path) -> tuple[int, list[tuple]]:
    """A disk of 512 KiB that a trial fills to the last byte."""
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(disk)]
    subprocess.run(mount, check=True)
    try:
        wanted = trials(ROWS, folder=str(disk))
        run_sweep(wanted, fill_disk_on_seed_1, disk / "rows.sqlite", progress=False)
        return 0, rows_of(disk / "rows.sqlite")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def main() -> None:
    """Every kind of loss, so many rounds each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="of each kind")
    arguments = parser.parse_args()
    rng = random.Random(0)
    kinds: dict[str, Callable[[Path], tuple[int, list[tuple]]]] = {
        "sweep killed ten times": lambda folder: killed(folder, rng),
        "two writers, both killed ten times": lambda folder: killed(folder, rng, 2),
        "Dask worker killed": lambda folder: on_cluster(folder, rng, lambda c: c.workers),
        "Dask scheduler killed": lambda folder: on_cluster(folder, rng, lambda c: c.processes),
        "disk full to the last byte": on_full_disk,
    }
    for what, kind in kinds.items():
        kills, found = 0, []
        for _ in range(arguments.rounds):
            with tempfile.TemporaryDirectory() as folder:
                died, rows = kind(Path(folder))
            kills, found = kills + died, [*found, rows]
        report(what, kills, found)


if __name__ == "__main__":
    main()
