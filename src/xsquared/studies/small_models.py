"""Small language models of bytes, alike but for the unit of their feed-forward layers.

Protocol, fixed on 2026-11-27 before the first judged row; ten short runs with two
units, judged on both held-out texts, had set sizes, batch and steps, such that an hour
of one core suffices. The text is the Python of pinned packages: of sympy, scipy,
scikit-learn and torch for training, each passage seen once; of pandas for choosing
rates; of matplotlib for judging.

A model has two blocks: attention, then a feed-forward layer, each behind the stream's
normalised values; learned places; the embedding also reads out. An MLP has 4 d neurons
a layer, another unit as many as have the same parameters. Weights start such that all
units' layers have outputs alike in size. AdamW's rate climbs for a twentieth of the
steps, then falls to zero along a line.

Each unit's rate is the best of four on pandas with seed 0, which is not judged, in the
shortest runs. Judged are seeds 1 to 5 of the longest runs and 1 to 3 of half and a
quarter of the steps, each with its own schedule. A seed gives all units the same
passages in the same order. Units are compared in nats a byte, paired by seed, with
Student's t and Holm's correction over the units; a unit is ranked only where its mean
beats counts of up to six bytes in the passages it has seen.

Protocol ``longest``, fixed on 2026-11-28 before its first row, when all rows above were
known. *Question*: what a factor is worth beside three gates, and of what it is made up
beside GELU. *Compared* are the pairs of a gate alone and with a factor, ReLU and GLU,
SiLU and SwiGLU, GELU and GeGLU, and the triple of GELU: alone, with a second number of
its own (z GELU(z), for as many parameters a neuron as a GeGLU's, within one in 193),
with a factor. Its two steps are *curvature* and *direction*. *Rates* of all seven units
are chosen at the longest length, on pandas with seed 0: of 0.0056, 0.008 and 0.011, a
grid that grows by a factor of 1.4 until neither end is the best. *Judged* are seeds 1
to 3 of the longest runs; all else is as above.

*Thresholds.* A step's worth is the mean over seeds of the nats a byte that it saves.
Its interval is Student's at 95% with the scatter that is left of all seven units once
unit and seed are taken out (12 degrees of freedom). The three pairs and the two steps
are five comparisons; p is corrected after Holm. A step *pays* (*costs*) where the
corrected p is at most 0.05 and the mean is above (below) zero; it is *worth less than a
hundredth* where its interval lies within 0.01 of zero; otherwise nothing is said of it.
"A factor pays at this size" needs all three pairs to pay. A unit that is behind
counting is not compared.

*Predicted*: no pair pays or costs, and the intervals of two or more of the three lie
within 0.02 of zero; neither step of GELU's triple pays.
"""

from functools import cache
from math import isfinite, sqrt
from time import thread_time
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, rms_norm, scaled_dot_product_attention

from xsquared.studies import byte_text
from xsquared.studies.byte_text import BEFORE, BYTES, LENGTH
from xsquared.studies.experiment import make_trial
from xsquared.studies.sweep import Study, Trial
from xsquared.units import build, parameter_count

#: Units of the protocol ``tuned``, with the gate of each.
LANGUAGE_UNITS = (
    ("mlp", "relu"),
    ("relu2_mlp", "relu2"),
    ("mlp", "gelu"),
    ("glu", "relu"),
    ("swiglu", "silu"),
    ("bilinear", "identity"),
    ("gqu", "relu"),
)
#: Its seeds judged, by the number of steps.
_LENGTHS = {3600: (1, 2, 3, 4, 5), 1800: (1, 2, 3), 900: (1, 2, 3)}
#: Its rates.
_RATES = (0.004, 0.0056, 0.008, 0.011)
#: Units of the protocol ``longest``: those that have no rows by ``tuned`` first.
LONGEST_UNITS = (
    ("geglu", "gelu"),
    ("pair", "gelu"),
    ("mlp", "silu"),
    ("mlp", "gelu"),
    ("swiglu", "silu"),
    ("mlp", "relu"),
    ("glu", "relu"),
)
_LONGEST_SEEDS = (1, 2, 3)
#: Where its grid of rates begins.
_LONGEST_RATES = (0.0056, 0.008, 0.011)
#: By what factor the grid grows.
_GROWTH = 1.4

#: Numbers a byte on the stream.
_WIDTH = 64
#: Numbers of one head of attention.
_HEAD = 32
_BLOCKS = 2
#: Share of the steps in which the rate climbs.
_CLIMB = 0.05
#: Root mean square of a feed-forward layer's outputs at the start.
_START_SIZE = 0.5


def _language_trials() -> list[Trial]:
    """List the trials of both protocols, those of ``longest`` last.

    Of ``tuned`` the first three seeds come first, at all lengths.
    """
    runs = [(steps, seed) for steps, seeds in _LENGTHS.items() for seed in seeds]
    runs.sort(key=lambda run: (run[1] > 3, run[1]))
    tuned = [
        _language_trial("tuned", unit, gate, steps, seed)
        for steps, seed in runs
        for unit, gate in LANGUAGE_UNITS
    ]
    longest = [
        _language_trial("longest", unit, gate, max(_LENGTHS), seed)
        for unit, gate in LONGEST_UNITS
        for seed in _LONGEST_SEEDS
    ]
    return tuned + longest


def _language_trial(
    protocol: str, unit: str, gate: str, steps: int, seed: int
) -> Trial:
    return make_trial(
        "python",
        unit,
        _neurons(unit, _WIDTH),
        "adamw",
        protocol,
        gate=gate,
        settings={"d": _WIDTH, "steps": steps},
        seed=seed,
    )


def _neurons(unit: str, d: int) -> int:
    """Count the neurons whose parameters come nearest to those of an MLP's 4 d."""
    wanted = parameter_count("mlp", d, 4 * d, d) - d
    price = parameter_count(unit, d, 1, d) - d
    return round(wanted / price)


class Block(nn.Module):
    """Attention, then a feed-forward layer, on a stream (count, length, d)."""

    def __init__(
        self, unit: str, gate: str, d: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.gains = nn.Parameter(torch.ones(2, d))
        self.qkv = _normal(3 * d, d, generator)
        self.out = _normal(d, d, generator)
        self.feed = build(unit, d, _neurons(unit, d), d, gate, generator).float()
        with torch.no_grad():
            for name, values in self.feed.named_parameters():
                is_weight = name.isupper()  # biases are zero
                values.mul_(is_weight / sqrt(d))
            outputs = self.feed(torch.randn(4096, d, generator=generator))
            self.feed.D.mul_(_START_SIZE / outputs.square().mean().sqrt())
            self.out.mul_(_START_SIZE)

    def forward(self, h: Tensor) -> Tensor:
        """Compute the stream behind the block."""
        into_attention = rms_norm(h, h.shape[-1:], self.gains[0])
        q, k, v = (
            values.unflatten(-1, (-1, _HEAD)).transpose(
                1, 2
            )  # (count, head, length, .)
            for values in (into_attention @ self.qkv.T).chunk(3, dim=-1)
        )
        heads = scaled_dot_product_attention(q, k, v, is_causal=True)
        h = h + heads.transpose(1, 2).flatten(2) @ self.out.T
        into_feed = rms_norm(h, h.shape[-1:], self.gains[1])
        fed: Tensor = self.feed(into_feed.flatten(0, 1))
        return h + fed.view_as(h)


def _normal(rows: int, d: int, generator: torch.Generator) -> nn.Parameter:
    """Draw weights (rows, d) of deviation 1/sqrt(d)."""
    return nn.Parameter(torch.randn(rows, d, generator=generator) / sqrt(d))


class SmallModel(nn.Module):
    """A language model; its parameters are float32."""

    def __init__(self, unit: str, gate: str, d: int, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.embedding = _normal(BYTES, d, generator)
        self.places = _normal(LENGTH, d, generator)
        self.gain = nn.Parameter(torch.ones(d))
        blocks = [Block(unit, gate, d, generator) for _ in range(_BLOCKS)]
        self.blocks = nn.ModuleList(blocks)

    def forward(self, passages: Tensor) -> Tensor:
        """Compute next bytes' cross-entropy: (count, length + 1) -> (count, length)."""
        x = passages[:, :-1]
        h = self.embedding[x] + self.places[: x.shape[1]]
        for block in self.blocks:
            h = block(h)
        logits = rms_norm(h, h.shape[-1:], self.gain) @ self.embedding.T
        next_bytes = passages[:, 1:].flatten()
        losses = cross_entropy(logits.flatten(0, 1), next_bytes, reduction="none")
        return losses.view_as(x)


def trained(unit: str, gate: str, rate: float, seed: int, steps: int) -> SmallModel:
    """Train a model on a seed's passages, one batch a step."""
    model = SmallModel(unit, gate, _WIDTH, seed)
    optimizer = torch.optim.AdamW(
        model.parameters(), rate, betas=(0.9, 0.95), weight_decay=0.0, fused=True
    )
    for step, batch in enumerate(byte_text.passages(seed, steps)):
        climbing = (step + 1) / (_CLIMB * steps)
        falling = (steps - step) / ((1 - _CLIMB) * steps)
        optimizer.param_groups[0]["lr"] = rate * min(climbing, falling, 1.0)
        loss = model(torch.from_numpy(batch)).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model


@torch.no_grad()
def nats(model: SmallModel, part: str) -> float:
    """Measure nats a byte on held-out text, each byte with at least 64 before it."""
    chunks = torch.from_numpy(byte_text.judged(part)).split(64)
    losses = [model(chunk)[:, BEFORE:].mean(1) for chunk in chunks]
    return float(torch.cat(losses).mean())


@cache
def _rates_tried(unit: str, gate: str, protocol: str) -> dict[float, float]:
    """Judge rates on the text for choosing, with seed 0: nats a byte by rate.

    By ``tuned`` four rates in the shortest runs; by ``longest`` in the longest runs as
    many as are needed for neither end of the grid to be the best.
    """
    steps = max(_LENGTHS) if protocol == "longest" else min(_LENGTHS)

    def judge(rate: float) -> float:
        return nats(trained(unit, gate, rate, 0, steps), "choice")

    if protocol == "tuned":
        return {rate: judge(rate) for rate in _RATES}
    tried = {rate: judge(rate) for rate in _LONGEST_RATES}
    while (best := _best_rate(tried)) in (min(tried), max(tried)):
        factor = _GROWTH if best == max(tried) else 1 / _GROWTH
        rate = round(best * factor, 4)
        tried[rate] = judge(rate)
    return tried


def _best_rate(tried: dict[float, float]) -> float:
    """Choose the rate with the fewest nats; one that diverged only where all did."""
    return min(tried, key=lambda rate: (not isfinite(tried[rate]), tried[rate]))


def _run_language(trial: Trial) -> dict[str, Any]:
    """Train a model at its unit's best rate; of the blocks are the parameters."""
    unit, gate, seed = trial["unit"], trial["gate"], trial["seed"]
    steps = trial["settings"]["steps"]
    tried = _rates_tried(unit, gate, trial["protocol"])
    rate = _best_rate(tried)
    start = thread_time()
    model = trained(unit, gate, rate, seed, steps)
    spent = thread_time() - start
    loss = nats(model, "test")
    return {
        "status": "completed" if isfinite(loss) else "diverged",
        "parameters": sum(p.numel() for p in model.blocks.parameters()),
        "rate": rate,
        "rate_spread": max(tried.values()) - min(tried.values()),
        "training_seconds": spent,
        "counted_nats": byte_text.counted(seed, steps),
        "nats": loss,
    }


SMALL_MODELS = Study(
    "Small language models of bytes with nine units, of three lengths of training",
    {
        "tuned": (
            "up to 3.7 million bytes of Python at the best of four rates; nats a byte"
        ),
        "longest": "all of them at a rate chosen in runs as long; nats a byte",
    },
    _run_language,
    _language_trials,
    list,  # four rates before each row: tests train one at its committed rate
)
