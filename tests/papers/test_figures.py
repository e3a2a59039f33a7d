"""The paper's plotted points, and the slopes of Table 1 beside rows of the author's
recipe.
"""

import numpy as np
import pandas as pd
import pytest

from xsquared.book.papers.figures import paper_points
from xsquared.book.papers.ledger import ledger
from xsquared.book.papers.table1 import HIT, figure_of, points_hit, table1_claims
from xsquared.studies import rows
from xsquared.studies.published import SWEEPS

#: Widths between which Table 1 takes its slopes, where not from 10 on.
WINDOWS = {
    ("sine", "mlp"): (20, 99),
    ("airfoil", "mlp"): (10, 500),
    ("airfoil", "glu"): (10, 100),
}


@pytest.fixture(scope="module")
def networks() -> pd.DataFrame:
    return rows("as_published")


@pytest.fixture(scope="module")
def measured(networks: pd.DataFrame) -> dict[str, dict[str, float]]:
    return table1_claims(networks)


@pytest.mark.parametrize(("problem", "unit"), SWEEPS)
def test_a_slope_is_that_of_the_rows_of_seed_0_over_the_printed_ones_widths(
    problem: str,
    unit: str,
    networks: pd.DataFrame,
    measured: dict[str, dict[str, float]],
) -> None:
    first, last = WINDOWS.get((problem, unit), (10, 10**9))
    if (problem, unit) == ("housing", "glu"):
        last = 100
    kept = networks.query("problem == @problem and unit == @unit and seed == 0")
    kept = kept[kept["n"].between(first, last)]
    slope, _ = np.polyfit(np.log(kept["n"]), np.log(kept["test_rmse"]), 1)
    found = measured[f"gu-table1-{problem}-{unit}"]
    assert found["as-published"] == pytest.approx(slope)
    assert found["paper-points"] == pytest.approx(
        ledger()[f"gu-table1-{problem}-{unit}"].value, abs=0.014
    )


def test_the_exponent_over_inputs_is_that_of_the_printed_table(
    measured: dict[str, dict[str, float]],
) -> None:
    inputs = [1, 2, 5, 4, 4, 5, 8]
    glu = [
        3.08,
        1.55,
        1.00,
        1.12,
        0.56,
        0.39,
        0.09,
    ]  # farther from 1/dim than the MLP's
    exponent, _ = np.polyfit(np.log(inputs), np.log(glu), 1)
    assert measured["gu-slope-over-dimension"]["paper-table"] == pytest.approx(exponent)


def test_a_point_is_hit_within_a_thousandth() -> None:
    widths, errors = paper_points("6", "friedman3", "glu")
    factors = 1 + HIT * np.where(np.arange(len(widths)) % 2, 0.9, -1.1)
    made = pd.DataFrame({"n": widths, "test_rmse": errors * factors})
    made = made.assign(problem="friedman3", unit="glu", seed=0).drop(index=1)
    hit = points_hit(made, "friedman3", "glu", "test_rmse")
    assert hit.tolist() == [k % 2 == 1 and k != 1 for k in range(len(widths))]


def test_every_plotted_width_was_run(networks: pd.DataFrame) -> None:
    run = networks[networks["seed"] == 0].groupby(["problem", "unit"])["n"].agg(set)
    for problem, unit in SWEEPS:
        widths, _ = paper_points(figure_of(problem), problem, unit)
        assert set(widths) <= run[problem, unit]
