"""What one would use instead of a unit, on the points of :mod:`xsquared_studies.which_unit`.

A trial is a peer with all its choices, made on validation points, or a unit; ``seconds`` count all.
Predictions are confined to the widened range of the training values, as networks' are. ``unit`` and
``n`` of a peer say its budget; scikit-learn's MLPs keep it, and splines come near it. Piecewise
linear fits came after all others, and their seconds are of another run.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.interpolate import AAA, LSQUnivariateSpline

from xsquared.data.dataset import MARGIN, Points
from xsquared.training import fit
from xsquared.units import parameter_count
from xsquared_studies.declared import Study
from xsquared_studies.experiment import unit_of
from xsquared_studies.sweep import Trial
from xsquared_studies.which_unit import KINDS, SETTINGS, SIZES, points, which_trials

OURS = ("mlp", "relu2_mlp", "mlp:silu", "swiglu")
#: The first three are of one input; the last four are scikit-learn's MLPs, by gate and solver.
METHODS = (
    *("splines", "rationals", "pwlf", "polynomials", "Gaussian process", "boosting"),
    *("relu lbfgs", "relu adam", "tanh lbfgs", "tanh adam"),
)


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
        if solver not in METHODS[:3] or trial["settings"]["inputs"] == 1
    ]


def choices(peer: str, x: np.ndarray, y: np.ndarray, n: int) -> Iterator[Callable[..., np.ndarray]]:
    """Yield what a peer chooses from, fitted to points x (m, d) and values y (m,)."""
    # Here, as they are slow to import, and every study imports this module.
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel
    from sklearn.neural_network import MLPRegressor

    d = x.shape[1]
    match peer.split():
        case ["splines"]:
            order = np.argsort(x[:, 0])
            for cells in (5, 10, 20, 40, 70, 100, 150, 208):
                knots = np.quantile(x, np.linspace(0, 1, cells + 1)[1:-1])
                spline = LSQUnivariateSpline(x[order, 0], y[order], knots, ext="const")
                yield lambda at, spline=spline: spline(at[:, 0])
        case ["rationals"]:
            for terms in (5, 10, 15, 20, 30, 50, 100):
                rational = AAA(x[:, 0], y, max_terms=terms)
                yield lambda at, rational=rational: rational(at[:, 0])
        case ["pwlf"]:  # by several starts of L-BFGS; more segments take minutes
            from pwlf import PiecewiseLinFit

            for segments in (5, 10, 20):
                pieces = PiecewiseLinFit(x[:, 0], y, seed=0)
                pieces.fitfast(segments)
                yield lambda at, pieces=pieces: pieces.predict(at[:, 0])
        case ["polynomials"]:  # of every total degree
            count = {1: 60, 2: 30}.get(d, 7)
            every = np.array([p for p in np.ndindex(*[count] * d) if sum(p) < count])

            def basis(at: np.ndarray, powers: np.ndarray) -> np.ndarray:
                values = np.polynomial.chebyshev.chebvander(at / 1.8, count - 1)
                return np.prod([values[:, j, powers[:, j]] for j in range(d)], axis=0)

            for degree in range(1, count):
                used = every[every.sum(axis=1) <= degree]
                weights = np.linalg.lstsq(basis(x, used), y)[0]
                yield lambda at, used=used, weights=weights: basis(at, used) @ weights
        case ["Gaussian", _]:  # the likeliest of four starts on 300 points, then all points
            starts = [
                1.0 * RBF(length * np.ones(d), (0.02, 50)) + WhiteKernel(noise, (1e-10, 1))
                for length in (0.3, 1.0)
                for noise in (1e-6, 1e-2)
            ]
            fits = [GaussianProcessRegressor(start).fit(x[:300], y[:300]) for start in starts]
            kernel = max(fits, key=lambda one: one.log_marginal_likelihood_value_).kernel_
            yield GaussianProcessRegressor(kernel, optimizer=None).fit(x, y).predict
        case ["boosting"]:
            for rate, trees in ((0.1, 100), (0.1, 500), (0.03, 1000)):
                machine = HistGradientBoostingRegressor(learning_rate=rate, max_iter=trees)
                yield machine.fit(x, y).predict
        case [gate, solver]:
            same = {"activation": gate, "solver": solver, "tol": 1e-10, "random_state": 0}
            for k in range(3):
                own = {"alpha": (0, 1e-6, 1e-4)[k], "max_iter": 2000}
                if solver == "adam":
                    own = {"alpha": 0, "learning_rate_init": (3e-3, 1e-2, 3e-2)[k], "max_iter": 500}
                yield MLPRegressor(hidden_layer_sizes=(n,), **same, **own).fit(x, y).predict


def run_peer(trial: Trial) -> dict[str, Any]:
    """Fit one peer with all its choices, or train one unit."""
    data, status, unit, n = points(trial), "completed", unit_of(trial), trial["n"]
    x, y = data.train.x, data.train.y
    room = MARGIN * np.ptp(y)
    # Who chooses on noisy data has noise in the values to choose by.
    noise = KINDS[trial["settings"]["kind"]][1]
    noisy = noise * np.random.default_rng((trial["seed"], 2)).normal(size=len(data.validation))
    chosen_by = Points(data.validation.x, data.validation.y + noisy)
    parts = (chosen_by, data.train, data.test)

    def error(predict: Callable[..., np.ndarray], judged: Points) -> float:
        missed = np.clip(predict(judged.x), y.min() - room, y.max() + room) - judged.y
        return float(np.nan_to_num(np.sqrt(np.mean(missed**2)), nan=np.inf))

    if trial["solver"] not in METHODS:
        solver = replace(SETTINGS, sharpest=8.0)
        done = fit(data, unit, n, solver=solver, seed=trial["seed"])
        status = done.status
        made = [[data.error(done.network, part) for part in parts]] if done.network else []
    else:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
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
    lambda: "" if find_spec("pwlf") else "pwlf is missing: pip install --group peers",
)
