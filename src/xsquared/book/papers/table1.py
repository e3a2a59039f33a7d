"""Table 1, Figs. 6 and 7 of the gated-units paper beside rows of its author's code.

A *cell* is a problem and a unit: a row of the table, and a curve of the figures.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from xsquared.book.papers.figures import paper_points
from xsquared.book.papers.ledger import ledger
from xsquared.data import PROBLEMS
from xsquared.slopes import fit_slope
from xsquared.studies.published import SWEEPS, window

#: By way of testing, the column of a row that it judges.
_ERRORS: Mapping[str, str] = {"as-published": "test_rmse", "exact-solve": "exact_rmse"}
#: The slopes of the table's first row, its target of one input, against neurons.
_LINE: Mapping[str, float] = {"mlp": -2.13, "glu": -3.08}
#: A plotted point is hit if a row's error is within this share of it.
HIT = 1e-3
#: An error jumps if it is so many times that of the next smaller width: between
#: neighbours of a sweep errors else differ by some per cent.
_JUMP = 3


def _figure_of(problem: str) -> str:
    """Name the figure that plots a problem's errors: 6 synthetic ones, 7 tables."""
    return "7" if PROBLEMS[problem].kind == "table" else "6"


def window_slope(
    problem: str, unit: str, errors: pd.Series, without: Collection[int] = ()
) -> float:
    """Fit a slope over the widths that the printed slope of a cell is fitted over.

    Args:
        problem: a problem of Figs. 6 and 7.
        unit: ``"mlp"`` or ``"glu"``.
        errors: by numbers of neurons; widths outside the window are left out.
        without: widths of the window to leave out as well.

    Returns:
        NaN where fewer than two errors are left.
    """
    in_window = errors.index.isin(window(problem, unit))
    left_out = errors.index.isin(list(without))
    kept = errors[in_window & ~left_out].dropna()
    if len(kept) < 2:
        return math.nan
    return fit_slope(kept.index, kept).value


def jumps(errors: pd.Series) -> pd.Index:
    """List the widths whose error is three times that of the next smaller one.

    Args:
        errors: by numbers of neurons, ascending.
    """
    narrower = errors.shift()
    return errors.index[errors > _JUMP * narrower]


def _slopes_by_seed(
    networks: pd.DataFrame, problem: str, unit: str, column: str
) -> pd.Series:
    """Fit a cell's slopes over the widths of its window, by seed.

    Args:
        networks: rows of the study ``as_published``.
        problem: a problem of Figs. 6 and 7.
        unit: ``"mlp"`` or ``"glu"``.
        column: of the errors.
    """
    of_cell = networks[(networks["problem"] == problem) & (networks["unit"] == unit)]
    slopes = {
        seed: window_slope(problem, unit, frame.set_index("n")[column])
        for seed, frame in of_cell.groupby("seed")
    }
    return pd.Series(slopes)


def points_hit(
    networks: pd.DataFrame, problem: str, unit: str, column: str
) -> np.ndarray:
    """Tell of each plotted point of a cell whether seed 0 meets it within :data:`HIT`.

    Arguments are as for :func:`_slopes_by_seed`.
    """
    plotted = paper_points(problem, unit)
    of_cell = networks[(networks["problem"] == problem) & (networks["unit"] == unit)]
    of_seed = of_cell[of_cell["seed"] == 0].set_index("n")
    ratios = of_seed[column].reindex(plotted.index) / plotted
    return (np.abs(ratios - 1) <= HIT).to_numpy()


def table1_claims(networks: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Measure the claims of Table 1, Figs. 6 and 7 by every way that the ledger names.

    Args:
        networks: all rows of the study ``as_published``.

    Returns:
        By claim, what :func:`xsquared.book.papers.claims.settle` takes.
    """
    slopes = {  # by way a frame, a row a seed and a column a cell
        way: pd.DataFrame(
            {cell: _slopes_by_seed(networks, *cell, column) for cell in SWEEPS}
        )
        for way, column in _ERRORS.items()
    }
    of_seed_0 = {way: by_seed.loc[[0]] for way, by_seed in slopes.items()}
    others = slopes["as-published"].drop(0)
    printed = pd.Series({cell: ledger()[_claim_of(cell)].value for cell in SWEEPS})
    ways = {**of_seed_0, "other-seeds": others, "paper-table": printed.to_frame().T}

    measured: dict[str, dict[str, float]] = {}
    for cell in SWEEPS:
        measured[_claim_of(cell)] = {
            **{way: slope.loc[0, cell] for way, slope in of_seed_0.items()},
            "other-seeds": _farthest(others[cell], printed[cell]),
            "paper-points": window_slope(*cell, paper_points(*cell)),
        }
    for figure in ("6", "7"):
        measured[f"gu-fig{figure}-points"] = _shares_hit(networks, figure)
    gains = {way: _mlp_less_glu(slope) for way, slope in ways.items()}
    measured["gu-glu-steeper-but-housing"] = {
        way: gain.drop(columns="housing").min(axis=None) for way, gain in gains.items()
    }
    measured["gu-housing-same-slope"] = {
        way: gain["housing"].max() for way, gain in gains.items()
    }
    measured["gu-slope-over-dimension"] = {
        way: _exponent(ways[way].iloc[0]) for way in ("as-published", "paper-table")
    }
    return measured


def _claim_of(cell: tuple[str, str]) -> str:
    """Name the claim about a cell's slope."""
    problem, unit = cell
    return f"gu-table1-{problem}-{unit}"


def _farthest(values: pd.Series, centre: float) -> float:
    """Choose the value that is farthest from a centre."""
    return float(values[(values - centre).abs().idxmax()])


def _shares_hit(networks: pd.DataFrame, figure: str) -> dict[str, float]:
    """Count by way the share of all points of a figure that rows meet."""
    cells = [cell for cell in SWEEPS if _figure_of(cell[0]) == figure]
    hits = {
        way: np.concatenate([points_hit(networks, *cell, column) for cell in cells])
        for way, column in _ERRORS.items()
    }
    return {way: float(hit.mean()) for way, hit in hits.items()}


def _mlp_less_glu(slopes: pd.DataFrame) -> pd.DataFrame:
    """Subtract the GLU's slopes from the MLP's: a row a seed, a column a problem."""
    return slopes.xs("mlp", axis=1, level=1) - slopes.xs("glu", axis=1, level=1)


def _exponent(slopes: pd.Series) -> float:
    """Fit the sizes of slopes to a power of the number of inputs, one input too.

    Args:
        slopes: by problem and unit; :data:`_LINE` joins them.

    Returns:
        The exponent of the unit that is farther from -1.
    """
    exponents = []
    for unit, on_line in _LINE.items():
        of_unit = slopes.xs(unit, level=1)
        inputs = [1, *(PROBLEMS[problem].dim for problem in of_unit.index)]
        sizes = np.abs([on_line, *of_unit])
        exponents.append(fit_slope(inputs, sizes).value)
    return max(exponents, key=lambda exponent: abs(exponent + 1))
