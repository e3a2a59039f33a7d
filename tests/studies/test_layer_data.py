"""Layers of transformers as regression problems, by name."""

from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from xsquared_book.cli import commands
from xsquared_studies import language_models
from xsquared_studies.experiment import dataset
from xsquared_studies.language_models import LAYER_PROBLEMS, MODELS, missing, model
from xsquared_studies.layer_data import load_layer
from xsquared_studies.trial import Trial

weights = pytest.mark.skipif(bool(missing()), reason=missing() or "there")


@weights
def test_names_are_those_of_every_layer() -> None:
    names = {f"{name}/{layer}" for name in MODELS for layer in range(model(name).depth)}
    assert {*LAYER_PROBLEMS} == names


@weights
@pytest.mark.slow
def test_values_are_the_layers_output_along_its_main_direction() -> None:
    data = dataset(Trial("mlp", 2, "minilm/1", points=400, seed=1))
    x = [part.x * data.feature_scale + data.feature_mean for part in (data.train, data.test)]
    y = [data.inverse(part.y) for part in (data.train, data.test)]
    of = model("minilm")
    made = of.feed[1](torch.tensor(np.concatenate(x)).float(), of.gate).numpy()
    made, values = made - made.mean(0), np.concatenate(y) - np.concatenate(y).mean()
    assert data.train.x.shape == (400, 384)
    # The values are a projection of the outputs, of which no other has a larger variance by far.
    weights, (left, *_) = np.linalg.lstsq(made.astype(float), values)[:2]
    assert left < 1e-6 * (values**2).sum()
    assert np.linalg.norm(weights) == pytest.approx(1, abs=1e-3)
    largest = np.linalg.norm(made, 2) ** 2
    assert 0.8 * largest < (values**2).sum() <= largest * 1.000001
    # A text is held out whole, and another seed holds out another.
    assert not {*map(tuple, x[0])} & {*map(tuple, x[1])}
    assert len(data.test.y) in (4 * 511, 8 * 511)
    assert not np.array_equal(load_layer("minilm/1", 2).test.y[:9], data.test.y[:9])


@pytest.mark.parametrize(
    ("problem", "said"),
    [("minilm/6", "unknown problem 'minilm/6'; known are smollm2/0"), ("minilm/2", "pip install")],
)
def test_an_unknown_layer_and_missing_packages_are_one_line(
    problem: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language_models, "find_spec", lambda _: None)
    out = str(tmp_path / "rows.csv")
    with pytest.raises((ValueError, OSError), match=said) as raised:
        CliRunner().invoke(
            commands,
            ["sweep", "--problem", problem, "--widths", "2", "--out", out],
            standalone_mode=False,
            catch_exceptions=False,
        )
    assert str(raised.value).count("\n") == 0


def test_another_version_of_a_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_models, "find_spec", lambda _: True)
    pins = dict(pin.split("==") for pin in language_models.PACKAGES)
    monkeypatch.setattr(language_models, "version", pins.get)
    assert not missing()
    monkeypatch.setattr(language_models, "version", {**pins, "gguf": "0.20.0"}.get)
    assert "gguf==0.19.0" in missing()
