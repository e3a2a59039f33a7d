"""The rate of misses: targets drawn once and for all, a search that knows no fit, an interval."""

import numpy as np
import pandas as pd
import pytest

from xsquared.functions import target
from xsquared.units import find_unit
from xsquared_studies.misses import all_targets, miss_trials, misses, random_texts, rate, searched


def test_half_of_the_targets_judged_are_random_and_forty_more_are_fresh() -> None:
    texts = all_targets()
    assert len(set(texts)) == len(texts) == 4 * len(random_texts()) == 80
    assert random_texts()[:5] == random_texts(5) != random_texts(5, seed=30)
    for text in texts:
        assert np.isfinite(target(text)(np.linspace(-1, 1, 11))).all()
    trials = miss_trials(texts)
    assert [trial["protocol"] for trial in trials].count("missed") == 240
    assert {trial["problem"] for trial in trials if trial["protocol"] == "fresh"} == {*texts[40:]}


@pytest.mark.parametrize(
    ("unit", "text"),
    [("mlp", "abs(x - 0.3)"), ("glu", "abs(x - 0.3)*x + x"), ("gqu", "abs(x - 0.3)*x*(x + 0.2)")],
)
def test_the_search_finds_what_two_neurons_carry(unit: str, text: str) -> None:
    """With zeros of a GQU's second factor that lie away from its hinge."""
    assert searched(target(text), find_unit(unit), 2) < 1e-3


def test_one_per_cent_makes_a_miss_and_the_interval_holds_the_share() -> None:
    frame = pd.DataFrame({"problem": [random_texts()[0], "x"], "integral_rmse": [1.02, 1.005],
                          "search_rmse": [1.0, 1.0]})  # fmt: skip
    judged = misses(frame)
    assert judged["beaten"].tolist() == judged["random"].tolist() == [True, False]
    told = rate(pd.Series([True] + [False] * 49))
    assert (told["fits"], told["beaten"], told["per cent"]) == (50, 1, 2.0)
    # The limits of Clopper and Pearson in closed form: chances of none, and of all.
    assert rate(pd.Series([False] * 50))["to"] == pytest.approx(100 * (1 - 0.025 ** (1 / 50)))
    assert 0 < told["from"] < 2 < told["to"] < 11
