"""Training in one dimension, timed: ours against the paper's Newton, and cost against width.

Run from the root: ``python benchmarks/one_dimension.py [--reference FILE]``. All but the speedrun
runs on one thread in one process, so that ratios mean something. The reference file, if given, is a
table with columns unit, n_hidden, rmse and wall_s of another implementation; only its errors are
compared.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import platform
import pstats
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from xsquared.data.samples import sampled
from xsquared.functions import PAPER_TARGET
from xsquared.slopes import fit_slope
from xsquared.training.fit import fit
from xsquared.training.free_knots import SPACES, equidistributed_knots, fit_free_knots
from xsquared.training.spline_network import train_spline_network

ITERATION_WIDTHS = (25, 50, 100, 200, 400, 800)


def against_newton(n: int = 20) -> None:
    """GLU with n neurons, all parameters, the paper's 10,000 points; Newton takes minutes."""
    samples = sampled(PAPER_TARGET)
    print(f"GLU, {n} neurons, all parameters, {len(samples.y_train)} points, one seed")
    runs = {name: fit(samples, "glu", n, optimizer=name) for name in ("varpro", "newton")}
    for name, run in runs.items():
        print(f"  {name:8} RMSE {run.test_rmse:.2e}, {run.wall_s:8.3f} s")
    start = time.perf_counter()
    single = fit_free_knots(PAPER_TARGET, "glu", equidistributed_knots(PAPER_TARGET, 3, n))
    seconds = time.perf_counter() - start
    print(f"  one start RMSE {single.rmse:.2e}, {seconds:7.3f} s")
    newton_s = runs["newton"].wall_s
    print(f"  Newton's time over varpro's: {newton_s / runs['varpro'].wall_s:.0f}; over")
    print(f"  one start's: {newton_s / seconds:.0f}")


def all_widths() -> None:
    """Every width from 1 to 50 and every unit, one seed."""
    start = time.perf_counter()
    for unit in SPACES:
        for n in range(1, 51):
            train_spline_network(PAPER_TARGET, unit, n, 0)
    print(
        f"all parameters, three units, n = 1..50: {time.perf_counter() - start:.1f} s, one thread"
    )


def speedruns(runs: int = 7) -> None:
    """A speedrun as a whole process, in turn with a process that only imports torch."""
    seconds: dict[str, list[float]] = {"xsquared speedrun": [], "import torch": []}
    with tempfile.TemporaryDirectory() as folder:
        speedrun = ["-m", "xsquared", "speedrun", "--out", f"{folder}/speedrun.png"]
        for _ in range(runs):
            for name, arguments in zip(seconds, (speedrun, ["-c", "import torch"]), strict=True):
                start = time.perf_counter()
                subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
                seconds[name].append(time.perf_counter() - start)
    print(f"whole processes, {runs} of each: median seconds [smallest, largest]")
    for name, row in seconds.items():
        print(f"  {name:18} {np.median(row):5.2f} [{min(row):.2f}, {max(row):.2f}]")


def cost_per_iteration() -> None:
    """Time of a Levenberg-Marquardt iteration against the number of cells."""
    print("seconds per iteration at", ITERATION_WIDTHS, "cells")
    for unit, space in SPACES.items():
        row = []
        for n in ITERATION_WIDTHS:
            knots = equidistributed_knots(PAPER_TARGET, space.order, n)
            fit_free_knots(PAPER_TARGET, unit, knots, 2)
            best = np.inf
            for _ in range(3):
                start = time.perf_counter()
                done = fit_free_knots(PAPER_TARGET, unit, knots, 15)
                best = min(best, (time.perf_counter() - start) / max(done.iterations, 1))
            row.append(best)
        slope = fit_slope(ITERATION_WIDTHS[2:], row[2:])
        print(f"  {unit}: " + " ".join(f"{v:.1e}" for v in row) + f"; exponent from 100 on {slope}")


def profile(n: int = 200) -> None:
    """Where the time of a fit goes."""
    knots = equidistributed_knots(PAPER_TARGET, 3, n)
    profiler = cProfile.Profile()
    profiler.runcall(fit_free_knots, PAPER_TARGET, "glu", knots, 40)
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).sort_stats("tottime").print_stats(8)
    print(f"profile of a GLU fit with {n} cells")
    print(
        "\n".join(line.rstrip()[:100] for line in text.getvalue().splitlines()[4:] if line.strip())
    )


def against_reference(path: Path) -> None:
    """Our error over the smallest of the reference's protocols, at each of its widths."""
    table = pd.read_csv(path).groupby(["unit", "n_hidden"])["rmse"].min()
    samples = sampled(PAPER_TARGET)
    print("error over the reference's: unit, widths, largest, median")
    for unit, rows in table.groupby(level="unit"):
        ratios = [
            np.median([fit(samples, unit, n, seed=seed).test_rmse for seed in range(3)]) / value
            for (_, n), value in rows.items()
        ]
        print(f"  {unit}: {len(ratios)} widths, {max(ratios):.3f}, {np.median(ratios):.3f}")


def main() -> None:
    """Everything, in one run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--reference", type=Path, default=None, help="table of another code's errors"
    )
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}")
    speedruns()
    against_newton()
    all_widths()
    cost_per_iteration()
    profile()
    if arguments.reference is not None:
        against_reference(arguments.reference)


if __name__ == "__main__":
    main()
