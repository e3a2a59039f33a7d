"""What a training run returns, and what its status means."""

from __future__ import annotations

from dataclasses import dataclass

from xsquared.units import GatedNetwork


@dataclass(frozen=True)
class Status:
    """A way in which a run can end.

    Attributes:
        word: short name, as it stands in result tables.
        cause: what happened.
        remedy: what to try.
    """

    word: str
    cause: str
    remedy: str


#: Every status by its word.
STATUSES: dict[str, Status] = {
    status.word: status
    for status in (
        Status("converged", "the loss stopped falling", "none needed"),
        Status(
            "iterations",
            "the limit of iterations was reached while the loss still fell",
            "raise max_iterations",
        ),
        Status(
            "stalled",
            "no line search found a lower loss",
            "train with varpro, or start from another seed",
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
    )
}


@dataclass(frozen=True)
class Fit:
    """A trained network and how the training went.

    Attributes:
        network: the module; None where the run ended before there was one.
        train_rmse: root mean square error of its forward pass on the training points; NaN where
            there is no network, infinite where the pass is not finite.
        test_rmse: the same on the test points.
        status: how the run ended, one of :data:`STATUSES`.
        detail: the message of the error that ended the run; empty where none did.
        iterations: iterations of the optimiser, over all starts and stages.
        gradient_norm: Euclidean norm of the gradient of the mean square error on the training
            points by all parameters; NaN where there is no network.
        wall_s: seconds.
    """

    network: GatedNetwork | None
    train_rmse: float
    test_rmse: float
    status: Status
    detail: str
    iterations: int
    gradient_norm: float
    wall_s: float
