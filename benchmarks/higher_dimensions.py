"""Grow networks in several dimensions by the paper's protocol: errors and seconds.

Run from the root: ``python benchmarks/higher_dimensions.py [--seeds 5]``. The data are
those of seed 0, the starts of as many seeds as asked for, on one thread; seconds are
those from the first width on.
"""

from __future__ import annotations

import argparse
import platform

import numpy as np
import torch

from xsquared.data import load
from xsquared.training import grow

PROBLEMS = ("sine", "friedman1", "friedman2", "friedman3")
WIDTHS = (2, 4, 8, 16, 32, 64)


def measure(problem: str, unit: str, seeds: int) -> tuple[np.ndarray, np.ndarray]:
    """Measure median training errors over starts, and mean seconds, by width."""
    data = load(problem, 0)
    runs = [grow(data, unit, WIDTHS, seed=seed) for seed in range(seeds)]
    errors = np.array([[fit.train_rmse for fit in run] for run in runs])
    seconds = np.array([[fit.seconds for fit in run] for run in runs])
    if problem == "sine":  # whose errors the paper gives in the target's units
        errors *= data.target_scale
    return np.median(errors, axis=0), seconds.mean(axis=0)


def main() -> None:
    """Print every problem, unit and width."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="starts")
    seeds = parser.parse_args().seeds
    torch.set_num_threads(1)
    versions = f"Python {platform.python_version()}, torch {torch.__version__}"
    print(f"{platform.machine()}, {versions}")
    print(f"problem    unit    n     error   seconds   (medians of {seeds} starts)")
    for problem in PROBLEMS:
        for unit in ("mlp", "glu"):
            errors, seconds = measure(problem, unit, seeds)
            for n, error, spent in zip(WIDTHS, errors, seconds, strict=True):
                line = f"{problem:10} {unit} {n:5} {error:10.6f} {spent:8.2f}"
                print(line, flush=True)


if __name__ == "__main__":
    main()
