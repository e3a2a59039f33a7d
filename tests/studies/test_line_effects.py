"""What the rows of one dimension say: against the table read by hand, and by powers."""

from statistics import median

import numpy as np
import pandas as pd
import pytest

from xsquared.studies import rows
from xsquared.studies.line_effects import (
    another_factor,
    farthest_seed,
    least_found,
    line_errors,
    seed_slopes,
    slopes,
)
from xsquared.units import parameter_count

N = pd.Index([4, 8, 16, 32], name="n")


def powers(**exponents: float) -> pd.DataFrame:
    return pd.DataFrame(
        {name: 3.0 * N.astype(float) ** -power for name, power in exponents.items()}, N
    )


def test_errors_are_the_tables_by_protocol_seed_and_width() -> None:
    table = rows("line")
    table = table[(table["unit"] == "glu") & (table["n"] == 7)]
    table = table[table["problem"] == "1/(cos(pi*x)**2 + 1)"]
    newton = table[table["protocol"] == "newton-gates"]["integral_rmse"]
    errors = line_errors([7, 10])
    found = errors["newton-gates", "glu"]
    assert len(newton) == 4
    assert found.groupby("n").median()[7] == median(newton)
    assert errors["frozen", "glu"].dropna().index.tolist() == [(7, 0), (10, 0)]
    assert line_errors([10], seeds=1, budget=2).shape == (1, 15)


def test_a_narrower_network_of_any_protocol_and_seed_counts_as_found() -> None:
    columns = pd.MultiIndex.from_tuples([("a", "mlp"), ("b", "mlp"), ("b", "glu")])
    columns.names = ["protocol", "unit"]
    index = pd.MultiIndex.from_tuples([(3, 0), (3, 1), (4, 0)], names=["n", "seed"])
    errors = pd.DataFrame([[5, 4, 3], [np.nan, 2, np.nan], [6, 7, 1.0]], index, columns)
    assert least_found(errors)["mlp"].tolist() == [2, 2]
    assert least_found(errors)["glu"].tolist() == [3, 1]


def test_slopes_are_those_of_powers_against_either_size() -> None:
    errors = powers(mlp=2, glu=3.5)
    errors.loc[4, "glu"] = np.nan
    found = slopes(errors)
    assert found.to_dict() == pytest.approx({"mlp": -2, "glu": -3.5})
    in_p = pd.DataFrame(
        {"glu": [float(parameter_count("glu", 1, n)) ** -3 for n in N]}, N
    )
    in_p.columns = pd.MultiIndex.from_tuples([("any protocol", "glu")])
    assert slopes(in_p, parameters=True)["any protocol", "glu"] == pytest.approx(-3)
    errors.loc[8] = 100.0
    assert slopes(errors, first=16)["mlp"] == pytest.approx(-2)


def test_each_seed_has_its_slopes() -> None:
    seeds = [
        powers(mlp=2, glu=3),
        powers(mlp=2.5, glu=1),
        np.nan * powers(mlp=1, glu=1),
    ]
    errors = pd.concat(seeds, keys=[0, 1, 2], names=["seed"]).swaplevel()
    found = seed_slopes(errors)
    assert found.loc[0].to_dict() == pytest.approx({"mlp": -2, "glu": -3})
    assert found.loc[1].to_dict() == pytest.approx({"mlp": -2.5, "glu": -1})
    assert len(found) == 2


def test_the_farthest_seed_may_be_above_or_below() -> None:
    by_seed = pd.DataFrame({"mlp": [-2.0, -1.8, -2.5], "glu": [-3.0, -2.0, -3.1]})
    far = farthest_seed(by_seed, pd.Series({"mlp": -2.1, "glu": -2.9}))
    assert far.to_dict() == {"mlp": -2.5, "glu": -2.0}


def test_another_factor_is_the_lesser_of_two_steps() -> None:
    least = powers(mlp=2, glu=3, gqu=4)
    errors = least * [1.5, 3, 12]
    errors.loc[8] *= 100
    assert another_factor(errors, least) == pytest.approx(2)
