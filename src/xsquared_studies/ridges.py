"""The paper's waves on a plane as two ridge functions with free knots, and trained from there.

sin 4x sin 4y = (cos 4(x - y) - cos 4(x + y)) / 2: half of the neurons along either diagonal, as
the best splines found on a line place them. Training from there tells what a search loses from what
a unit cannot do.
"""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from xsquared.constructions import ridge_sum
from xsquared.data import load, sampled
from xsquared.data.dataset import Points
from xsquared.errors import rmse
from xsquared.functions import target
from xsquared.training import FreeKnots, fit
from xsquared.training.points import descend_on_points
from xsquared.training.variable_projection import to_network
from xsquared.units import PAPER_UNITS, GatedNetwork, find_unit, parameter_count, set_parameters
from xsquared_studies.declared import Study
from xsquared_studies.experiment import make_trial
from xsquared_studies.sweep import Trial


def two_ridges(unit: str, n: int) -> GatedNetwork:
    """Build a network of n/2 free knots along x - y, and as many along x + y; n is even."""
    wave = sampled(target("cos(4*x)/2", (-2.0, 2.0)), 1000)
    half = fit(wave, unit, n // 2, solver=FreeKnots()).network
    assert half is not None
    other = copy.deepcopy(half)
    # The best of -f is minus the best of f.
    set_parameters(other, D=-half.D.detach(), d=-half.d.detach())
    return ridge_sum([half, other], np.array([[1.0, -1.0], [1.0, 1.0]]))


def ridge_trials(
    widths: Sequence[int] = (8, 16, 32, 64), steps: Sequence[int] = (0, 50, 100)
) -> list[Trial]:
    """List every unit of the paper at widths that ``table1`` has of it, as it is and trained on."""
    return [
        make_trial("sine", unit, n, "varpro", "two-ridges", settings={"max_iterations": count})
        for unit in PAPER_UNITS
        for n in widths
        if n <= 32 or find_unit(unit).order < 4
        for count in steps
    ]


def run_ridges(trial: Trial) -> dict[str, Any]:
    """Fit two ridge functions, with the trial's steps; errors over the target's deviation."""
    data, unit, steps = load("sine", trial["seed"]), find_unit(trial["unit"]), trial["settings"]
    network = two_ridges(trial["unit"], trial["n"])
    places = [data.feature_mean + data.feature_scale * part.x for part in (data.train, data.test)]
    values = [data.target_mean + data.target_scale * part.y for part in (data.train, data.test)]
    if count := steps["max_iterations"]:
        network = to_network(descend_on_points(network, Points(places[0], values[0]), count), unit)
    train, test = (
        rmse(network, x, y) / data.target_scale for x, y in zip(places, values, strict=True)
    )
    sizes = {"parameters": parameter_count(unit, 2, trial["n"]), "points": len(data.train.y)}
    return {**sizes, "train_rmse": train, "test_rmse": test}


RIDGES = Study(
    "The waves on a plane as two ridge functions, and trained from there",
    {"two-ridges": "n/2 free knots across either diagonal, and max_iterations steps from there"},
    run_ridges,
    ridge_trials,
    lambda: [trial for trial in ridge_trials((8,), (0, 50)) if trial["unit"] == PAPER_UNITS[1]],
)
