"""Learned maps of GELU(W x), wide for their features, against the best of their rank.

A trial trains the two networks of the GELU-linearization paper's section 3 for ten
seeds at once, by Adam in float32 on a fresh batch of 64 pairs a step, its rate falling
to 0 along half a cosine. Hidden layers have as many units as there are features, at
least the paper's 64, so that the features and not the networks bound the rank. The
protocol ``listing`` is the paper's own.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import torch

from xsquared.features import learned
from xsquared.features.optimal import OptimalMap, best_mse
from xsquared.studies.experiment import make_trial
from xsquared.studies.sweep import Study, Trial

_DIMENSIONS = (2, 4, 8, 16)
_FEATURES = (8, 16, 32, 64, 128, 256)
#: Seeds of a trial, trained together.
_SEEDS = range(10)
#: Steps of Adam by protocol; the listing's are settings.
_STEPS = {"short": 200, "drawn": 20_000, "optimal": 20_000}
#: Pairs on which networks are judged.
_TEST_PAIRS = 4096
#: Of these so many are judged at a time, to save memory.
_AT_ONCE = 256
#: The key of the stream of random numbers that draws them.
_TEST_KEY = [3]
_GELU = "x*(1 + erf(x/sqrt(2)))/2"
_PROTOCOLS = {
    "drawn": "20,000 steps of Adam from weights as torch draws them",
    "optimal": "20,000 steps from last layers fitted to the optimal map's features",
    "short": "200 steps from weights as torch draws them",
    "listing": (
        "float64 at a rate that stays, on so many pairs or, with none, fresh batches"
    ),
}


def _map_trials(protocol: str, sizes: Iterable[tuple[int, int]]) -> list[Trial]:
    """List trials of a protocol for dimensions and numbers of features (d, m)."""
    return [_network_trial(protocol, max(64, m), {"d": d, "m": m}) for d, m in sizes]


def listing_trial(d: int, pairs: int | None, steps: int, hidden: int = 64) -> Trial:
    """Describe the paper's listing, of 16 features; without pairs batches are fresh."""
    settings = {"d": d, "m": 16, "pairs": pairs, "steps": steps}
    return _network_trial("listing", hidden, settings)


def _network_trial(protocol: str, hidden: int, settings: Mapping[str, Any]) -> Trial:
    return make_trial(
        _GELU,
        "mlp",
        hidden,
        "two_networks",
        protocol,
        domain=((-100, 100),),
        settings=settings,
    )


def _all_trials() -> list[Trial]:
    """List all trials: a quick one, the law's, from optimal layers, the listing's."""
    law = [(d, m) for m in _FEATURES for d in _DIMENSIONS]
    # Where the linear and the quadratic features are complete.
    corners = [(d, m) for d in _DIMENSIONS for m in (d + 1, d + d * (d + 1) // 2)]
    from_optimal = [(d, m) for d, m in law if m in (16, 64)]
    listing = [
        listing_trial(2, 1024, 480),
        listing_trial(2, 10_240, 4800),
        listing_trial(2, None, 480),
    ]
    for pairs in (None, 1024):
        epochs = (1, 2, 4, 8, 12, 16, 32)
        listing += [listing_trial(16, pairs, 125 * count) for count in epochs]
        listing.append(listing_trial(16, pairs, 2000, hidden=32))
    return [
        *_map_trials("short", [(2, 8)]),
        *_map_trials("drawn", law + corners),
        *_map_trials("optimal", from_optimal),
        *listing,
    ]


def _run_map(trial: Trial) -> dict[str, Any]:
    """Train one pair of networks for ten seeds.

    ``test_rmse`` is the root of the seeds' median ``mse``, ``train_rmse`` the root of
    the median loss of the last hundred steps; of the listing every seed's own.
    """
    settings = trial["settings"]
    d, m = settings["d"], settings["m"]
    listing = trial["protocol"] == "listing"
    steps = settings["steps"] if listing else _STEPS[trial["protocol"]]
    protocol = learned.Protocol(
        d,
        m,
        settings.get("pairs"),
        hidden=trial["n"],
        decay=not listing,
        single=not listing,
    )
    if trial["protocol"] == "optimal":
        start = learned.optimal_networks(protocol, _SEEDS)
    else:
        start = learned.initial_networks(protocol, _SEEDS)
    measure = _measure_against_optimal(d, m)
    run = learned.train(protocol, _SEEDS, steps, measure, [steps], start)
    errors = run.measured[steps]
    losses = run.losses[-100:].mean(axis=0)
    layers = (*run.networks.phi_layers, *run.networks.psi_layers)
    return {
        "parameters": sum(stacked[0].numel() for stacked in layers),
        "train_rmse": np.sqrt(losses if listing else np.median(losses)),
        "test_rmse": float(np.sqrt(max(0.0, np.median(errors)))),
        "d": d,
        "m": m,
        "seed": list(_SEEDS),
        "mse": errors,
        "best_mse": float(best_mse(d, m)),
    }


def _measure_against_optimal(
    d: int, m: int
) -> Callable[[learned.TwoNetworks], np.ndarray]:
    """Make a function that measures networks of m features: mean squared errors (S,).

    Each is that on 4,096 pairs, less the optimal map's on the same pairs, plus the
    exact error of that map: a control variate, as both err at the same pairs.
    """
    W, x, y = learned.draw_pairs(d, _TEST_PAIRS, [_TEST_KEY])
    optimal = OptimalMap(d, m)
    exact = float(best_mse(d, m))
    phi = optimal.phi(W[0].numpy())  # (pairs, rows, m)
    psi = optimal.psi(x[0].numpy())  # (pairs, m)
    optimal_errors = np.einsum("nim,nm->ni", phi, psi) - y[0].numpy()

    def measure(networks: learned.TwoNetworks) -> np.ndarray:
        chunks = zip(*(v.split(_AT_ONCE, dim=1) for v in (W, x, y)), strict=True)
        errors = [learned.pair_errors(networks, *chunk) for chunk in chunks]
        squares = torch.cat(errors, dim=1).numpy() ** 2  # (S, pairs, rows)
        return exact + (squares - optimal_errors**2).mean(axis=(1, 2))

    return measure


LEARNED_MAPS = Study(
    "Two networks whose product is fitted to GELU(W x), wide enough for their features",
    _PROTOCOLS,
    _run_map,
    _all_trials,
    lambda: _map_trials("short", [(2, 8)]),
)
