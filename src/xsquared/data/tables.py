"""The two shipped tables of real data, read from the package and checked against their sums.

``DATA.md`` in this folder gives origin, licence, citation and how to make the files again.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from importlib.resources import files

import numpy as np


@dataclass(frozen=True)
class Table:
    """A shipped table: its file in this folder, and of the text in that the sum and the layout.

    The target is the last of the columns, which ``DATA.md`` names.
    """

    file: str
    sha256: str
    delimiter: str
    rows: int


#: The shipped tables by name.
TABLES: dict[str, Table] = {
    "airfoil": Table(
        "airfoil_self_noise.dat.gz",
        "74c75fd71783f1e6b71f8a622b993dc592897a97cd689c5090a07147a1b097b3",
        "\t",
        1503,
    ),
    "housing": Table(
        "cal_housing.csv.gz",
        "4162416b37031aeed88403bb6d05d536bb298385bc9b245da47be5069c938dbc",
        ",",
        20640,
    ),
}


def read_text(name: str) -> bytes:
    """The text of a shipped table, byte for byte.

    Raises:
        ValueError: a file that is not the one shipped.
    """
    table = TABLES[name]
    text = gzip.decompress(files("xsquared.data").joinpath(table.file).read_bytes())
    if (found := hashlib.sha256(text).hexdigest()) != table.sha256:
        damage = f"is damaged: expected sha256 {table.sha256}, got {found}"
        raise ValueError(f"{table.file} of the package {damage}; reinstall xsquared")
    return text


def read(name: str) -> np.ndarray:
    """A shipped table as float64 of shape (rows, columns), in the units of its source."""
    lines = read_text(name).decode("ascii").splitlines()
    return np.loadtxt(lines, delimiter=TABLES[name].delimiter, dtype=np.float64)
