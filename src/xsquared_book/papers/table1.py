"""The slopes of the gated-units paper's Table 1 by every protocol that the ledger names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from xsquared.data import load
from xsquared.slopes import Slope, fit_slope, fit_slope_over_seeds
from xsquared.units import find_unit
from xsquared_book.papers.figures import paper_points
from xsquared_book.papers.ledger import ledger
from xsquared_studies.scaling import Scaling

#: First and last width of each window through the paper's points.
_WINDOWS = {
    "paper-points-all": (1, 10**9),
    "paper-points-from-10": (10, 10**9),
    "paper-points-from-20": (20, 10**9),
    "paper-points-10-100": (10, 100),
    "paper-points-10-500": (10, 500),
}
#: Widths between which the paper's points have the slope that it prints, where not from 10 on.
_PRINTED = {("sine", "mlp"): (20, 99), ("airfoil", "mlp"): (10, 500), ("airfoil", "glu"): (10, 100)}
#: Whose errors, and the first width of the window.
_OURS = {
    "training-points": ("paper", 1),
    "training-points-from-8": ("paper", 8),
    "training-points-from-16": ("paper", 16),
    "held-out": ("held-out", 1),
    "test-grid": ("grid", 1),
    "author-code": ("author", 10),
}


def _slope_within(sizes: np.ndarray, errors: np.ndarray, first: int, last: int) -> float | None:
    """Slope over a window of sizes, both ends included; None where fewer than two lie inside."""
    kept = (sizes >= first) & (sizes <= last)
    return fit_slope(sizes[kept], errors[kept]).value if kept.sum() > 1 else None


@dataclass(frozen=True, eq=False)
class AsDrawn:
    """One cell of Table 1 as the paper's points show it, and again with gates as drawn.

    Errors are in units of the target's deviation.

    Attributes:
        grid: (m,) widths that the paper plots, those that go into the slope it prints.
        paper: (m,) its errors there.
        widths: (t,) some of them, where networks with gates as drawn were fitted.
        errors: (draws, t) their errors.
    """

    grid: np.ndarray
    paper: np.ndarray
    widths: np.ndarray
    errors: np.ndarray

    @property
    def ratios(self) -> np.ndarray:
        """(t,) The paper's errors over the median of ours."""
        return self.paper[np.searchsorted(self.grid, self.widths)] / np.median(self.errors, axis=0)

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
    find_unit(unit)  # raises for an unknown unit
    grid, errors = paper_points("7" if problem in ("airfoil", "housing") else "6", problem, unit)
    # It standardised all but the planar target.
    scale = load(problem, 0, "paper").target_scale if problem == "sine" else 1.0
    first, last = _PRINTED.get((problem, unit), (10, 10**9))
    kept = (grid >= first) & (grid <= last)
    ours = drawn[(drawn["problem"] == problem) & (drawn["unit"] == unit)]
    ours = ours[ours["points"] == ours["points"].max()]
    ours = ours.pivot(index="seed", columns="n", values="author_rmse")
    return AsDrawn(grid[kept], errors[kept] / scale, ours.columns.to_numpy(), ours.to_numpy())


def table1_slopes(
    found: Mapping[tuple[str, str, str], Scaling], drawn: pd.DataFrame, problem: str, unit: str
) -> dict[str, float | None]:
    """Slopes of one cell of Table 1 by protocol.

    Args:
        found: as :func:`xsquared_studies.scaling.scalings` gives them.
        drawn: as for :func:`as_drawn`.
        problem: a problem of Figs. 6 and 7.
        unit: ``"mlp"`` or ``"glu"``.

    Returns:
        By protocol, the slope; None where the study lacks the problem or the window.
    """
    find_unit(unit)  # raises for an unknown unit
    figure = "7" if problem in ("airfoil", "housing") else "6"
    widths, errors = paper_points(figure, problem, unit)
    slopes = {name: _slope_within(widths, errors, *window) for name, window in _WINDOWS.items()}
    slopes["paper-table"] = ledger()[f"gu-table1-{problem}-{unit}"].value
    for name, (word, first) in _OURS.items():
        ours = found.get((problem, unit, word))
        slopes[name] = _slope_within(ours.widths, ours.median, first, 10**9) if ours else None
    slopes["as-drawn"] = as_drawn(drawn, problem, unit).slope.value
    trained = found.get((problem, unit, "paper"))
    return slopes | {"training-points-parameters": trained.slope.value if trained else None}
