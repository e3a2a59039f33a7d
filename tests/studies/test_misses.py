"""The rate of misses: targets drawn once and for all, a search that knows no fit."""

import numpy as np
import pytest

from xsquared.functions import target
from xsquared.units import find_unit
from xsquared_studies.misses import ALL_TARGETS, miss_trials, random_texts, searched


def test_half_of_the_targets_judged_are_random_and_forty_more_are_fresh() -> None:
    texts = ALL_TARGETS
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
