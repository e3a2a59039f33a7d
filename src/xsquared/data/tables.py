"""The two shipped tables of real data; ``DATA.md`` beside them has their origin."""

from pathlib import Path

import numpy as np

#: Files of this folder by the name of their problem; the last column is the target.
FILES = {"airfoil": "airfoil_self_noise.dat.gz", "housing": "cal_housing.csv.gz"}


def read(name: str) -> np.ndarray:
    """Read a shipped table (rows, columns), in the units of its source."""
    path = Path(__file__).with_name(FILES[name])
    return np.loadtxt(path, delimiter="," if ".csv" in path.suffixes else "\t")
