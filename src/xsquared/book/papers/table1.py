"""The slopes of the gated-units paper's Table 1 by every way that the ledger names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from xsquared.book.papers.figures import PAPER_LOOK, paper_points
from xsquared.book.papers.ledger import ledger
from xsquared.book.plotting import LOOK, draw_fitted
from xsquared.data import PROBLEMS, load
from xsquared.slopes import Slope, fit_slope, fit_slope_over_seeds
from xsquared.studies.scaling import Scaling

#: The slopes of the table's first row, its target of one input.
LINE = {"mlp": -2.13, "glu": -3.08, "gqu": -3.55}
#: Widths between which the paper's points have the slope that it prints, where not from 10 on.
_PRINTED = {("sine", "mlp"): (20, 99), ("airfoil", "mlp"): (10, 500), ("airfoil", "glu"): (10, 100)}


@dataclass(frozen=True, eq=False)
class AsDrawn:
    """One cell of Table 1 as the paper's points show it, and again with gates as drawn.

    Errors are in units of the target's deviation.

    Attributes:
        points: (all,) widths that the paper plots, and (all,) its errors there.
        grid: (m,) of these widths those that go into the slope it prints.
        paper: (m,) its errors there.
        widths: (t,) some of them, where networks with gates as drawn were fitted.
        errors: (draws, t) their errors.
    """

    points: tuple[np.ndarray, np.ndarray]
    grid: np.ndarray
    paper: np.ndarray
    widths: np.ndarray
    errors: np.ndarray

    @property
    def ratios(self) -> np.ndarray:
        """(t,) The paper's errors over the median of ours."""
        theirs = self.paper[np.searchsorted(self.grid, self.widths)]
        return theirs / np.median(self.errors, axis=0)

    @property
    def slope(self) -> Slope:
        """Mean of the draws' slopes on the paper's grid; errors between widths interpolated."""
        x, at = np.log(self.grid), np.log(self.widths)
        logs = [np.interp(x, at, np.log(errors)) for errors in self.errors]
        return fit_slope_over_seeds(self.grid, np.exp(logs))


def as_drawn(drawn: pd.DataFrame, problem: str, unit: str) -> AsDrawn:
    """A cell of Table 1 as the paper's points show it.

    Args:
        drawn: rows of the study ``as_drawn``; of those on more and on fewer rows the former.
        problem: a problem of Figs. 6 and 7.
        unit: ``"mlp"`` or ``"glu"``.
    """
    figure = "7" if problem in ("airfoil", "housing") else "6"
    grid, errors = paper_points(figure, problem, unit)
    # It standardised all but the planar target.
    scale = load(problem, 0, "paper").target_scale if problem == "sine" else 1.0
    first, last = _PRINTED.get((problem, unit), (10, 10**9))
    kept = (grid >= first) & (grid <= last)
    ours = drawn[(drawn["problem"] == problem) & (drawn["unit"] == unit)]
    ours = ours[ours["points"] == ours["points"].max()]
    ours = ours.pivot(index="seed", columns="n", values="author_rmse")
    points, widths = (grid, errors / scale), ours.columns.to_numpy()
    return AsDrawn(points, points[0][kept], points[1][kept], widths, ours.to_numpy())


def draw_cells(ax: Axes, drawn: pd.DataFrame, problem: str) -> None:
    """Draw a panel of the paper's Fig. 6 or 7: its points, and gates as drawn, with their lines."""
    for unit in ("mlp", "glu"):
        cell = as_drawn(drawn, problem, unit)
        over = (cell.grid[0], cell.grid[-1])
        theirs = LOOK[unit] | PAPER_LOOK | {"label": "the paper's", "markersize": 2}
        draw_fitted(ax, *cell.points, fit_slope(cell.grid, cell.paper), over, **theirs)
        ours = LOOK[unit] | {"label": unit.upper(), "markersize": 4}
        draw_fitted(ax, cell.widths, np.median(cell.errors, axis=0), cell.slope, **ours)
    ax.set(title=f"{PROBLEMS[problem].title}, d = {PROBLEMS[problem].dim}", xlabel="neurons $n$")
    ax.legend(loc="lower left")


def table1_slopes(
    found: Mapping[tuple[str, str, str], Scaling], drawn: pd.DataFrame, problem: str, unit: str
) -> dict[str, float | None]:
    """Slopes of one cell of Table 1, against neurons, by way.

    Args:
        found: as :func:`xsquared.studies.scaling.scalings` gives them.
        drawn: as for :func:`as_drawn`.
        problem: a problem of Figs. 6 and 7.
        unit: ``"mlp"`` or ``"glu"``.

    Returns:
        By way, the slope, None where the study lacks the problem; beside the ledger's ways the
        printed slope (``paper-table``) and that of all plotted points (``all-points``).
    """
    pair = as_drawn(drawn, problem, unit)
    slopes: dict[str, float | None] = {
        "as-drawn": pair.slope.value,
        "paper-points": fit_slope(pair.grid, pair.paper).value,
        "paper-table": ledger()[f"gu-table1-{problem}-{unit}"].value,
        "all-points": fit_slope(*pair.points).value,
    }
    for way, errors, first in (("grown", "paper", 1), ("author-code", "author", 10)):
        slopes[way] = None
        if ours := found.get((problem, unit, errors)):
            kept = ours.widths >= first
            slopes[way] = fit_slope(ours.widths[kept], ours.median[kept]).value
    return slopes
