"""The two shipped tables of real data; ``DATA.md`` in this folder gives origin and
licence.
"""

from pathlib import Path

import numpy as np

#: The files of this folder by the name of their problem, the target the last of their
#: columns.
FILES = {"airfoil": "airfoil_self_noise.dat.gz", "housing": "cal_housing.csv.gz"}


def read(name: str) -> np.ndarray:
    """Read a shipped table (rows, columns), in the units of its source."""
    delimiter = "," if ".csv" in FILES[name] else "\t"
    return np.loadtxt(Path(__file__).with_name(FILES[name]), delimiter=delimiter)
