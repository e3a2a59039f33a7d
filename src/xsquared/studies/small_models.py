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

*Thresholds.* A step's worth is the mean over seeds of the nats a byte that it saves. Its
interval is Student's at 95% with the scatter that is left of all seven units once unit
and seed are taken out (12 degrees of freedom). The three pairs and the two steps are
five comparisons; p is corrected after Holm. A step *pays* (*costs*) where the corrected
p is at most 0.05 and the mean is above (below) zero; it is *worth less than a
hundredth* where its interval lies within 0.01 of zero; otherwise nothing is said of it.
"A factor pays at this size" needs all three pairs to pay. A unit that is behind counting
is not compared.

*Predicted*: no pair pays or costs, and the intervals of two or more of the three lie
within 0.02 of zero; neither step of GELU's triple pays.
"""

from functools import cache
from math import isfinite, sqrt
from time import thread_time
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, rms_norm, scaled_dot_product_attention

from xsquared.studies.experiment import make_trial
from xsquared.studies.language_models import folder
from xsquared.studies.sweep import Study, Trial
from xsquared.units import build, parameter_count

#: Units compared, with the gate of each.
LANGUAGE_UNITS = (
    *(("mlp", "relu"), ("relu2_mlp", "relu2"), ("mlp", "gelu"), ("glu", "relu")),
    *(("swiglu", "silu"), ("bilinear", "identity"), ("gqu", "relu")),
)
#: Seeds judged, by the number of steps.
LENGTHS = {3600: (1, 2, 3, 4, 5), 1800: (1, 2, 3), 900: (1, 2, 3)}
RATES = (0.004, 0.0056, 0.008, 0.011)
#: Units of the protocol ``longest``: those that have no rows by the other one first.
LONGEST_UNITS = (
    ("geglu", "gelu"),
    ("pair", "gelu"),
    ("mlp", "silu"),
    ("mlp", "gelu"),
    ("swiglu", "silu"),
    ("mlp", "relu"),
    ("glu", "relu"),
)
LONGEST_SEEDS = (1, 2, 3)
#: Where its grid of rates begins, and by what it grows.
LONGEST_RATES = (0.0056, 0.008, 0.011)
_GROWTH = 1.4
#: Numbers a byte; passages a step and bytes a passage; heads' numbers; blocks; bytes
#: are ASCII's.
_WIDTH, _BATCH, _LENGTH, _HEAD, _BLOCKS, _BYTES = 64, 8, 128, 32, 2, 128
_PARTS = {
    "train": "sympy scipy sklearn torch",
    "choice": "pandas",
    "test": "matplotlib",
}
#: Half passages judged; what models are compared with counts up to so many bytes.
_JUDGED, _ORDER = 1875, 6


def language_trials() -> list[Trial]:
    """List the trials of both protocols, those of ``longest`` last."""
    longest = [
        make_trial(
            "python",
            unit,
            neurons(unit, _WIDTH),
            "adamw",
            "longest",
            gate=gate,
            seed=seed,
            settings={"d": _WIDTH, "steps": max(LENGTHS)},
        )
        for unit, gate in LONGEST_UNITS
        for seed in LONGEST_SEEDS
    ]
    return [*_tuned_trials(), *longest]


def _tuned_trials() -> list[Trial]:
    """List every unit with every seed, the first three seeds at all lengths first."""
    runs = [(seed, steps) for steps, seeds in LENGTHS.items() for seed in seeds]
    same: Any = {"solver": "adamw", "protocol": "tuned"}
    return [
        make_trial(
            "python",
            unit,
            neurons(unit, _WIDTH),
            gate=gate,
            seed=seed,
            settings=told,
            **same,
        )
        for seed, steps in sorted(runs, key=lambda run: (run[0] > 3, run[0]))
        for told in [{"d": _WIDTH, "steps": steps}]
        for unit, gate in LANGUAGE_UNITS
    ]


def neurons(unit: str, d: int) -> int:
    """Count those that give a layer the parameters of an MLP's with 4 d."""
    wanted = parameter_count("mlp", d, 4 * d, d) - d
    return round(wanted / (parameter_count(unit, d, 1, d) - d))


class Block(nn.Module):
    """Attention, then a feed-forward layer of one unit, on a stream (count, length, d)."""

    def __init__(
        self, unit: str, gate: str, d: int, generator: torch.Generator
    ) -> None:
        super().__init__()

        def normal(rows: int) -> nn.Parameter:
            return nn.Parameter(torch.randn(rows, d, generator=generator) / sqrt(d))

        self.gains = nn.Parameter(torch.ones(2, d))
        self.qkv, self.out = normal(3 * d), normal(d)
        self.feed = build(unit, d, neurons(unit, d), d, gate, generator).float()
        with torch.no_grad():
            for name, weights in self.feed.named_parameters():
                weights.mul_(name.isupper() / sqrt(d))  # biases are zero
            made = self.feed(torch.randn(4096, d, generator=generator))
            self.feed.D.mul_(0.5 / made.square().mean().sqrt())
            self.out.mul_(0.5)

    def forward(self, h: Tensor) -> Tensor:
        """Compute the stream behind the block."""
        heads = (rms_norm(h, h.shape[-1:], self.gains[0]) @ self.qkv.T).chunk(3, dim=-1)
        q, k, v = (part.unflatten(-1, (-1, _HEAD)).transpose(1, 2) for part in heads)
        mixed = scaled_dot_product_attention(q, k, v, is_causal=True)
        h = h + mixed.transpose(1, 2).flatten(2) @ self.out.T
        made: Tensor = self.feed(rms_norm(h, h.shape[-1:], self.gains[1]).flatten(0, 1))
        return h + made.view_as(h)


class SmallModel(nn.Module):
    """A language model; its parameters are float32."""

    def __init__(self, unit: str, gate: str, d: int, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.embedding = nn.Parameter(
            torch.randn(_BYTES, d, generator=generator) / sqrt(d)
        )
        self.places = nn.Parameter(
            torch.randn(_LENGTH, d, generator=generator) / sqrt(d)
        )
        self.gain = nn.Parameter(torch.ones(d))
        self.blocks = nn.ModuleList(
            Block(unit, gate, d, generator) for _ in range(_BLOCKS)
        )

    def forward(self, passages: Tensor) -> Tensor:
        """Compute the next byte's cross-entropy, by passage (count, length + 1) and
        place.
        """
        x = passages[:, :-1]
        h = self.embedding[x] + self.places[: x.shape[1]]
        for block in self.blocks:
            h = block(h)
        logits = rms_norm(h, h.shape[-1:], self.gain) @ self.embedding.T
        losses = cross_entropy(
            logits.flatten(0, 1), passages[:, 1:].flatten(), reduction="none"
        )
        return losses.view_as(x)


@cache
def text(part: str) -> np.ndarray:
    """Read the packages of a part as bytes; what is not ASCII is 127."""
    places = [folder(name) for name in _PARTS[part].split()]
    files = [path for place in places for path in sorted(place.rglob("*.py"))]
    whole = b"\n".join(path.read_bytes() for path in files)
    return np.minimum(np.frombuffer(whole, np.uint8), _BYTES - 1)


@cache
def passages(seed: int, steps: int) -> np.ndarray:
    """Draw the passages that a seed sees, none twice: (steps, batch, length + 1)."""
    count = len(text("train")) // (_LENGTH + 1)
    order = np.random.default_rng(seed).permutation(count)[: steps * _BATCH]
    cut = text("train")[: count * (_LENGTH + 1)].reshape(count, -1)
    return cut[order].reshape(steps, _BATCH, -1).astype(np.int64)


@cache
def judged(part: str) -> np.ndarray:
    """Cut passages from all over a part: (count, length + 1), judged on their second
    halves.
    """
    starts = np.linspace(0, len(text(part)) - _LENGTH - 1, _JUDGED).astype(int)
    return text(part)[starts[:, None] + np.arange(_LENGTH + 1)].astype(np.int64)


def trained(unit: str, gate: str, rate: float, seed: int, steps: int) -> SmallModel:
    """Train a model on a seed's passages, one batch a step."""
    model = SmallModel(unit, gate, _WIDTH, seed)
    same: Any = {"betas": (0.9, 0.95), "weight_decay": 0.0, "fused": True}
    optimizer = torch.optim.AdamW(model.parameters(), rate, **same)
    for step, batch in enumerate(passages(seed, steps)):
        share = min(20 * (step + 1) / steps, (steps - step) / (0.95 * steps), 1.0)
        optimizer.param_groups[0]["lr"] = rate * share
        loss = model(torch.from_numpy(batch)).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model


@torch.no_grad()
def nats(model: SmallModel, part: str) -> float:
    """Measure nats a byte on held-out text, each byte with at least 64 before it."""
    cut = torch.from_numpy(judged(part)).split(64)
    return float(
        torch.cat([model(few)[:, _LENGTH // 2 :].mean(1) for few in cut]).mean()
    )


@cache
def counted(seed: int, steps: int) -> float:
    """Measure nats a byte of counts (Witten and Bell's) of the best number of bytes up
    to six.
    """
    seen = passages(seed, steps).reshape(-1, _LENGTH + 1)
    last = np.lib.stride_tricks.sliding_window_view(judged("test"), _ORDER, axis=1)
    last = last[:, -(_LENGTH // 2) :].reshape(-1, _ORDER)
    p, losses = np.full(len(last), 1 / _BYTES), []
    for k in range(1, _ORDER + 1):
        places = _BYTES ** np.arange(k)[::-1]
        windows = np.lib.stride_tricks.sliding_window_view(seen, k, axis=1)
        words, times = np.unique((windows @ places).ravel(), return_counts=True)
        before, first, kinds = np.unique(
            words // _BYTES, return_index=True, return_counts=True
        )
        word = last[:, -k:] @ places
        at, of = (
            np.searchsorted(*pair) for pair in ((words, word), (before, word // _BYTES))
        )
        at, of = np.minimum(at, len(words) - 1), np.minimum(of, len(before) - 1)
        known, total = before[of] == word // _BYTES, np.add.reduceat(times, first)[of]
        found = np.where(words[at] == word, times[at], 0)
        p = np.where(known, (found + kinds[of] * p) / (total + kinds[of]), p)
        losses.append(-np.log(p).mean())
    return float(min(losses))


@cache
def rates_tried(unit: str, gate: str, protocol: str) -> dict[float, float]:
    """Judge rates on the text for choosing, with seed 0: nats a byte by rate.

    By ``tuned`` four rates in the shortest runs; by ``longest`` in the longest runs as
    many as are needed for neither end of the grid to be the best.
    """
    steps = max(LENGTHS) if protocol == "longest" else min(LENGTHS)

    def judge(rate: float) -> float:
        return nats(trained(unit, gate, rate, 0, steps), "choice")

    if protocol == "tuned":
        return {rate: judge(rate) for rate in RATES}
    tried = {rate: judge(rate) for rate in LONGEST_RATES}
    while (best := best_rate(tried)) in (min(tried), max(tried)):
        factor = _GROWTH if best == max(tried) else 1 / _GROWTH
        rate = round(best * factor, 4)
        tried[rate] = judge(rate)
    return tried


def best_rate(tried: dict[float, float]) -> float:
    """Choose the rate with the fewest nats; one that diverged only where all did."""
    return min(tried, key=lambda rate: (not isfinite(tried[rate]), tried[rate]))


def run_language(trial: Trial) -> dict[str, Any]:
    """Train a model at its unit's best rate; of the blocks are the parameters."""
    unit, gate, seed = trial["unit"], trial["gate"], trial["seed"]
    steps = trial["settings"]["steps"]
    tried = rates_tried(unit, gate, trial["protocol"])
    rate = best_rate(tried)
    start = thread_time()
    model = trained(unit, gate, rate, seed, steps)
    spent, loss = thread_time() - start, nats(model, "test")
    return {
        "status": "completed" if isfinite(loss) else "diverged",
        "parameters": sum(p.numel() for p in model.blocks.parameters()),
        "rate": rate,
        "rate_spread": max(tried.values()) - min(tried.values()),
        "training_seconds": spent,
        "counted_nats": counted(seed, steps),
        "nats": loss,
    }


SMALL_MODELS = Study(
    "Small language models of bytes with nine units, of three lengths of training",
    {
        "tuned": "up to 3.7 million bytes of Python at the best of four rates; nats a byte",
        "longest": "all of them at a rate chosen in runs as long; nats a byte",
    },
    run_language,
    language_trials,
    list,  # four rates before each row: tests train one at its committed rate
)
