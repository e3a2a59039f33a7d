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

from xsquared.data import sampled
from xsquared.functions import PAPER_TARGET
from xsquared.slopes import fit_slope
from xsquared.splines.free_knots import fit_free_knots
from xsquared.training import FreeKnots, Newton, fit
from xsquared.units import space

UNITS = ("mlp", "glu", "gqu")
ITERATION_WIDTHS = (25, 50, 100, 200, 400, 800)
DATA = sampled(PAPER_TARGET)


def equal_cells(n: int) -> np.ndarray:
    """Knots to start from: the cost of an iteration does not hang on where they stand."""
    return np.linspace(-1, 1, n + 1)


def against_newton(n: int = 20) -> None:
    """GLU with n neurons, all parameters, the paper's 10,000 points; Newton takes minutes."""
    print(f"GLU, {n} neurons, all parameters, {len(DATA.train)} points, one seed")
    runs = [fit(DATA, "glu", n, solver=solver) for solver in (FreeKnots(), Newton())]
    for run in runs:
        print(f"  {run.solver.name:10} RMSE {run.test_rmse:.2e}, {run.wall_s:8.3f} s")
    print(f"  Newton's time over that of free knots: {runs[1].wall_s / runs[0].wall_s:.0f}")


def all_widths() -> None:
    """Every width from 1 to 50 and every unit, one seed."""
    start = time.perf_counter()
    for unit in UNITS:
        for n in range(1, 51):
            fit(DATA, unit, n, solver=FreeKnots())
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
    for unit in UNITS:
        row = []
        for n in ITERATION_WIDTHS:
            fit_free_knots(PAPER_TARGET, space(unit), equal_cells(n), 2)
            best = np.inf
            for _ in range(3):
                start = time.perf_counter()
                done = fit_free_knots(PAPER_TARGET, space(unit), equal_cells(n), 15)
                best = min(best, (time.perf_counter() - start) / max(done.iterations, 1))
            row.append(best)
        slope = fit_slope(ITERATION_WIDTHS[2:], row[2:])
        print(f"  {unit}: " + " ".join(f"{v:.1e}" for v in row) + f"; exponent from 100 on {slope}")


def profile(n: int = 200) -> None:
    """Where the time of a fit goes."""
    profiler = cProfile.Profile()
    profiler.runcall(fit_free_knots, PAPER_TARGET, "glu", equal_cells(n), 40)
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).sort_stats("tottime").print_stats(8)
    print(f"profile of a GLU fit with {n} cells")
    print(
        "\n".join(line.rstrip()[:100] for line in text.getvalue().splitlines()[4:] if line.strip())
    )


def against_reference(path: Path) -> None:
    """Our error over the smallest of the reference's protocols, at each of its widths."""
    table = pd.read_csv(path).groupby(["unit", "n_hidden"])["rmse"].min()
    print("error over the reference's: unit, widths, largest, median")
    for unit, rows in table.groupby(level="unit"):
        ratios = [
            np.median([fit(DATA, unit, n, solver=FreeKnots(), seed=s).test_rmse for s in range(3)])
            / value
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
