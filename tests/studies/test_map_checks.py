"""What is moved is moved and nothing else; effects follow from rows that are made up."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from xsquared.studies import map as map_study
from xsquared.studies.map import BATCH, BLOCKS, FEW, map_trial, network_of, run_map
from xsquared.studies.map_checks import (
    CHECKS,
    COMPARED,
    MAP_CHECKS,
    PREDICTED,
    SHORT,
    check_effects,
    check_trials,
    predicted_signs,
)
from xsquared.studies.map_targets import TARGETS, find_target


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """A row a trial; a factor halves the error of each gate but by SOAP, all else 1."""
    trials: list[dict[str, Any]] = [dict(trial) for trial in check_trials()]
    for trial in trials:
        halved = trial["unit"] in ("glu", "swiglu") and trial["protocol"] == "adamw"
        trial["test_rmse"] = 0.5 if halved else 1.0
        trial["settings"] = json.dumps(trial["settings"])
    return pd.DataFrame(trials)


def test_each_check_moves_one_thing_of_the_map() -> None:
    """Beside its own target, or beside the map's batch and depth at as many steps."""
    names = ("problem", "blocks", "size", "steps", "settings")
    cases = {
        json.dumps([trial[name] for name in names]): trial for trial in check_trials()
    }
    assert len(cases) == 1 + 3 + 6 + 6
    for trial in cases.values():
        batch, blocks = trial["settings"].get("batch", BATCH), trial["blocks"]
        moved = [
            trial["problem"] not in TARGETS,
            batch != BATCH,
            blocks not in (0, BLOCKS),
        ]
        if trial["steps"] >= SHORT:  # the sample, of a hundred, is quick and else free
            assert sum(moved) <= 1
            if sum(moved):
                control: dict[str, Any] = {"batch": BATCH} if moved[1] else {}
                own = {"blocks": min(blocks, BLOCKS), "settings": control}
                if moved[2]:
                    own["blocks"] = BLOCKS
                there = json.dumps([{**trial, **own}[name] for name in names])
                assert there in cases


@pytest.mark.parametrize("blocks", [1, 6])
@pytest.mark.parametrize("unit", FEW)
def test_networks_of_each_depth_have_about_the_same_parameters(
    unit: str, blocks: int
) -> None:
    for problem in ("borehole", "ridges16"):
        counts = [
            sum(
                p.numel()
                for p in network_of(
                    map_trial(problem, unit, "adamw", 4000, depth)
                ).parameters()
            )
            for depth in (BLOCKS, blocks)
        ]
        assert counts[1] == pytest.approx(counts[0], rel=0.13)


def test_a_batch_that_is_named_is_the_one_that_is_trained_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """256, said or not, is bitwise the same; 32 is what the map would be with 32."""
    few: Any = {"seeds": 1, "rates": [-4, -3, -2]}

    def error(**settings: Any) -> float:
        trial = map_trial(
            "products", "pair", "adamw", 1000, steps=30, **few, **settings
        )
        return float(run_map(trial)["test_rmse"][0])

    assert error() == error(batch=256)
    small = error(batch=32)
    assert small != error()
    monkeypatch.setattr(map_study, "BATCH", 32)
    assert small == error()


def test_every_check_has_its_effects(rows: pd.DataFrame) -> None:
    table = check_effects(rows)
    assert len(table) == 3 + 6 + 6
    assert list(table) == list(COMPARED)
    shuffled = rows.sample(frac=1, random_state=0)
    assert list(check_effects(shuffled).index) == list(table.index) == list(CHECKS)
    alone = table.loc[("6 blocks", "ridges16")]
    assert alone["factor, ReLU"] == pytest.approx(2.0)
    assert np.isnan(alone["SOAP for AdamW"])
    both = table.drop(index=[(f"{moved}", "ridges16") for moved in _blocks(table)])
    for gate in ("ReLU", "smooth"):
        assert both[f"factor, {gate}"].tolist() == pytest.approx([2**0.5] * len(both))
        assert table[f"curvature, {gate}"].tolist() == pytest.approx([1] * len(table))
    assert both["SOAP for AdamW"].tolist() == pytest.approx([2 ** (-1 / 3)] * len(both))


def _blocks(table: pd.DataFrame) -> list[str]:
    return [moved for moved in table.index.unique("moved") if "block" in moved]


def test_signs_are_counted_for_what_is_moved_alone(rows: pd.DataFrame) -> None:
    signs = predicted_signs(rows)
    assert len(signs) == 4 * len(PREDICTED) == 80
    directions = signs[(signs["step"] == "direction") & (signs["protocol"] == "adamw")]
    assert set(directions["sign"]) == {"+"}
    assert set(signs.drop(index=directions.index)["sign"]) == {"0"}
    expected = [
        word[(gate == "smooth") * 2 + (step == "direction")]
        for word, gate, step in zip(
            [
                PREDICTED[key]
                for key in signs[["moved", "target", "protocol"]].itertuples(
                    index=False, name=None
                )
            ],
            signs["gate"],
            signs["step"],
            strict=True,
        )
    ]
    assert signs["predicted"].tolist() == expected
    assert (signs["held"] == (signs["predicted"] == signs["sign"])).all()


def test_the_sample_is_among_the_trials_and_is_counted_nowhere(
    rows: pd.DataFrame,
) -> None:
    (sample,) = MAP_CHECKS.sample()
    assert sample in check_trials()
    assert find_target(sample["problem"]).inputs == 10
    there = rows["steps"] == sample["steps"]
    assert there.sum() == 1
    pd.testing.assert_frame_equal(check_effects(rows[~there]), check_effects(rows))
