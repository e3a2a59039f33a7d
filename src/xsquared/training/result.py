"""What a solver is, and what a training run returns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol

import numpy as np

from xsquared.data.dataset import Dataset
from xsquared.units import GatedNetwork, Unit

#: Whether gates stay where they start or are trained as well.
Gates = Literal["trained", "frozen"]

#: How a run can end, by the word that tables have: what happened, and what to try.
STATUSES = {
    "converged": "the loss stopped falling, at best at a local optimum; "
    "another seed may do better",
    "iterations": "the limit of iterations came first; raise max_iterations",
    "stalled": "no step that could be taken lowered the loss; "
    "try another solver or seed",
    "diverged": "the loss is not finite; scale features and values to unit variance",
    "failed": "the linear algebra gave up or memory ran out; "
    "use fewer neurons or points",
    "unresolved": "a finer rule sees another error; cut the domain at jumps and peaks",
    "inexact": "float64 does not carry weights that cancel so far; "
    "cut the domain at jumps, or use fewer neurons",
}


@dataclass(frozen=True, eq=False)
class Fit:
    """A trained network and how training went; a solver fills in at most six fields.

    Attributes:
        network: the module to use; None where the run ended before there was one.
        status: a word of :data:`STATUSES`.
        iterations: what a solver counts: steps, sweeps, batches.
        promised: training RMSE of what the weights stand for; None where only the pass
            is known.
        history: (records, 2), seconds and training RMSE; empty where none was kept.
        training_minimiser: the module of least training error; validation chooses
            ``network``.
        train_rmse: of ``network`` on the training points.
        test_rmse: of the predictions of ``data.predict`` on the test points; that over
            the domain is :func:`xsquared.errors.measured_rmse`.
        seconds: of the run so far.
        detail: the message of the error that ended the run, or what else to know.
    """

    network: GatedNetwork | None
    status: str
    iterations: int = 0
    promised: float | None = None
    history: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))
    training_minimiser: GatedNetwork | None = None
    train_rmse: float = math.nan
    test_rmse: float = math.nan
    seconds: float = math.nan
    solver: Solver | None = None
    seed: int = 0
    detail: str = ""

    def __str__(self) -> str:
        ended = f"{self.status} after {self.iterations} iterations"
        ended += f", {self.seconds:.1f} s"
        if self.network is None:
            return f"no network, {ended}: {self.detail}"
        more = f"; {self.detail}" if self.detail else ""
        return (
            f"{self.network.extra_repr()}: root mean square error "
            f"{self.train_rmse:.3g} on the training points, "
            f"{self.test_rmse:.3g} on the test points; "
            f"{ended} ({STATUSES[self.status]}){more}"
        )


class Solver(Protocol):
    """An optimiser with its settings: a frozen dataclass whose fields they are."""

    #: How trials and tables call it.
    name: ClassVar[str]

    def train(
        self, data: Dataset, unit: Unit, n_hidden: int, gates: Gates, seed: int
    ) -> Fit:
        """Train a network of one output.

        Raises:
            ValueError: the solver does not implement this unit or these data.
        """
