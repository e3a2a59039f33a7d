import numpy as np

from xsquared.data import Dataset


def raw(data: Dataset, part: str) -> tuple[np.ndarray, np.ndarray]:
    """A part in the data's own units."""
    points = getattr(data, part)
    return points.x * data.feature_scale + data.feature_mean, data.inverse(points.y)
