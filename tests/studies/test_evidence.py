"""Answers follow from rows: other rows, other answers."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from xsquared.studies.evidence import (
    PAIRS,
    answer,
    effect,
    effects,
    log_errors,
    validated,
)
from xsquared.studies.trainers import UNITS


def made_rows(factor: float, seeds: int = 5) -> pd.DataFrame:
    """Two targets, on which a factor divides the error by so much, up to a per cent of
    scatter.
    """
    units = [unit.partition(":") for pair in PAIRS.values() for unit in pair]
    gates = {
        "mlp": "relu",
        "glu": "relu",
        "relu2_mlp": "relu2",
        "geglu": "gelu",
        "swiglu": "silu",
    }
    return pd.DataFrame(
        {
            "problem": problem,
            "unit": unit,
            "gate": gate or gates[unit],
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
    ("factor", "said"),
    [
        (2.0, "yes: pays in 8 of 8 settings, costs in 0"),
        (1.0, "nothing sure: pays in 0 of 8 settings, costs in 0"),
        (0.5, "rather costs: pays in 0 of 8 settings, costs in 8"),
    ],
)
def test_other_rows_give_another_answer(factor: float, said: str) -> None:
    found = answer(effects(log_errors(validated(made_rows(factor)))))
    assert found["answer"] == said
    assert float(found["effect"].partition(",")[0]) == pytest.approx(factor, rel=0.02)


def test_the_width_is_the_one_that_validation_chooses() -> None:
    assert set(validated(made_rows(2.0))["n"]) == {8}


def test_an_effect_has_students_interval_and_test() -> None:
    logs = np.log([1.5, 2.0, 1.8, 2.6])
    wanted = stats.ttest_1samp(logs, 0.0)
    interval = wanted.confidence_interval()
    found = effect(logs)
    assert (found.low, found.high) == pytest.approx(tuple(np.exp(interval)))
    assert found.p == pytest.approx(wanted.pvalue)
    assert effect(logs, shared=True).low < found.low


def test_every_pair_is_of_units_that_are_trained() -> None:
    assert {unit for pair in PAIRS.values() for unit in pair} <= {*UNITS}
