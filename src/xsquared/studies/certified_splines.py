"""Certified lower bounds of the errors of splines, and the best splines found.

Chapters read the bounds from committed rows: to compute others python-flint is needed.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from xsquared.functions import PAPER_TARGET
from xsquared.studies.experiment import make_trial, target_of, unit_of
from xsquared.studies.optimal_knots import best
from xsquared.studies.sweep import Study, Trial
from xsquared.units import PAPER_UNITS, parameter_count

#: Whose best splines are certified, for each number of neurons.
CERTIFIED = ("exp(2*x)", "sin(4*x)", str(PAPER_TARGET.expression))
NEURONS = (2, 5, 10)


def certified_trials(neurons: Sequence[int] = NEURONS) -> list[Trial]:
    """List every target, unit and number of neurons, which make one piece more."""
    same: Any = {"domain": ((-1, 1),), "split": "paper"}
    return [
        make_trial(text, unit, n, "search", "certified", **same)
        for text in CERTIFIED
        for unit in PAPER_UNITS
        for n in neurons
    ]


def run_certified(trial: Trial) -> dict[str, Any]:
    """Search for the best spline of n + 1 pieces, and bound what any of them reaches."""
    # Loaded here, as python-flint is needed for new rows alone.
    from xsquared.splines.potentials import meeting_lower_bound

    f, unit, n = target_of(trial), unit_of(trial), trial["n"]
    spline = best(f, unit.name, n + 1)
    return {
        "parameters": parameter_count(unit, 1, n),
        "train_rmse": spline.rmse,
        "test_rmse": spline.rmse,
        "bound": meeting_lower_bound(f, unit.order, spline),
    }


def what_is_missing() -> str:
    """Say what must be installed for new rows, if anything."""
    if find_spec("flint"):
        return ""
    return "certified bounds need python-flint: pip install 'xsquared[proofs]'"


CERTIFIED_SPLINES = Study(
    "Errors that no spline is below, and the least ones found",
    {
        "certified": "the best spline found for the unit's order and continuity, of "
        "n + 1 pieces, and a lower bound for all of them, wherever their knots are",
    },
    run_certified,
    certified_trials,
    lambda: certified_trials(NEURONS[:1]),
    what_is_missing,
)
