"""The slopes of the three units in seconds: spline weights only, widths 1, 4, ..., 100.

The gates stay on equidistant knots in alternating directions; everything else is fitted exactly, by
one least-squares problem per network. The GQU's second factors vanish at the knots, which makes its
problem linear as well. Errors are those of the torch modules' forward passes on the paper's 10,000
points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tqdm.auto import tqdm

from xsquared.constructions import sampled_rmse
from xsquared.functions import PAPER_TARGET, Target
from xsquared.networks import UNITS
from xsquared.slopes import Slope, fit_slope
from xsquared.training.frozen_gates import fit_frozen
from xsquared.training.variable_projection import to_network

#: The widths of the speedrun.
WIDTHS = np.arange(1, 101, 3)
#: Widths below this are shown but not fitted, as they have too few cells for the target's extrema.
FITTED_FROM = 7


@dataclass(frozen=True)
class UnitRun:
    """One unit's part of a speedrun.

    Attributes:
        unit: its name.
        widths: (m,) neurons, ascending.
        errors: (m,) RMSE.
        slope: fitted over the widths from :data:`FITTED_FROM` on.
    """

    unit: str
    widths: np.ndarray
    errors: np.ndarray
    slope: Slope


def speedrun(target: Target = PAPER_TARGET, progress: bool = True) -> list[UnitRun]:
    """Fit every unit at every width with frozen gates.

    Args:
        target: a function of one variable.
        progress: whether to show a bar.

    Raises:
        ValueError: a target of several variables.
    """
    runs = []
    with tqdm(total=len(UNITS) * len(WIDTHS), unit="fit", disable=not progress) as bar:
        for unit in UNITS:
            errors = []
            for n in WIDTHS:
                fitted = fit_frozen(target, unit, int(n), max_iterations=0)
                errors.append(sampled_rmse(to_network(fitted, unit), target))
                bar.update()
            kept = WIDTHS >= FITTED_FROM
            slope = fit_slope(WIDTHS[kept], np.array(errors)[kept])
            runs.append(UnitRun(unit, WIDTHS, np.array(errors), slope))
    return runs
