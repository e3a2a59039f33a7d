"""The points that the gated-units paper itself plots.

``paper_figures.csv`` beside this module holds them: read from the vector graphics of the PDF that
the paper's author keeps in a public repository (github.com/afqueiruga/divine_scaling,
``assets/queiruga2026divine_scaling.pdf``), all as root mean square errors. The axis of Figs. 3 to
5 is a mean square, whose root is taken. Fits through them give the printed slopes to two digits.
Beyond about 128 points a curve of Figs. 6 and 7 was thinned by the program that drew it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from xsquared.data import PROBLEMS
from xsquared.units import parameter_count


@cache
def _table() -> pd.DataFrame:
    with (files("xsquared_book.papers") / "paper_figures.csv").open(encoding="utf-8") as stream:
        return pd.read_csv(stream, dtype={"figure": str})


def paper_points(figure: str, problem: str, unit: str) -> tuple[np.ndarray, np.ndarray]:
    """One curve of one of the paper's figures.

    Args:
        figure: ``"3"`` to ``"7"``.
        problem: ``"line"`` for the target in one dimension, else as in
            :data:`xsquared.data.problems.PROBLEMS`.
        unit: ``"mlp"``, ``"glu"``, ``"gqu"``, or ``"linear_spline"`` and ``"quadratic_spline"``.

    Returns:
        (m,) distinct numbers of neurons, or of a spline's knots, ascending, and (m,) root mean
        square errors; where the paper plots a width twice, their mean, as its own fits take it.
    """
    table = _table()
    for column, name in (("figure", figure), ("problem", problem), ("unit", unit)):
        table = table[table[column] == name]
    means = table.groupby("n_hidden")["rmse"].mean()
    return means.index.to_numpy(), means.to_numpy()


def draw_paper_points(
    panels: Mapping[str, Axes], figure: str, scales: Mapping[str, float] | None = None
) -> None:
    """What a figure plots against parameters, in grey: dots for the MLP, crosses for the GLU.

    Args:
        panels: by problem, as :func:`xsquared_book.plotting.error_plot` returns them.
        figure: ``"6"`` or ``"7"``.
        scales: by problem, what its errors are divided by; 1 where left out.
    """
    for problem, ax in panels.items():
        for unit, marker in {"mlp": ".", "glu": "x"}.items():
            n, errors = paper_points(figure, problem, unit)
            sizes = [parameter_count(unit, PROBLEMS[problem].dim, int(k)) for k in n]
            scaled = errors / (scales or {}).get(problem, 1.0)
            label = f"_{unit.upper()}, the paper's points"
            ax.loglog(sizes, scaled, marker, color="0.6", ms=2, mew=0.5, zorder=1, label=label)
