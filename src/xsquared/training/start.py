"""Where networks start: on the paper's equidistant hinges in one dimension, else normal
weights.
"""

import torch

from xsquared.data.dataset import Dataset
from xsquared.geometry import spline_gates
from xsquared.units import GatedNetwork, Unit, build, set_parameters


def paper_start(
    unit: str | Unit, n: int, domain: tuple[float, float], generator: torch.Generator
) -> GatedNetwork:
    """Draw the paper's start on a line (section 4.1): these gates, all other weights
    normal.
    """
    network = build(unit, 1, n, generator=generator)
    set_parameters(
        network, **dict(zip("Gg", spline_gates(n, domain, "alternating"), strict=True))
    )
    return network


def start(data: Dataset, unit: Unit, n_hidden: int, seed: int) -> GatedNetwork:
    """Draw the network before training: the paper's start on a line, else normal
    weights.
    """
    generator = torch.Generator().manual_seed(seed)
    if data.dim > 1:
        return build(unit, data.dim, n_hidden, generator=generator)
    return paper_start(
        unit, n_hidden, (data.train.x.min(), data.train.x.max()), generator
    )
