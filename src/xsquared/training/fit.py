"""``fit()`` trains one network by any solver; ``grow()`` trains several widths in one run.

======================  ========================  ==================================================
solver                  what it minimises         for
======================  ========================  ==================================================
``VariableProjection``  the training points'      any dimension, every unit of the standard formula
                        mean square error
``Growth``              the same                  least errors in any dimension, for all widths;
                                                  data with noise: chooses on validation points
``FreeKnots``           the integral of the       one input, ReLU gates: a known target, or points,
                        squared error             on whose mean square error a fit then ends
``Newton``              the training points'      the gated-units paper's optimiser, every unit
                        mean square error
``AdamW``, ``LBFGS``    the same                  every unit; what most readers would train with
======================  ========================  ==================================================

The solver decides which loss is minimised: only ``FreeKnots`` fits the target itself where it is
known, the others fit the training points.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, get_args

import numpy as np
import torch

from xsquared.checks import check_choice, check_integer, check_integers, quoted
from xsquared.data.dataset import Dataset
from xsquared.errors import rmse
from xsquared.training.first_order import LBFGS, AdamW
from xsquared.training.growth import Growth
from xsquared.training.newton import Newton
from xsquared.training.points import exact_target
from xsquared.training.result import STATUSES, Fit, Gates, Solver, Trained
from xsquared.training.spline_network import FreeKnots
from xsquared.training.variable_projection import VariableProjection, rows_at_once
from xsquared.units import GatedNetwork, Unit, find_unit, parameter_count

#: Every solver of this package by name.
SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver for solver in (VariableProjection, Growth, FreeKnots, Newton, AdamW, LBFGS)
}

#: Numbers that all arrays of one fit, copies included, may hold together: 2 GiB.
MOST_OF_A_FIT = 2**28
#: Errors that end a run and are no mistake of the caller.
#: torch raises its own LinAlgError, a RuntimeError, and RuntimeError where memory runs out.
_FAILURES = (np.linalg.LinAlgError, RuntimeError, MemoryError)
#: A network is inexact if its forward pass has an error above the one that the solver promised, or
#: rounding in it moves values, by more than this share of the error plus this share of the largest
#: value.
_MISSED, _ROUNDING = 0.01, 1e-9


def solver_from(name: str, settings: Mapping[str, Any] | None = None) -> Solver:
    """A solver by its name and settings, as a trial or the command line gives them.

    Raises:
        ValueError, TypeError: an unknown name or setting, or a value that the solver refuses.
    """
    made = SOLVERS[check_choice("solver", name, SOLVERS)]
    if not isinstance(settings, Mapping | None):
        raise TypeError(f"{name}: expected settings by name, got {quoted(settings)}")
    known = [field.name for field in dataclasses.fields(made)]  # type: ignore[arg-type]
    for setting in settings or {}:
        check_choice(f"setting of {name}", setting, known)
    return made(**settings or {})


def fit(
    data: Dataset,
    unit: str | Unit,
    n_hidden: int,
    *,
    solver: Solver | None = None,
    gates: Gates = "trained",
    seed: int = 0,
) -> Fit:
    """Train one network of one output.

    Args:
        data: training and test points.
        unit: the unit or its name; :func:`~xsquared.units.find_unit` gives one another gate.
        n_hidden: number of neurons, at least 1.
        solver: an instance, with its settings; where None ``FreeKnots()`` for trained ReLU gates of
            one input and at most two factors, else ``VariableProjection()``.
        gates: ``"trained"``, or ``"frozen"`` where they start.
        seed: of all randomness, at least 0.

    Returns:
        The result. A run that diverges or fails returns one as well, with its status.

    Raises:
        TypeError: ``data`` is no dataset, or ``solver`` no solver.
        ValueError: an argument is out of range, or the solver does not implement it; the message
            names it and what was expected.
    """
    solver = _default(data, unit, gates) if solver is None else solver
    record = checked(data, unit, n_hidden, solver, gates, seed)
    n_hidden, seed = int(n_hidden), int(seed)
    (made,) = _run(data, lambda: [solver.train(data, record, n_hidden, gates, seed)], solver, seed)
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
    """Train one network for each of several ascending widths, each grown from the one before.

    Arguments and errors are those of :func:`fit`, except that only :class:`Growth` can solve.

    Returns:
        A result for each width, seconds and iterations counted from the start. A run that fails
        ends with what :func:`fit` would return, and has no later widths.
    """
    solver = Growth() if solver is None else solver
    if not isinstance(solver, Growth):
        raise TypeError(f"expected Growth(), the solver that grows, got {quoted(solver)}")
    widths = check_integers("widths", widths, 1)
    if sorted(set(widths)) != widths:
        raise ValueError(f"widths: expected ascending ones, got {widths}")
    record = checked(data, unit, widths[-1], solver, gates, seed)
    return _run(data, lambda: solver.grow(data, record, widths, gates, int(seed)), solver, seed)


def _default(data: Dataset, unit: str | Unit, gates: Gates) -> Solver:
    """What trains where no solver is named."""
    record = find_unit(unit)
    splines = record.gate.name == "relu" and len(record.factors) <= 2
    fits = splines and gates != "frozen" and isinstance(data, Dataset) and data.dim == 1
    return FreeKnots() if fits and np.ptp(data.train.x) > 0 else VariableProjection()


def checked(
    data: Dataset, unit: str | Unit, n_hidden: int, solver: Solver, gates: Gates, seed: int
) -> Unit:
    """Check all arguments of :func:`fit` and return the unit's record."""
    if not isinstance(data, Dataset):
        ways = "xsquared.data makes one of arrays, a frame, a file, a target or a problem's name"
        raise TypeError(f"expected a Dataset, got {type(data).__name__}: {ways}")
    if isinstance(solver, type) or not hasattr(solver, "train"):
        raise TypeError(f"expected a solver such as VariableProjection(), got {quoted(solver)}")
    record = find_unit(unit)
    n_hidden = check_integer("n_hidden", n_hidden, 1)
    if (numbers := _numbers(record, data, n_hidden, solver, gates)) > MOST_OF_A_FIT:
        what = f"the arrays of {solver.name} for {n_hidden} neurons on {len(data.train)} points"
        raise ValueError(f"{what}: expected at most {MOST_OF_A_FIT} numbers, got {quoted(numbers)}")
    check_integer("seed", seed, 0)
    check_choice("gates", gates, get_args(Gates))
    return record


def _numbers(unit: Unit, data: Dataset, n_hidden: int, solver: Solver, gates: Gates) -> int:
    """Rough upper bound of the numbers that training holds in memory at once.

    For each point a forward and a backward pass, and besides L-BFGS's fifty pairs of parameter
    vectors or Newton's matrices. Projection holds three copies of each point, and its matrices for
    as many points as :func:`~xsquared.training.variable_projection.rows_at_once` has it. Growth
    goes half as many neurons beyond the width.
    """
    if isinstance(solver, Growth):
        n_hidden += -(-n_hidden // 2)
    parameters = parameter_count(unit, data.dim, n_hidden)
    if gates == "frozen":
        parameters -= (data.dim + 1) * n_hidden
    columns = (4 + 2 * len(unit.factors)) * n_hidden
    known = isinstance(solver, FreeKnots) and exact_target(data) is not None
    if isinstance(solver, FreeKnots) and gates == "trained" and known:
        return 10_000 * n_hidden  # 20,000 neurons take more than a gibibyte
    if isinstance(solver, VariableProjection | Growth | FreeKnots) and not known:
        columns = max(parameters, solver.candidates if isinstance(solver, Growth) else 0)
        blocks = 3 * columns * min(len(data.train), rows_at_once(columns))
        return blocks + 3 * (data.dim + 2) * len(data.train) + 4 * parameters**2
    if isinstance(solver, AdamW | LBFGS):
        return columns * len(data.train) + 600 * parameters
    return columns * len(data.train) + 4 * parameters**2


@torch.inference_mode(False)  # with gradients, wherever it is called
def _run(
    data: Dataset, train: Callable[[], Iterable[Trained]], solver: Solver, seed: int
) -> list[Fit]:
    """Train and judge each network; a failure becomes the last result."""
    start, left, failed = time.perf_counter(), [], []
    try:
        # What overflows shows in the status; numpy need not warn of it as well.
        with np.errstate(over="ignore", invalid="ignore"):
            for trained in train():
                wall = time.perf_counter() - start
                left.append((trained, wall))
    except (FloatingPointError, *_FAILURES) as error:
        word = "diverged" if isinstance(error, FloatingPointError) else "failed"
        failed = [Fit(STATUSES[word], time.perf_counter() - start, solver, seed, detail=str(error))]
    return [_judged(data, trained, wall, solver, seed) for trained, wall in left] + failed


def _judged(data: Dataset, trained: Trained, wall: float, solver: Solver, seed: int) -> Fit:
    """The result, measured by forward passes of the trained network."""
    closest = trained.network if trained.closest is None else trained.closest
    train = rmse(closest, data.train.x, data.train.y)
    test = data.error(trained.network, data.test)
    word = trained.status
    slack = _ROUNDING * float(np.abs(data.train.y).max())
    promised = train if trained.promised is None else trained.promised
    missed = not train <= (1 + _MISSED) * promised + slack
    if not np.isfinite(train):
        word = "diverged"
    elif missed or _rounding(closest, data.train.x) > _MISSED * train + slack:
        word = "inexact"
    judged, went = (closest, train, test), (trained.iterations, trained.history)
    return Fit(STATUSES[word], wall, solver, seed, trained.network, *judged, "", *went)


def _rounding(network: GatedNetwork, x: np.ndarray) -> float:
    """What rounding may do to values, RMS: the unit roundoff times a pass of absolute values."""
    magnitudes = {name: value.detach().abs() for name, value in network.named_parameters()}
    rows = rows_at_once((4 + 2 * len(network.unit.factors)) * network.n_hidden)
    parts = torch.tensor(x).abs().split(rows)
    values = torch.cat([torch.func.functional_call(network, magnitudes, part) for part in parts])
    return float(values.square().mean().sqrt()) * float(np.finfo(np.float64).eps) / 2
