"""What a trial of a sweep does: make the samples, train, return what was measured."""

from __future__ import annotations

import time

from xsquared.data.problems import find_problem, load
from xsquared.data.samples import Samples, sampled
from xsquared.errors import confined_rmse, rmse
from xsquared.studies.trial import COMPLETED, Scalar, Trial
from xsquared.training.fit import OPTIMIZERS, PROTOCOLS, fit
from xsquared.training.ridge_path import fit_path
from xsquared.units import parameter_count

#: Words of a training status that count as a completed trial.
_FINE = ("converged", "iterations", "stalled")


def samples_of(trial: Trial) -> Samples:
    """The samples a trial trains on: of its expression, or of its problem by its protocol."""
    if trial.expression:
        return sampled(trial.target, trial.points or 10_000, trial.seed)
    data = load(trial.problem, trial.seed, trial.protocol, trial.points)
    return Samples(trial.problem, data.train.x, data.train.y, data.test.x, data.test.y)


def run_trial(trial: Trial) -> dict[str, Scalar]:
    """Train one network.

    A trial with an expression names a training protocol (see
    :mod:`xsquared.training.fit`); one with a problem names how points are split, and trains all
    parameters. Variable projection on a problem follows :mod:`xsquared.training.ridge_path`: there
    ``train_rmse`` is the error of the last network on the training points and ``test_rmse`` that of
    the network chosen on the validation points, so a held-out trial of a synthetic problem, whose
    training points are those of the paper's protocol, gives both protocols' errors.

    Returns:
        Numbers by name, among them ``train_rmse``, ``test_rmse`` and ``fit_status``.

    Raises:
        ValueError: an optimiser or a protocol that does not exist.
    """
    if trial.optimizer not in OPTIMIZERS:
        known = ", ".join(OPTIMIZERS)
        raise ValueError(f"optimizer must be one of {known}, got {trial.optimizer!r}")
    if trial.problem and trial.optimizer == "varpro":
        return _along_ridges(trial)
    samples = samples_of(trial)
    protocol = trial.protocol if trial.expression else "full"
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol must be one of {', '.join(PROTOCOLS)}, got {protocol!r}")
    done = fit(
        samples,
        trial.unit,
        trial.n_hidden,
        protocol=protocol,
        optimizer=trial.optimizer,
        seed=trial.seed,
        activation=trial.activation,
    )
    fine = done.status.word in _FINE
    return {
        "status": COMPLETED if fine else done.status.word,
        "message": "" if fine else f"{done.status.cause}; {done.status.remedy}. {done.detail}",
        "fit_status": done.status.word,
        "parameters": parameter_count(trial.unit, samples.dim, trial.n_hidden),
        "train_rmse": done.train_rmse,
        "test_rmse": done.test_rmse,
        "iterations": done.iterations,
        "gradient_norm": done.gradient_norm,
        "fit_s": done.wall_s,
    }


def _along_ridges(trial: Trial) -> dict[str, Scalar]:
    data = load(trial.problem, trial.seed, trial.protocol, trial.points)
    train = (data.train.x, data.train.y)
    start = time.perf_counter()
    done = fit_path(
        train,
        (data.validation.x, data.validation.y),
        trial.unit,
        trial.n_hidden,
        seed=trial.seed,
        activation=trial.activation,
        # Synthetic problems have the same training points under both protocols.
        to_the_end=trial.protocol == "paper" or find_problem(trial.problem).kind != "table",
    )
    fit_s = time.perf_counter() - start
    test_rmse = (
        rmse(done.last, *train)
        if trial.protocol == "paper"
        else confined_rmse(done.best, data.test.x, data.test.y, data.train.y)
    )
    return {
        "fit_status": done.status,
        "parameters": parameter_count(trial.unit, data.dim, trial.n_hidden),
        "train_rmse": rmse(done.last, *train),
        "test_rmse": test_rmse,
        "last_test_rmse": rmse(done.last, data.test.x, data.test.y),
        "ridge": done.ridge,
        "iterations": done.iterations,
        "fit_s": fit_s,
    }
