"""The paper's plotted points, and the slopes of Table 1 through them."""

import math
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest

from xsquared.book.papers.figures import paper_points
from xsquared.book.papers.ledger import ledger
from xsquared.book.papers.table1 import as_drawn, draw_cells, table1_slopes
from xsquared.slopes import fit_slope
from xsquared.studies import rows

CELLS = [tuple(key.split("-")[2:]) for key in ledger() if re.match(r"gu-table1-\w+-(mlp|glu)", key)]


def test_a_panel_has_the_paper_s_points_and_the_slope_that_it_prints() -> None:
    _, ax = plt.subplots()
    draw_cells(ax, rows("as_drawn"), "friedman3")
    for unit, (points, line) in zip(("mlp", "glu"), (ax.lines[:2], ax.lines[4:6]), strict=True):
        widths, errors = paper_points("6", "friedman3", unit)
        assert (np.diff(widths) > 0).all()
        np.testing.assert_array_equal(points.get_xydata(), np.column_stack([widths, errors]))
        slope = np.diff(np.log(line.get_ydata())) / np.diff(np.log(line.get_xdata()))
        assert points.get_label() == f"the paper's, slope {slope.item():.2f}"
        printed = ledger()[f"gu-table1-friedman3-{unit}"].value
        assert slope.item() == pytest.approx(printed, abs=0.014)
        assert np.asarray(line.get_xdata())[0] == 10
    plt.close()


@pytest.mark.parametrize(("problem", "unit"), CELLS)
def test_a_cell_of_table_1(problem: str, unit: str) -> None:
    """Its tolerance is the larger spread, rounded up, and the reason names both."""
    assert len(CELLS) == 12
    claim, drawn = ledger()[f"gu-table1-{problem}-{unit}"], rows("as_drawn")
    cell, slopes = as_drawn(drawn, problem, unit), table1_slopes({}, drawn, problem, unit)
    x, at = np.log(cell.grid), np.log(cell.widths)
    each = [np.polyfit(x, np.interp(x, at, np.log(errors)), 1)[0] for errors in cell.errors]
    line = fit_slope(cell.grid, cell.paper)
    spreads = (line.high - line.low) / 2, np.ptp(each) / 2
    assert re.findall(r"0\.\d{3}", claim.why) == [f"{spread:.3f}" for spread in spreads]
    assert claim.tolerance == math.ceil(100 * max(spreads)) / 100
    assert slopes["as-drawn"] == pytest.approx(np.mean(each))
    assert slopes["paper-points"] == pytest.approx(claim.value, abs=0.014)
    assert slopes["grown"] is slopes["author-code"] is None, "no rows of a study"
    assert claim.found(slopes["as-drawn"]) == claim.verdict
