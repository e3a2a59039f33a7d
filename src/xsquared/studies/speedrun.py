"""The slopes of the three units in seconds: spline weights only, widths 1, 4, ..., 100.

Gates stay on equidistant knots in alternating directions, and the GQU's second factors vanish at
the knots, so that each network is one least-squares problem. Errors are of forward passes on the
paper's 10,000 points. Fits run side by side; torch releases the interpreter as it computes.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from tqdm import tqdm

from xsquared.errors import sampled_rmse
from xsquared.functions import PAPER_TARGET
from xsquared.slopes import Slope, fit_slope
from xsquared.studies.sweep import one_thread
from xsquared.training.frozen_gates import fit_frozen
from xsquared.training.variable_projection import to_network
from xsquared.units import PAPER_UNITS, find_unit

WIDTHS = np.arange(1, 101, 3)
#: Widths below this are shown but not fitted, as they have too few cells for the target's extrema.
FITTED_FROM = 7


@dataclass(frozen=True)
class UnitRun:
    """One unit's widths and errors, (m,), and their slope from :data:`FITTED_FROM` on."""

    unit: str
    widths: np.ndarray
    errors: np.ndarray
    slope: Slope


def speedrun(progress: bool = True) -> list[UnitRun]:
    """Fit every unit at every width with frozen gates, on the paper's target."""

    def error(job: tuple[str, int]) -> float:
        unit, n = job
        fitted = fit_frozen(PAPER_TARGET, unit, n, max_iterations=0)
        return sampled_rmse(to_network(fitted, find_unit(unit)), PAPER_TARGET)

    jobs = list(itertools.product(PAPER_UNITS, WIDTHS.tolist()))
    pool = ThreadPoolExecutor(torch.get_num_threads())
    with one_thread(), pool:
        found = tqdm(pool.map(error, jobs), total=len(jobs), unit="fit", disable=not progress)
        table = np.array(list(found)).reshape(len(PAPER_UNITS), len(WIDTHS))
    kept = WIDTHS >= FITTED_FROM
    return [
        UnitRun(unit, WIDTHS, errors, fit_slope(WIDTHS[kept], errors[kept]))
        for unit, errors in zip(PAPER_UNITS, table, strict=True)
    ]
