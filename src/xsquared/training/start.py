"""Where networks start: on the paper's equidistant hinges in one dimension, else normal weights."""

import numpy as np
import torch

from xsquared.data.dataset import Dataset
from xsquared.geometry import spline_gates
from xsquared.units import GatedNetwork, Unit, build, set_parameters


def alternating_gates(n: int, domain: tuple[float, float]) -> np.ndarray:
    """Make rows (G, g) of the paper's start, (n, 2): equidistant hinges, alternating directions."""
    return np.column_stack(spline_gates(n, domain, "alternating"))


def paper_start(
    unit: str | Unit, n: int, domain: tuple[float, float], generator: torch.Generator
) -> GatedNetwork:
    """Draw the paper's start on a line (section 4.1): these gates, all other weights normal."""
    network, gates = build(unit, 1, n, generator=generator), alternating_gates(n, domain)
    set_parameters(network, G=gates[:, :1], g=gates[:, 1])
    return network


def start(data: Dataset, unit: Unit, n_hidden: int, seed: int) -> GatedNetwork:
    """Draw the network before training: the paper's start on a line, else normal weights."""
    generator = torch.Generator().manual_seed(seed)
    if data.dim > 1:
        return build(unit, data.dim, n_hidden, generator=generator)
    return paper_start(unit, n_hidden, (data.train.x.min(), data.train.x.max()), generator)
