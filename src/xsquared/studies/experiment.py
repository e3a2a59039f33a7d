"""What a trial of one network says and does: make the data, train, measure."""

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

    Args:
        problem: with a domain a target as text, else a problem's name.
        unit: name of the unit, or ``name:gate``.
        n: number of neurons, or the largest.
        solver: name of the solver.
        protocol: what the study calls its way of training.
        domain: an interval for each variable.
        gate: name of the unit's gate; its own where empty.
        settings: fields of the solver, or what else the study's ``run`` reads.
        gates: ``"trained"`` or ``"frozen"``.
        split: ``"held-out"`` or ``"paper"``. A formula in x alone has random points,
            standardised, by the first; by the second equidistant ones, unscaled, and
            ``free_knots`` fits the formula itself.
        points: to train on; the problem's own number where None.
        seed: of points and starts.
    """
    record = find_unit(unit, gate)
    trial: dict[str, Any] = {"problem": problem}
    if domain:
        trial["domain"] = [[float(low), float(high)] for low, high in domain]
    trial |= {
        "unit": record.name,
        "gate": record.activation,
        "n": n,
        "protocol": protocol,
        "split": split,
        "gates": gates,
        "solver": solver,
        "settings": dict(settings or {}),
        "seed": seed,
    }
    if points:
        trial["points"] = points
    return trial


def unit_of(trial: Trial) -> Unit:
    """Find a trial's unit, with its gate."""
    return find_unit(trial["unit"], trial["gate"])


def target_of(trial: Trial) -> Target:
    """Parse the function that a trial with a domain learns."""
    return target(trial["problem"], tuple(map(tuple, trial["domain"])))


def data_of(trial: Trial) -> Dataset:
    """Make the points that a trial trains on."""
    seed, split, points = trial["seed"], trial["split"], trial.get("points")
    if "domain" not in trial:
        return load(trial["problem"], seed, split, points)
    if len(trial["domain"]) == 1 and split == "paper":
        return sampled(target_of(trial), points or 10_000)
    return from_target(target_of(trial), seed, split, points)


def run_trial(trial: Trial) -> dict[str, Any]:
    """Train one network; give what was measured by name, and how training ended."""
    data, unit, n = data_of(trial), unit_of(trial), trial["n"]
    solver = solver_from(trial["solver"], trial["settings"])
    result = fit(data, unit, n, solver=solver, gates=trial["gates"], seed=trial["seed"])
    return values_of(unit, n, data, result)


def values_of(unit: Unit, n: int, data: Dataset, result: Fit) -> dict[str, Any]:
    """Measure a trained network of n neurons by name, as :func:`run_trial` returns it.

    ``integral_rmse`` is there where the error over the whole domain can be integrated
    piece by piece: one input in its own units, a known target, a gate with a hinge.

    Raises:
        MemoryError: training failed for lack of memory, or without a word.
    """
    if result.status == "failed" and (not result.detail or "memory" in result.detail):
        raise MemoryError(result.detail)
    train_rmse = math.nan
    if result.training_minimiser:
        train_rmse = rmse(result.training_minimiser, data.train.x, data.train.y)
    values = {
        "status": result.status,
        "parameters": parameter_count(unit, data.dim, n),
        "train_rmse": train_rmse,
        "test_rmse": result.test_rmse,
        "points": len(data.train.y),
        "iterations": result.iterations,
    }
    unscaled_line = data.dim == 1 and data.feature_scale[0] == 1
    finite = math.isfinite(result.train_rmse)
    integrable = unscaled_line and finite and unit.gate.hinged
    if integrable and data.target and result.network:
        values["integral_rmse"] = measured_rmse(result.network, data.target)
    return values
