"""Targets against values by hand, rates inside their grid, what is predicted."""

import math

import numpy as np
import pytest

from xsquared.studies.map import MAP, beyond, map_trial, run_map
from xsquared.studies.map_targets import (
    CHECK_TARGETS,
    FIRST,
    TARGETS,
    draw_points,
    find_target,
)
from xsquared.studies.map_words import PREDICTED, PREDICTED_STEPS

#: Values at the middle of the cube and at its upper corner.
BY_HAND = {
    "borehole": (
        (0.1, 25_050.0, 89_335.0, 1050.0, 89.55, 760.0, 1400.0, 10_950.0),
        (0.15, 50_000.0, 115_600.0, 1110.0, 116.0, 820.0, 1680.0, 12_045.0),
    ),
    "wing": (
        (175.0, 260.0, 8.0, 0.0, 30.5, 0.75, 0.13, 4.25, 2100.0, 0.0525),
        (200.0, 300.0, 10.0, 10.0, 45.0, 1.0, 0.18, 6.0, 2500.0, 0.08),
    ),
    "circuit": (
        (100.0, 47.5, 1.75, 1.85, 0.725, 175.0),
        (150.0, 70.0, 3.0, 2.5, 1.2, 300.0),
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


def wing(
    sw: float,
    wfw: float,
    a: float,
    sweep: float,
    q: float,
    taper: float,
    tc: float,
    nz: float,
    wdg: float,
    wp: float,
) -> float:
    logs = (
        0.758 * math.log(sw)
        + 0.0035 * math.log(wfw)
        + 0.6 * math.log(a)
        + 0.006 * math.log(q)
        + 0.04 * math.log(taper)
        - 0.3 * math.log(100 * tc)
        + 0.49 * math.log(nz * wdg)
        - 0.9 * math.log(math.cos(math.pi * sweep / 180))
    )
    return 0.036 * math.exp(logs) + sw * wp


def circuit(
    rb1: float, rb2: float, rf: float, rc1: float, rc2: float, beta: float
) -> float:
    vb1 = 12 * rb2 / (rb1 + rb2)
    below = beta * (rc2 + 9) + rf
    return (
        (vb1 + 0.74) * beta * (rc2 + 9) / below
        + 11.35 * rf / below
        + 0.74 * rf * beta * (rc2 + 9) / (below * rc1)
    )


@pytest.mark.parametrize(
    ("name", "middle", "corner"),
    [
        ("borehole", *(borehole(*values) for values in BY_HAND["borehole"])),
        ("robot", math.hypot(0.5 * (-1 + 1), 0.5 * (1 - 1)), 0.0),
        ("friedman", 10 * math.sin(math.pi / 4) + 7.5, 5.0 + 15.0),
        ("products", 0.0, 8.0),
        ("wing", *(wing(*values) for values in BY_HAND["wing"])),
        ("circuit", *(circuit(*values) for values in BY_HAND["circuit"])),
        ("determinant", 0.0, 0.0),
    ],
)
def test_functions_have_their_values(name: str, middle: float, corner: float) -> None:
    target = find_target(name)
    x = np.stack([np.zeros(target.inputs), np.ones(target.inputs)])
    found = target.values(x, np.random.default_rng(0))
    np.testing.assert_allclose(found, [middle, corner], atol=1e-9)


@pytest.mark.parametrize("name", [*TARGETS, *CHECK_TARGETS])
def test_points_have_the_shapes_that_are_said(name: str) -> None:
    data, target = draw_points(name, 0), find_target(name)
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
    assert {len(word) for word in PREDICTED.values()} == {len(PREDICTED_STEPS)}
    assert {TARGETS[name].kind for name in FIRST} == {
        target.kind for target in TARGETS.values()
    }
