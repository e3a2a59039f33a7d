"""``fit()``: the one door to training.

===========  =======================================================================================
protocol     what is trained
===========  =======================================================================================
``spline``   everything but the gates, which stay where they start
``gates``    first that, then the gates as well: layer by layer (Newton), or from a single start
``full``     all parameters: jointly at the end (Newton), from the outset (first order), or from
             several starts (variable projection)
===========  =======================================================================================

In one dimension the gates start on equidistant knots in alternating directions, as in the
gated-units paper (section 4.1), other weights standard normal; in more dimensions variable
projection places hinges among the data, and the other optimisers start standard normal throughout.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

import numpy as np
import torch

from xsquared.data.samples import Samples
from xsquared.errors import rmse
from xsquared.training import first_order
from xsquared.training.frozen_gates import fit_frozen, paper_start
from xsquared.training.newton import layers, newton
from xsquared.training.result import STATUSES, Fit
from xsquared.training.spline_network import retrain_spline, train_spline_network
from xsquared.training.variable_projection import (
    ProjectedFit,
    Rows,
    fit_rows,
    on_device,
    rows_on_data,
    to_network,
)
from xsquared.units import ACTIVATIONS, GatedNetwork, build, unit_class

Protocol = Literal["spline", "gates", "full"]
Optimizer = Literal["varpro", "newton", "adamw", "lbfgs"]

PROTOCOLS: tuple[Protocol, ...] = ("spline", "gates", "full")
#: Optimisers with their limit of iterations where none is given.
OPTIMIZERS: dict[Optimizer, int] = {"varpro": 200, "newton": 100, "adamw": 5000, "lbfgs": 2000}

#: Starts that variable projection compares in more than one dimension, and the iterations each.
_STARTS = 3
_TRIAL_ITERATIONS = 15

#: What a run may raise without being a mistake of the caller.
#: torch raises its own LinAlgError, a RuntimeError, and RuntimeError where memory runs out.
_FAILURES = (np.linalg.LinAlgError, RuntimeError, MemoryError)


def fit(
    samples: Samples,
    unit: str,
    n_hidden: int,
    *,
    protocol: Protocol = "full",
    optimizer: Optimizer = "varpro",
    seed: int = 0,
    activation: str = "relu",
    max_iterations: int | None = None,
    device: str = "cpu",
) -> Fit:
    """Train one network.

    Args:
        samples: points and values, and the target where it is known. With it, in one dimension and
            with ReLU gates, variable projection minimises the integral of the squared error.
        unit: ``"mlp"``, ``"glu"`` or ``"gqu"``.
        n_hidden: number of neurons, at least 1.
        protocol: what is trained.
        optimizer: a key of :data:`OPTIMIZERS`.
        seed: of all randomness, at least 0.
        activation: of the gates.
        max_iterations: limit of iterations per stage; that of :data:`OPTIMIZERS` where None.
            The trainer for one dimension has limits of its own.
        device: where variable projection works in more than one dimension, ``"cpu"`` or ``"cuda"``.

    Returns:
        The result. A run that diverges or fails returns one as well, with its status.

    Raises:
        ValueError: an argument that makes no sense, named with what was expected.
    """
    _check(unit, n_hidden, protocol, optimizer, seed, activation, max_iterations, device)
    limit = OPTIMIZERS[optimizer] if max_iterations is None else max_iterations
    generator = torch.random.get_rng_state()
    # The CPU's generator alone: torch.manual_seed would reseed those of other devices as well.
    torch.default_generator.manual_seed(seed)
    start = time.perf_counter()
    try:
        # What overflows shows in the status; numpy need not warn of it as well.
        with np.errstate(over="ignore", invalid="ignore"):
            if optimizer == "varpro":
                ended = _variable_projection(
                    samples, unit, n_hidden, protocol, seed, activation, limit, device
                )
            else:
                network = _start(samples, unit, n_hidden, activation)
                ended = _staged(samples, network, protocol, optimizer, limit)
    except (FloatingPointError, *_FAILURES) as error:
        wall = time.perf_counter() - start
        nan = float("nan")
        word = "diverged" if isinstance(error, FloatingPointError) else "failed"
        return Fit(None, nan, nan, STATUSES[word], str(error), 0, nan, wall)
    finally:
        torch.random.set_rng_state(generator)
    wall = time.perf_counter() - start
    network, word, iterations = ended
    train, test = (
        rmse(network, x, y)
        for x, y in ((samples.x_train, samples.y_train), (samples.x_test, samples.y_test))
    )
    if not np.isfinite(train):
        word = "diverged"
    gradient = _gradient_norm(network, samples)
    return Fit(network, train, test, STATUSES[word], "", iterations, gradient, wall)


_Ended = tuple[GatedNetwork, str, int]


def _variable_projection(
    samples: Samples,
    unit: str,
    n: int,
    protocol: str,
    seed: int,
    activation: str,
    limit: int,
    device: str,
) -> _Ended:
    if samples.dim == 1 and samples.target is not None and activation == "relu":
        if protocol == "spline":
            frozen = fit_frozen(samples.target, unit, n, limit)
            return to_network(frozen, unit), frozen.status, frozen.iterations
        made = (
            retrain_spline(samples.target, unit, n)
            if protocol == "gates"
            else train_spline_network(samples.target, unit, n, seed)
        )
        return made.network, made.spline.status, made.iterations
    x = torch.tensor(samples.x_train, device=device)
    y = torch.tensor(samples.y_train, device=device)
    draw = np.random.default_rng(seed)

    def run(rows: Rows, iterations: int) -> ProjectedFit:
        return fit_rows(
            unit,
            x,
            y,
            rows,
            activation=activation,
            train_gates=protocol != "spline",
            max_iterations=iterations,
        )

    count = _STARTS if protocol == "full" else 1
    first = min(_TRIAL_ITERATIONS, limit)
    trials = [
        run(on_device(rows_on_data(unit, samples.x_train, n, draw), device), first)
        for _ in range(count)
    ]
    best = min(trials, key=lambda trial: trial.rmse)
    total = sum(trial.iterations for trial in trials)
    if best.status == "iterations" and limit > first:
        best = run(best.rows, limit - first)
        total += best.iterations
    return to_network(best, unit, activation), best.status, total


def _start(samples: Samples, unit: str, n: int, activation: str) -> GatedNetwork:
    """The network before training."""
    if samples.dim > 1:
        return build(unit, samples.dim, n, 1, activation)
    if samples.target is not None:
        return paper_start(unit, n, samples.target.domain[0], activation)
    points = samples.x_train[:, 0]
    return paper_start(unit, n, (float(points.min()), float(points.max())), activation)


def _staged(
    samples: Samples, network: GatedNetwork, protocol: str, optimizer: Optimizer, limit: int
) -> _Ended:
    """Newton or a first-order method, stage after stage."""
    x, y = torch.tensor(samples.x_train), torch.tensor(samples.y_train)
    frozen = layers(network, train_gates=False)
    everything = layers(network, train_gates=True)
    joint = (tuple(letter for layer in everything for letter in layer),)
    clock: Callable[[], float] = time.perf_counter
    word, total = "converged", 0
    if optimizer == "newton":
        stages = {
            "spline": [frozen],
            "gates": [frozen, everything],
            "full": [frozen, everything, joint],
        }[protocol]
        for stage in stages:
            run = newton(network, x, y, stage, limit, clock)
            word, total = run.status, total + len(run.losses) - 1
        return network, word, total
    method = first_order.adamw if optimizer == "adamw" else first_order.lbfgs
    weights = tuple(letter for layer in frozen for letter in layer)
    passes = {"spline": [weights], "gates": [weights, joint[0]], "full": [joint[0]]}
    for letters in passes[protocol]:
        ended = method(network, x, y, letters, limit, clock)
        word, total = ended.status, total + ended.iterations
    return network, word, total


def _gradient_norm(network: GatedNetwork, samples: Samples) -> float:
    parameters = list(network.parameters())
    output = network(torch.tensor(samples.x_train))[:, 0]
    loss = torch.mean((output - torch.tensor(samples.y_train)) ** 2)
    parts = torch.autograd.grad(loss, parameters)
    return float(torch.sqrt(torch.stack([torch.sum(part**2) for part in parts]).sum()))


def _check(
    unit: str,
    n_hidden: int,
    protocol: str,
    optimizer: str,
    seed: int,
    activation: str,
    max_iterations: int | None,
    device: str,
) -> None:
    unit_class(unit)
    if not isinstance(n_hidden, int | np.integer) or n_hidden < 1:
        raise ValueError(f"n_hidden must be an integer of at least 1, got {n_hidden!r}")
    for name, value, known in (
        ("protocol", protocol, PROTOCOLS),
        ("optimizer", optimizer, tuple(OPTIMIZERS)),
        ("activation", activation, tuple(ACTIVATIONS)),
        ("device", device, ("cpu", "cuda")),
    ):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed must be an integer of at least 0, got {seed!r}")
    if max_iterations is not None and (
        not isinstance(max_iterations, int | np.integer) or max_iterations < 1
    ):
        raise ValueError(f"max_iterations must be an integer of at least 1, got {max_iterations!r}")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device cuda was asked for, but torch sees no CUDA device")
