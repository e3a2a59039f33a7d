"""The airfoils split by row or by sweep, with the frequency or its logarithm.

The rows of Airfoil Self-Noise are 106 sweeps over the frequency. A row held out lies
between others of its sweep; a sweep held out between sweeps of other angles, chords,
speeds and layers.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from xsquared.data.dataset import Dataset, from_arrays, from_parts, held_out
from xsquared.data.problems import read_table
from xsquared.studies.experiment import make_trial
from xsquared.studies.scaling import run_scaling
from xsquared.studies.sweep import Study, Trial
from xsquared.units import PAPER_UNITS

_AIRFOIL_PROTOCOLS = {
    "row-log": "a fifth of the rows held out; the frequency as its logarithm",
    "sweep": "a fifth of the sweeps held out",
    "sweep-log": "a fifth of the sweeps held out; the frequency as its logarithm",
}


def sweeps() -> np.ndarray:
    """Number each row's sweep, (rows,): rows of a sweep differ in frequency alone."""
    fixed = read_table("airfoil")[:, 1:-1]
    begins = (fixed[1:] != fixed[:-1]).any(axis=1)
    return np.cumsum(np.r_[False, begins])


def airfoil(protocol: str, seed: int) -> Dataset:
    """Read and split the airfoils as a protocol, or ``row``, does."""
    table = read_table("airfoil")
    x, y = table[:, :-1], table[:, -1]
    if protocol.endswith("log"):
        x[:, 0] = np.log(x[:, 0])
    if protocol.startswith("row"):
        return from_arrays(x, y, seed)
    sweep = sweeps()
    test, validation, train = (
        np.concatenate([np.flatnonzero(sweep == number) for number in numbers])
        for numbers in held_out(sweep[-1] + 1, seed)
    )
    return from_parts([(x[rows], y[rows]) for rows in (train, validation, test)])


def airfoil_trials(
    widths: Sequence[int] = (1, 2, 4, 8, 16, 32), seeds: int = 5
) -> list[Trial]:
    """List MLPs, GLUs and GQUs of all widths, seed after seed.

    What the protocol ``row`` would train is in ``table1``.
    """
    settings = {"widths": list(widths)}
    most = max(widths)
    return [
        make_trial(
            "airfoil", unit, most, "growth", protocol, settings=settings, seed=seed
        )
        for seed in range(seeds)
        for protocol in _AIRFOIL_PROTOCOLS
        for unit in PAPER_UNITS
    ]


def _run_airfoil(trial: Trial) -> dict[str, Any]:
    """Train one network for each width, as ``run_scaling`` does."""
    return run_scaling(trial, airfoil(trial["protocol"], trial["seed"]))


def _sample() -> list[Trial]:
    trials = airfoil_trials((2,), 1)
    return [trial for trial in trials if trial["unit"] == PAPER_UNITS[0]]


AIRFOIL = Study(
    "MLP, GLU and GQU on the airfoils, held out by row and by sweep",
    _AIRFOIL_PROTOCOLS,
    _run_airfoil,
    lambda: [*airfoil_trials((2,), 1), *airfoil_trials()],
    _sample,
)
