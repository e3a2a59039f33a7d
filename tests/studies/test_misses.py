"""The rate of misses: targets drawn once and for all, a search that knows no fit."""

import numpy as np
import pytest

from xsquared.functions import target
from xsquared.studies.misses import (
    FRESH,
    NEURONS,
    descended,
    directed,
    miss_trials,
    random_texts,
)
from xsquared.units import find_unit


def test_twenty_random_targets_are_judged_at_four_widths() -> None:
    assert len(set(FRESH)) == 20
    assert random_texts()[:5] == random_texts(5) != random_texts(5, seed=30)
    for text in FRESH:
        assert np.isfinite(target(text)(np.linspace(-1, 1, 11))).all()
    assert len(miss_trials(FRESH)) == 20 * 3 * len(NEURONS)


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        ("mlp", "abs(x - 0.3)"),
        ("glu", "abs(x - 0.3)*x + x"),
        ("gqu", "abs(x - 0.3)*x*(x + 0.2)"),
    ],
)
def test_the_search_finds_what_few_neurons_carry(unit: str, text: str) -> None:
    """With zeros of a GQU's second factor that lie away from its hinge."""
    f, found = target(text), find_unit(unit)
    assert min(descended(f, found, 3), directed(f, found, 3)) < 1e-3
