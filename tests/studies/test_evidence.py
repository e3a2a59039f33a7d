"""Answers follow from rows: other rows, other answers."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from xsquared.studies.evidence import (
    _STEPS,
    PAIRS,
    Effect,
    compare_steps,
    count_gains,
    effect,
    effects,
    holm,
    log_errors,
    scatter,
    validated,
    visible_difference,
)
from xsquared.studies.trainers import UNITS
from xsquared.units import find_unit

#: Columns of losses that are made up: the ReLU MLP, the GLU, and the others.
COLUMNS = [*dict.fromkeys(unit for step in _STEPS.values() for unit in step)]


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


@pytest.mark.parametrize(("factor", "pays"), [(2.0, 8), (1.0, 0), (0.5, 0)])
def test_other_rows_give_another_answer(factor: float, pays: int) -> None:
    by_setting = effects(log_errors(validated(rows_with_factor(factor))))
    assert (len(by_setting), count_gains(by_setting)) == (8, pays)
    for setting in by_setting.values():
        assert setting.mean == pytest.approx(factor, rel=0.02)


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
        pays = count_gains(
            {
                (f"target {k}", "ReLU"): Effect(mean, mean / 3, mean * 3, p)
                for k, (mean, p) in enumerate(zip(means, p_values, strict=True))
            }
        )
        assert pays == len(sure - {costs_at})


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


def losses(rng: np.random.Generator, seeds: int, ahead: float = 0.0) -> pd.DataFrame:
    """Losses of scatter 0.01 around unit and seed; the second unit is ahead."""
    units = np.array([1.7, 1.7 - ahead, 1.9, 1.6, 1.65, 1.8, 1.75])
    by_seed = 0.05 * rng.normal(size=(seeds, 1))
    runs = units + by_seed + 0.01 * rng.normal(size=(seeds, len(units)))
    return pd.DataFrame(runs, columns=COLUMNS)


def test_scatter_and_interval_are_those_of_least_squares() -> None:
    """With a column a unit and a seed in the design, and the difference as a contrast."""
    loss = losses(np.random.default_rng(0), 4)
    unit, seed = np.tile(np.arange(7), 4), np.repeat(np.arange(4), 7)
    design = np.column_stack([np.eye(7)[unit], np.eye(4)[seed][:, 1:]])
    y = loss.to_numpy().ravel()
    fitted, (square,), *_ = np.linalg.lstsq(design, y, rcond=None)
    deviation, freedom = scatter(loss)
    assert freedom == len(y) - 10
    assert deviation == pytest.approx(np.sqrt(square / freedom))
    found = compare_steps(loss)
    p = {}
    for step, units in _STEPS.items():
        contrast = np.zeros(10)
        contrast[[COLUMNS.index(name) for name in units]] = 1, -1
        spread = contrast @ np.linalg.inv(design.T @ design) @ contrast
        error = deviation * np.sqrt(spread)
        worth, high = found.loc[step, ["worth", "high"]]
        assert worth == pytest.approx(contrast @ fitted)
        assert high - worth == pytest.approx(error * stats.t.ppf(0.975, freedom))
        p[step] = 2 * stats.t.sf(abs(contrast @ fitted) / error, freedom)
    pd.testing.assert_series_equal(found["p"], holm(pd.Series(p, name="p")))


def test_a_visible_difference_is_seen_four_times_in_five() -> None:
    rng = np.random.default_rng(1)
    exact = losses(rng, 3)
    deviation, _ = scatter(exact)
    ahead = visible_difference(exact) * 0.01 / deviation
    runs = [losses(rng, 3, ahead) for _ in range(1000)]
    lows = [compare_steps(loss)["low"].iloc[0] for loss in runs]
    assert np.mean(np.array(lows) > 0) == pytest.approx(0.8, abs=0.05)


def test_holm_holds_each_p_against_what_is_left_of_the_level() -> None:
    """Of four: .01 x 4, .02 x 3, then .02 x 2 and .5 no less than the ones before."""
    p = pd.Series({"d": 0.5, "b": 0.02, "a": 0.01, "c": 0.02})
    expected = {"d": 0.5, "b": 0.06, "a": 0.04, "c": 0.06}
    assert holm(p).to_dict() == pytest.approx(expected)
