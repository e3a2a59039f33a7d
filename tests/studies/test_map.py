"""Targets against values by hand, rates inside their grid, what is predicted."""

import math

import numpy as np
import pytest

from xsquared.studies.map import MAP, beyond, map_trial, run_map
from xsquared.studies.map_predictions import PREDICTED, STEPS
from xsquared.studies.map_targets import FIRST, TARGETS, draw_points

#: Values at the middle of the cube and at its upper corner.
BY_HAND = {
    "borehole": (
        (0.1, 25_050.0, 89_335.0, 1050.0, 89.55, 760.0, 1400.0, 10_950.0),
        (0.15, 50_000.0, 115_600.0, 1110.0, 116.0, 820.0, 1680.0, 12_045.0),
    ),
}


def borehole(
    rw: float,
    r: float,
    tu: float,
    hu: float,
    tl: float,
    hl: float,
    length: float,
    kw: float,
) -> float:
    return (
        2
        * math.pi
        * tu
        * (hu - hl)
        / (
            math.log(r / rw)
            * (1 + 2 * length * tu / (math.log(r / rw) * rw**2 * kw) + tu / tl)
        )
    )


@pytest.mark.parametrize(
    ("name", "middle", "corner"),
    [
        ("borehole", *(borehole(*values) for values in BY_HAND["borehole"])),
        ("robot", math.hypot(0.5 * (-1 + 1), 0.5 * (1 - 1)), 0.0),
        ("friedman", 10 * math.sin(math.pi / 4) + 7.5, 5.0 + 15.0),
        ("products", 0.0, 8.0),
    ],
)
def test_functions_have_their_values(name: str, middle: float, corner: float) -> None:
    x = np.stack([np.zeros(TARGETS[name].inputs), np.ones(TARGETS[name].inputs)])
    found = TARGETS[name].values(x, np.random.default_rng(0))
    np.testing.assert_allclose(found, [middle, corner], atol=1e-9)


@pytest.mark.parametrize("name", TARGETS)
def test_points_have_the_shapes_that_are_said(name: str) -> None:
    data, target = draw_points(name, 0), TARGETS[name]
    for part in (data.train, data.validation, data.test):
        assert part.x.shape == (len(part), target.inputs)
        assert part.y.shape == (len(part), target.outputs)
    assert data.train.y.std() == pytest.approx(1)


def test_a_grid_grows_until_its_best_is_inside() -> None:
    assert beyond({-4: 2.0, -3: 1.0}) == [-2]
    assert beyond({-4: 2.0, -3: 1.0, -2: 3.0}) == []
    assert beyond({-4: math.inf, -3: math.inf}) == [-5]
    (trial,) = MAP.sample()
    row = run_map({**trial, "settings": {"seeds": 1, "rates": [-9, -8]}})
    assert row["rate"] > 10**-3.5


@pytest.mark.parametrize("protocol", ["adamw", "soap", "solved"])
def test_a_pair_learns_products_of_inputs(protocol: str) -> None:
    trial = map_trial(
        "products", "pair", protocol, 1000, steps=200, seeds=1, rates=[-4, -3, -2]
    )
    row = run_map(trial)
    assert row["test_rmse"][0] < 0.7
    assert row["parameters"] == pytest.approx(1000, rel=0.02)


def test_every_case_that_is_run_has_a_prediction() -> None:
    run = {
        (
            TARGETS[t["problem"]].kind,
            t["protocol"],
            "blocks" if t["blocks"] else "layer",
        )
        for t in MAP.trials()
    }
    assert run == {*PREDICTED}
    assert {len(word) for word in PREDICTED.values()} == {len(STEPS)}
    assert {TARGETS[name].kind for name in FIRST} == {
        target.kind for target in TARGETS.values()
    }
