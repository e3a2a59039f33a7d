"""L-BFGS, torch's own, on all points at once."""

import itertools
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from xsquared.data.dataset import Dataset
from xsquared.training.result import Fit, Gates
from xsquared.training.start import layers, mean_square, start
from xsquared.units import Unit

#: Pairs of steps and changes of the gradient that are kept.
_PAIRS = 50
#: Iterations between two records of the loss.
_INNER = 20
#: Relative decrease of the loss between two records below which it has converged.
_STALL = 1e-7


@dataclass(frozen=True)
class LBFGS:
    """Minimise the mean square error by L-BFGS with a strong Wolfe line search."""

    name: ClassVar[str] = "lbfgs"
    max_iterations: int = 2000

    def train(
        self, data: Dataset, unit: Unit, n_hidden: int, gates: Gates, seed: int
    ) -> Fit:
        """Train any unit with any gate, from :mod:`xsquared.training.start`."""
        network = start(data, unit, n_hidden, seed)
        x, y = torch.tensor(data.train.x), torch.tensor(data.train.y)
        letters = itertools.chain(*layers(network, gates == "trained"))
        optimizer = torch.optim.LBFGS(
            [getattr(network, letter) for letter in letters],
            tolerance_grad=0.0,  # the loss alone ends the descent
            tolerance_change=0.0,
            history_size=_PAIRS,
            line_search_fn="strong_wolfe",
        )

        def closure() -> Tensor:
            optimizer.zero_grad()
            loss = mean_square(network, x, y)
            loss.backward()
            return loss

        begun = time.perf_counter()
        status = "iterations"
        iterations = 0
        loss = float(mean_square(network, x, y).detach())
        history = [(0.0, loss**0.5)]
        while iterations < self.max_iterations and status == "iterations":
            inner = min(_INNER, self.max_iterations - iterations)
            optimizer.param_groups[0]["max_iter"] = inner
            optimizer.step(closure)
            iterations += inner
            before, loss = loss, float(mean_square(network, x, y).detach())
            history.append((time.perf_counter() - begun, loss**0.5))
            if not np.isfinite(loss):
                status = "diverged"
            elif before - loss < _STALL * before:
                status = "converged"
        return Fit(network, status, iterations, history=np.array(history))
