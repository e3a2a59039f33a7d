"""What a network is trained on: points with values, split, standardised, and back.

``"paper"``: the training points are the validation and test points too, as in the
gated-units paper (section 4.3); tables give their first rows. ``"held-out"``: the three
are disjoint; tables are shuffled and cut, and predictions confined to the training
values' range and :data:`MARGIN`, as gated units grow like squares beyond the points
seen. Mean and deviation are those of the training points; errors are in units of the
values' deviation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from xsquared.errors import rmse
from xsquared.functions import Interval, Target, interval_of
from xsquared.units import GatedNetwork, predict

#: How points are split into training, validation and test.
Split = Literal["paper", "held-out"]
#: Draws ``(count, seed) -> x (count, dim), y (count,)``.
Generator = Callable[[int, int], tuple[np.ndarray, np.ndarray]]
#: Training points of a synthetic problem where none are asked for.
DEFAULT_POINTS = 2000
#: Fresh test points of a synthetic problem, by which a mean square is known to 2%.
_TEST_POINTS = 10_000
#: Share of a table that is held out for the test, and of the rest for validation.
_HELD_OUT = 0.2
#: Share of the training values' range by which a prediction for a point not seen may
#: leave it.
MARGIN = 0.1


@dataclass(frozen=True, eq=False)
class Points:
    """Features x (m, dim), values y (m,) or (m, outputs), in a network's units."""

    x: np.ndarray
    y: np.ndarray

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Points to fit, to choose on and to judge on, in a network's units.

    A feature is (x - feature_mean) / feature_scale, a value likewise; ``target`` is
    the function that the values are of, where it is known.
    """

    split: Split
    train: Points
    validation: Points
    test: Points
    feature_mean: np.ndarray
    feature_scale: np.ndarray
    target_mean: float
    target_scale: float
    target: Target | None = None

    @property
    def dim(self) -> int:
        """Number of features."""
        return self.train.x.shape[1]

    def standardise(self, x: ArrayLike) -> np.ndarray:
        """Scale features (m, dim) from their own units to a network's."""
        return (np.asarray(x) - self.feature_mean) / self.feature_scale

    def predict(self, network: GatedNetwork, x: ArrayLike) -> np.ndarray:
        """Predict values (m,) at features (m, dim), both in the units of the data."""
        y = np.clip(predict(network, self.standardise(x)), *self.limits())
        return y * self.target_scale + self.target_mean

    def error(self, network: GatedNetwork, points: Points) -> float:
        """Compute the RMSE of predictions at points, infinite where it is no number."""
        return rmse(network, points.x, points.y, self.limits())

    def limits(self) -> Interval:
        """Find the range to which predictions are confined, in a network's units."""
        low, high = self.train.y.min(), self.train.y.max()
        room = np.inf if self.split == "paper" else MARGIN * (high - low)
        return low - room, high + room


def sampled(target: Target, points: int = 10_000) -> Dataset:
    """Sample a target of one variable at equidistant points, ends included, unscaled.

    The gated-units paper's points (section 4.1), for training and testing alike.
    """
    x = np.linspace(*interval_of(target), points)
    every = Points(x[:, None], target(x))
    return Dataset(
        split="paper",
        train=every,
        validation=every,
        test=every,
        feature_mean=np.zeros(1),
        feature_scale=np.ones(1),
        target_mean=0.0,
        target_scale=1.0,
        target=target,
    )


def from_target(
    target: Target, seed: int = 0, split: Split = "held-out", points: int | None = None
) -> Dataset:
    """Draw points uniformly from a target's domain; else as :func:`from_generator`."""
    low, high = np.transpose(target.domain)

    def generate(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        x = np.random.default_rng(seed).uniform(low, high, (count, target.dim))
        return x, target(*x.T)

    return replace(from_generator(generate, seed, split, points), target=target)


def from_generator(
    generate: Generator, seed: int, split: Split = "held-out", points: int | None = None
) -> Dataset:
    """Draw training points, the same ones for both splits.

    A held-out split draws a quarter as many for validation and 10,000 for
    the test.

    Args:
        generate: draws points and their values.
        seed: handed to ``generate``.
        split: whether other points choose and judge.
        points: to train on; :data:`DEFAULT_POINTS` where None.
    """
    count = DEFAULT_POINTS if points is None else points
    if split == "paper":
        return from_parts([generate(count, seed)])
    training_end = count
    validation_end = count + max(count // 4, 1)
    x, y = generate(validation_end + _TEST_POINTS, seed)
    cuts = [training_end, validation_end]
    return from_parts([*zip(np.split(x, cuts), np.split(y, cuts), strict=True)])


def from_arrays(
    x: np.ndarray,
    y: np.ndarray,
    seed: int = 0,
    split: Split = "held-out",
    points: int | None = None,
) -> Dataset:
    """Split a table of features x (rows, dim) and values y (rows,).

    ``points`` is the largest number of rows to train on; None is all that are not held
    out.
    """
    if split == "paper":
        return from_parts([(x[:points], y[:points])])
    test, validation, train = held_out(len(y), seed)
    parts = (train[:points], validation, test)
    return from_parts([(x[rows], y[rows]) for rows in parts])


def held_out(count: int, seed: int) -> list[np.ndarray]:
    """Shuffle so many rows, or groups: their indices to test, validate and train on."""
    tested = round(_HELD_OUT * count)
    validated = round(_HELD_OUT * (count - tested))
    shuffled = np.random.default_rng(seed).permutation(count)
    return np.split(shuffled, [tested, tested + validated])


def from_parts(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> Dataset:
    """Standardise points by the mean and the deviation of the first part.

    Each feature has its own; values share one mean and one deviation, even of several
    outputs.

    Args:
        parts: points x (m, dim) and values y (m,) or (m, outputs) to train on, to
            validate on and to test on; one part alone serves as all three.

    Raises:
        ValueError: a feature is constant in the first part.
    """
    train_x, train_y = parts[0]
    constant = np.flatnonzero(np.ptp(train_x, axis=0) == 0)
    if constant.size:
        raise ValueError(f"feature {constant[0]} is constant in the points to train on")
    feature_mean, feature_scale = train_x.mean(axis=0), train_x.std(axis=0)
    target_mean, target_scale = train_y.mean(), train_y.std()
    scaled = [
        Points((x - feature_mean) / feature_scale, (y - target_mean) / target_scale)
        for x, y in parts
    ]
    alone = len(scaled) == 1
    train, validation, test = scaled * 3 if alone else scaled
    return Dataset(
        split="paper" if alone else "held-out",
        train=train,
        validation=validation,
        test=test,
        feature_mean=feature_mean,
        feature_scale=feature_scale,
        target_mean=float(target_mean),
        target_scale=float(target_scale),
    )
