"""AdamW and L-BFGS, torch's own, full batch: what most readers would train with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from xsquared.units import GatedNetwork

#: Highest learning rate of AdamW; it falls to zero along a half cosine.
_LEARNING_RATE = 0.02
#: Quasi-Newton pairs that L-BFGS keeps.
_HISTORY = 50
#: Inner iterations of one call of L-BFGS; the loss is recorded between calls.
_INNER = 20
#: Relative decrease over one call of L-BFGS that counts as none.
_STALL = 1e-7


@dataclass(frozen=True)
class FirstOrderRun:
    """How a run ended.

    Attributes:
        losses: (records,) mean square error, the start's first.
        seconds: (records,) time since the start.
        iterations: steps taken.
        status: ``"converged"``, ``"iterations"`` or ``"diverged"``.
    """

    losses: np.ndarray
    seconds: np.ndarray
    iterations: int
    status: Literal["converged", "iterations", "diverged"]


def adamw(
    network: GatedNetwork,
    x: Tensor,
    y: Tensor,
    trained: Sequence[str],
    max_iterations: int,
    clock: Callable[[], float],
) -> FirstOrderRun:
    """Full-batch AdamW without weight decay, its rate falling along a half cosine, in place.

    Args:
        network: a network of one output.
        x: (N, d) points.
        y: (N,) values.
        trained: letters of the trained parameters.
        max_iterations: steps, at least 1.
        clock: a time in seconds.

    Raises:
        ValueError: no step, or an unknown letter.
    """
    parameters = _parameters(network, trained, max_iterations)
    optimizer = torch.optim.AdamW(parameters, lr=_LEARNING_RATE, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max_iterations)
    start, losses, seconds = clock(), [], []
    every = max(1, max_iterations // 200)
    for step in range(max_iterations):
        optimizer.zero_grad()
        loss = _loss(network, x, y)
        if step % every == 0:
            losses.append(float(loss.detach()))
            seconds.append(clock() - start)
            if not np.isfinite(losses[-1]):
                return FirstOrderRun(np.array(losses), np.array(seconds), step, "diverged")
        loss.backward()
        optimizer.step()
        schedule.step()
    losses.append(_value(network, x, y))
    seconds.append(clock() - start)
    status: Literal["iterations", "diverged"] = (
        "iterations" if np.isfinite(losses[-1]) else "diverged"
    )
    return FirstOrderRun(np.array(losses), np.array(seconds), max_iterations, status)


def lbfgs(
    network: GatedNetwork,
    x: Tensor,
    y: Tensor,
    trained: Sequence[str],
    max_iterations: int,
    clock: Callable[[], float],
) -> FirstOrderRun:
    """Full-batch L-BFGS with a strong Wolfe line search, in place.

    Arguments and errors as for :func:`adamw`.
    """
    parameters = _parameters(network, trained, max_iterations)
    optimizer = torch.optim.LBFGS(
        parameters,
        max_iter=_INNER,
        history_size=_HISTORY,
        line_search_fn="strong_wolfe",
        tolerance_grad=0.0,
        tolerance_change=0.0,
    )

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = _loss(network, x, y)
        loss.backward()
        return loss

    start = clock()
    losses, seconds = [_value(network, x, y)], [0.0]
    iterations = 0
    status: Literal["converged", "iterations", "diverged"] = "iterations"
    while iterations < max_iterations:
        optimizer.step(closure)
        iterations += _INNER
        losses.append(_value(network, x, y))
        seconds.append(clock() - start)
        if not np.isfinite(losses[-1]):
            status = "diverged"
            break
        if losses[-2] - losses[-1] < _STALL * losses[-2]:
            status = "converged"
            break
    return FirstOrderRun(np.array(losses), np.array(seconds), iterations, status)


def _parameters(
    network: GatedNetwork, trained: Sequence[str], max_iterations: int
) -> list[torch.nn.Parameter]:
    if max_iterations < 1:
        raise ValueError(f"max_iterations must be at least 1, got {max_iterations}")
    known = dict(network.named_parameters())
    unknown = [letter for letter in trained if letter not in known]
    if unknown or not trained:
        raise ValueError(f"expected letters among {', '.join(known)}, got {list(trained)}")
    return [known[letter] for letter in trained]


def _value(network: GatedNetwork, x: Tensor, y: Tensor) -> float:
    with torch.no_grad():
        return float(_loss(network, x, y))


def _loss(network: GatedNetwork, x: Tensor, y: Tensor) -> Tensor:
    return torch.mean((network(x)[:, 0] - y) ** 2)
