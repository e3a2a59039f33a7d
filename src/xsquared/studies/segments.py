"""Polynomials along segments between a transformer's tokens, in place of a layer.

The protocol is that of :mod:`xsquared.studies.gates_replaced`: in each held-out context
16 segments join inputs of a layer at two tokens, and its output along them is compared
with the best polynomials, with the layer's own gate and with ReLU.
"""

from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import relu

from xsquared.studies.gate_fits import activations
from xsquared.studies.gates_replaced import PLACES, error_columns, layer_trial
from xsquared.studies.language_models import FeedForward, missing, model
from xsquared.studies.sweep import Study, Trial

#: Largest degree of polynomials.
_DEGREES = 6
#: Segments a context.
_SEGMENTS = 16
#: Gauss points of a segment.
_POINTS = 64


def _segment_trials() -> list[Trial]:
    """List every degree for the model's own gate and for ReLU in its place."""
    return [
        layer_trial(name, gate, "segments", layer=layer, degree=degree)
        for name, layer in PLACES
        for gate in ("own", "relu")
        for degree in range(1, _DEGREES + 1)
    ]


@torch.no_grad()
def _run_segments(trial: Trial) -> dict[str, Any]:
    """Measure what polynomials of a degree leave of a layer's output between tokens."""
    settings = trial["settings"]
    name = settings["model"]
    layer = settings["layer"]
    left, turned = _along_segments(name, layer, trial["solver"])
    squares = np.maximum(left[:, settings["degree"]], 0)
    errors = np.sqrt(squares / left[:, 0].mean())
    columns = error_columns(model(name), [layer], errors, errors)
    return columns | {"turned": turned}


@cache
def _along_segments(name: str, layer: int, gate: str) -> tuple[np.ndarray, np.ndarray]:
    """Sum squares that polynomials leave along segments between a context's tokens.

    With y(t) on a segment, t in [-1, 1], and p_k the orthonormal Legendre polynomials,
    degree K leaves the integral of y^2 less the sum over k <= K of the squares of the
    integrals of y p_k, by Gauss' rule.

    Returns:
        What they leave, (16, degrees + 1), and the share of gates whose sign differs
        between the segments' ends, (16,).
    """
    of = model(name)
    act = of.gate if gate == "own" else relu
    weights_of = vars(of.feed[layer]).values()
    feed = FeedForward(
        *(p.double() if isinstance(p, Tensor) else p for p in weights_of)
    )
    t, weights = np.polynomial.legendre.leggauss(_POINTS)
    legendre = np.polynomial.legendre.legvander(t, _DEGREES)
    norms = np.arange(_DEGREES + 1) + 0.5  # one over the polynomials' squares
    onto = torch.from_numpy(legendre * weights[:, None] * np.sqrt(norms)).T
    weight = torch.from_numpy(weights)[:, None]
    shares = (torch.from_numpy(t)[:, None] + 1) / 2  # of the way from end to end
    left = []
    turned = []
    inputs = activations(name).inputs["test", layer][:, 1:].double()
    for k, tokens in enumerate(inputs):
        drawn = np.random.default_rng(k).permutation(len(tokens))[: 2 * _SEGMENTS]
        a = tokens[drawn[:_SEGMENTS]]
        b = tokens[drawn[_SEGMENTS:]]
        y = feed(a[:, None] + shares * (b - a)[:, None], act)  # (segments, points, d)
        y = y - y[:, :1]  # against rounding; degree 0 takes it
        squares = ((onto @ y) ** 2).sum((0, 2)).cumsum(0)
        left.append(((weight * y**2).sum() - squares).numpy())
        changed = (feed.gates(a) > 0) != (feed.gates(b) > 0)
        turned.append(float(changed.double().mean()))
    return np.array(left), np.array(turned)


SEGMENTS = Study(
    "Polynomials along segments between a transformer's tokens, in place of a layer",
    {
        "segments": (
            "what polynomials leave along 16 segments a context, 64 Gauss points each"
        )
    },
    _run_segments,
    _segment_trials,
    lambda: _segment_trials()[2:3],
    missing,
)
