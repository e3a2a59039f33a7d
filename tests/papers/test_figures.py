"""The paper's plotted points, and the slopes of Table 1 beside rows of the author's
recipe.
"""

import numpy as np
import pandas as pd
import pytest

from xsquared.book.papers.figures import paper_points
from xsquared.book.papers.ledger import ledger
from xsquared.book.papers.table1 import (
    HIT,
    jumps,
    points_hit,
    table1_claims,
    window_slope,
)
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
    # Farther from one over the dimension than the MLP's.
    glu = [3.08, 1.55, 1.00, 1.12, 0.56, 0.39, 0.09]
    exponent, _ = np.polyfit(np.log(inputs), np.log(glu), 1)
    assert measured["gu-slope-over-dimension"]["paper-table"] == pytest.approx(exponent)


def test_a_point_is_hit_within_a_thousandth() -> None:
    errors = paper_points("friedman3", "glu")
    factors = 1 + HIT * np.where(np.arange(len(errors)) % 2, 0.9, -1.1)
    networks = pd.DataFrame({"n": errors.index, "test_rmse": errors * factors})
    networks = networks.assign(problem="friedman3", unit="glu", seed=0)
    networks = networks.drop(index=errors.index[1])
    hit = points_hit(networks, "friedman3", "glu", "test_rmse")
    assert hit.tolist() == [k % 2 == 1 and k != 1 for k in range(len(errors))]


def test_an_error_jumps_beyond_three_times_its_narrower_neighbours() -> None:
    errors = pd.Series({1: 9.0, 4: 1.0, 7: 3.1, 10: 1.0, 13: 2.9, 16: 8.8})
    assert jumps(errors).tolist() == [7, 16]


def test_a_window_leaves_out_widths_gaps_and_what_it_is_told() -> None:
    inside = [20, 40, 77, 99]
    power_law = pd.Series({n: 5 * float(n) ** -2 for n in (*range(1, 20), *inside)})
    errors = power_law.copy()
    errors[list(range(1, 20))] = 1.0  # below the window, which is 20 to 99
    errors[40] = np.nan
    errors[77] = 100.0
    assert window_slope("sine", "mlp", errors, without=[77]) == pytest.approx(-2)
    assert window_slope("sine", "mlp", errors) != pytest.approx(-2, abs=0.1)
    assert np.isnan(window_slope("sine", "mlp", errors, without=[77, 99]))


def test_every_plotted_width_was_run(networks: pd.DataFrame) -> None:
    run = networks[networks["seed"] == 0].groupby(["problem", "unit"])["n"].agg(set)
    for problem, unit in SWEEPS:
        assert set(paper_points(problem, unit).index) <= run[problem, unit]


def test_what_other_seeds_say_is_the_farthest_of_them() -> None:
    printed = {cell: ledger()[f"gu-table1-{'-'.join(cell)}"].value for cell in SWEEPS}
    offsets = {"mlp": (0.0, 0.05, -0.2), "glu": (0.0, 0.1, -0.12)}  # by seed
    networks = pd.DataFrame(
        {
            "problem": cell[0],
            "unit": cell[1],
            "n": n,
            "seed": seed,
            "test_rmse": float(n) ** (slope + offset),
            "exact_rmse": float(n) ** (slope - 1),
        }
        for cell, slope in printed.items()
        for seed, offset in enumerate(offsets[cell[1]])
        for n in SWEEPS[cell][::4]
    )
    measured = table1_claims(networks)

    of_mlp = measured["gu-table1-friedman1-mlp"]
    assert of_mlp["as-published"] == pytest.approx(printed["friedman1", "mlp"])
    assert of_mlp["exact-solve"] == pytest.approx(printed["friedman1", "mlp"] - 1)
    assert of_mlp["other-seeds"] == pytest.approx(printed["friedman1", "mlp"] - 0.2)

    # The MLP's slope less the GLU's: 0.05 and 0.08 less by seeds 1 and 2.
    housing = printed["housing", "mlp"] - printed["housing", "glu"]
    same = measured["gu-housing-same-slope"]
    assert same["as-published"] == pytest.approx(housing)
    assert same["other-seeds"] == pytest.approx(housing - 0.05)
    steeper = measured["gu-glu-steeper-but-housing"]
    least = printed["airfoil", "mlp"] - printed["airfoil", "glu"]
    assert steeper["paper-table"] == pytest.approx(least)
    assert steeper["other-seeds"] == pytest.approx(least - 0.08)
