"""Data to train on: targets, the papers' problems and tables, all as one Dataset."""

from xsquared.data.dataset import (
    Dataset,
    Points,
    Split,
    from_arrays,
    from_target,
    sampled,
)
from xsquared.data.problems import PROBLEMS, load

__all__ = [
    "PROBLEMS",
    "Dataset",
    "Points",
    "Split",
    "from_arrays",
    "from_target",
    "load",
    "sampled",
]
