"""What a trial of a sweep does: make the samples, train, return what was measured."""

from __future__ import annotations

from xsquared.datasets import load
from xsquared.networks import parameter_count
from xsquared.sweeps.trials import COMPLETED, Scalar, Trial
from xsquared.training.fitting import OPTIMIZERS, PROTOCOLS, fit
from xsquared.training.samples import Samples, sampled

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
    :mod:`xsquared.training.fitting`); one with a problem names how points are split, and trains all
    parameters.

    Returns:
        Numbers by name, among them ``train_rmse``, ``test_rmse`` and ``fit_status``.

    Raises:
        ValueError: an optimiser or a protocol that does not exist.
    """
    samples = samples_of(trial)
    protocol = trial.protocol if trial.expression else "full"
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol must be one of {', '.join(PROTOCOLS)}, got {protocol!r}")
    if trial.optimizer not in OPTIMIZERS:
        known = ", ".join(OPTIMIZERS)
        raise ValueError(f"optimizer must be one of {known}, got {trial.optimizer!r}")
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
