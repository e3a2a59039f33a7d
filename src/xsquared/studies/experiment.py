"""What a trial of one network says and does: make the data, train, return what was
measured.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from xsquared.data import Dataset, from_target, load, sampled
from xsquared.errors import measured_rmse, rmse
from xsquared.functions import Target, target
from xsquared.studies.sweep import Trial
from xsquared.training import Fit, fit, solver_from
from xsquared.units import Unit, find_unit, parameter_count


def make_trial(
    problem: str,
    unit: str,
    n: int,
    solver: str,
    protocol: str,
    *,
    domain: Sequence[Sequence[float]] = (),
    gate: str = "",
    settings: Mapping[str, Any] | None = None,
    gates: str = "trained",
    split: str = "held-out",
    points: int | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Describe a training run by the columns of its row.

    With a domain, an interval for each variable, the problem is a target as text, else
    a name.
    """
    return {
        "problem": problem,
        **({"domain": [[float(a), float(b)] for a, b in domain]} if domain else {}),
        "unit": unit,
        "gate": gate or find_unit(unit).activation,
        "n": n,
        "protocol": protocol,
        "split": split,
        "gates": gates,
        "solver": solver,
        "settings": dict(settings or {}),
        "seed": seed,
        **({"points": points} if points else {}),
    }


def unit_of(trial: Trial) -> Unit:
    """Find a trial's unit, with its gate."""
    return find_unit(trial["unit"], trial["gate"])


def target_of(trial: Trial) -> Target:
    """Parse the function that a trial with a domain learns."""
    return target(trial["problem"], tuple(map(tuple, trial["domain"])))


def dataset(trial: Trial) -> Dataset:
    """Make the points that a trial trains on."""
    seed, split, points = trial["seed"], trial["split"], trial.get("points")
    if "domain" not in trial:
        return load(trial["problem"], seed, split, points)
    if len(trial["domain"]) == 1 and split == "paper":
        return sampled(target_of(trial), points or 10_000)
    return from_target(target_of(trial), seed, split, points)


def run_trial(trial: Trial) -> dict[str, Any]:
    """Train one network; give what was measured by name, and how training ended."""
    data, unit, n = dataset(trial), unit_of(trial), trial["n"]
    solver = solver_from(trial["solver"], trial["settings"])
    done = fit(data, unit, n, solver=solver, gates=trial["gates"], seed=trial["seed"])
    return values_of(unit, n, data, done)


def values_of(unit: Unit, n: int, data: Dataset, done: Fit) -> dict[str, Any]:
    """Measure a trained network of n neurons by name, as :func:`run_trial` returns it."""
    if done.status == "failed" and (not done.detail or "memory" in done.detail):
        raise MemoryError(done.detail)
    closest = done.training_minimiser
    values = {
        "status": done.status,
        "parameters": parameter_count(unit, data.dim, n),
        "train_rmse": rmse(closest, data.train.x, data.train.y)
        if closest
        else math.nan,
        "test_rmse": done.test_rmse,
        "points": len(data.train.y),
        "iterations": done.iterations,
    }
    whole = (
        data.dim == 1 and data.feature_scale[0] == 1 and math.isfinite(done.train_rmse)
    )
    if whole and data.target and done.network and unit.gate.hinged:
        values["integral_rmse"] = measured_rmse(done.network, data.target)
    return values
