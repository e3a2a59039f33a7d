"""What training finds of what deep networks of one input contain: targets on [-1, 1], few layers.

Protocol, fixed before the first row; results of 200 evaluations were known.
Levenberg-Marquardt with exact derivatives, of all weights at once, fits 101 equidistant points and
stops by itself or after 1,000 evaluations. It starts at random, from normal weights of variance 2
over a neuron's number of inputs, or at a network that is built, each weight off by a share that is
normal with the deviation ``off``; zeros stay zero. The seed draws either. Starts at what is built
tell a space that lacks the target from a trainer that does not come there: it comes if its training
error is at most 1.001 times that of the network that is built. Errors below 1e-9 are stored as
1e-9, since rounding decides them. Beside networks of several layers stand those of one with as many
parameters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev
from scipy.optimize import leastsq
from scipy.special import expit

from xsquared.units import find_unit
from xsquared_studies.trial import Scalar, Trial

SEEDS, EXACT, OFF = 10, 1e-9, (0.1, 0.01, 0.001)
#: By the name that readers know: what a target is.
TARGETS = {
    "$x^2$": "x**2",
    "$x^4$": "x**4",
    "$T_8$": "128*x**8 - 256*x**6 + 160*x**4 - 32*x**2 + 1",
    "smooth": "1/(1 + 9*x**2)",
}
#: Target, unit, neurons of each layer.
NETWORKS: Sequence[tuple[str, str, tuple[int, ...]]] = (
    *(("$x^2$", "mlp", layers) for layers in ((20,), (6, 6))),
    *(("$x^4$", "glu", layers) for layers in ((12,), (4, 4), (1, 1))),
    *(("$T_8$", "glu", layers) for layers in ((9,), (4, 2, 1))),
    *(("smooth", "mlp", layers) for layers in ((20,), (6, 6))),
    *(("smooth", unit, layers) for unit in ("glu", "swiglu") for layers in ((12,), (4, 4))),
)
DEPTH_PROTOCOLS = {
    "random": "Levenberg-Marquardt, at most 1,000 evaluations, from normal weights",
    "built": "the same from a network that is built, each weight off by normal noise of a share",
}


def of_polynomial(p: Chebyshev, layers: int) -> np.ndarray:
    """Weights of layers of GLUs, 2^(layers - 1) to 1 neurons, that are a polynomial on [-1, 1].

    Args:
        p: of degree at most 2^layers, as a Chebyshev series.
    """
    n, shift = 2 ** (layers - 1), np.abs(p.coef).sum() + 1
    roots = np.sort_complex((p + shift).roots())
    real = [1.0 * root.real for root in roots if abs(root.imag) < 1e-9]
    pairs = [(1, -2 * r.real, abs(r) ** 2) for r in roots if r.imag >= 1e-9]
    pairs += [(1, -a - b, a * b) for a, b in zip(real[::2], real[1::2], strict=False)]
    pairs += [(0, 1, -a) for a in real[len(real) // 2 * 2 :]]
    pairs += [(0, 0, 1)] * (n - len(pairs))  # the rest of the n factors are 1
    each = np.array([np.array(pair) / pair[2] for pair in pairs])  # each is 1 at 0
    factor = np.column_stack([each[:, 0], each[:, 1] - 2 * each[:, 0]])
    left = each[:, 2] - 2 * factor[:, 1]
    weights, every = [np.tile([1.0, 2.0], (n, 1)), factor], np.eye(n)
    while len(every) > 1:  # products of neighbours
        both = np.column_stack([every, left])
        weights += [both[::2], both[1::2]]
        every, left = np.eye(len(every) // 2), np.zeros(len(every) // 2)
    size = p(0) + shift
    return np.concatenate([*map(np.ravel, weights), [size, size * left[0] - shift]])


def of_square(n: int, m: int) -> np.ndarray:
    """Weights of two ReLU layers, n and m neurons, that are x^2 in n m pieces on [-1, 1]."""
    h, knots = 2 / n, -1 + 2 / n * np.arange(n)
    zigzag, chord = (-1.0) ** np.arange(n) * 2 / h, np.full(n, 2 * h)
    zigzag[0], chord[0] = 1 / h, h - 2
    second = [[*(chord - h**2 * (1 - 1 / m) * zigzag), 2.0]]
    second += [[*zigzag, -i / m] for i in range(1, m)]
    last = [1.0, *[2 * h**2 / m] * (m - 1), -1 - (h / m) ** 2 / 6]
    return np.concatenate([np.column_stack([np.ones(n), -knots]).ravel(), np.ravel(second), last])


#: By target and layers: the network that is built.
BUILT = {
    ("$x^2$", (6, 6)): of_square(6, 6),
    # (x + 2)(x - 2) + 4, squared
    ("$x^4$", (1, 1)): np.array([1.0, 2, 1, -2, 1, 4, 1, 4, 1, 0]),
    ("$T_8$", (4, 2, 1)): of_polynomial(Chebyshev([0.0] * 8 + [1.0]), 3),
}


def forward(
    weights: np.ndarray, x: np.ndarray, unit: str, layers: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Values (m,) of a deep network at points x (m,), and their Jacobian (m, P).

    Args:
        weights: (P,), layer after layer, of each the gates' and then the factors', a neuron a row.
        unit: ``mlp``, ``glu`` or ``swiglu``.
    """
    h, dh, at = x[None], np.zeros((1, len(weights), len(x))), 0

    def affine(n: int) -> tuple[np.ndarray, np.ndarray]:
        nonlocal at
        m = len(h)
        W = weights[at : at + n * (m + 1)].reshape(n, m + 1)
        dz = np.tensordot(W[:, :m], dh, 1)
        for row in dz:
            row[at : at + m + 1] += [*h, np.ones_like(x)]
            at += m + 1
        return W[:, :m] @ h + W[:, m:], dz

    for n in layers:
        z, dz = affine(n)
        open_ = expit(z) if unit == "swiglu" else (z > 0) * 1.0
        slope = open_ + z * open_ * (1 - open_)
        z, dz = z * open_, dz * slope[:, None]
        if find_unit(unit).factors:
            u, du = affine(n)
            z, dz = z * u, dz * u[:, None] + z[:, None] * du
        h, dh = z, dz
    z, dz = affine(1)
    return z[0], dz[0].T


def depth_trials() -> tuple[Trial, ...]:
    """Ten random starts of every network, and ten for each share that those built are off by."""
    return tuple(
        Trial(
            unit,
            sum(layers),
            expression=TARGETS[name],
            domain=((-1.0, 1.0),),
            solver="leastsq",
            settings=(("target", name), ("layers", layers), *([("off", off)] if off else [])),
            seed=seed,
            protocol="built" if off else "random",
        )
        for name, unit, layers in NETWORKS
        for off in (0, *(OFF if (name, layers) in BUILT else ()))
        for seed in range(SEEDS)
    )


def _start(trial: Trial, layers: tuple[int, ...]) -> np.ndarray:
    draw, settings = np.random.default_rng(trial.seed), dict(trial.settings)
    if trial.protocol == "built":
        built = BUILT[str(settings["target"]), layers]
        return built * (1 + float(str(settings["off"])) * draw.normal(size=len(built)))
    rows = [*(n * (1 + len(trial.record.factors)) for n in layers), 1]
    sizes = [(m, n * (m + 1)) for m, n in zip((1, *layers), rows, strict=True)]
    return np.concatenate([draw.normal(size=size) * math.sqrt(2 / m) for m, size in sizes])


def run_depth(trial: Trial) -> dict[str, Scalar]:
    """Train one deep network."""
    settings: dict[str, Any] = dict(trial.settings)
    own, x = (trial.unit, settings["layers"]), np.linspace(-1, 1, 101)
    found, _, how, _, ended = leastsq(
        lambda w: forward(w, x, *own)[0] - trial.target(x),
        _start(trial, own[1]),
        Dfun=lambda w: forward(w, x, *own)[1],
        maxfev=1000,
        **dict.fromkeys(("ftol", "xtol", "gtol"), 1e-15),
        full_output=True,
    )

    def error(at: np.ndarray) -> float:
        missed = forward(found, at, *own)[0] - trial.target(at)
        return max(math.sqrt(np.mean(missed**2)), EXACT)

    return {
        "status": "iterations" if ended == 5 else "converged",
        "parameters": len(found),
        "train_rmse": error(x),
        "test_rmse": error(np.linspace(-1, 1, 10_001)),
        "iterations": int(how["nfev"]),
    }
