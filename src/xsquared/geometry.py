"""The splines hidden in a network: what its neurons add, its knots, hinges and cells."""

import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from xsquared.units import GatedNetwork, as_points

Orientation = Literal["one-way", "alternating"]
#: Two intervals, ``((x_min, x_max), (y_min, y_max))``.
Box = tuple[tuple[float, float], tuple[float, float]]


def neuron_contributions(network: GatedNetwork, x: np.ndarray) -> np.ndarray:
    """Compute what each neuron adds at points (N,) or (N, n_in): (N, n_hidden, n_out)."""
    with torch.no_grad():
        numbers = network.hidden(as_points(x))[:, :, None] * network.D.T[None]
    return numbers.unflatten(1, (-1, network.n_hidden)).sum(dim=1).numpy()


def knots(network: GatedNetwork) -> np.ndarray:
    """Find where the gates of a network of one input open or close: -g/G, ascending,
    where G != 0.

    A gate without a hinge is a ValueError.
    """
    if not network.gate.hinged:
        raise ValueError(
            f"only hinged gates have knots, this one is {network.gate.name}"
        )
    slope, bias = network.G.detach().numpy()[:, 0], network.g.detach().numpy()
    return np.sort(-bias[slope != 0] / slope[slope != 0])


@dataclass(frozen=True)
class Hinge:
    """The straight piece of one neuron's hinge that lies in a box: the neuron's index,
    two ends.
    """

    neuron: int
    start: tuple[float, float]
    end: tuple[float, float]


def hinge_segments(network: GatedNetwork, box: Box) -> list[Hinge]:
    """Clip the lines G x + g = 0 of a network on the plane exactly to a box (appendix
    B).

    One segment per neuron whose line passes through the box, in the neurons' order.
    """
    normals, offsets = network.G.detach().numpy(), network.g.detach().numpy()
    # Liang-Barsky: points + t along; each pair of parallel sides leaves an interval of
    # t.
    along = np.stack([-normals[:, 1], normals[:, 0]], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        points = -offsets[:, None] * normals / (normals**2).sum(axis=1, keepdims=True)
        times = np.sort((np.array(box) - points[..., None]) / along[..., None], axis=2)
    ends = np.stack(
        [times[..., 0].max(axis=1), times[..., 1].min(axis=1)], axis=1
    )  # (n, 2)
    segments = points[:, None] + ends[..., None] * along[:, None]  # (n, 2 ends, 2)
    inside = np.flatnonzero(ends[:, 0] < ends[:, 1])
    return [Hinge(int(k), *map(tuple, segments[k].tolist())) for k in inside]


def count_cells(network: GatedNetwork, box: Box) -> int:
    """Count the cells into which the hinge lines cut a box: 1 + lines + crossings
    inside it.

    Counted for lines in general position: no three through one point, none coinciding.
    """
    neurons = [hinge.neuron for hinge in hinge_segments(network, box)]
    lines = np.column_stack([network.G.detach().numpy(), network.g.detach().numpy()])[
        neurons
    ]
    pairs = [
        np.cross(*pair) for pair in itertools.combinations(lines, 2)
    ]  # homogeneous
    places = np.array([place[:2] / place[2] for place in pairs if place[2]]).reshape(
        -1, 2
    )
    low, high = np.transpose(box)
    return (
        1 + len(lines) + int(np.sum(np.all((low < places) & (places < high), axis=1)))
    )


def spline_gates(
    n: int, domain: tuple[float, float], orientation: Orientation
) -> tuple[np.ndarray, np.ndarray]:
    """Place the hinges of n gates equidistantly on an interval, ends included (Fig. 8).

    One-way gates open to the right (G = 1); alternating ones to the right and the left
    in turn, so that every point has an open gate once n > 2. Return G (n, 1) of entries
    +1 and -1, and g (n,).
    """
    signs = np.resize([1.0, -1.0 if orientation == "alternating" else 1.0], n)
    return signs[:, None], -signs * np.linspace(*domain, n)
