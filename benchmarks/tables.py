"""Compare GatedRegressor by default, tanh networks and ridge regression, by table.

Run from the root: ``python benchmarks/tables.py [--splits 10] [--only TABLE ...]``.
Four fifths of the rows are trained on; of the drawn tables and of "housing 2,000" there
are 2,500. Noise is part of the table, in the rows to test on as well. Errors are
medians over splits of the root mean square over the values' deviation on the training
rows, on one thread; seconds are those of a fit.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import pandas as pd
import torch
from sklearn import datasets
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, ShuffleSplit, train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from xsquared import GatedRegressor
from xsquared.data import load

#: Rows of a drawn table: 2,000 to train on.
ROWS = 2500
NOISES = (0.0, 0.1, 0.5)
#: The table with noise in it, and 195 columns without effect.
WIDE = "friedman1, 200 columns, noise 0.1"
FRIEDMAN = [f"friedman{k}, noise {noise:g}" for k in (1, 2, 3) for noise in NOISES]
TABLES = ["diabetes", "airfoil", "housing 2,000", *FRIEDMAN, WIDE, "housing"]


def table(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Load features and values of a table; the seed draws what is drawn."""
    if name == "diabetes":
        return datasets.load_diabetes(return_X_y=True)
    draw = np.random.default_rng(seed)
    if name.startswith("friedman"):
        columns = {"n_features": 200} if name == WIDE else {}
        make = getattr(datasets, f"make_{name[:9]}")
        x, y = make(n_samples=ROWS, random_state=seed, **columns)
        return x, y + float(name.split()[-1]) * y.std() * draw.standard_normal(len(y))
    rows = 1503 if name == "airfoil" else 20640
    data = load(name.split()[0], split="paper", points=rows)
    kept = draw.permutation(len(data.train))
    if name == "housing 2,000":
        kept = kept[:ROWS]
    return data.train.x[kept], data.train.y[kept]


def rivals(seed: int) -> dict[str, RegressorMixin]:
    """Make the estimators that are compared."""
    network = MLPRegressor(
        hidden_layer_sizes=64,
        activation="tanh",
        solver="lbfgs",
        max_iter=500,
        random_state=seed,
    )
    fifth = ShuffleSplit(1, test_size=0.2, random_state=seed)
    penalties = {"mlpregressor__alpha": [1e-3, 1e-1, 10.0]}
    return {
        "gated": GatedRegressor(random_state=seed),
        "tanh": GridSearchCV(
            make_pipeline(StandardScaler(), network), penalties, cv=fifth
        ),
        "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 4, 25))),
    }


def measure(name: str, seed: int) -> dict[str, float]:
    """Measure errors and seconds on one split."""
    x, x_test, y, y_test = train_test_split(
        *table(name, seed), test_size=0.2, random_state=seed
    )
    mean, deviation = y.mean(), y.std()
    measured: dict[str, float] = {}
    for who, model in rivals(seed).items():
        began = time.process_time()
        model.fit(x, (y - mean) / deviation)
        measured[f"{who} s"] = time.process_time() - began
        misses = model.predict(x_test) - (y_test - mean) / deviation
        measured[who] = float(np.sqrt(np.mean(misses**2)))
    return measured


def main() -> None:
    """Print every table, a line each, as it is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--only", nargs="*", choices=TABLES, default=TABLES)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    print(f"{'table':34} gated   tanh  ridge  ratio  gated s  tanh s")
    with threadpool_limits(1):
        for name in arguments.only:
            runs = [measure(name, seed) for seed in range(arguments.splits)]
            medians = pd.DataFrame(runs).median()
            gated, tanh, ridge = medians[["gated", "tanh", "ridge"]]
            errors = f"{gated:7.4f}{tanh:7.4f}{ridge:7.4f}"
            ratio = gated / min(tanh, ridge)
            seconds = f"{medians['gated s']:9.1f}{medians['tanh s']:8.1f}"
            print(f"{name:33}{errors}{ratio:7.3f}{seconds}", flush=True)


if __name__ == "__main__":
    main()
