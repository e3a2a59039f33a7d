"""Data to train on: arrays, frames, files, targets and problems by name, all as one Dataset."""

from xsquared.data.dataset import (
    SPLITS,
    Dataset,
    Points,
    Split,
    from_arrays,
    from_file,
    from_frame,
    from_target,
    sampled,
)
from xsquared.data.problems import PROBLEMS, find_problem, load

__all__ = [
    "PROBLEMS",
    "SPLITS",
    "Dataset",
    "Points",
    "Split",
    "find_problem",
    "from_arrays",
    "from_file",
    "from_frame",
    "from_target",
    "load",
    "sampled",
]
