"""Growth: networks grown neuron by neuron among the data, refined jointly (ours).

A width starts from the network before, whose error it keeps where all else fails. Of a
held-out split each fit is solved again under a row of ridges; the best of all on the
validation points is the one to use, filled up by neurons without weight.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from xsquared.data.dataset import Dataset
from xsquared.levenberg_marquardt import Status
from xsquared.training.greedy import candidates, insertions, removal_losses
from xsquared.training.inner_weights import (
    InnerWeights,
    draw_inner_weights,
    homogeneous,
)
from xsquared.training.result import Fit, Gates
from xsquared.training.variable_projection import ProjectedFit, iterates, to_network
from xsquared.units import Unit

#: Neurons drawn for each group of insertions, of which the best are inserted.
CANDIDATES = 256
#: Points by which neurons are chosen, at most.
_CHOOSING = 4096
#: A fit has converged where twice the iterations lower the error by less than this
#: share.
MOVED = 0.02
#: Iterations of a refinement on the way.
_ITERATIONS = 15
#: Iterations at the end of each width.
_MOST_ITERATIONS = 120
#: Share of the neurons that are inserted, exchanged or taken out at a time.
_SHARE = 0.2
#: So many over the width attempts in a row to exchange neurons must fail before no more
#: are made, and at least two.
_EXCHANGES = 32
#: Ridge of variable projection: no weights that cancel.
_RIDGE = 1e-13
#: Ridges under which the outer weights are solved again for the validation points.
_RIDGES = (1e-2, 1e-4, 1e-6, 1e-8, _RIDGE)
_error = attrgetter("rmse")


@dataclass(frozen=True)
class Growth:
    """Minimise the mean square error by greedy insertions and joint refinements.

    A share of the neurons there is inserted (:mod:`xsquared.training.greedy`); all move
    together, by steps of variable projection. At a width, neurons are exchanged for new
    ones as long as that lowers the error; then half as many again are inserted, and
    those that matter least taken out. Steps go on until twice as many lower the error
    by less than 2% ("converged"). Frozen gates stay where they were inserted.
    """

    name: ClassVar[str] = "growth"

    def train(
        self, data: Dataset, unit: Unit, n_hidden: int, gates: Gates, seed: int
    ) -> Fit:
        """Train by way of the widths 1, ..., n/4, n/2; else as :meth:`grow`."""
        halvings = range(n_hidden.bit_length() + 1)
        widths = {math.ceil(n_hidden / 2**halving) for halving in halvings}
        *_, end = self.grow(data, unit, sorted(widths), gates, seed)
        return end

    def grow(
        self, data: Dataset, unit: Unit, widths: Iterable[int], gates: Gates, seed: int
    ) -> Iterator[Fit]:
        """Grow networks of ascending widths, each from the one before.

        Raises:
            ValueError: the unit is a pair.
        """
        if unit.paired:
            raise ValueError(
                f"growth inserts no neurons of two numbers, got {unit.name}"
            )
        points = homogeneous(torch.tensor(data.train.x))
        y = torch.tensor(data.train.y)
        random = np.random.default_rng(seed)
        task = _Task(data, unit, gates == "trained", random, points, y)
        fit = task.empty()
        validated = fit
        least = math.inf
        iterations = 0
        for width in widths:
            before = fit
            fits = task.widen(fit, width)
            fit = fits[-1]
            if task.trains:
                exchanged = task.exchange(fit)
                fit = min(fit, *exchanged, key=_error)
                pruned = task.grow_and_prune(fit.inner)
                fit = min(fit, pruned, key=_error)
                fits += [*exchanged, pruned]
            end, status = task.refine(fit.inner, _MOST_ITERATIONS)
            fits.append(end)
            iterations += sum(each.iterations for each in fits)
            fit = min(task.pad(before, end.inner), fit, end, key=_error)
            chosen = closest = to_network(fit, unit)
            if data.split == "held-out":
                for again in task.solved_again(fits):
                    error = data.error(to_network(again, unit), data.validation)
                    if error < least:
                        least = error
                        validated = again
                chosen = to_network(task.pad(validated, fit.inner), unit)
            yield Fit(chosen, status, iterations, fit.rmse, training_minimiser=closest)


@dataclass(frozen=True)
class _Task:
    """What is grown: a unit on the data, with one stream of draws."""

    data: Dataset
    unit: Unit
    trains: bool  # the gates, too
    random: np.random.Generator
    points: Tensor  # (N, d + 1), homogeneous
    y: Tensor

    def empty(self) -> ProjectedFit:
        """Fit the mean of the values, without neurons."""
        x = self.data.train.x
        inner = draw_inner_weights(self.unit, x, 1, self.random).taken(slice(0))
        mean = self.y.mean(dim=0, keepdim=True)
        return ProjectedFit(
            inner, mean, float(self.y.std(correction=0)), 0, "converged"
        )

    def widen(self, fit: ProjectedFit, width: int) -> list[ProjectedFit]:
        """Insert neurons up to a width, a share at a time; list the fits on the way."""
        fits = list[ProjectedFit]()
        inner = fit.inner
        while (n := len(inner.gate)) < width:
            more = self.insert(inner, min(_share(n), width - n))
            fits.append(self.refine(more, _ITERATIONS)[0])
            inner = fits[-1].inner
        return fits

    def exchange(self, fit: ProjectedFit) -> list[ProjectedFit]:
        """Exchange neurons while that lowers the error; list the fits that were tried.

        Those that matter least leave; after three failures any, every other time.
        """
        n = len(fit.inner.gate)
        fits = list[ProjectedFit]()
        failures = 0
        while failures < max(_EXCHANGES // n, 2):
            at_random = failures > 2 and failures % 2 == 1
            rest = self.prune(fit.inner, _share(n), at_random)
            trial, _ = self.refine(self.insert(rest, _share(n)), _ITERATIONS)
            failures = 0 if trial.rmse < (1 - MOVED) * fit.rmse else failures + 1
            fit = min(fit, trial, key=_error)
            fits.append(trial)
        return fits

    def grow_and_prune(self, inner: InnerWeights) -> ProjectedFit:
        """Insert half as many neurons again, then take out as many.

        The fit at the end has the iterations of all.
        """
        n = len(inner.gate)
        fit, _ = self.refine(self.insert(inner, math.ceil(n / 2)), _ITERATIONS)
        iterations = fit.iterations
        while (width := len(fit.inner.gate)) > n:
            rest = self.prune(fit.inner, min(_share(width), width - n))
            fit, _ = self.refine(rest, _ITERATIONS)
            iterations += fit.iterations
        return replace(fit, iterations=iterations)

    def insert(self, inner: InnerWeights, count: int) -> InnerWeights:
        """Add the best of candidates drawn among the data."""
        x = self.data.train.x
        drawn = max(CANDIDATES, count)
        pool = candidates(self.unit, x, drawn, inner.gate, self.random)
        chosen = insertions(self.unit, *self.sample(), inner, pool, count, _RIDGE)
        return inner.joined(pool.taken(torch.tensor(chosen)))

    def prune(
        self, inner: InnerWeights, count: int, at_random: bool = False
    ) -> InnerWeights:
        """Take out the neurons that matter least, or any."""
        order = torch.from_numpy(self.random.permutation(len(inner.gate)))
        if not at_random:
            losses = removal_losses(self.unit, *self.sample(), inner, _RIDGE)
            order = losses.argsort()
        return inner.taken(order[count:].sort().values)

    def sample(self) -> tuple[Tensor, Tensor]:
        """Draw points and values by which neurons are chosen: all of a few."""
        if len(self.y) <= _CHOOSING:
            return self.points, self.y
        drawn = self.random.choice(len(self.y), _CHOOSING, replace=False)
        rows = torch.from_numpy(drawn)
        return self.points[rows], self.y[rows]

    def refine(self, inner: InnerWeights, limit: int) -> tuple[ProjectedFit, Status]:
        """Descend to the limit, or until it ends or hardly moves; say which it was."""
        due = _ITERATIONS
        before = math.inf
        for fit in self.descend(inner, _RIDGE, limit):
            if fit.iterations == due:
                if fit.rmse > (1 - MOVED) * before:
                    return fit, "converged"
                due *= 2
                before = fit.rmse
        return fit, fit.status

    def solved_again(self, fits: Sequence[ProjectedFit]) -> Iterator[ProjectedFit]:
        """Solve for the outer weights of all fits again, ridge by ridge."""
        for ridge in _RIDGES:
            for fit in fits:
                yield next(self.descend(fit.inner, ridge, 0))

    def descend(
        self, inner: InnerWeights, ridge: float, limit: int
    ) -> Iterator[ProjectedFit]:
        """Yield the fits of a descent by variable projection."""
        return iterates(
            self.unit,
            self.points[:, :-1],
            self.y,
            inner,
            train_gates=self.trains,
            max_iterations=limit,
            ridge=ridge,
        )

    def pad(self, fit: ProjectedFit, inner: InnerWeights) -> ProjectedFit:
        """Fill a fit up with the last of other neurons, with outer weights of zero."""
        n = len(fit.inner.gate)
        width = len(inner.gate)
        behind = self.points.shape[1] if self.unit.factors else 1
        weights = fit.outer.new_zeros(behind, width)
        weights[:, :n] = fit.outer[:-1].reshape(behind, n)
        outer = torch.cat([weights.flatten(), fit.outer[-1:]])
        joined = fit.inner.joined(inner.taken(slice(n, width)))
        return replace(fit, inner=joined, outer=outer)


def _share(n: int) -> int:
    """Count the neurons of n that are inserted, exchanged or taken out at a time."""
    return max(round(_SHARE * n), 1)
