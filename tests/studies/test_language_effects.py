"""Steps between language models against least squares, simulation, and by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from xsquared.studies.language_effects import (
    compare_steps,
    holm,
    scatter,
    visible_difference,
)

UNITS = list("abcde")


def losses(rng: np.random.Generator, seeds: int, ahead: float = 0.0) -> pd.DataFrame:
    """Losses of scatter 0.01 around unit and seed; b is ahead of a."""
    units = np.array([1.7, 1.7 - ahead, 1.9, 1.6, 1.65])
    runs = (
        units + 0.05 * rng.normal(size=(seeds, 1)) + 0.01 * rng.normal(size=(seeds, 5))
    )
    return pd.DataFrame(runs, columns=UNITS)


def test_scatter_and_interval_are_those_of_least_squares() -> None:
    """With a column a unit and a seed in the design, and the difference as a contrast."""
    loss = losses(np.random.default_rng(0), 4)
    unit, seed = np.tile(np.arange(5), 4), np.repeat(np.arange(4), 5)
    design = np.column_stack([np.eye(5)[unit], np.eye(4)[seed][:, 1:]])
    y = loss.to_numpy().ravel()
    fitted, (square,), *_ = np.linalg.lstsq(design, y, rcond=None)
    deviation, freedom = scatter(loss)
    assert freedom == len(y) - 8
    assert deviation == pytest.approx(np.sqrt(square / freedom))
    contrast = np.zeros(8)
    contrast[[0, 1]] = 1, -1
    error = deviation * np.sqrt(contrast @ np.linalg.inv(design.T @ design) @ contrast)
    row = compare_steps(loss, {"a to b": ("a", "b")}).loc["a to b"]
    assert row["worth"] == pytest.approx(contrast @ fitted)
    assert row["high"] - row["worth"] == pytest.approx(
        error * student.ppf(0.975, freedom)
    )
    expected = 2 * student.sf(abs(contrast @ fitted) / error, freedom)
    assert row["p"] == pytest.approx(expected)


def test_a_visible_difference_is_seen_four_times_in_five() -> None:
    rng = np.random.default_rng(1)
    exact = losses(rng, 3)
    deviation, _ = scatter(exact)
    ahead = visible_difference(exact) * 0.01 / deviation
    runs = [losses(rng, 3, ahead) for _ in range(1000)]
    lows = [compare_steps(loss, {"s": ("a", "b")})["low"].iloc[0] for loss in runs]
    assert np.mean(np.array(lows) > 0) == pytest.approx(0.8, abs=0.05)


def test_holm_holds_each_p_against_what_is_left_of_the_level() -> None:
    """Of four: .01 x 4, .02 x 3, then .02 x 2 and .5 no less than the ones before."""
    p = pd.Series({"d": 0.5, "b": 0.02, "a": 0.01, "c": 0.02})
    expected = {"d": 0.5, "b": 0.06, "a": 0.04, "c": 0.06}
    assert holm(p).to_dict() == pytest.approx(expected)
