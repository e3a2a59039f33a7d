"""Small language models: equal parameters, no look ahead, tuned rates, and text that is learned."""

import math

import numpy as np
import pytest
import torch

from xsquared_studies import small_models
from xsquared_studies.small_models import (
    LANGUAGE_UNITS,
    SIZES,
    Block,
    SmallModel,
    language_trials,
    nats,
    rates_tried,
    run_language,
    trained,
)

UNITS = [unit for unit, _ in LANGUAGE_UNITS]


@pytest.fixture
def _hummed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that repeats a line of four letters, and few of them to train on."""
    line = np.random.default_rng(0).integers(4, size=20)
    texts = dict.fromkeys(("train", "valid", "test"), torch.from_numpy(np.tile(line, 60)))
    monkeypatch.setattr(small_models, "letters", lambda: texts)
    monkeypatch.setattr(small_models, "CHARACTERS", 10 * 2048)


def count(unit: str, d: int) -> int:
    return sum(p.numel() for p in SmallModel(unit, d, 4, 0).blocks.parameters())


@pytest.mark.parametrize("d", SIZES)
def test_units_have_equal_parameters_at_a_size(d: int) -> None:
    least, *_, most = sorted(count(unit, d) for unit in UNITS)
    assert most < 1.01 * least
    # Attention's 4 d^2 and the layer's 8 d^2, gains and biases, in each of two blocks.
    assert count("mlp", d) == 2 * (4 * d**2 + 8 * d**2 + 4 * d + d + 2 * d)


@pytest.mark.parametrize("unit", UNITS)
def test_a_model_sees_no_later_letter_and_starts_alike(unit: str) -> None:
    model = SmallModel(unit, 32, 4, 0)
    text = torch.from_numpy(np.random.default_rng(0).integers(4, size=(2, 129)))
    other = text.clone()
    other[:, 80:] = 3 - other[:, 80:]
    before, after = model(text), model(other)
    torch.testing.assert_close(before[:, :79], after[:, :79])
    assert (before[:, 80:] != after[:, 80:]).any()
    x = torch.randn(4096, 32, generator=torch.Generator().manual_seed(1))
    for block in model.blocks:
        assert isinstance(block, Block)
        with torch.no_grad():
            size = float(block.feed(x).square().mean().sqrt())
        assert size == pytest.approx(0.5, rel=0.1)


@pytest.mark.usefixtures("_hummed")
def test_training_learns_the_text_and_twice_as_long_more() -> None:
    made = [nats(trained("glu", 32, 0.01, 0, times), "test") for times in (1, 6, 12)]
    assert made[2] < made[1] < made[0] < 1.2 * math.log(4)
    assert made[2] < 0.6 * math.log(4)
    assert made[0] == nats(trained("glu", 32, 0.01, 0), "test")
    assert made[0] != nats(trained("glu", 32, 0.01, 1), "test")


@pytest.mark.parametrize(
    ("best", "tried"),
    [
        (0.1, [0, -1, 1]),
        (-0.9, [0, -1, 1, -2]),
        (1.1, [0, -1, 1, 2]),
        (9.0, [0, -1, 1, 2, 3]),  # five at most
    ],
)
def test_rates_go_on_past_the_better_end(best: float, tried: list[int]) -> None:
    def judged(rate: float) -> float:
        k = math.log2(rate / 0.008)
        return (k - best) ** 2 if k or best != 9 else math.nan

    found = rates_tried(0.008, judged)
    assert [round(math.log2(rate / 0.008)) for rate in found] == tried
    assert min(found, key=lambda rate: found[rate]) == 0.008 * 2.0 ** min(
        tried, key=lambda k: abs(k - best)
    )


@pytest.mark.usefixtures("_hummed")
def test_a_trial_tunes_then_trains_each_seed_at_the_best_rate() -> None:
    (trial, *_) = language_trials()
    row = run_language(trial)
    rate = row["rate"]
    assert row["nats"][1] == nats(trained("mlp", 32, rate, 1), "test")
    assert row["twice_nats"] == nats(trained("mlp", 32, rate, 0, 2), "test")
    assert row["parameters"] == count("mlp", 32)
    assert len(set(row["nats"])) == 3
