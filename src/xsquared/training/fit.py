"""``fit()`` trains one network by any solver, ``grow()`` several widths in one run."""

import copy
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from xsquared.data.dataset import Dataset, from_target, sampled
from xsquared.errors import rmse
from xsquared.functions import Target
from xsquared.networks_1d.solver import is_resolved
from xsquared.threads import one_thread
from xsquared.training.adamw import AdamW
from xsquared.training.free_knots import FreeKnots
from xsquared.training.growth import Growth
from xsquared.training.lbfgs import LBFGS
from xsquared.training.newton import Newton
from xsquared.training.result import Fit, Gates, Solver
from xsquared.training.variable_projection import VariableProjection
from xsquared.units import GatedNetwork, Unit, find_unit, predict

#: Every solver of this package by name.
_SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver
    for solver in (VariableProjection, Growth, FreeKnots, Newton, AdamW, LBFGS)
}
#: A forward pass is in doubt where it misses what was promised by more than this share
#: of its error ...
_DOUBT = 0.01
#: ... and this share of the largest value.
_ROUNDING = 1e-9
#: Rounding of a float64, as a share of it.
_UNIT_ROUNDOFF = float(np.finfo(np.float64).eps) / 2
#: Largest values may not be smaller: the square of their rounding would underflow.
_SMALLEST = float(np.sqrt(np.finfo(np.float64).tiny) / np.finfo(np.float64).eps)


def solver_from(name: str, settings: Mapping[str, Any]) -> Solver:
    """Make a solver of its name and settings, as a trial has them.

    Raises:
        ValueError: no such solver.
    """
    if name not in _SOLVERS:
        raise ValueError(f"unknown solver {name!r}; known are {', '.join(_SOLVERS)}")
    return _SOLVERS[name](**settings)


@one_thread()
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

    A target of one variable is :func:`~xsquared.data.dataset.sampled`; where the error
    over its domain is larger than on those points, the status says so. Points of one of
    several variables are those of :func:`~xsquared.data.dataset.from_target`, whatever
    the seed. The solver, where None, is ``FreeKnots()`` for trained ReLU gates of one
    input and at most two factors, ``Growth()`` for trained gates of several inputs,
    else, and for neurons of two numbers, ``VariableProjection()``. It runs on one
    thread.

    Raises:
        ValueError: the solver cannot train this.
    """
    points = _points(data) if isinstance(data, Target) else data
    record = find_unit(unit)
    chosen = solver or _default_solver(points, record, gates)

    def train() -> list[Fit]:
        return [chosen.train(points, record, n_hidden, gates, seed)]

    (result,) = _run(points, train, chosen, seed)
    return _over_domain(data, result) if isinstance(data, Target) else result


@one_thread()
def grow(
    data: Dataset, unit: str | Unit, widths: Sequence[int], *, seed: int = 0
) -> list[Fit]:
    """Train a network for each of several ascending widths by ``Growth()``, in one run.

    Each is grown from the one before; seconds and iterations add up. A run that fails
    ends with what :func:`fit` would return, and has no later widths.
    """
    solver = Growth()
    record = find_unit(unit)
    return _run(
        data, lambda: solver.grow(data, record, widths, "trained", seed), solver, seed
    )


def _points(target: Target) -> Dataset:
    """Take the points at which :func:`fit` knows a target."""
    return sampled(target) if target.dim == 1 else from_target(target)


def _default_solver(data: Dataset, unit: Unit, gates: Gates) -> Solver:
    """Choose as :func:`fit` says; points that all are the same have no knots."""
    if gates == "trained" and not unit.paired:
        if data.dim > 1:
            return Growth()
        is_spline = unit.gate.name == "relu" and len(unit.factors) <= 2
        if is_spline and np.ptp(data.train.x) > 0:
            return FreeKnots()
    return VariableProjection()


@torch.inference_mode(False)  # with gradients, wherever it is called
def _run(
    data: Dataset, train: Callable[[], Iterable[Fit]], solver: Solver, seed: int
) -> list[Fit]:
    """Train and judge each network; a failure becomes the last result."""
    start = time.perf_counter()
    results = list[Fit]()

    def note(result: Fit) -> None:
        seconds = time.perf_counter() - start
        results.append(replace(result, seconds=seconds, solver=solver, seed=seed))

    try:
        # What overflows shows in the status; numpy need not warn of it as well.
        with np.errstate(over="ignore", invalid="ignore"):
            _check_scale(data)
            for result in train():
                note(result)
    except FloatingPointError as error:
        note(Fit(None, "diverged", detail=str(error)))
    # RuntimeError is also torch's where memory runs out, and its LinAlgError.
    except (np.linalg.LinAlgError, RuntimeError, MemoryError) as error:
        note(Fit(None, "failed", detail=str(error)))
    return [_judged(data, result) for result in results]


def _check_scale(data: Dataset) -> None:
    """Raise a FloatingPointError where float64 has no squares of points or errors."""
    for what, values in (("features", data.train.x), ("values", data.train.y)):
        largest = float(np.abs(values).max())
        vanishes = what == "values" and 0 < largest < _SMALLEST
        if vanishes or not np.isfinite(np.square(values).sum()):
            raise FloatingPointError(
                f"float64 does not carry the squares of {what} of size {largest:.2g}"
            )


def _over_domain(target: Target, result: Fit) -> Fit:
    """Say where the points that a target was sampled at do not show its error."""
    network = result.network
    if target.dim > 1:  # other points have judged it
        return result
    if network is None or result.status in ("diverged", "unresolved", "inexact"):
        return result
    if is_resolved(network, target, result.train_rmse):
        return result
    return replace(result, status="unresolved")


def _judged(data: Dataset, result: Fit) -> Fit:
    """Measure a network by forward passes; say where they miss what was promised.

    Promise and status are of the training minimiser, which here is the network itself
    where a solver names no other. An error below the promise is no miss.
    """
    network = result.network
    if network is None:
        return result
    closest = result.training_minimiser or network
    x = data.train.x  # (N, d)
    y = data.train.y  # (N,)
    error = rmse(closest, x, y)
    missed = _rounding(closest, x)
    if result.promised is not None:
        missed = max(error - result.promised, missed)  # keeps a NaN that is first
    allowed = _DOUBT * error + _ROUNDING * float(np.abs(y).max())
    status = result.status
    if not np.isfinite(error):
        status = "diverged"
    elif status != "unresolved" and not missed <= allowed:  # also NaN
        status = "inexact"
    return replace(
        result,
        status=status,
        training_minimiser=closest,
        train_rmse=error if closest is network else rmse(network, x, y),
        test_rmse=data.error(network, data.test),
    )


def _rounding(network: GatedNetwork, x: np.ndarray) -> float:
    """Estimate what rounding does to values at x (N, d), root mean square.

    That is the roundoff times a pass of the absolute values of weights and points.
    """
    magnitudes = copy.deepcopy(network)
    with torch.no_grad():
        for parameter in magnitudes.parameters():
            parameter.abs_()
    values = torch.from_numpy(predict(magnitudes, np.abs(x)))
    return _UNIT_ROUNDOFF * float(values.square().mean().sqrt())
