"""Small language models: equal parameters, no look ahead, counts, and text that is
learned.
"""

import math
from functools import cache

import numpy as np
import pytest
import torch

from xsquared.studies import byte_text, rows, small_models
from xsquared.studies.committed import TOLERANCE
from xsquared.studies.small_models import (
    LANGUAGE_UNITS,
    LONGEST_UNITS,
    Block,
    SmallModel,
    _best_rate,
    _language_trials,
    _run_language,
    nats,
    trained,
)

UNITS = sorted({*LANGUAGE_UNITS, *LONGEST_UNITS})


@pytest.fixture
def _hummed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that repeats a line of four letters, and short runs."""
    line = np.random.default_rng(0).integers(4, size=20).astype(np.uint8)
    monkeypatch.setattr(byte_text, "text", lambda _: np.tile(line, 10_000))
    monkeypatch.setattr(small_models, "_LENGTHS", {60: (1, 2), 20: (1,)})
    monkeypatch.setattr(byte_text, "_JUDGED", 64)
    monkeypatch.setattr(small_models, "_RATES", (0.004, 0.008))
    monkeypatch.setattr(small_models, "_LONGEST_RATES", (0.002, 0.008, 0.03))
    caches = {
        byte_text: ("passages", "judged", "counted"),
        small_models: ("_rates_tried",),
    }
    for module, names in caches.items():
        for name in names:
            plain = getattr(module, name).__wrapped__
            monkeypatch.setattr(module, name, cache(plain))


def count(unit: str, gate: str) -> int:
    return sum(p.numel() for p in SmallModel(unit, gate, 64, 0).blocks.parameters())


def test_units_have_equal_parameters() -> None:
    least, *_, most = sorted(count(*pair) for pair in UNITS)
    assert most < 1.01 * least
    # Attention's 4 d^2 and the layer's 8 d^2, gains and biases, in each of two blocks.
    assert count("mlp", "relu") == 2 * (12 * 64**2 + 7 * 64)


@pytest.mark.parametrize(("unit", "gate"), UNITS)
def test_a_model_sees_no_later_byte_and_starts_alike(unit: str, gate: str) -> None:
    model = SmallModel(unit, gate, 64, 0)
    text = torch.from_numpy(np.random.default_rng(0).integers(4, size=(2, 129)))
    other = text.clone()
    other[:, 80:] = 3 - other[:, 80:]
    before, after = model(text), model(other)
    torch.testing.assert_close(before[:, :79], after[:, :79])
    assert (before[:, 80:] != after[:, 80:]).any()
    x = torch.randn(4096, 64, generator=torch.Generator().manual_seed(1))
    for block in model.blocks:
        assert isinstance(block, Block)
        with torch.no_grad():
            size = float(block.feed(x).square().mean().sqrt())
        assert size == pytest.approx(0.5, rel=0.1)


@pytest.mark.usefixtures("_hummed")
def test_training_learns_the_text_and_longer_more() -> None:
    short, long = (
        nats(trained("glu", "relu", 0.008, 1, steps), "test") for steps in (20, 60)
    )
    assert long < short < math.log(128)
    assert long < 0.6 * math.log(4)


@pytest.mark.usefixtures("_hummed")
def test_counting_finds_a_line_that_repeats_and_no_passage_is_seen_twice() -> None:
    assert byte_text.counted(1, 60) < 0.05
    seen = byte_text.passages(1, 60)
    assert seen.shape == (60, 8, 129)
    assert (seen[:20] == byte_text.passages(1, 20)).all()


def test_counts_are_witten_and_bells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_text, "_ORDER", 1)
    monkeypatch.setattr(
        byte_text, "passages", lambda *_: np.zeros((1, 1, 129), np.int64)
    )
    monkeypatch.setattr(byte_text, "judged", lambda _: np.zeros((3, 129), np.int64))
    # One kind of byte in 129: (129 + 1/128)/(129 + 1).
    assert byte_text.counted.__wrapped__(0, 1) == pytest.approx(
        -math.log((129 + 1 / 128) / 130)
    )


@pytest.mark.usefixtures("_hummed")
@pytest.mark.parametrize("protocol", ["tuned", "longest"])
def test_a_trial_trains_its_seed_at_the_best_rate(protocol: str) -> None:
    trials = {trial["protocol"]: trial for trial in _language_trials()}
    trial = trials[protocol]
    row = _run_language(trial)
    tried = small_models._rates_tried(trial["unit"], trial["gate"], protocol)
    assert row["rate"] == min(tried, key=lambda rate: tried[rate])
    if protocol == "longest":
        assert min(tried) < row["rate"] < max(tried)
    steps = trial["settings"]["steps"]
    model = trained(trial["unit"], trial["gate"], row["rate"], trial["seed"], steps)
    assert row["nats"] == nats(model, "test")


def test_the_grid_of_the_longest_runs_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss is least at 0.003, below where the grid begins; 0.0112 diverges."""
    monkeypatch.setattr(small_models, "trained", lambda *asked: asked[2])
    monkeypatch.setattr(
        small_models,
        "nats",
        lambda rate, _: abs(rate - 0.003) if rate < 0.01 else math.nan,
    )
    tried = small_models._rates_tried.__wrapped__("mlp", "relu", "longest")
    assert sorted(tried) == [0.0021, 0.0029, 0.004, 0.0056, 0.008, 0.011]
    assert _best_rate(tried) == 0.0029


@pytest.mark.slow
def test_a_committed_row_comes_out_again_at_its_rate() -> None:
    (trial, *_) = (
        trial for trial in _language_trials() if trial["settings"]["steps"] == 900
    )
    (row,) = rows("small_models", [trial]).to_dict("records")
    model = trained(trial["unit"], trial["gate"], row["rate"], trial["seed"], 900)
    assert nats(model, "test") == pytest.approx(row["nats"], rel=TOLERANCE)


def test_rows_hold_every_trial_and_a_unit_one_rate() -> None:
    made = rows("small_models")
    assert (made["protocol"] == "tuned").sum() == 77
    assert (made.groupby(["protocol", "unit", "gate"])["rate"].nunique() == 1).all()
    assert (made.groupby(["seed", "settings"])["counted_nats"].nunique() == 1).all()
