"""The slopes of the gated-units paper's Table 1 by every protocol that the ledger names."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from xsquared.slopes import fit_slope
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


def table1_slopes(
    found: Mapping[tuple[str, str, str], Scaling], problem: str, unit: str
) -> dict[str, float | None]:
    """Slopes of one cell of Table 1 by protocol.

    Args:
        found: as :func:`xsquared_studies.scaling.scalings` gives them.
        problem: a problem of Figs. 6 and 7.
        unit: ``"mlp"`` or ``"glu"``.

    Returns:
        By protocol, the slope; None where the study lacks the problem or the window.
    """
    find_unit(unit)
    figure = "7" if problem in ("airfoil", "housing") else "6"
    widths, errors = paper_points(figure, problem, unit)
    slopes = {name: _slope_within(widths, errors, *window) for name, window in _WINDOWS.items()}
    slopes["paper-table"] = ledger()[f"gu-table1-{problem}-{unit}"].value
    for name, (word, first) in _OURS.items():
        ours = found.get((problem, unit, word))
        slopes[name] = _slope_within(ours.widths, ours.median, first, 10**9) if ours else None
    trained = found.get((problem, unit, "paper"))
    return slopes | {"training-points-parameters": trained.slope.value if trained else None}
