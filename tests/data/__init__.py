import numpy as np

from xsquared.data import Dataset
from xsquared.data.dataset import Points


def unscaled(train: Points, *others: Points) -> Dataset:
    """Points in their own units, without a target; alone they play all parts."""
    validation, test = others or (train, train)
    scaling = np.zeros(train.x.shape[1]), np.ones(train.x.shape[1]), 0.0, 1.0
    return Dataset("held-out" if others else "paper", train, validation, test, *scaling)


def raw(data: Dataset, part: str) -> tuple[np.ndarray, np.ndarray]:
    """A part in the data's own units."""
    points = getattr(data, part)
    values = points.y * data.target_scale + data.target_mean
    return points.x * data.feature_scale + data.feature_mean, values
