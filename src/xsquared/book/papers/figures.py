"""The points that the gated-units paper itself plots.

``paper_figures.csv`` beside this module holds them: read from the vector graphics of
the PDF that the paper's author keeps in a public repository
(github.com/afqueiruga/divine_scaling, ``assets/queiruga2026divine_scaling.pdf``), all
as root mean square errors. The axis of Figs. 3 to 5 is a mean square, whose root is
taken. Fits through them give the printed slopes to two digits. Beyond about 128 points
a curve of Figs. 6 and 7 was thinned by the program that drew it.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import numpy as np
import pandas as pd

#: Look of the paper's points beside those of a unit.
PAPER_LOOK = {"color": "0.55", "linewidth": 1, "markersize": 3, "zorder": 1}


@cache
def _table() -> pd.DataFrame:
    with (files("xsquared.book.papers") / "paper_figures.csv").open(
        encoding="utf-8"
    ) as stream:
        return pd.read_csv(stream, dtype={"figure": str})


def paper_points(figure: str, problem: str, unit: str) -> tuple[np.ndarray, np.ndarray]:
    """One curve of one of the paper's figures.

    Args:
        figure: ``"3"`` to ``"7"``.
        problem: ``"line"`` for the target in one dimension, else as in
            :data:`xsquared.data.problems.PROBLEMS`.
        unit: ``"mlp"``, ``"glu"``, ``"gqu"``, or ``"linear_spline"`` and
            ``"quadratic_spline"``.

    Returns:
        (m,) distinct numbers of neurons, or of a spline's knots, ascending, and (m,)
        root mean square errors; where the paper plots a width twice, their mean, as its
        own fits take it.
    """
    table = _table()
    for column, name in (("figure", figure), ("problem", problem), ("unit", unit)):
        table = table[table[column] == name]
    means = table.groupby("n_hidden")["rmse"].mean()
    return means.index.to_numpy(), means.to_numpy()
