"""The slopes of the gated-units paper's Table 1 by every protocol that the ledger names."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from xsquared.papers.figures import paper_points
from xsquared.papers.ledger import ledger
from xsquared.slopes import fit_slope
from xsquared.studies.scaling import Scaling
from xsquared.units import find_unit

#: First and last width of each window through the paper's points.
_WINDOWS = {
    "paper-points-all": (1, 10**9),
    "paper-points-from-10": (10, 10**9),
    "paper-points-from-20": (20, 10**9),
    "paper-points-10-100": (10, 100),
    "paper-points-10-500": (10, 500),
}
_OURS = (
    "training-points",
    "training-points-from-8",
    "training-points-from-16",
    "training-points-parameters",
    "held-out",
)


def _slope_within(sizes: np.ndarray, errors: np.ndarray, first: int, last: int) -> float | None:
    """Slope over a window of sizes, both ends included; None where fewer than two lie inside."""
    kept = (sizes >= first) & (sizes <= last)
    return fit_slope(sizes[kept], errors[kept]).value if kept.sum() > 1 else None


def table1_slopes(
    found: Mapping[tuple[str, str, str], Scaling], problem: str, unit: str
) -> dict[str, float | None]:
    """Slopes of one cell of Table 1 by protocol.

    Args:
        found: as :func:`xsquared.studies.scaling.scalings` gives them.
        problem: a problem of Figs. 6 and 7.
        unit: ``"mlp"`` or ``"glu"``.

    Returns:
        By protocol, the slope; None where the study lacks the problem or the window.

    Raises:
        ValueError: the paper's figures have no such curve.
    """
    find_unit(unit)
    figure = "7" if problem in ("airfoil", "housing") else "6"
    widths, errors = paper_points(figure, problem, unit)
    slopes = {name: _slope_within(widths, errors, *window) for name, window in _WINDOWS.items()}
    slopes["paper-table"] = ledger()[f"gu-table1-{problem}-{unit}"].value
    ours: dict[str, float | None] = dict.fromkeys(_OURS)
    if (problem, unit, "paper") in found:
        trained, held = (found[problem, unit, split] for split in ("paper", "held-out"))
        for first, name in ((1, ""), (8, "-from-8"), (16, "-from-16")):
            ours[f"training-points{name}"] = _slope_within(
                trained.widths, trained.median, first, 10**9
            )
        ours["training-points-parameters"] = trained.slope.value
        ours["held-out"] = _slope_within(held.widths, held.median, 1, 10**9)
    return ours | slopes
