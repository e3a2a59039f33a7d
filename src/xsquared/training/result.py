"""What a solver is, what it leaves, and what a training run returns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Literal, Protocol

import numpy as np

from xsquared.data.dataset import Dataset
from xsquared.units import GatedNetwork, Unit

#: Whether gates stay where they start or are trained as well.
Gates = Literal["trained", "frozen"]


@dataclass(frozen=True)
class Status:
    """A way in which a run can end: its word in result tables, what happened and what to try."""

    word: str
    cause: str
    remedy: str


#: Every status by its word.
STATUSES: dict[str, Status] = {
    status.word: status
    for status in (
        Status(
            "converged",
            "the loss stopped falling, at best at a local optimum",
            "none needed; other starts, as of another seed, may do better",
        ),
        Status(
            "iterations",
            "the limit of iterations was reached while the loss still fell",
            "raise the solver's max_iterations",
        ),
        Status(
            "stalled",
            "no line search found a lower loss",
            "train with VariableProjection, or start from another seed",
        ),
        Status(
            "diverged",
            "the loss became infinite or not a number",
            "scale features and values to unit variance, or start from another seed",
        ),
        Status(
            "failed",
            "the linear algebra gave up or memory ran out",
            "use fewer neurons or points, or another seed",
        ),
        Status(
            "inexact",
            "the network's forward pass has a larger error than the fit that its weights stand for",
            "use fewer neurons: float64 does not carry weights that cancel so far",
        ),
    )
}


_no_history = partial(np.empty, (0, 2))


@dataclass(frozen=True)
class Trained:
    """What a solver leaves.

    Attributes:
        network: the network to use.
        status: one of :data:`STATUSES`, by its word.
        iterations: of the optimiser, over all starts and stages.
        promised: root mean square error on the training points of what the network stands for; the
            door compares the forward pass with it. None where the solver knows the forward pass
            only.
        history: (records, 2): seconds since the start, and root mean square error on the training
            points; empty where there is no single descent to follow.
        closest: the network with the least training error, where that is another one, as the solver
            chose on validation points.
    """

    network: GatedNetwork
    status: str
    iterations: int
    promised: float | None = None
    history: np.ndarray = field(default_factory=_no_history)
    closest: GatedNetwork | None = None


class Solver(Protocol):
    """An optimiser with its settings: a frozen dataclass whose fields they are."""

    #: How trials and the command line call it.
    name: ClassVar[str]

    def train(self, data: Dataset, unit: Unit, n_hidden: int, gates: Gates, seed: int) -> Trained:
        """Train a network of one output; a ValueError names what the solver does not implement."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A trained network and how the training went. Errors are those of forward passes.

    Attributes:
        status: how the run ended.
        wall_s: seconds.
        solver: what trained.
        seed: of all randomness.
        network: the module to use; None where the run ended before there was one.
        closest: the module with the least training error; another one than ``network`` only where
            the solver chose that on validation points.
        train_rmse: root mean square error of ``closest`` on the training points; NaN where there is
            no network, infinite where the pass is not finite.
        test_rmse: that of ``network``'s predictions on the test points, which ``data.predict``
            makes: confined on a held-out split.
        detail: the message of the error that ended the run; empty where none did.
        iterations: as in :class:`Trained`.
        history: as there.
    """

    status: Status
    wall_s: float
    solver: Solver
    seed: int
    network: GatedNetwork | None = None
    closest: GatedNetwork | None = None
    train_rmse: float = math.nan
    test_rmse: float = math.nan
    detail: str = ""
    iterations: int = 0
    history: np.ndarray = field(default_factory=_no_history)

    def __str__(self) -> str:
        local = ", at best to a local optimum," if self.status.word == "converged" else ""
        ended = f"{self.status.word}{local} after {self.iterations} iterations, {self.wall_s:.1f} s"
        if self.network is None:
            return f"no network, {ended}: {self.detail}"
        return (
            f"{self.network.extra_repr()}: root mean square error {self.train_rmse:.3g} on the "
            f"training points, {self.test_rmse:.3g} on the test points; {ended}"
        )
