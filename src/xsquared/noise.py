"""How small an error the data allow, whatever the network: references for tables of real data.

Two estimates that know nothing of gated units. Boosted trees say what another good method reaches
on the same split. The difference between nearest neighbours bounds what the features leave open:
two rows with equal features have targets that differ by the noise twice over, and rows that are
merely near differ by more.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree
from sklearn.ensemble import HistGradientBoostingRegressor

from xsquared.data.problems import Dataset, Points


def neighbour_noise(points: Points, exact: float = 1e-9) -> tuple[float, float]:
    """Noise from pairs of nearest neighbours: the difference's root mean square over sqrt(2).

    Args:
        points: standardised points, at least two.
        exact: distance up to which two rows count as having the same features.

    Returns:
        The estimate, an upper bound up to sampling error, and the share of rows whose neighbour has
        the same features.

    Raises:
        ValueError: fewer than two points.
    """
    if len(points) < 2:
        raise ValueError(f"neighbours need at least 2 points, got {len(points)}")
    # The second nearest, as the nearest is the row itself or its equal.
    distance, index = cKDTree(points.x).query(points.x, k=2)
    own = np.arange(len(points))
    other = np.where(index[:, 0] == own, index[:, 1], index[:, 0])
    gap = points.y - points.y[other]
    return float(np.sqrt(np.mean(gap**2) / 2)), float(np.mean(distance[:, 1] <= exact))


def boosted_rmse(data: Dataset, rounds: int = 100) -> float:
    """Test error of gradient-boosted trees fitted to the training points alone.

    Args:
        data: a problem's points.
        rounds: trees, at least 1.
    """
    model = HistGradientBoostingRegressor(
        max_iter=rounds, learning_rate=0.1, early_stopping=False, random_state=0
    )
    model.fit(data.train.x, data.train.y)
    return float(np.sqrt(np.mean((model.predict(data.test.x) - data.test.y) ** 2)))
