"""AdamW and L-BFGS, torch's own, full batch: what most readers would train with."""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from xsquared.checks import check_integer, check_number
from xsquared.data.dataset import Dataset
from xsquared.training.newton import layers, mean_square
from xsquared.training.result import Gates, Trained
from xsquared.training.start import start
from xsquared.units import GatedNetwork, Unit

#: How often AdamW's loss is recorded on the way.
_RECORDS = 200
#: Quasi-Newton pairs that L-BFGS keeps, and its iterations between two records of the loss.
_PAIRS, _INNER = 50, 20


class FirstOrder(ABC):
    """What AdamW and L-BFGS share."""

    name: ClassVar[str]
    stall: ClassVar[float]  # a relative decrease of the loss between records that counts as none

    def train(self, data: Dataset, unit: Unit, n_hidden: int, gates: Gates, seed: int) -> Trained:
        """Train from the start of :mod:`xsquared.training.start`; any unit and gate will do."""
        network = start(data, unit, n_hidden, seed)
        x, y = torch.tensor(data.train.x), torch.tensor(data.train.y)
        letters = tuple(itertools.chain(*layers(network, gates == "trained")))
        return trained(self, network, x, y, letters)

    @abstractmethod
    def descend(
        self, network: GatedNetwork, x: Tensor, y: Tensor, letters: Sequence[str]
    ) -> Iterator[int]:
        """Step the parameters of those letters in place.

        Yields:
            The steps taken so far, as often as the loss shall be recorded.
        """


@dataclass(frozen=True)
class AdamW(FirstOrder):
    """Full-batch AdamW without weight decay, its rate falling along a half cosine.

    Attributes:
        max_iterations: steps.
        learning_rate: the highest; it falls to zero.
    """

    name: ClassVar[str] = "adamw"
    max_iterations: int = 5000
    learning_rate: float = 0.02
    # A rate that falls to zero ends the descent; losses on the way may rise.
    stall: ClassVar[float] = -np.inf

    def __post_init__(self) -> None:
        check_integer("max_iterations", self.max_iterations, 1)
        check_number("learning_rate", self.learning_rate, above=0)

    def descend(
        self, network: GatedNetwork, x: Tensor, y: Tensor, letters: Sequence[str]
    ) -> Iterator[int]:
        """As the base class says."""
        parameters = [getattr(network, letter) for letter in letters]
        optimizer = torch.optim.AdamW(parameters, lr=self.learning_rate, weight_decay=0.0)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.max_iterations)
        every = max(1, self.max_iterations // _RECORDS)
        for step in range(1, self.max_iterations + 1):
            optimizer.zero_grad()
            mean_square(network, x, y).backward()
            optimizer.step()
            schedule.step()
            if step % every == 0 or step == self.max_iterations:
                yield step


@dataclass(frozen=True)
class LBFGS(FirstOrder):
    """Full-batch L-BFGS with a strong Wolfe line search, of at most ``max_iterations`` steps."""

    name: ClassVar[str] = "lbfgs"
    max_iterations: int = 2000
    stall: ClassVar[float] = 1e-7

    def __post_init__(self) -> None:
        check_integer("max_iterations", self.max_iterations, 1)

    def descend(
        self, network: GatedNetwork, x: Tensor, y: Tensor, letters: Sequence[str]
    ) -> Iterator[int]:
        """As the base class says."""
        optimizer = torch.optim.LBFGS(
            [getattr(network, letter) for letter in letters],
            max_iter=_INNER,
            history_size=_PAIRS,
            line_search_fn="strong_wolfe",
            tolerance_grad=0.0,
            tolerance_change=0.0,
        )

        def closure() -> Tensor:
            optimizer.zero_grad()
            loss = mean_square(network, x, y)
            loss.backward()
            return loss

        for begun in range(0, self.max_iterations, _INNER):
            optimizer.param_groups[0]["max_iter"] = min(_INNER, self.max_iterations - begun)
            optimizer.step(closure)
            yield min(begun + _INNER, self.max_iterations)


def trained(
    solver: FirstOrder, network: GatedNetwork, x: Tensor, y: Tensor, letters: Sequence[str]
) -> Trained:
    """Train the parameters of some letters of a network in place, on x (N, d) and y (N,)."""

    def rmse() -> float:
        with torch.no_grad():
            return float(torch.sqrt(mean_square(network, x, y)))

    begun, status, steps = time.perf_counter(), "iterations", 0
    history = [(0.0, rmse())]
    for steps in solver.descend(network, x, y, letters):  # noqa: B007  (used below)
        history.append((time.perf_counter() - begun, rmse()))
        (_, before), (_, now) = history[-2:]
        if not np.isfinite(now):
            status = "diverged"
            break
        if before**2 - now**2 < solver.stall * before**2:
            status = "converged"
            break
    return Trained(network, status, steps, history=np.array(history))
