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

import pandas as pd

#: Look of the paper's points beside those of a unit.
PAPER_LOOK = {"color": "0.55", "linewidth": 1, "markersize": 3, "zorder": 1}


@cache
def _errors() -> pd.Series:
    """Read all errors, by problem, unit and width."""
    path = files(__package__) / "paper_figures.csv"
    with path.open(encoding="utf-8") as stream:
        table = pd.read_csv(stream)
    return table.set_index(["problem", "unit", "n_hidden"])["rmse"].sort_index()


def paper_points(problem: str, unit: str) -> pd.Series:
    """Read one curve of the paper's Figs. 3 to 7.

    Args:
        problem: ``"line"`` for the target in one dimension, else as in
            :data:`xsquared.data.problems.PROBLEMS`.
        unit: ``"mlp"``, ``"glu"``, ``"gqu"``, or ``"linear_spline"`` and
            ``"quadratic_spline"``.

    Returns:
        Root mean square errors by number of neurons, or of a spline's knots, ascending.

    Raises:
        KeyError: the paper plots no such curve.
    """
    curve: pd.Series = _errors().loc[problem, unit]
    return curve.rename(None).rename_axis(None)
