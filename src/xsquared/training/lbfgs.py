"""AdamW and L-BFGS, torch's own, full batch: what most readers would train with."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from xsquared.data.dataset import Dataset
from xsquared.training.newton import layers, mean_square
from xsquared.training.result import Fit, Gates
from xsquared.training.start import start
from xsquared.units import GatedNetwork, Unit

#: Records of AdamW's loss; quasi-Newton pairs of L-BFGS, and its iterations between two
#: records.
_RECORDS, _PAIRS, _INNER = 200, 50, 20


def _train(
    self: AdamW | LBFGS,
    data: Dataset,
    unit: Unit,
    n_hidden: int,
    gates: Gates,
    seed: int,
) -> Fit:
    """Train from the start of :mod:`xsquared.training.start`; any unit and gate will
    do.
    """
    network = start(data, unit, n_hidden, seed)
    x, y = torch.tensor(data.train.x), torch.tensor(data.train.y)
    letters = tuple(itertools.chain(*layers(network, gates == "trained")))
    return trained(self, network, x, y, letters)


@dataclass(frozen=True)
class AdamW:
    """Full-batch AdamW without weight decay, its rate falling to zero along half a
    cosine.
    """

    name: ClassVar[str] = "adamw"
    train = _train
    stall: ClassVar[
        float
    ] = -np.inf  # losses on the way may rise; the falling rate ends them
    max_iterations: int = 5000
    learning_rate: float = 0.02

    def descend(
        self, loss: Callable[[], Tensor], parameters: list[Tensor]
    ) -> Iterator[int]:
        """Step the parameters in place; yield the steps taken as often as they are
        recorded.
        """
        optimizer = torch.optim.AdamW(
            parameters, lr=self.learning_rate, weight_decay=0.0
        )
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(
            optimizer, self.max_iterations
        )
        every = max(1, self.max_iterations // _RECORDS)
        for step in range(1, self.max_iterations + 1):
            optimizer.zero_grad()
            loss().backward()
            optimizer.step()
            schedule.step()
            if step % every == 0 or step == self.max_iterations:
                yield step


@dataclass(frozen=True)
class LBFGS:
    """Full-batch L-BFGS with a strong Wolfe line search, of at most ``max_iterations``
    steps.
    """

    name: ClassVar[str] = "lbfgs"
    train = _train
    stall: ClassVar[float] = (
        1e-7  # relative decrease between records that ends the descent
    )
    max_iterations: int = 2000

    def descend(
        self, loss: Callable[[], Tensor], parameters: list[Tensor]
    ) -> Iterator[int]:
        """As AdamW's."""
        endless = partial(torch.optim.LBFGS, tolerance_grad=0.0, tolerance_change=0.0)
        optimizer = endless(
            parameters, history_size=_PAIRS, line_search_fn="strong_wolfe"
        )

        def closure() -> Tensor:
            optimizer.zero_grad()
            value = loss()
            value.backward()
            return value

        for begun in range(0, self.max_iterations, _INNER):
            optimizer.param_groups[0]["max_iter"] = min(
                _INNER, self.max_iterations - begun
            )
            optimizer.step(closure)
            yield min(begun + _INNER, self.max_iterations)


def trained(
    solver: AdamW | LBFGS,
    network: GatedNetwork,
    x: Tensor,
    y: Tensor,
    letters: Sequence[str],
) -> Fit:
    """Train the parameters of some letters of a network in place, on x (N, d) and y
    (N,).
    """
    loss = partial(mean_square, network, x, y)
    begun, status, steps = time.perf_counter(), "iterations", 0
    history = [(0.0, float(loss().detach().sqrt()))]
    for steps in solver.descend(loss, [getattr(network, letter) for letter in letters]):  # noqa: B007
        history.append((time.perf_counter() - begun, float(loss().detach().sqrt())))
        (_, before), (_, now) = history[-2:]
        if not np.isfinite(now) or before**2 - now**2 < solver.stall * before**2:
            status = "converged" if np.isfinite(now) else "diverged"
            break
    return Fit(network, status, steps, history=np.array(history))
