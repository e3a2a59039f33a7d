"""Table 1, Figs. 6 and 7 of the gated-units paper beside rows of its author's public
code.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from xsquared.book.papers.figures import paper_points
from xsquared.book.papers.ledger import ledger
from xsquared.data import PROBLEMS
from xsquared.slopes import fit_slope
from xsquared.studies.published import SWEEPS, window

#: By way of testing, the column of a row that it judges.
ERRORS: Mapping[str, str] = {"as-published": "test_rmse", "exact-solve": "exact_rmse"}
#: The slopes of the table's first row, its target of one input, against neurons.
LINE: Mapping[str, float] = {"mlp": -2.13, "glu": -3.08}
#: A plotted point is hit if a row's error is within this share of it.
HIT = 1e-3


def figure_of(problem: str) -> str:
    """Name the figure that plots a problem's errors: 6 synthetic ones, 7 tables."""
    return "7" if PROBLEMS[problem].kind == "table" else "6"


def slopes_by_seed(
    networks: pd.DataFrame, problem: str, unit: str, column: str
) -> pd.Series:
    """Fit a cell's slopes over the widths of its window, by seed.

    Args:
        networks: rows of the study ``as_published``.
        problem: a problem of Figs. 6 and 7.
        unit: ``"mlp"`` or ``"glu"``.
        column: of the errors, one of :data:`ERRORS`.
    """
    kept = networks[(networks["problem"] == problem) & (networks["unit"] == unit)]
    kept = kept[kept["n"].isin(window(problem, unit))]
    slopes = {
        seed: fit_slope(part["n"], part[column]).value
        for seed, part in kept.groupby("seed")
    }
    return pd.Series(slopes)


def plotted_slope(problem: str, unit: str) -> float:
    """Fit the slope of the points that the paper plots over the widths of a cell's
    window.
    """
    widths, errors = paper_points(figure_of(problem), problem, unit)
    first, *_, last = window(problem, unit)
    kept = (widths >= first) & (widths <= last)
    return fit_slope(widths[kept], errors[kept]).value


def points_hit(
    networks: pd.DataFrame, problem: str, unit: str, column: str
) -> np.ndarray:
    """Tell of each point that the paper plots of a cell whether seed 0 meets it within
    :data:`HIT`.

    Arguments are as for :func:`slopes_by_seed`.
    """
    widths, errors = paper_points(figure_of(problem), problem, unit)
    ours = networks[(networks["problem"] == problem) & (networks["unit"] == unit)]
    ours = ours[ours["seed"] == 0].set_index("n")[column].reindex(widths).to_numpy()
    return np.abs(ours / errors - 1) <= HIT


def table1_claims(networks: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Measure the claims of Table 1, Figs. 6 and 7 by every way that the ledger names.

    Args:
        networks: all rows of the study ``as_published``.

    Returns:
        By claim, what :func:`xsquared.book.papers.claims.settle` takes.
    """
    slopes = {
        way: pd.DataFrame(
            {cell: slopes_by_seed(networks, *cell, column) for cell in SWEEPS}
        )
        for way, column in ERRORS.items()
    }
    printed = pd.Series(
        {cell: ledger()[f"gu-table1-{'-'.join(cell)}"].value for cell in SWEEPS}
    )
    of_seed_0 = {way: by_seed.loc[[0]] for way, by_seed in slopes.items()}
    others = slopes["as-published"].drop(0)
    ways = {**of_seed_0, "other-seeds": others, "paper-table": printed.to_frame().T}
    return {
        **{
            f"gu-table1-{'-'.join(cell)}": {
                **{way: slope.loc[0, cell] for way, slope in of_seed_0.items()},
                "other-seeds": _farthest(others[cell], printed[cell]),
                "paper-points": plotted_slope(*cell),
            }
            for cell in SWEEPS
        },
        **{f"gu-fig{figure}-points": _shares_hit(networks, figure) for figure in "67"},
        "gu-glu-steeper-but-housing": {
            way: _mlp_less_glu(slope).drop(columns="housing").min(axis=None)
            for way, slope in ways.items()
        },
        "gu-housing-same-slope": {
            way: _mlp_less_glu(slope)["housing"].max() for way, slope in ways.items()
        },
        "gu-slope-over-dimension": {
            way: _exponent(ways[way].iloc[0]) for way in ("as-published", "paper-table")
        },
    }


def _farthest(values: pd.Series, centre: float) -> float:
    """Choose the value that is farthest from a centre."""
    return float(values[(values - centre).abs().idxmax()])


def _shares_hit(networks: pd.DataFrame, figure: str) -> dict[str, float]:
    """Count by way the share of all points of a figure that rows meet."""
    cells = [cell for cell in SWEEPS if figure_of(cell[0]) == figure]
    hits = {
        way: np.concatenate([points_hit(networks, *cell, column) for cell in cells])
        for way, column in ERRORS.items()
    }
    return {way: float(hit.mean()) for way, hit in hits.items()}


def _mlp_less_glu(slopes: pd.DataFrame) -> pd.DataFrame:
    """Subtract the GLU's slopes from the MLP's, by seed (rows) and problem (columns)."""
    return slopes.xs("mlp", axis=1, level=1) - slopes.xs("glu", axis=1, level=1)


def _exponent(slopes: pd.Series) -> float:
    """Fit slopes to a power of the number of inputs, one input too; the unit farther
    from -1.
    """
    fitted = []
    for unit, on_line in LINE.items():
        column = slopes.xs(unit, level=1)
        inputs = [1, *(PROBLEMS[problem].dim for problem in column.index)]
        fitted.append(fit_slope(inputs, np.abs([on_line, *column])).value)
    return max(fitted, key=lambda exponent: abs(exponent + 1))
