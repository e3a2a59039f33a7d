"""The study of one dimension: what its protocols train, on which points; what its rows
say against the table read by hand, and by powers.
"""

from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import pytest

from xsquared.functions import target
from xsquared.studies import rows
from xsquared.studies.experiment import data_of, run_trial
from xsquared.studies.line import (
    LINE,
    LINE_PROTOCOLS,
    another_factor,
    farthest_seed,
    least_found,
    line_errors,
    line_trials,
    seed_slopes,
    slopes,
)
from xsquared.units import parameter_count

N = pd.Index([4, 8, 16, 32], name="n")


@pytest.mark.parametrize("protocol", LINE_PROTOCOLS)
def test_a_protocols_trials_run_on_its_points(protocol: str) -> None:
    mlp, glu, gqu = line_trials(protocol, [3], 1)
    assert [trial["unit"] for trial in (mlp, glu, gqu)] == ["mlp", "glu", "gqu"]
    assert len(data_of(glu).train) == glu.get("points", 10_000)
    assert run_trial(glu)["parameters"] == 16


def test_gates_that_move_do_better_than_gates_that_do_not() -> None:
    error: Any = {
        p: run_trial(line_trials(p, [6], 1)[1])["integral_rmse"] for p in LINE_PROTOCOLS
    }
    assert error["trained"] < error["newton-gates"] < error["newton"] * 1.001
    assert error["trained"] < error["varpro"] * 1.001
    assert error["newton"] == pytest.approx(error["frozen"], rel=1e-2)  # an even width


def test_every_width_to_fifty_is_declared_and_a_budget_names_more_work() -> None:
    trials = LINE.trials()
    for protocol in LINE_PROTOCOLS:
        assert all(trial in trials for trial in line_trials(protocol, (1, 50)))
        once, twice = (line_trials(protocol, [5], 1, budget=b)[0] for b in (1, 2))
        assert twice["settings"]["max_iterations"] >= 10
        assert twice["settings"] != once["settings"]
        assert twice in trials
    assert line_trials("trained", [7], 1, target("1/(1 + 9*x**2)"))[0] in trials


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
