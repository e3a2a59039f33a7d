"""Answers follow from rows: other rows, other answers."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from xsquared.studies.evidence import (
    PAIRS,
    Effect,
    answer,
    effect,
    effects,
    log_errors,
    validated,
)
from xsquared.studies.trainers import UNITS
from xsquared.units import find_unit


def rows_with_factor(factor: float, seeds: int = 5) -> pd.DataFrame:
    """Two targets on which a factor divides errors by so much, up to 1% of scatter."""
    units = [unit.partition(":") for pair in PAIRS.values() for unit in pair]
    return pd.DataFrame(
        {
            "problem": problem,
            "unit": unit,
            "gate": gate or find_unit(unit).activation,
            "seed": seed,
            "n": n,
        }
        | {
            "validation_rmse": 1.0 + abs(n - 8),
            "test_rmse": 0.1 / n * (1 + 0.01 * np.sin(7 * seed)),
        }
        | ({"test_rmse": 0.1 / n / factor} if unit.endswith("glu") else {})
        for problem in ("smooth, 1 input", "airfoil")
        for unit, _, gate in units
        for seed in range(seeds)
        for n in (4, 8, 16)
    )


@pytest.mark.parametrize(
    ("factor", "pays", "costs"), [(2.0, 8, 0), (1.0, 0, 0), (0.5, 0, 8)]
)
def test_other_rows_give_another_answer(factor: float, pays: int, costs: int) -> None:
    count = answer(effects(log_errors(validated(rows_with_factor(factor)))))
    assert (count.settings, count.pays, count.costs) == (8, pays, costs)
    for mean in (count.least, count.median, count.most):
        assert mean == pytest.approx(factor, rel=0.02)


@pytest.mark.parametrize(
    ("p_values", "sure"),
    [
        # Held against 0.05 over 3, 2 and 1; Bonferroni's 0.05 / 3 passes the first.
        ((0.03, 0.01, 0.02), {0, 1, 2}),
        # 0.012 < 0.05 / 4, but 0.02 > 0.05 / 3 ends the list, though 0.024 < 0.05 / 2
        # and 0.045 < 0.05: Hochberg's test, from the largest down, passes all four.
        ((0.012, 0.02, 0.024, 0.045), {0}),
    ],
)
def test_settings_are_sure_by_holms_test(
    p_values: tuple[float, ...], sure: set[int]
) -> None:
    for costs_at in range(len(p_values)):
        means = [0.5 if k == costs_at else 2.0 for k in range(len(p_values))]
        count = answer(
            {
                (f"target {k}", "ReLU"): Effect(mean, mean / 3, mean * 3, p)
                for k, (mean, p) in enumerate(zip(means, p_values, strict=True))
            }
        )
        assert count.pays == len(sure - {costs_at})
        assert count.costs == len(sure & {costs_at})
        assert (count.least, count.median, count.most) == (0.5, 2.0, 2.0)


def test_the_width_is_the_one_that_validation_chooses() -> None:
    assert set(validated(rows_with_factor(2.0))["n"]) == {8}


def test_an_effect_has_students_interval_and_test() -> None:
    logs = np.log([1.5, 2.0, 1.8, 2.6])
    wanted = stats.ttest_1samp(logs, 0.0)
    interval = wanted.confidence_interval()
    found = effect(logs)
    assert (found.low, found.high) == pytest.approx(tuple(np.exp(interval)))
    assert found.p == pytest.approx(wanted.pvalue)


def test_splits_that_share_rows_have_nadeau_and_bengios_interval() -> None:
    # By pencil: of 0, 1, 2 the mean is 1 and the variance 1; a fifth tests and 0.64
    # trains, so that the mean's variance is 1/3 + 5/16 = 31/48. With two degrees of
    # freedom P(|t| < x) is x / sqrt(2 + x^2), so that the quantile of 0.95 is
    # 0.95 sqrt(2 / (1 - 0.95^2)), and 1 / sqrt(31/48) has the p-value
    # 1 - sqrt(48/110).
    found = effect([0.0, 1.0, 2.0], shared=True)
    half_width = 0.95 * math.sqrt(2 / (1 - 0.95**2)) * math.sqrt(31 / 48)
    assert found.mean == pytest.approx(math.e)
    assert math.log(found.high) == pytest.approx(1 + half_width)
    assert math.log(found.low) == pytest.approx(1 - half_width)
    assert found.p == pytest.approx(1 - math.sqrt(48 / 110))


def test_only_splits_of_a_table_share_rows() -> None:
    by_setting = effects(log_errors(validated(rows_with_factor(2.0))))
    drawn, split = by_setting["smooth, 1 input", "ReLU"], by_setting["airfoil", "ReLU"]
    assert split.mean == pytest.approx(drawn.mean)
    wider = math.log(split.high / split.low) / math.log(drawn.high / drawn.low)
    assert wider == pytest.approx(math.sqrt((1 / 5 + 5 / 16) / (1 / 5)))


def test_a_seed_that_lacks_a_unit_counts_nowhere() -> None:
    networks = validated(rows_with_factor(2.0))
    last = networks["seed"] == networks["seed"].max()
    lost = last & (networks["unit"] == "geglu") & (networks["problem"] == "airfoil")
    kept = ~last | (networks["problem"] != "airfoil")
    wanted = effects(log_errors(networks[kept]))
    assert effects(log_errors(networks[~lost])) == wanted
    assert all(math.isfinite(setting.p) for setting in wanted.values())


def test_every_pair_is_of_units_that_are_trained() -> None:
    assert {unit for pair in PAIRS.values() for unit in pair} <= {*UNITS}
