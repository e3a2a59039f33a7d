"""What a trial of a sweep does: make the data, train, return what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from xsquared.data import Dataset, from_target, load, sampled
from xsquared.errors import measured_rmse
from xsquared.training import Fit, fit, solver_from
from xsquared.training.fit import checked
from xsquared.units import parameter_count
from xsquared_studies.trial import NO_MEMORY, Scalar, Trial


def dataset(trial: Trial) -> Dataset:
    """What a trial trains on."""
    if trial.problem:
        return load(trial.problem, trial.seed, trial.split, trial.points)
    if trial.target.dim == 1 and trial.split == "paper":
        return sampled(trial.target, trial.points or 10_000)
    return from_target(trial.target, trial.seed, trial.split, trial.points)


def run_trial(trial: Trial) -> dict[str, Scalar]:
    """Train one network.

    Returns:
        Numbers by name, among them ``parameters``, ``train_rmse`` and ``test_rmse``, and how
        training ended.
    """
    return _run(trial, dataset(trial))


def _run(trial: Trial, data: Dataset) -> dict[str, Scalar]:
    solver, size = solver_from(trial.solver, dict(trial.settings)), trial.n_hidden
    done = fit(data, trial.record, size, solver=solver, gates=trial.gates, seed=trial.seed)
    return values_of(trial, data, done)


def check(trials: Iterable[Trial]) -> None:
    """Refuse, before any training, what no network can be trained for.

    Of each unit one neuron takes one step, on the trials' data by their solver, and the most
    neurons asked for must fit into memory.

    Raises:
        ValueError, OSError: every unit is refused; the error is the first one's.
    """
    refused: list[Exception] = []
    units = {trial.unit: trial for trial in sorted(trials, key=lambda trial: trial.n_hidden)}
    for trial in units.values():
        settings = {**dict(trial.settings), "max_iterations": 1}
        solver = solver_from(trial.solver, settings)
        try:
            data = dataset(trial)
            checked(data, trial.record, trial.n_hidden, solver, trial.gates, trial.seed)
            _run(replace(trial, n_hidden=1, settings=tuple(settings.items())), data)
        except (ValueError, OSError) as error:
            refused.append(error)
    if len(refused) == len(units):
        raise refused[0]


def values_of(trial: Trial, data: Dataset, done: Fit) -> dict[str, Scalar]:
    """What :func:`run_trial` returns, of a network that has been trained."""
    status = done.status
    # Python's own MemoryError says nothing.
    if status.word == "failed" and (not done.detail or NO_MEMORY.search(done.detail)):
        raise MemoryError(done.detail or "there is not enough memory")
    said = f"{status.cause}; {status.remedy}. {done.detail}".rstrip()
    values: dict[str, Scalar] = {
        "status": status.word,
        "message": "" if status.word == "converged" else said,
        "parameters": parameter_count(trial.record, data.dim, trial.n_hidden),
        "train_rmse": done.train_rmse,
        "test_rmse": done.test_rmse,
        "points": len(data.train.y),
        "iterations": done.iterations,
    }
    target = data.target if data.dim == 1 and data.feature_scale[0] == 1 else None
    if target and done.network and math.isfinite(done.train_rmse) and trial.record.gate.hinged:
        # In the limit of infinitely many points.
        values["integral_rmse"] = measured_rmse(done.network, target)
    return values
