"""What a network is trained on: points and values, and the target itself where it is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xsquared.functions import Target


@dataclass(frozen=True, eq=False)
class Samples:
    """Training and test samples of a function.

    Attributes:
        name: how tables call it.
        x_train: (N, d) training points.
        y_train: (N,) values there.
        x_test: (M, d) test points.
        y_test: (M,) values there.
        target: the function behind the values where it is known; a trainer that works with the
            integral of the squared error needs it.
    """

    name: str
    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    target: Target | None = None

    def __post_init__(self) -> None:
        for part, x, y in (
            ("training", self.x_train, self.y_train),
            ("test", self.x_test, self.y_test),
        ):
            if x.ndim != 2 or y.ndim != 1 or len(x) != len(y) or len(x) == 0:
                raise ValueError(
                    f"expected {part} points (N, d) and values (N,), got {x.shape} and {y.shape}"
                )
            if not (np.isfinite(x).all() and np.isfinite(y).all()):
                raise ValueError(f"expected finite {part} points and values, got NaN or infinity")
        if self.x_train.shape[1] != self.x_test.shape[1]:
            raise ValueError(
                f"training points have {self.x_train.shape[1]} features, "
                f"test points {self.x_test.shape[1]}"
            )

        if self.target is not None and self.target.dim != self.dim:
            raise ValueError(
                f"points have {self.dim} features, the target {self.target.dim} variables"
            )

    @property
    def dim(self) -> int:
        """Number of features."""
        return self.x_train.shape[1]


def sampled(target: Target, n_points: int = 10_000, seed: int = 0) -> Samples:
    """Noise-free values of a target on its domain.

    In one dimension the points are the paper's (section 4.1): equidistant, ends included, for
    training and for testing alike, since so many of them stand for the integral. In more dimensions
    training and test points are drawn independently and uniformly.

    Args:
        target: the function.
        n_points: training points, and as many test points; at least 2.
        seed: of the draw in more than one dimension.

    Raises:
        ValueError: fewer than two points.
    """
    if n_points < 2:
        raise ValueError(f"expected at least 2 points, got {n_points}")
    if target.dim == 1:
        x = np.linspace(*target.domain[0], n_points)[:, None]
        y = target(x[:, 0])
        return Samples(target.name, x, y, x, y, target)
    low, high = np.array(target.domain).T
    x, x_test = np.random.default_rng(seed).uniform(low, high, (2, n_points, target.dim))
    return Samples(target.name, x, target(*x.T), x_test, target(*x_test.T), target)
