"""The airfoils split by row or by sweep, with the frequency or its logarithm.

The rows of Airfoil Self-Noise are 106 sweeps: rows in a row that differ in the frequency, and in
the sound level measured there. A row held out lies between others of its sweep; a sweep held out
lies between others of other angles, chords, speeds and layers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from xsquared.data.dataset import Dataset, from_arrays, from_parts, held_out
from xsquared.data.tables import read
from xsquared.units import PAPER_UNITS
from xsquared_studies.declared import Study
from xsquared_studies.experiment import make_trial
from xsquared_studies.scaling import run_scaling
from xsquared_studies.sweep import Trial

#: By the protocol's name: whether sweeps are held out, and whether the frequency is a logarithm.
SPLITS: Mapping[str, tuple[bool, bool]] = {
    "row": (False, False),
    "row-log": (False, True),
    "sweep": (True, False),
    "sweep-log": (True, True),
}
_HELD_OUT = (
    "a fifth of the {} held out, and a fifth of the rest for validation; grown as in table1; "
    "test_rmse is that of the network chosen on validation rows"
)
#: What each protocol trains.
AIRFOIL_PROTOCOLS = {
    name: _HELD_OUT.format("sweeps" if by_sweep else "rows")
    + "; the frequency as its logarithm" * logarithm
    for name, (by_sweep, logarithm) in SPLITS.items()
    if name != "row"
}


def sweeps() -> np.ndarray:
    """(rows,) Number of each row's sweep."""
    fixed = read("airfoil")[:, 1:-1]
    return np.cumsum(np.r_[False, (fixed[1:] != fixed[:-1]).any(axis=1)])


def airfoil(protocol: str, seed: int) -> Dataset:
    """The airfoils as a protocol of :data:`SPLITS` has them."""
    by_sweep, logarithm = SPLITS[protocol]
    x, y = read("airfoil")[:, :-1].copy(), read("airfoil")[:, -1]
    if logarithm:
        x[:, 0] = np.log(x[:, 0])
    if not by_sweep:
        return from_arrays(x, y, seed, name="airfoil")
    sweep = sweeps()
    test, validation, train = (
        np.concatenate([np.flatnonzero(sweep == one) for one in part])
        for part in held_out(sweep[-1] + 1, seed)
    )
    return from_parts("airfoil", [(x[rows], y[rows]) for rows in (train, validation, test)])


def airfoil_trials(widths: Sequence[int] = (1, 2, 4, 8, 16, 32), seeds: int = 5) -> list[Trial]:
    """MLPs, GLUs and GQUs of all widths, seed after seed.

    Those held out by row with the frequency as it is stand in the study ``table1``.
    """
    settings = {"widths": list(widths)}
    return [
        make_trial("airfoil", unit, max(widths), "growth", protocol, settings=settings, seed=seed)
        for seed in range(seeds)
        for protocol in AIRFOIL_PROTOCOLS
        for unit in PAPER_UNITS
    ]


def run_airfoil(trial: Trial) -> dict[str, Any]:
    """One network for each width: :func:`~xsquared_studies.scaling.run_scaling`, other rows."""
    return run_scaling(trial, airfoil(trial["protocol"], trial["seed"]))


AIRFOIL = Study(
    "MLP, GLU and GQU on the airfoils, held out by row and by sweep",
    AIRFOIL_PROTOCOLS,
    run_airfoil,
    lambda: [*airfoil_trials((2,), 1), *airfoil_trials()],
    lambda: [trial for trial in airfoil_trials((2,), 1) if trial["unit"] == PAPER_UNITS[1]],
)
