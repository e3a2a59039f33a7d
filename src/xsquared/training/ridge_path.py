"""One run of variable projection for two protocols: a ridge let go in steps, and a validation set.

Training starts under a strong ridge and goes on, from the rows found so far, under weaker ones
until the last is too weak to matter. The last network is the best fit of the training points. Every
network on the way is also judged on validation points, and the best by that judgement is the one to
use on points not seen: early stopping and the choice of the ridge in one, without a second run. The
way down also ends lower than a run that starts with the weak ridge, as hinges settle where the
target needs them before single neurons can fit single points.

Nothing ties a network down beyond the points it has seen, where a gated unit grows like the square
or the cube of the distance. Predictions for points not seen are therefore confined to the range of
the training values, widened by a tenth at either end.

The idea of following solutions over a falling penalty is that of continuation methods: Allgower and
Georg, Numerical Continuation Methods (1990).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from xsquared.networks import GatedNetwork, predict
from xsquared.training.variable_projection import (
    ProjectedFit,
    iterates,
    on_device,
    rows_on_data,
    to_network,
)

#: Ridges in the order of training; values and features are standardised.
RIDGES = (1e-3, 1e-6, 1e-10)
#: Iterations under each ridge.
ITERATIONS = 7
#: By how much of the training values' range a prediction may leave it.
_MARGIN = 0.1


@dataclass(frozen=True)
class PathFit:
    """What a run leaves.

    Attributes:
        last: the network at the end, under the weakest ridge.
        best: the network with the least error on the validation points.
        ridge: under which it was found.
        validation_rmse: its confined error there.
        iterations: Levenberg-Marquardt iterations in all.
        status: of the last ridge's run, as in :class:`ProjectedFit`.
    """

    last: GatedNetwork
    best: GatedNetwork
    ridge: float
    validation_rmse: float
    iterations: int
    status: str


def fit_path(
    train: tuple[np.ndarray, np.ndarray],
    validation: tuple[np.ndarray, np.ndarray],
    unit: str,
    n_hidden: int,
    *,
    seed: int = 0,
    activation: str = "relu",
    iterations: int = ITERATIONS,
    device: str = "cpu",
) -> PathFit:
    """Train one network along :data:`RIDGES`.

    Args:
        train: points (N, d) and values (N,), standardised.
        validation: points and values to choose on.
        unit: ``"mlp"``, ``"glu"`` or ``"gqu"``.
        n_hidden: number of neurons, at least 1.
        seed: of the start, whose hinges pass through training points.
        activation: of the gates.
        iterations: limit under each ridge, at least 1.
        device: ``"cpu"`` or ``"cuda"``.

    Raises:
        ValueError: an unknown unit or activation, no neuron, no iteration, or validation points of
            another dimension.
        FloatingPointError: a number that is not finite in the linear algebra.
    """
    points, values = train
    if iterations < 1:
        raise ValueError(f"expected at least 1 iteration under each ridge, got {iterations}")
    if validation[0].ndim != 2 or validation[0].shape[1] != points.shape[1]:
        raise ValueError(
            f"expected validation points (M, {points.shape[1]}), got {validation[0].shape}"
        )
    x, y = torch.tensor(points, device=device), torch.tensor(values, device=device)
    rows = on_device(rows_on_data(unit, points, n_hidden, np.random.default_rng(seed)), device)
    total, best, best_ridge, least = 0, None, RIDGES[0], np.inf
    fit: ProjectedFit
    for ridge in RIDGES:
        for fit in iterates(
            unit, x, y, rows, activation=activation, max_iterations=iterations, ridge=ridge
        ):
            network = to_network(fit, unit, activation)
            judged = confined_rmse(network, *validation, values)
            if best is None or judged < least:
                best, best_ridge, least = network, ridge, judged
        rows, total = fit.rows, total + fit.iterations
    assert best is not None  # every run yields its start
    return PathFit(network, best, best_ridge, least, total, fit.status)


def confined_rmse(network: GatedNetwork, x: np.ndarray, y: np.ndarray, seen: np.ndarray) -> float:
    """Root mean square error of predictions confined to the range of the training values, widened.

    Args:
        network: of one output.
        x: (M, d) points.
        y: (M,) values there.
        seen: the values trained on.
    """
    low, high = seen.min(), seen.max()
    margin = _MARGIN * (high - low)
    predicted = np.clip(predict(network, x), low - margin, high + margin)
    return float(np.sqrt(np.mean((predicted - y) ** 2)))
