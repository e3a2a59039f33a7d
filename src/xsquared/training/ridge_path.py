"""Variable projection in many dimensions: starts that compete, then a ridge let go in steps.

Random starts compete in rounds of a few iterations, of which the better quarter goes on. How many
there are is a matter of width: narrow networks have bad minima and are cheap, wide ones neither.

Those left are trained under a strong ridge and on, from the rows found so far, under weaker ones
until the last is too weak to matter. The last network with the least error is the best fit of the
training points. Every network on the way is also judged on validation points, and the best by that
judgement is the one to use on points not seen: early stopping and the choice of the ridge in one,
without a second run. The way down also ends lower than a run that has the weak ridge only, as
hinges settle where the target needs them before single neurons can fit single points.

Nothing ties a network down beyond the points it has seen, where a gated unit grows like the square
or the cube of the distance. Predictions for points not seen are therefore confined to the range of
the training values, widened by a tenth at either end.

Following solutions over a falling penalty is a continuation method: Allgower and Georg, Numerical
Continuation Methods (1990).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from xsquared.checks import check_integer, check_number
from xsquared.data.dataset import Dataset
from xsquared.errors import confined_rmse
from xsquared.training.result import Gates, Trained
from xsquared.training.variable_projection import (
    ProjectedFit,
    Rows,
    check_device,
    iterates,
    last,
    require_formula,
    rows_on_data,
    to_network,
)
from xsquared.units import GatedNetwork, Unit


@dataclass(frozen=True)
class RidgePath:
    """Variable projection under a falling ridge; the network to use is chosen on validation points.

    Attributes:
        ridges: in the order of training; values and features are standardised.
        iterations: under each ridge but the last.
        last_iterations: least and most iterations under the last ridge.
        last_work: these are this number over that of the parameters, within those limits.
        most_starts: random starts, at most.
        start_work: there are this number over the square of that of the parameters, at least one.
        rounds: iterations of the rounds in which starts compete.
        round_ridge: their ridge.
        kept: one of so many starts goes on from a round.
        margin: by how much of the training values' range a prediction for a point not seen may
            leave it.
        to_the_end: False stops where a ridge brings no better validation error, for those who want
            the network to use only.
        device: ``"cpu"`` or ``"cuda"``.
    """

    name: ClassVar[str] = "ridge_path"
    ridges: tuple[float, ...] = (1e-3, 1e-6, 1e-10)
    iterations: int = 5
    last_iterations: tuple[int, int] = (7, 25)
    last_work: int = 8192
    most_starts: int = 48
    start_work: int = 40000
    rounds: tuple[int, ...] = (4, 8)
    round_ridge: float = 1e-6
    kept: int = 4
    margin: float = 0.1
    to_the_end: bool = True
    device: str = "cpu"

    def __post_init__(self) -> None:
        if not self.ridges:
            raise ValueError("ridges: expected at least one, got none")
        for ridge in (*self.ridges, self.round_ridge):
            check_number("ridges", ridge, above=0)
        for name in ("iterations", "last_work", "most_starts", "start_work", "kept"):
            check_integer(name, getattr(self, name), 1)
        for limit in (*self.rounds, *self.last_iterations):
            check_integer("rounds and last_iterations", limit, 1)
        check_number("margin", self.margin, least=0)
        check_device(self.device)

    def train(self, data: Dataset, unit: Unit, n_hidden: int, gates: Gates, seed: int) -> Trained:
        """Train; units of the standard formula with any gate will do.

        Raises:
            ValueError: a unit whose module overrides the formula.
            FloatingPointError: a number that is not finite in the linear algebra.
        """
        require_formula(self.name, unit)
        x, y = (torch.tensor(part, device=self.device) for part in (data.train.x, data.train.y))
        run = functools.partial(iterates, unit, x, y, train_gates=gates == "trained")
        parameters = unit.parameter_count(data.dim, n_hidden)
        draw = np.random.default_rng(seed)
        survivors = [
            rows_on_data(unit, data.train.x, n_hidden, draw).to(self.device)
            for _ in range(min(max(self.start_work // parameters**2, 1), self.most_starts))
        ]
        survivors, total = self._compete(run, survivors)
        least, most = self.last_iterations
        limits = [self.iterations] * (len(self.ridges) - 1)
        limits += [min(max(self.last_work // parameters, least), most)]
        judge_x, judge_y = data.validation.x, data.validation.y
        best: tuple[float, GatedNetwork] | None = None
        ends: list[ProjectedFit] = []
        for rows in survivors:
            for ridge, limit in zip(self.ridges, limits, strict=True):
                before = best
                for fit in run(rows, max_iterations=limit, ridge=ridge):
                    network = to_network(fit, unit)
                    judged = confined_rmse(network, judge_x, judge_y, data.train.y, self.margin)
                    if best is None or judged < best[0]:
                        best = (judged, network)
                rows, total = fit.rows, total + fit.iterations
                if best is before and not self.to_the_end:
                    break
            ends.append(fit)
        assert best is not None  # every run yields its start
        end = min(ends, key=lambda end: end.rmse)
        margin = self.margin if data.split == "held-out" else None
        network = best[1] if data.split == "held-out" else to_network(end, unit)
        return Trained(
            network, end.status, total, end.rmse, closest=to_network(end, unit), margin=margin
        )

    def _compete(
        self, run: Callable[..., Iterator[ProjectedFit]], starts: list[Rows]
    ) -> tuple[list[Rows], int]:
        """The starts that are left after every round, and the iterations that it took."""
        total = 0
        for limit in self.rounds:
            if len(starts) == 1:
                break
            fits = [
                last(run(start, max_iterations=limit, ridge=self.round_ridge)) for start in starts
            ]
            total += sum(fit.iterations for fit in fits)
            fits.sort(key=lambda fit: fit.rmse)
            starts = [fit.rows for fit in fits[: -(-len(fits) // self.kept)]]
        return starts, total
