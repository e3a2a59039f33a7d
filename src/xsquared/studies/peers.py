"""What one would use instead of a unit, on the points of the study ``trainers``.

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

from xsquared.data.dataset import Points
from xsquared.studies.experiment import make_trial
from xsquared.studies.sweep import Study, Trial
from xsquared.studies.trainer_targets import GROUPS, draw_points
from xsquared.studies.trainers import LARGEST
from xsquared.units import parameter_count

#: The first is of one input; the last two are scikit-learn's MLPs, by gate and solver.
METHODS = ("splines", "Gaussian process", "boosting", "tanh lbfgs", "relu lbfgs")
#: Values (m,) at points (m, d).
_Predict = Callable[..., np.ndarray]


def peer_trials() -> list[Trial]:
    """List every peer of every target, on the points of its first seed."""
    trials: list[Trial] = []
    for group, targets in GROUPS.items():
        # A neuron of an MLP has d + 2 parameters, the readout one constant.
        n = round((LARGEST - 1) / (draw_points(targets[0], group, 0).dim + 2))
        methods = METHODS if group == "1 input" else METHODS[1:]
        for name in targets:
            settings = {"target": name}
            trials += [
                make_trial(group, "mlp", n, method, "peers", settings=settings)
                for method in methods
            ]
    return trials


def choices(method: str, x: np.ndarray, y: np.ndarray, n: int) -> Iterator[_Predict]:
    """Yield what a peer chooses from, fitted to points x (m, d) and values y (m,).

    MLPs have n neurons.
    """
    # Here, as it is slow to import, and most processes fit no such model.
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.neural_network import MLPRegressor

    if method == "splines":
        yield from _splines(x, y)
    elif method == "Gaussian process":
        yield _gaussian_process(x, y)
    elif method == "boosting":
        for rate, trees in ((0.1, 100), (0.1, 500), (0.03, 1000)):
            model = HistGradientBoostingRegressor(learning_rate=rate, max_iter=trees)
            yield model.fit(x, y).predict
    else:
        gate, solver = method.split()
        for penalty in (0, 1e-6, 1e-4):
            model = MLPRegressor(
                hidden_layer_sizes=(n,),
                activation=gate,
                solver=solver,
                alpha=penalty,
                max_iter=2000,
                tol=1e-10,
                random_state=0,
            )
            yield model.fit(x, y).predict


def _splines(x: np.ndarray, y: np.ndarray) -> Iterator[_Predict]:
    """Fit cubic splines of one input with as many points in every cell."""
    order = np.argsort(x[:, 0])
    for cells in (5, 10, 20, 40, 70, 100, 150, 208):
        knots = np.quantile(x, np.linspace(0, 1, cells + 1)[1:-1])
        spline = LSQUnivariateSpline(x[order, 0], y[order], knots, ext="const")
        yield lambda at, spline=spline: spline(at[:, 0])


def _gaussian_process(x: np.ndarray, y: np.ndarray) -> _Predict:
    """Fit the likeliest kernel of four starts on 300 points, then all points."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    fits = []
    for length in (0.3, 1.0):
        for noise in (1e-6, 1e-2):
            smooth = 1.0 * RBF(length * np.ones(x.shape[1]), (0.02, 50))
            start = smooth + WhiteKernel(noise, (1e-10, 1))
            fits.append(GaussianProcessRegressor(start).fit(x[:300], y[:300]))
    likeliest = max(fits, key=lambda process: process.log_marginal_likelihood_value_)
    process = GaussianProcessRegressor(likeliest.kernel_, optimizer=None)
    return process.fit(x, y).predict


def _run_peer(trial: Trial) -> dict[str, Any]:
    """Fit one peer with all its choices; the least error on validation points wins."""
    name, group = trial["settings"]["target"], trial["problem"]
    data = draw_points(name, group, trial["seed"])
    low, high = data.limits()

    def error(predict: _Predict, points: Points) -> float:
        missed = np.clip(predict(points.x), low, high) - points.y
        return float(np.sqrt(np.mean(missed**2)))

    errors = []
    with warnings.catch_warnings():
        # Of scikit-learn: a budget is spent, a bound is reached.
        warnings.simplefilter("ignore")
        train = data.train
        for predict in choices(trial["solver"], train.x, train.y, trial["n"]):
            parts = (data.validation, data.train, data.test)
            errors.append([error(predict, points) for points in parts])
    validation_rmse, train_rmse, test_rmse = min(errors)
    return {
        "problem": f"{name}, {group}" if "input" in group else name,
        "parameters": parameter_count(trial["unit"], data.dim, trial["n"]),
        "points": len(train),
        "validation_rmse": validation_rmse,
        "train_rmse": train_rmse,
        "test_rmse": test_rmse,
    }


PEERS = Study(
    "What one would use instead of a unit",
    {"peers": "choices on validation points, at the largest size"},
    _run_peer,
    peer_trials,
    lambda: [trial for trial in peer_trials() if trial["solver"] == METHODS[0]][:5],
)
