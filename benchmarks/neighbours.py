"""Time README's Python alone and beside two processes that keep cores busy.

Run from the root: ``python benchmarks/neighbours.py [--repeats 3]``. Seconds are the
least of some runs on the clock, with the thread that a fit takes and with a thread a
core; both in one run, as the machine may have neighbours of its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from sklearn.datasets import load_diabetes
from threadpoolctl import threadpool_limits

from xsquared import GatedRegressor, fit, target

X, Y = load_diabetes(return_X_y=True)
#: README's lines, and the target that takes longest.
LINES: dict[str, tuple[Callable[..., object], Callable[[], tuple[object, ...]]]] = {
    "fit 1/(1 + 9x^2), glu, 20": (fit, lambda: (target("1/(1 + 9*x**2)"), "glu", 20)),
    "fit abs(x), glu, 8": (fit, lambda: (target("abs(x)"), "glu", 8)),
    "GatedRegressor on diabetes": (
        GatedRegressor.fit, lambda: (GatedRegressor(), X, Y),
    ),
}  # fmt: skip


@contextmanager
def busy_neighbours(count: int) -> Iterator[None]:
    """Keep so many processes spinning."""
    spin = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(spin) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def seconds(run: Callable[..., object], arguments: tuple[object, ...]) -> float:
    """Time one call on the clock."""
    start = time.perf_counter()
    run(*arguments)
    return time.perf_counter() - start


def main() -> None:
    """Print seconds by line, threads and neighbours, and what neighbours cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    cores = os.cpu_count() or 1
    torch.set_num_threads(cores)
    print(f"{'seconds':28}threads  alone  beside two  ratio")
    with threadpool_limits(cores):
        for name, (run, arguments) in LINES.items():
            # Under the decorator a fit takes the threads that there are.
            for threads, call in ((1, run), (cores, vars(run)["__wrapped__"])):
                measured = []
                for count in (0, 2):
                    with busy_neighbours(count):
                        runs = [seconds(call, arguments()) for _ in range(repeats)]
                    measured.append(min(runs))
                alone, beside = measured
                times = f"{alone:7.2f}{beside:12.2f}{beside / alone:7.1f}"
                print(f"{name:28}{threads:7}{times}", flush=True)


if __name__ == "__main__":
    main()
