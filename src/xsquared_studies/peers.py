"""What one would use instead of a unit, on the points of :mod:`xsquared_studies.which_unit`.

A trial is a peer with all its choices, made on validation points, or a unit; ``seconds`` count all.
Predictions are confined to the widened range of the training values, as networks' are. ``unit`` and
``n`` of a peer say its budget; scikit-learn's MLP keeps it, and splines come near it.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.interpolate import LSQUnivariateSpline

from xsquared.data.dataset import MARGIN, Points
from xsquared.training import fit
from xsquared.units import parameter_count
from xsquared_studies.declared import Study
from xsquared_studies.experiment import unit_of
from xsquared_studies.sweep import Trial
from xsquared_studies.which_unit import KINDS, SETTINGS, SIZES, points, which_trials

OURS = ("mlp", "relu2_mlp", "mlp:silu", "swiglu")
#: The first is of one input; the last two are scikit-learn's MLPs, by gate and solver.
METHODS = ("splines", "Gaussian process", "boosting", "tanh lbfgs", "relu lbfgs")


def peer_trials() -> list[Trial]:
    """List every peer and four units on sums of ridges: the largest size, seed 0."""
    largest = {d: sizes[-1:] for d, sizes in SIZES.items()}
    return [
        {**trial, "solver": solver, "protocol": "peers"}
        for unit in OURS
        for trial in which_trials((unit,), sizes=largest, seeds=1)
        if trial["settings"]["shape"] == "ridges"
        # Other methods stand beside the first unit, whose budget they have.
        for solver in ("varpro", *(METHODS if unit == OURS[0] else ()))
        if solver != "splines" or trial["settings"]["inputs"] == 1
    ]


def choices(peer: str, x: np.ndarray, y: np.ndarray, n: int) -> Iterator[Callable[..., np.ndarray]]:
    """Yield what a peer chooses from, fitted to points x (m, d) and values y (m,)."""
    # Here, as they are slow to import, and every study imports this module.
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel
    from sklearn.neural_network import MLPRegressor

    match peer:
        case "splines":
            order = np.argsort(x[:, 0])
            for cells in (5, 10, 20, 40, 70, 100, 150, 208):
                knots = np.quantile(x, np.linspace(0, 1, cells + 1)[1:-1])
                spline = LSQUnivariateSpline(x[order, 0], y[order], knots, ext="const")
                yield lambda at, spline=spline: spline(at[:, 0])
        case "Gaussian process":  # the likeliest of four starts on 300 points, then all points
            starts = [
                1.0 * RBF(length * np.ones(x.shape[1]), (0.02, 50)) + WhiteKernel(noise, (1e-10, 1))
                for length in (0.3, 1.0)
                for noise in (1e-6, 1e-2)
            ]
            fits = [GaussianProcessRegressor(start).fit(x[:300], y[:300]) for start in starts]
            kernel = max(fits, key=lambda one: one.log_marginal_likelihood_value_).kernel_
            yield GaussianProcessRegressor(kernel, optimizer=None).fit(x, y).predict
        case "boosting":
            for rate, trees in ((0.1, 100), (0.1, 500), (0.03, 1000)):
                machine = HistGradientBoostingRegressor(learning_rate=rate, max_iter=trees)
                yield machine.fit(x, y).predict
        case _:
            gate, solver = peer.split()
            same: Any = {"activation": gate, "solver": solver, "tol": 1e-10, "random_state": 0}
            for penalty in (0, 1e-6, 1e-4):
                machine = MLPRegressor((n,), alpha=penalty, max_iter=2000, **same)
                yield machine.fit(x, y).predict


def run_peer(trial: Trial) -> dict[str, Any]:
    """Fit one peer with all its choices, or train one unit."""
    data, status, unit, n = points(trial), "completed", unit_of(trial), trial["n"]
    x, y, room = data.train.x, data.train.y, MARGIN * np.ptp(data.train.y)
    # Who chooses on noisy data has noise in the values to choose by.
    noise = KINDS[trial["settings"]["kind"]][1]
    noisy = noise * np.random.default_rng((trial["seed"], 2)).normal(size=len(data.validation))
    parts = Points(data.validation.x, data.validation.y + noisy), data.train, data.test

    def error(predict: Callable[..., np.ndarray], judged: Points) -> float:
        missed = np.clip(predict(judged.x), y.min() - room, y.max() + room) - judged.y
        return float(np.sqrt(np.mean(missed**2)))

    if trial["solver"] not in METHODS:
        done = fit(data, unit, n, solver=replace(SETTINGS, sharpest=8.0), seed=trial["seed"])
        status = done.status
        made = [[data.error(done.network, part) for part in parts]] if done.network else []
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scikit-learn: budgets spent, bounds reached
            found = choices(trial["solver"], x, y, n)
            made = [[error(predict, part) for part in parts] for predict in found]
    names = ("validation_rmse", "train_rmse", "test_rmse")
    budget = parameter_count(unit, data.dim, n)
    return {"status": status, "parameters": budget, **dict(zip(names, min(made), strict=True))}


PEERS = Study(
    "What one would use instead of a unit, and four units",
    {"peers": "the largest size of which_unit, ridges, seed 0"},
    run_peer,
    peer_trials,
    lambda: [trial for trial in peer_trials() if trial["solver"] == METHODS[0]],
)
