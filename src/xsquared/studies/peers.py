"""What one would use instead of a unit, on the points of
:mod:`xsquared.studies.trainers`.

A trial is a peer with all its choices, made on validation points; ``seconds`` count
all. The MLPs of scikit-learn have as many neurons as a ReLU MLP of ``size`` parameters,
splines at most as many cells. Predictions are confined to the widened range of the
training values, as networks' are.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.interpolate import LSQUnivariateSpline

from xsquared.data.dataset import MARGIN, Points
from xsquared.studies.experiment import make_trial
from xsquared.studies.sweep import Study, Trial
from xsquared.studies.trainers import GROUPS, SIZES, drawn
from xsquared.units import parameter_count

#: The first is of one input; the last two are scikit-learn's MLPs, by gate and solver.
METHODS = ("splines", "Gaussian process", "boosting", "tanh lbfgs", "relu lbfgs")
SEEDS = 1


def peer_trials() -> list[Trial]:
    """List every peer of every target and seed."""
    trials: list[Trial] = []
    for seed in range(SEEDS):
        for group, targets in GROUPS.items():
            n = round((SIZES[-1] - 1) / (drawn(targets[0], group, 0).dim + 2))
            trials += [
                make_trial(
                    group,
                    "mlp",
                    n,
                    method,
                    "peers",
                    settings={"target": name},
                    seed=seed,
                )
                for name in targets
                for method in METHODS
                if method != "splines" or group == "1 input"
            ]
    return trials


def choices(
    peer: str, x: np.ndarray, y: np.ndarray, n: int
) -> Iterator[Callable[..., np.ndarray]]:
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
        case (
            "Gaussian process"
        ):  # the likeliest of four starts on 300 points, then all points
            starts = [
                1.0 * RBF(length * np.ones(x.shape[1]), (0.02, 50))
                + WhiteKernel(noise, (1e-10, 1))
                for length in (0.3, 1.0)
                for noise in (1e-6, 1e-2)
            ]
            fits = [
                GaussianProcessRegressor(start).fit(x[:300], y[:300])
                for start in starts
            ]
            kernel = max(
                fits, key=lambda one: one.log_marginal_likelihood_value_
            ).kernel_
            yield GaussianProcessRegressor(kernel, optimizer=None).fit(x, y).predict
        case "boosting":
            for rate, trees in ((0.1, 100), (0.1, 500), (0.03, 1000)):
                machine = HistGradientBoostingRegressor(
                    learning_rate=rate, max_iter=trees
                )
                yield machine.fit(x, y).predict
        case _:
            gate, solver = peer.split()
            same: Any = {
                "activation": gate,
                "solver": solver,
                "tol": 1e-10,
                "random_state": 0,
            }
            same |= {"hidden_layer_sizes": (n,)}
            for penalty in (0, 1e-6, 1e-4):
                machine = MLPRegressor(alpha=penalty, max_iter=2000, **same)
                yield machine.fit(x, y).predict


def run_peer(trial: Trial) -> dict[str, Any]:
    """Fit one peer with all its choices."""
    name, group = trial["settings"]["target"], trial["problem"]
    data = drawn(name, group, trial["seed"])
    x, y, room = data.train.x, data.train.y, MARGIN * np.ptp(data.train.y)

    def error(predict: Callable[..., np.ndarray], judged: Points) -> float:
        missed = np.clip(predict(judged.x), y.min() - room, y.max() + room) - judged.y
        return float(np.sqrt(np.mean(missed**2)))

    parts = data.validation, data.train, data.test
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # of scikit-learn: budgets spent, bounds reached
        found = choices(trial["solver"], x, y, trial["n"])
        made = [[error(predict, part) for part in parts] for predict in found]
    names = ("validation_rmse", "train_rmse", "test_rmse")
    problem = f"{name}, {group}" if "input" in group else name
    parameters = parameter_count(trial["unit"], data.dim, trial["n"])
    row = {"problem": problem, "parameters": parameters, "points": len(y)}
    return row | dict(zip(names, min(made), strict=True))


PEERS = Study(
    "What one would use instead of a unit",
    {"peers": "choices on validation points, at the largest size"},
    run_peer,
    peer_trials,
    lambda: [trial for trial in peer_trials() if trial["solver"] == METHODS[0]][:5],
)
