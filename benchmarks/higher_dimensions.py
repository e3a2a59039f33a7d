"""Networks grown in several dimensions by the paper's protocol: errors and seconds by
width.

Run from the root: ``python benchmarks/higher_dimensions.py [--reference FILE]``. The
data are those of seed 0, the starts of as many seeds as asked for, on one thread;
seconds are those from the first width on. The reference file, if given, is a table with
columns problem, unit, n_hidden, train_rmse, seconds and status of another
implementation on the same points; its planar errors are in units of the target. Times
of runs that did not complete are not compared.
"""

from __future__ import annotations

import argparse
import platform
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from xsquared.data import load
from xsquared.training import grow

PROBLEMS = {"sine": "sin_x_sin_y", "friedman1": "", "friedman2": "", "friedman3": ""}
WIDTHS = (2, 4, 8, 16, 32, 64)


def measured(problem: str, unit: str, seeds: int) -> tuple[np.ndarray, np.ndarray]:
    """Median training errors over starts, and mean seconds, by width."""
    data = load(problem, 0)
    runs = [grow(data, unit, WIDTHS, seed=seed) for seed in range(seeds)]
    errors = np.median([[one.train_rmse for one in run] for run in runs], axis=0)
    seconds = np.mean([[one.seconds for one in run] for run in runs], axis=0)
    return errors * (data.target_scale if problem == "sine" else 1.0), seconds


def main() -> None:
    """Every problem, unit and width."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--reference", type=Path, default=None, help="table of another code"
    )
    parser.add_argument("--seeds", type=int, default=5, help="starts")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(
        f"{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}"
    )
    reference = None
    if arguments.reference is not None:
        reference = pd.read_csv(arguments.reference).set_index(
            ["problem", "unit", "n_hidden"]
        )
    print(
        f"problem    unit    n     error   seconds   (medians of {arguments.seeds} starts)"
    )
    for problem, alias in PROBLEMS.items():
        for unit in ("mlp", "glu"):
            columns = measured(problem, unit, arguments.seeds)
            for n, error, seconds in zip(WIDTHS, *columns, strict=True):
                line = f"{problem:10} {unit} {n:5} {error:10.6f} {seconds:8.2f}"
                key = (alias or problem, unit, n)
                if reference is not None and key in reference.index:
                    other = reference.loc[key]
                    line += f"   error / reference {error / other.train_rmse:9.6f}"
                    if other.status == "completed":
                        line += f", time / reference {seconds / other.seconds:.3f}"
                print(line, flush=True)


if __name__ == "__main__":
    main()
