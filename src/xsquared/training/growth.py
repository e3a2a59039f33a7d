"""Growth: networks grown neuron by neuron among the data, refined jointly (ours).

A width starts from the network of the one before, whose error it keeps where all else fails: errors
on the training points never rise with the width. Every fit is to all training points; where they
are very many, neurons are chosen by a sample of them, drawn anew each time.

For points not seen, each fit on the way is solved again for its linear weights under a row of
ridges. The best of all these networks on the validation points is the one to use, filled up by
neurons without weight where it is narrower.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from xsquared.checks import check_integer, check_number, quoted
from xsquared.data.dataset import Dataset
from xsquared.training.greedy import candidates, insertions, removal_losses
from xsquared.training.result import Gates, Trained
from xsquared.training.variable_projection import (
    ProjectedFit,
    Rows,
    iterates,
    last,
    rows_at_once,
    rows_on_data,
    to_network,
)
from xsquared.units import Unit, parameter_count

#: A fit has converged where twice the iterations lower the error by less than this share, and an
#: exchange has failed. In the study `ablation` half of it moves no median error by one per cent.
MOVED = 0.02
_error = attrgetter("rmse")


@dataclass(frozen=True)
class Growth:
    """Minimise the mean square error by greedy insertions and joint refinements.

    With the residual r of the network so far and C the columns of a candidate neuron,
    orthogonalised against those in use, the neuron is inserted that lowers the error most::

        argmax over candidates of  r'C (C'C + ridge)^-1 C'r

    1. A share of the neurons there is inserted (:mod:`xsquared.training.greedy`).
    2. All gates and factors move together, by steps of variable projection.
    3. At the width asked for, the neurons that matter least, or any, are exchanged for new ones
       as long as that lowers the error. Then half as many again are inserted, and a share at a
       time of those that matter least is taken out, with steps between: the better network stays.
    4. Steps go on until twice as many lower the error by less than 2 per cent ("converged").

    Attributes:
        candidates: neurons drawn for each group of insertions, of which the best are inserted.
        few: as many where any neurons are exchanged: what the best of so few grows into is often
            another minimum than what the best of many does.
        share: neurons inserted before the next refinement, as a share of those there.
        iterations: of a refinement on the way and after an exchange.
        exchanges: over the width, and at least 2, these are the attempts in a row to exchange
            neurons that must fail, lowering the error by less than 2 per cent, before no more are
            made: narrow networks have bad minima and are cheap. Where 0, or with frozen gates,
            none is made, and no neurons beyond the width are inserted.
        exchanged: share of the neurons that an attempt exchanges, or that is taken out at a time.
        max_iterations: Levenberg-Marquardt iterations at each width, after the exchanges.
        ridges: multiples of the linear weights' sum of squares added to the mean square error. The
            last is that of training; on validation points any of them may be the best.
    """

    name: ClassVar[str] = "growth"
    candidates: int = 512
    few: int = 64
    share: float = 0.2
    iterations: int = 15
    exchanges: int = 32
    exchanged: float = 0.2
    max_iterations: int = 120
    ridges: tuple[float, ...] = (1e-2, 1e-4, 1e-6, 1e-8, 1e-13)

    def __post_init__(self) -> None:
        for name in ("candidates", "few", "iterations", "max_iterations"):
            check_integer(name, getattr(self, name), 1)
        check_integer("exchanges", self.exchanges, 0)
        for name in ("share", "exchanged"):
            check_number(name, getattr(self, name), above=0, most=1)
        if not isinstance(self.ridges, list | tuple) or not self.ridges:
            raise ValueError(f"ridges: expected a list of numbers, got {quoted(self.ridges)}")
        for ridge in self.ridges:
            check_number("ridges", ridge, above=0)

    def train(self, data: Dataset, unit: Unit, n_hidden: int, gates: Gates, seed: int) -> Trained:
        """Train by way of the widths 1, ..., n/4, n/2; else as :meth:`grow`."""
        widths = {-(-n_hidden // 2**halvings) for halvings in range(n_hidden.bit_length() + 1)}
        *_, end = self.grow(data, unit, sorted(widths), gates, seed)
        return end

    def grow(
        self, data: Dataset, unit: Unit, widths: Iterable[int], gates: Gates, seed: int
    ) -> Iterator[Trained]:
        """Networks of ascending widths, each grown from the one before.

        Yields:
            What is left at each width, its iterations counted from the first width on.

        Raises:
            FloatingPointError: a number that is not finite in the linear algebra.
        """
        task = _Task(self, data, unit, gates == "trained", np.random.default_rng(seed))
        fit = used = task.empty()
        least, total = math.inf, 0
        for width in widths:
            before, made = fit, []
            while (have := len(fit.rows.gate)) < width:
                count = min(max(round(self.share * have), 1), width - have)
                rows = task.inserted(fit.rows, count, self.candidates)
                made.append(task.refined(rows, self.iterations)[0])
                fit = made[-1]
            most = min(max(self.exchanges // width, 2), self.exchanges) if task.trains else 0
            failed = 0
            while failed < most:
                rows = task.exchanged(fit.rows, at_random=failed > 2 and failed % 2 == 1)
                made.append(task.refined(rows, self.iterations)[0])
                failed = 0 if made[-1].rmse < (1 - MOVED) * fit.rmse else failed + 1
                fit = min(fit, made[-1], key=_error)
            if most:
                made.append(task.overgrown(fit.rows))
                fit = min(fit, made[-1], key=_error)
            end, converged = task.refined(fit.rows, self.max_iterations)
            total += sum(fit.iterations for fit in (*made, end))
            fit = min(task.widened(before, end.rows), fit, end, key=_error)
            for ridge in self.ridges if data.split == "held-out" else ():
                for candidate in (*made, end):
                    again = last(task.run(candidate.rows, ridge, 0))
                    if (judged := task.judged(again)) < least:
                        least, used = judged, again
            closest, held_out = to_network(fit, unit), data.split == "held-out"
            yield Trained(
                to_network(task.widened(used, fit.rows), unit) if held_out else closest,
                "converged" if converged else "iterations",
                total,
                fit.rmse,
                closest=closest,
            )


@dataclass(frozen=True)
class _Task:
    """What is grown: a unit on the data, by the solver's settings and one stream of draws."""

    solver: Growth
    data: Dataset
    unit: Unit
    trains: bool
    draw: np.random.Generator

    @cached_property
    def points(self) -> Tensor:
        """The training points (N, d + 1), homogeneous."""
        x = torch.tensor(self.data.train.x)
        return torch.cat([x, torch.ones_like(x[:, :1])], dim=1)

    @cached_property
    def y(self) -> Tensor:
        """Their values (N,)."""
        return torch.tensor(self.data.train.y)

    def run(self, rows: Rows, ridge: float, limit: int) -> Iterator[ProjectedFit]:
        x, trains = self.points[:, :-1], self.trains
        return iterates(
            self.unit, x, self.y, rows, train_gates=trains, max_iterations=limit, ridge=ridge
        )

    def refined(self, rows: Rows, limit: int) -> tuple[ProjectedFit, bool]:
        """The end of a descent, and whether it converged."""
        due, before = self.solver.iterations, math.inf
        for fit in self.run(rows, self.solver.ridges[-1], limit):
            if fit.iterations == due:
                if fit.rmse > (1 - MOVED) * before:
                    return fit, True
                due, before = 2 * due, fit.rmse
        return fit, fit.status == "converged"

    def empty(self) -> ProjectedFit:
        """The mean of the values, without neurons."""
        rows = rows_on_data(self.unit, self.data.train.x, 1, self.draw).taken(slice(0))
        mean = self.y.mean(dim=0, keepdim=True)
        return ProjectedFit(rows, mean, float(self.y.std(correction=0)), 0, "converged")

    def widened(self, fit: ProjectedFit, rows: Rows) -> ProjectedFit:
        """The same function with as many neurons as the rows, the last of which fill it up."""
        have, width = len(fit.rows.gate), len(rows.gate)
        weights = fit.linear.new_zeros(self.points.shape[1] if self.unit.factors else 1, width)
        weights[:, :have] = fit.linear[:-1].reshape(len(weights), have)
        linear = torch.cat([weights.flatten(), fit.linear[-1:]])
        return replace(fit, rows=fit.rows.joined(rows.taken(slice(have, width))), linear=linear)

    def judged(self, fit: ProjectedFit) -> float:
        """The error on the validation points."""
        return self.data.error(to_network(fit, self.unit), self.data.validation)

    def seen(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """Points and values by which neurons are chosen: all, or as many as memory should hold."""
        columns = parameter_count(self.unit, self.data.dim, len(rows.gate))
        most = rows_at_once(max(columns, self.solver.candidates))
        if len(self.y) <= most:
            return self.points, self.y
        drawn = torch.from_numpy(self.draw.choice(len(self.y), most, replace=False))
        return self.points[drawn], self.y[drawn]

    def inserted(self, rows: Rows, count: int, drawn: int) -> Rows:
        """Some rows and as many more as asked for, of candidates drawn among the data."""
        drawn, ridge = max(drawn, count), self.solver.ridges[-1]
        pool = candidates(self.unit, self.data.train.x, drawn, rows.gate, self.draw)
        chosen = insertions(self.unit, *self.seen(rows), rows, pool, count, ridge)
        return rows.joined(pool.taken(torch.tensor(chosen)))

    def reduced(self, rows: Rows, count: int, at_random: bool = False) -> Rows:
        """The rows without those that matter least, or without any."""
        order = torch.from_numpy(self.draw.permutation(len(rows.gate)))
        if not at_random:
            ridge = self.solver.ridges[-1]
            order = removal_losses(self.unit, *self.seen(rows), rows, ridge).argsort()
        return rows.taken(order[count:].sort().values)

    def exchanged(self, rows: Rows, at_random: bool) -> Rows:
        """The rows with some exchanged: those that matter least, or any."""
        count = max(round(self.solver.exchanged * len(rows.gate)), 1)
        drawn = self.solver.few if at_random else self.solver.candidates
        return self.inserted(self.reduced(rows, count, at_random), count, drawn)

    def overgrown(self, rows: Rows) -> ProjectedFit:
        """Half as many neurons again, then as many as before: a fit with all its iterations."""
        n, solver = len(rows.gate), self.solver
        fit, _ = self.refined(self.inserted(rows, -(-n // 2), solver.candidates), solver.iterations)
        total = fit.iterations
        while (have := len(fit.rows.gate)) > n:
            count = min(max(round(solver.exchanged * have), 1), have - n)
            fit, _ = self.refined(self.reduced(fit.rows, count), solver.iterations)
            total += fit.iterations
        return replace(fit, iterations=total)
