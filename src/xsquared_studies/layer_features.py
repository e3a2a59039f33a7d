"""How few features a transformer's gates need, and how much of it normal inputs explain.

For rows w of a layer and inputs x the best map with m features, a sum of m products of a function
of w and one of x, leaves of gate(w x + b) what the singular values after the m-th hold. For normal
x their squares are the eigenvalues of E[gate(z_i) gate(z_j)], the sum over k of
c_k(i) c_k(j) rho_ij^k: rho is the correlation of the values z = w x + b, c_k(i) the mean of
gate(z_i) times Hermite's k-th polynomial, of unit mean square, of the standardised z_i.

Protocol, fixed before the first row; a prototype's numbers were known. Layers, texts and tokens are
those of :mod:`xsquared_studies.gates_replaced`. The law takes mean and covariance from the text for
fitting and is judged on held-out text. Random rows are alike in all directions and as long as the
layer's, isotropic inputs have no mean and the same mean square. Rows ``without`` leave out one of
eight groups of two contexts, for the jackknife.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from scipy.special import expit

from xsquared.feature_maps.series import gelu
from xsquared_studies.declared import Study
from xsquared_studies.gates_replaced import PLACES, activations, layer_trial
from xsquared_studies.language_models import missing, model
from xsquared_studies.sweep import Trial

#: By model: its gate.
GATES: dict[str, Callable[[Any], np.ndarray]] = {"smollm2": lambda z: z * expit(z), "minilm": gelu}
#: Numbers of features whose errors the rows hold.
FEATURES = (1, 4, 16, 64, 256, 1024)
_LAW = "law of normal inputs, as the text for fitting"
FEATURE_PROTOCOLS = {
    "tokens": "singular values of the gates on held-out tokens; train_rmse on the other text's",
    "tokens-random-rows": "the same, random rows",
    "law": _LAW,
    "law-held-out": "law of normal inputs, as the held-out text",
    "law-drawn": "singular values on as many draws of the law's inputs as there are tokens",
    "law-random-rows": f"{_LAW}; random rows",
    "law-isotropic": "law of isotropic inputs",
    "law-isotropic-random-rows": "law of isotropic inputs; random rows",
}
#: Terms of the expansion; what is left of a gate's mean square is taken as its own.
_TERMS, _NODES, _GROUPS = 64, 180, 8


def feature_trials() -> list[Trial]:
    """List for every layer each protocol, then the two that are compared without each group."""
    asked: list[tuple[str, dict[str, int]]] = [(how, {}) for how in FEATURE_PROTOCOLS]
    asked += [(how, {"without": group}) for how in ("tokens", "law") for group in range(_GROUPS)]
    return [
        layer_trial(name, "svd", protocol, layer=layer, **own)
        for name, layer in PLACES
        for protocol, own in asked
    ]


def second_moments(
    gate: Callable[[Any], np.ndarray], mean: np.ndarray, covariance: np.ndarray
) -> np.ndarray:
    """Compute (n, n) means of gate(z_i) gate(z_j) for normal z."""
    deviation = np.sqrt(np.diag(covariance))
    xi, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    gates = gate(mean[:, None] + deviation[:, None] * xi)
    values = gates * (weights / weights.sum())
    rho = covariance / np.outer(deviation, deviation)
    power, found = np.ones_like(rho), np.zeros_like(rho)
    before, polynomial = np.zeros_like(xi), np.ones_like(xi)
    for k in range(_TERMS):
        c = values @ polynomial
        found += np.outer(c, c) * power
        power *= rho
        after = (xi * polynomial - np.sqrt(k) * before) / np.sqrt(k + 1)
        before, polynomial = polynomial, after
    np.fill_diagonal(found, (gates * values).sum(1))
    return found


def left_over(moments: np.ndarray) -> np.ndarray:
    """Compute what the best 0, 1, ... features leave, as shares of the root mean square."""
    values = np.maximum(np.linalg.eigvalsh(moments), 0)
    return np.sqrt(np.cumsum(values)[::-1] / values.sum())


def needed(errors: np.ndarray, share: float) -> int:
    """Find the least number of features that leave no more than this share."""
    return int(np.searchsorted(-errors, -share))


@cache
def _inputs(name: str, layer: int, part: str) -> np.ndarray:
    """Give (8, tokens, d) inputs of the layer without first tokens, by group of contexts."""
    x = activations(name).inputs[part, layer][:, 1:].double().numpy()
    return x.reshape(_GROUPS, -1, x.shape[-1])


def _products(name: str, x: np.ndarray, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Average (n, n) products of the gates on inputs, in single precision but for the sums."""
    parts = (GATES[name](part @ W.T + b).astype(np.float32) for part in np.array_split(x, 8))
    return np.sum([(part.T @ part).astype(float) for part in parts], axis=0) / len(x)


@torch.no_grad()
def run_features(trial: Trial) -> dict[str, Any]:
    """Measure the error by number of features, ``n``, and the inputs' ``participation`` ratio."""
    asked = trial["settings"]
    name, layer, protocol = asked["model"], asked["layer"], trial["protocol"]
    kept = [group for group in range(_GROUPS) if group != asked.get("without")]
    feed = model(name).feed[layer]
    W = feed.W.double().numpy()
    b = np.broadcast_to(np.asarray(feed.b, dtype=float), len(W))
    draw = np.random.default_rng(layer)
    if protocol.endswith("random-rows"):
        drawn = draw.normal(size=W.shape)
        W = drawn * (np.linalg.norm(W, axis=1) / np.linalg.norm(drawn, axis=1))[:, None]
    train, test = (
        _inputs(name, layer, part)[kept].reshape(-1, W.shape[1]) for part in ("train", "test")
    )
    given = train if protocol.startswith("law") and protocol != "law-held-out" else test
    mean, covariance = given.mean(0), np.cov(given.T)
    if protocol.startswith("law-isotropic"):
        square = (np.trace(covariance) + mean @ mean) / len(mean)
        mean, covariance = np.zeros_like(mean), square * np.eye(len(mean))
    if protocol.startswith("tokens"):
        errors, fitted = (left_over(_products(name, x, W, b)) for x in (test, train))
    elif protocol == "law-drawn":
        x = draw.multivariate_normal(mean, covariance, len(test), method="cholesky")
        errors = fitted = left_over(_products(name, x, W, b))
    else:
        moments = second_moments(GATES[name], W @ mean + b, W @ covariance @ W.T)
        errors = fitted = left_over(moments)
    return {
        "parameters": W.size + b.size * bool(np.any(b)),
        "features_10": needed(errors, 0.1),
        "features_1": needed(errors, 0.01),
        "participation": float(np.trace(covariance) ** 2 / (covariance**2).sum()),
        "n": list(FEATURES),
        "train_rmse": fitted[list(FEATURES)],
        "test_rmse": errors[list(FEATURES)],
    }


LAYER_FEATURES = Study(
    "How few features the gates of two transformers' layers need, and normal inputs' law",
    FEATURE_PROTOCOLS,
    run_features,
    feature_trials,
    lambda: [t for t in feature_trials()[:8] if t["protocol"] in ("tokens", "law")],
    missing,
)
