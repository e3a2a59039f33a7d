"""Growth: networks grown neuron by neuron among the data, refined jointly (ours).

A width starts from the network before, whose error it keeps where all else fails. Of a
held-out split each fit is solved again under a row of ridges; the best of all on the
validation points is the one to use, filled up by neurons without weight.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from xsquared.data.dataset import Dataset
from xsquared.training import variable_projection as projection
from xsquared.training.greedy import candidates, insertions, removal_losses
from xsquared.training.result import Fit, Gates
from xsquared.training.variable_projection import InnerWeights, ProjectedFit
from xsquared.units import Unit

#: Neurons drawn for each group of insertions, of which the best are inserted.
CANDIDATES = 256
#: Points by which neurons are chosen, at most.
_CHOOSING = 4096
#: A fit has converged where twice the iterations lower the error by less than this
#: share.
MOVED = 0.02
#: Iterations of a refinement on the way, and at each width after the exchanges.
_ITERATIONS, _MOST_ITERATIONS = 15, 120
#: Share of the neurons that are inserted, exchanged or taken out at a time.
_SHARE = 0.2
#: Ridges under which the linear weights are solved again for the validation points.
_RIDGES = (1e-2, 1e-4, 1e-6, 1e-8)
_error = attrgetter("rmse")


@dataclass(frozen=True)
class Growth:
    """Minimise the mean square error by greedy insertions and joint refinements.

    A share of the neurons there is inserted (:mod:`xsquared.training.greedy`); all move
    together, by steps of variable projection. At a width, neurons are exchanged for new
    ones as long as that lowers the error; then half as many again are inserted, and
    those that matter least taken out. Steps go on until twice as many lower the error
    by less than 2% ("converged").

    Attributes:
        exchanges: over the width, and at least 2, the attempts in a row to exchange
            neurons that must fail before no more are made. With 0, or with frozen
            gates, none is made.
        ridge: multiple of the linear weights' sum of squares added to the mean square
            error.
    """

    name: ClassVar[str] = "growth"
    exchanges: int = 32
    ridge: float = 1e-13

    def train(
        self, data: Dataset, unit: Unit, n_hidden: int, gates: Gates, seed: int
    ) -> Fit:
        """Train by way of the widths 1, ..., n/4, n/2; else as :meth:`grow`."""
        widths = {
            -(-n_hidden // 2**halvings) for halvings in range(n_hidden.bit_length() + 1)
        }
        *_, end = self.grow(data, unit, sorted(widths), gates, seed)
        return end

    def grow(
        self, data: Dataset, unit: Unit, widths: Iterable[int], gates: Gates, seed: int
    ) -> Iterator[Fit]:
        """Grow networks of ascending widths, each from the one before; no pairs
        (ValueError).
        """
        if unit.paired:
            raise ValueError(
                f"growth inserts no neurons of two numbers, got {unit.name}"
            )
        x, y = torch.tensor(data.train.x), torch.tensor(data.train.y)
        points, draw = (
            torch.cat([x, torch.ones_like(x[:, :1])], dim=1),
            np.random.default_rng(seed),
        )
        task = _Task(data, unit, gates == "trained", self.ridge, draw, points, y)
        fit = used = task.empty()
        least, total, held_out = math.inf, 0, data.split == "held-out"
        for width in widths:
            before, made, failed = fit, list[ProjectedFit](), 0
            while (have := len(fit.inner.gate)) < width:
                count = min(max(round(_SHARE * have), 1), width - have)
                fit, _ = task.refine(task.insert(fit.inner, count), _ITERATIONS)
                made.append(fit)
            most = (
                min(max(self.exchanges // width, 2), self.exchanges)
                if task.trains
                else 0
            )
            while failed < most:
                count, at_random = (
                    max(round(_SHARE * width), 1),
                    failed > 2 and failed % 2 == 1,
                )
                rows = task.insert(task.prune(fit.inner, count, at_random), count)
                made.append(task.refine(rows, _ITERATIONS)[0])
                failed = 0 if made[-1].rmse < (1 - MOVED) * fit.rmse else failed + 1
                fit = min(fit, made[-1], key=_error)
            if most:
                made.append(task.grow_and_prune(fit.inner))
                fit = min(fit, made[-1], key=_error)
            end, converged = task.refine(fit.inner, _MOST_ITERATIONS)
            made.append(end)
            total += sum(one.iterations for one in made)
            fit = min(task.pad(before, end.inner), fit, end, key=_error)
            for ridge in (*_RIDGES, self.ridge) if held_out else ():
                for one in made:
                    again = next(task.descend(one.inner, ridge, 0))
                    error = data.error(
                        projection.to_network(again, unit), data.validation
                    )
                    if error < least:
                        least, used = error, again
            chosen = closest = projection.to_network(fit, unit)
            if held_out:
                chosen = projection.to_network(task.pad(used, fit.inner), unit)
            status = "converged" if converged else "iterations"
            yield Fit(chosen, status, total, fit.rmse, training_minimiser=closest)


@dataclass(frozen=True)
class _Task:
    """What is grown: a unit on the data, with one stream of draws."""

    data: Dataset
    unit: Unit
    trains: bool
    ridge: float
    draw: np.random.Generator
    points: Tensor  # (N, d + 1), homogeneous
    y: Tensor

    def sample(self) -> tuple[Tensor, Tensor]:
        """Points and values by which neurons are chosen: all of a few."""
        if len(self.y) <= _CHOOSING:
            return self.points, self.y
        drawn = torch.from_numpy(
            self.draw.choice(len(self.y), _CHOOSING, replace=False)
        )
        return self.points[drawn], self.y[drawn]

    def descend(
        self, rows: InnerWeights, ridge: float, limit: int
    ) -> Iterator[ProjectedFit]:
        """Fits from some rows on."""
        settings: Any = {
            "train_gates": self.trains,
            "max_iterations": limit,
            "ridge": ridge,
        }
        return projection.iterates(
            self.unit, self.points[:, :-1], self.y, rows, **settings
        )

    def refine(self, rows: InnerWeights, limit: int) -> tuple[ProjectedFit, bool]:
        """The end of a descent, and whether it converged."""
        due, before = _ITERATIONS, math.inf
        for fit in self.descend(rows, self.ridge, limit):
            if fit.iterations == due:
                if fit.rmse > (1 - MOVED) * before:
                    return fit, True
                due, before = 2 * due, fit.rmse
        return fit, fit.status == "converged"

    def empty(self) -> ProjectedFit:
        """The mean of the values, without neurons."""
        rows = projection.draw_inner_weights(
            self.unit, self.data.train.x, 1, self.draw
        ).taken(slice(0))
        error = float(self.y.std(correction=0))
        return ProjectedFit(
            rows, self.y.mean(dim=0, keepdim=True), error, 0, "converged"
        )

    def pad(self, fit: ProjectedFit, rows: InnerWeights) -> ProjectedFit:
        """The same function with as many neurons as the rows, the last of which fill it
        up.
        """
        have, width = len(fit.inner.gate), len(rows.gate)
        weights = fit.linear.new_zeros(
            self.points.shape[1] if self.unit.factors else 1, width
        )
        weights[:, :have] = fit.linear[:-1].reshape(len(weights), have)
        linear = torch.cat([weights.flatten(), fit.linear[-1:]])
        return replace(
            fit, inner=fit.inner.joined(rows.taken(slice(have, width))), linear=linear
        )

    def insert(self, rows: InnerWeights, count: int) -> InnerWeights:
        """Some rows and as many more as asked for, of candidates drawn among the data."""
        drawn = max(CANDIDATES, count)
        pool = candidates(self.unit, self.data.train.x, drawn, rows.gate, self.draw)
        chosen = insertions(self.unit, *self.sample(), rows, pool, count, self.ridge)
        return rows.joined(pool.taken(torch.tensor(chosen)))

    def grow_and_prune(self, rows: InnerWeights) -> ProjectedFit:
        """Half as many neurons again, then as many as before: a fit with all its
        iterations.
        """
        n = len(rows.gate)
        fit, _ = self.refine(self.insert(rows, -(-n // 2)), _ITERATIONS)
        total = fit.iterations
        while (have := len(fit.inner.gate)) > n:
            count = min(max(round(_SHARE * have), 1), have - n)
            fit, _ = self.refine(self.prune(fit.inner, count), _ITERATIONS)
            total += fit.iterations
        return replace(fit, iterations=total)

    def prune(
        self, rows: InnerWeights, count: int, at_random: bool = False
    ) -> InnerWeights:
        """The rows without those that matter least, or without any."""
        order = torch.from_numpy(self.draw.permutation(len(rows.gate)))
        if not at_random:
            order = removal_losses(
                self.unit, *self.sample(), rows, self.ridge
            ).argsort()
        return rows.taken(order[count:].sort().values)
