"""``fit()`` trains one network by any solver; ``grow()`` trains several widths in one
run.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from xsquared.data.dataset import Dataset, sampled
from xsquared.errors import rmse
from xsquared.functions import Target
from xsquared.training.adamw import AdamW
from xsquared.training.free_knots import FreeKnots
from xsquared.training.growth import Growth
from xsquared.training.lbfgs import LBFGS
from xsquared.training.newton import Newton
from xsquared.training.result import Fit, Gates, Solver
from xsquared.training.variable_projection import BLOCK, VariableProjection
from xsquared.units import Unit, find_unit

#: Every solver of this package by name.
SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver
    for solver in (VariableProjection, Growth, FreeKnots, Newton, AdamW, LBFGS)
}
#: An exact forward pass is in doubt beyond 1% of its error plus 1e-9 of the largest
#: value.
_DOUBT, _ROUNDING = 0.01, 1e-9


def solver_from(name: str, settings: Mapping[str, Any] | None = None) -> Solver:
    """Make a solver of its name and settings, as a trial has them."""
    return SOLVERS[name](**settings or {})


def fit(
    data: Dataset | Target,
    unit: str | Unit,
    n_hidden: int,
    *,
    solver: Solver | None = None,
    gates: Gates = "trained",
    seed: int = 0,
) -> Fit:
    """Train one network of one output; one that diverges or fails is a result too.

    What a solver cannot train raises a ValueError. A target of one variable is
    :func:`~xsquared.data.dataset.sampled`. The solver, where None, is ``FreeKnots()``
    for trained ReLU gates of one input and at most two factors, ``Growth()`` for
    trained gates of several inputs, else, and for neurons of two numbers,
    ``VariableProjection()``.
    """
    table, record = sampled(data) if isinstance(data, Target) else data, find_unit(unit)
    moves = gates == "trained" and not record.paired
    splines = moves and record.gate.name == "relu" and len(record.factors) <= 2
    chosen: Solver = (
        FreeKnots() if splines and np.ptp(table.train.x) > 0 else VariableProjection()
    )
    used = solver or (Growth() if table.dim > 1 and moves else chosen)
    (made,) = _run(
        table, lambda: [used.train(table, record, n_hidden, gates, seed)], used, seed
    )
    return made


def grow(
    data: Dataset,
    unit: str | Unit,
    widths: Sequence[int],
    *,
    solver: Growth | None = None,
    gates: Gates = "trained",
    seed: int = 0,
) -> list[Fit]:
    """Train a network for each of several ascending widths, each grown from the one
    before.

    Seconds and iterations add up over the widths. A run that fails ends with what
    :func:`fit` would return, and has no later widths.
    """
    used, record = solver or Growth(), find_unit(unit)
    return _run(data, lambda: used.grow(data, record, widths, gates, seed), used, seed)


@torch.inference_mode(False)  # with gradients, wherever it is called
def _run(
    data: Dataset, train: Callable[[], Iterable[Fit]], solver: Solver, seed: int
) -> list[Fit]:
    """Train and judge each network; a failure becomes the last result."""
    start, made = time.perf_counter(), list[Fit]()

    def note(result: Fit) -> None:
        seconds = time.perf_counter() - start
        made.append(replace(result, seconds=seconds, solver=solver, seed=seed))

    try:
        # What overflows shows in the status; numpy need not warn of it as well.
        with np.errstate(over="ignore", invalid="ignore"):
            for result in train():
                note(result)
    # RuntimeError is also torch's where memory runs out, and its LinAlgError.
    except (
        FloatingPointError,
        np.linalg.LinAlgError,
        RuntimeError,
        MemoryError,
    ) as error:
        status = "diverged" if isinstance(error, FloatingPointError) else "failed"
        note(Fit(None, status, detail=str(error)))
    return [_judged(data, result) for result in made]


def _judged(data: Dataset, made: Fit) -> Fit:
    """Measure a network by forward passes, and say where these miss what was promised."""
    if made.network is None:
        return made
    closest, (x, y) = (
        made.training_minimiser or made.network,
        (data.train.x, data.train.y),
    )
    error, status = rmse(closest, x, y), made.status
    # What rounding does to values, RMS: roundoff times a pass of absolute values.
    magnitudes = {
        name: value.detach().abs() for name, value in closest.named_parameters()
    }
    parts = torch.tensor(x).abs().split(BLOCK)
    values = torch.cat(
        [torch.func.functional_call(closest, magnitudes, part) for part in parts]
    )
    rounding = (
        float(values.square().mean().sqrt()) * float(np.finfo(np.float64).eps) / 2
    )
    missed = max(0.0 if made.promised is None else error - made.promised, rounding)
    if not np.isfinite(error):
        status = "diverged"
    elif not missed <= _DOUBT * error + _ROUNDING * float(np.abs(y).max()):  # also NaN
        status = "inexact"
    return replace(
        made,
        status=status,
        training_minimiser=closest,
        train_rmse=error if closest is made.network else rmse(made.network, x, y),
        test_rmse=data.error(made.network, data.test),
    )
