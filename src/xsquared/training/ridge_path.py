"""Variable projection in many dimensions: starts that compete, then a ridge let go in steps.

Random starts compete in rounds of a few iterations, of which the better quarter goes on. How many
there are is a matter of width: narrow networks have bad minima and are cheap, wide ones neither.

Those left are trained under a strong ridge and on, from the rows found so far, under weaker ones
until the last is too weak to matter. The last network with the least error is the best fit of the
training points. Every network on the way is also judged on validation points, and the best by that
judgement is the one to use on points not seen: early stopping and the choice of the ridge in one,
without a second run. The way down also ends lower than a run that has the weak ridge only, as
hinges settle where the target needs them before single neurons can fit single points.

Nothing ties a network down beyond the points it has seen, where a gated unit grows like the square
or the cube of the distance. Predictions for points not seen are therefore confined to the range of
the training values, widened by a tenth at either end.

Following solutions over a falling penalty is a continuation method: Allgower and Georg, Numerical
Continuation Methods (1990).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from xsquared.errors import confined_rmse
from xsquared.training.variable_projection import (
    ProjectedFit,
    Rows,
    iterates,
    on_device,
    rows_on_data,
    to_network,
)
from xsquared.units import GatedNetwork, parameter_count

#: Ridges in the order of training; values and features are standardised.
RIDGES = (1e-3, 1e-6, 1e-10)
#: Iterations under each ridge but the last.
_ITERATIONS = 5
#: Iterations under the last one: this over the number of parameters, within these limits.
_LAST_WORK, _LAST_LEAST, _LAST_MOST = 8192, 7, 25
#: Starts: this over the square of the number of parameters, from one to so many.
_START_WORK, _MOST_STARTS = 40000, 48
#: Iterations of the rounds in which starts compete, their ridge, and the share that goes on.
_ROUNDS, _ROUND_RIDGE, _KEPT = (4, 8), 1e-6, 4


@dataclass(frozen=True)
class PathFit:
    """What a run leaves.

    Attributes:
        last: the network with the least error on the training points, of those at the end of their
            way; trained under the weakest ridge unless the run stopped early.
        best: the network with the least error on the validation points.
        ridge: under which that one was found.
        validation_rmse: its confined error there.
        iterations: Levenberg-Marquardt iterations in all, of every start.
        status: how the last ridge's run ended, as in
            :class:`~xsquared.training.variable_projection.ProjectedFit`.
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
    to_the_end: bool = True,
    device: str = "cpu",
) -> PathFit:
    """Train one network along :data:`RIDGES`.

    Args:
        train: points (N, d) and values (N,), standardised.
        validation: points and values to choose on.
        unit: ``"mlp"``, ``"glu"`` or ``"gqu"``.
        n_hidden: number of neurons, at least 1.
        seed: of the starts, whose hinges pass between training points.
        activation: of the gates.
        to_the_end: False stops where a ridge brings no better validation error, for those who want
            the best network only.
        device: ``"cpu"`` or ``"cuda"``.

    Raises:
        ValueError: an unknown unit or activation, no neuron, or validation points of another
            dimension.
        FloatingPointError: a number that is not finite in the linear algebra.
    """
    points, values = train
    if validation[0].ndim != 2 or validation[0].shape[1] != points.shape[1]:
        raise ValueError(
            f"expected validation points (M, {points.shape[1]}), got {validation[0].shape}"
        )
    run = partial(
        iterates,
        unit,
        torch.tensor(points, device=device),
        torch.tensor(values, device=device),
        activation=activation,
    )
    parameters = parameter_count(unit, points.shape[1], n_hidden)
    draw = np.random.default_rng(seed)
    survivors = [
        on_device(rows_on_data(unit, points, n_hidden, draw), device)
        for _ in range(min(max(_START_WORK // parameters**2, 1), _MOST_STARTS))
    ]
    survivors, total = _compete(run, survivors)
    limits = [_ITERATIONS] * (len(RIDGES) - 1)
    limits += [min(max(_LAST_WORK // parameters, _LAST_LEAST), _LAST_MOST)]
    best: tuple[float, float, GatedNetwork] | None = None
    ends: list[ProjectedFit] = []
    for rows in survivors:
        for ridge, limit in zip(RIDGES, limits, strict=True):
            before = best
            for fit in run(rows, max_iterations=limit, ridge=ridge):
                network = to_network(fit, unit, activation)
                judged = confined_rmse(network, *validation, values)
                if best is None or judged < best[0]:
                    best = (judged, ridge, network)
            rows, total = fit.rows, total + fit.iterations
            if best is before and not to_the_end:
                break
        ends.append(fit)
    assert best is not None  # every run yields its start
    last = min(ends, key=lambda end: end.rmse)
    return PathFit(
        to_network(last, unit, activation), best[2], best[1], best[0], total, last.status
    )


def _compete(
    run: Callable[..., Iterator[ProjectedFit]], starts: list[Rows]
) -> tuple[list[Rows], int]:
    """The starts that are left after every round, and the iterations that it took."""
    total = 0
    for limit in _ROUNDS:
        if len(starts) == 1:
            break
        fits = []
        for start in starts:
            *_, fit = run(start, max_iterations=limit, ridge=_ROUND_RIDGE)
            fits.append(fit)
        total += sum(fit.iterations for fit in fits)
        fits.sort(key=lambda fit: fit.rmse)
        starts = [fit.rows for fit in fits[: -(-len(fits) // _KEPT)]]
    return starts, total
