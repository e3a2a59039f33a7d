"""What descents by gradients share: where they start, what they train, the loss."""

from collections.abc import Sequence

import torch
from torch import Tensor

from xsquared.data.dataset import Dataset
from xsquared.geometry import spline_gates
from xsquared.units import GatedNetwork, Unit, build, set_parameters

#: Layers in the order in which they are trained, each the letters of its parameters.
Layers = Sequence[tuple[str, ...]]


def paper_start(
    unit: str | Unit, n: int, domain: tuple[float, float], generator: torch.Generator
) -> GatedNetwork:
    """Draw the paper's start on a line (section 4.1).

    Gates stand at equidistant hinges and open to both sides in turn; all other weights
    are normal.
    """
    network = build(unit, 1, n, generator=generator)
    weights, biases = spline_gates(n, domain, "alternating")
    set_parameters(network, G=weights, g=biases)
    return network


def start(data: Dataset, unit: Unit, n_hidden: int, seed: int) -> GatedNetwork:
    """Draw the paper's start on a line, else normal weights."""
    generator = torch.Generator().manual_seed(seed)
    if data.dim > 1:
        return build(unit, data.dim, n_hidden, generator=generator)
    domain = (data.train.x.min(), data.train.x.max())
    return paper_start(unit, n_hidden, domain, generator)


def layers(network: GatedNetwork, train_gates: bool) -> Layers:
    """List the trained layers, each a weight's and a bias's letter; gates come last."""
    gates = (("G", "g"),) if train_gates else ()
    return (("D", "d"), *network.unit.factors, *gates)


def mean_square(network: GatedNetwork, x: Tensor, y: Tensor) -> Tensor:
    """Compute the mean square error of a network of one output at x (N, d), y (N,)."""
    return torch.mean((network(x)[:, 0] - y) ** 2)
