"""Learned maps of GELU(W x), wide enough for their features, against the best of their
rank.

A trial trains the two networks of the GELU-linearization paper's section 3 for ten
seeds at once, by Adam in float32 on a fresh batch of 64 pairs a step, its rate falling
to 0 along half a cosine. Hidden layers have as many units as there are features, at
least the paper's 64, so that the features and not the networks bound the rank. The
protocol ``listing`` is the paper's own.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

from xsquared.features import learned
from xsquared.features.optimal import OptimalMap, best_mse
from xsquared.studies.experiment import make_trial
from xsquared.studies.sweep import Study, Trial

DIMENSIONS, FEATURES = (2, 4, 8, 16), (8, 16, 32, 64, 128, 256)
_GELU = "x*(1 + erf(x/sqrt(2)))/2"
PROTOCOLS = {
    "drawn": "20,000 steps of Adam from weights as torch draws them",
    "optimal": "20,000 steps from last layers fitted to the optimal map's features",
    "short": "200 steps from weights as torch draws them",
    "listing": "float64 at a rate that stays, on so many pairs or, with none, fresh batches",
}


def map_trials(protocol: str, sizes: Iterable[tuple[int, int]]) -> list[Trial]:
    """List trials of a protocol for pairs of dimension and number of features."""
    same: Any = {
        "solver": "two_networks",
        "protocol": protocol,
        "domain": ((-100, 100),),
    }
    return [
        make_trial(_GELU, "mlp", max(64, m), settings={"d": d, "m": m}, **same)
        for d, m in sizes
    ]


def listing_trial(d: int, pairs: int | None, steps: int, hidden: int = 64) -> Trial:
    """Describe the paper's listing, with 16 features; without ``pairs`` every batch is
    fresh.
    """
    settings = {"d": d, "m": 16, "pairs": pairs, "steps": steps}
    same: Any = {"domain": ((-100, 100),), "settings": settings}
    return make_trial(_GELU, "mlp", hidden, "two_networks", "listing", **same)


def all_trials() -> list[Trial]:
    """List a quick trial, the law, its corners, those from optimal last layers, the
    listing's.
    """
    law = [(d, m) for m in FEATURES for d in DIMENSIONS]
    corners = [(d, m) for d in DIMENSIONS for m in (d + 1, d + d * (d + 1) // 2)]
    fitted = [(d, m) for d, m in law if m in (16, 64)]
    drawn = map_trials("drawn", law + corners)
    listed = [
        listing_trial(2, pairs, steps) for pairs, steps in ((1024, 480), (10_240, 4800))
    ]
    listed.append(listing_trial(2, None, 480))
    for pairs in (None, 1024):
        listed += [listing_trial(16, pairs, 125 * k) for k in (1, 2, 4, 8, 12, 16, 32)]
        listed.append(listing_trial(16, pairs, 2000, hidden=32))
    return [
        *map_trials("short", [(2, 8)]),
        *drawn,
        *map_trials("optimal", fitted),
        *listed,
    ]


def run_map(trial: Trial) -> dict[str, Any]:
    """Train one pair of networks for ten seeds; ``test_rmse`` is the root of their
    median ``mse``.

    ``train_rmse`` is the root of the median loss of the last hundred steps; of the
    listing every seed's own.
    """
    settings, seeds, listing = (
        trial["settings"],
        range(10),
        trial["protocol"] == "listing",
    )
    d, m, pairs = settings["d"], settings["m"], settings.get("pairs")
    wide = learned.Protocol(
        d, m, pairs, hidden=trial["n"], decay=not listing, single=not listing
    )
    begin = (
        learned.optimal_networks
        if trial["protocol"] == "optimal"
        else learned.initial_networks
    )
    steps = settings.get("steps", 200 if trial["protocol"] == "short" else 20_000)
    run = learned.train(
        wide, seeds, steps, known_errors(d, m), [steps], begin(wide, seeds)
    )
    errors, losses = run.measured[steps], run.losses[-100:].mean(axis=0)
    return {
        "parameters": sum(
            p[0].numel() for p in run.networks.phi_layers + run.networks.psi_layers
        ),
        "train_rmse": np.sqrt(losses if listing else np.median(losses)),
        "test_rmse": float(np.sqrt(max(0.0, np.median(errors)))),
        "d": d,
        "m": m,
        "seed": list(seeds),
        "mse": errors,
        "best_mse": float(best_mse(d, m)),
    }


def known_errors(d: int, m: int) -> Callable[[learned.TwoNetworks], np.ndarray]:
    """Make a function that measures networks of m features: mean squared errors, by
    seed.

    Each is that on 4,096 pairs, less the optimal map's there, plus the exact error of
    that map.
    """
    W, x, y = learned.draw_pairs(d, 4096, [[3]])
    optimal, least = OptimalMap(d, m), float(best_mse(d, m))
    rows = optimal.phi(W[0].numpy())
    known = np.einsum("nim,nm->ni", rows, optimal.psi(x[0].numpy())) - y[0].numpy()

    def measured(networks: learned.TwoNetworks) -> np.ndarray:
        parts = zip(*(v.split(256, dim=1) for v in (W, x, y)), strict=True)
        errors = torch.cat(
            [learned.pair_errors(networks, *part) for part in parts], dim=1
        )
        return least + (errors.numpy() ** 2 - known**2).mean(axis=(1, 2))

    return measured


LEARNED_MAPS = Study(
    "Two networks whose product is fitted to GELU(W x), wide enough for their features",
    PROTOCOLS,
    run_map,
    all_trials,
    lambda: map_trials("short", [(2, 8)]),
)
