"""The splines hidden in a network: its neurons, knots, hinges and cells."""

import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from xsquared.units import GatedNetwork, as_points

Orientation = Literal["one-way", "alternating"]
#: Two intervals, ``((x_min, x_max), (y_min, y_max))``.
_Box = tuple[tuple[float, float], tuple[float, float]]


def neuron_contributions(network: GatedNetwork, x: np.ndarray) -> np.ndarray:
    """Compute what each neuron adds: (N,) or (N, n_in) -> (N, n_hidden, n_out)."""
    with torch.no_grad():
        hidden = network.hidden(as_points(x))  # (N, numbers a neuron times neurons)
        products = hidden[:, :, None] * network.D.T[None]
    of_neurons = products.unflatten(1, (-1, network.n_hidden))
    return of_neurons.sum(dim=1).numpy()


def knots(network: GatedNetwork) -> np.ndarray:
    """Find where a network's gates of one input open or close: -g/G, ascending.

    Gates with G = 0 have no knot; a gate without a hinge is a ValueError.
    """
    if not network.gate.hinged:
        raise ValueError(
            f"only hinged gates have knots, this one is {network.gate.name}"
        )
    slope = network.G.detach().numpy()[:, 0]
    bias = network.g.detach().numpy()
    bends = slope != 0
    return np.sort(-bias[bends] / slope[bends])


@dataclass(frozen=True)
class Hinge:
    """The straight piece of a neuron's hinge that lies in a box."""

    neuron: int
    start: tuple[float, float]
    end: tuple[float, float]


def hinge_segments(network: GatedNetwork, box: _Box) -> list[Hinge]:
    """Clip the lines G x + g = 0 of a network on the plane to a box (appendix B).

    Exactly, after Liang and Barsky: a line is the points p + t a with a along it; the
    box's two vertical sides leave an interval of t, and so do its horizontal ones.

    Returns:
        One segment per neuron whose line passes through the box, in the neurons' order.
    """
    normals = network.G.detach().numpy()
    offsets = network.g.detach().numpy()
    along = np.stack([-normals[:, 1], normals[:, 0]], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        points = -offsets[:, None] * normals / (normals**2).sum(axis=1, keepdims=True)
        at_sides = (np.array(box) - points[..., None]) / along[..., None]
    intervals = np.sort(at_sides, axis=2)  # (n, coordinate, low and high)
    enters = intervals[..., 0].max(axis=1)
    leaves = intervals[..., 1].min(axis=1)
    times = np.stack([enters, leaves], axis=1)
    segments = points[:, None] + times[..., None] * along[:, None]  # (n, 2 ends, 2)
    hinges = []
    for neuron in np.flatnonzero(enters < leaves):
        start, end = map(tuple, segments[neuron].tolist())
        hinges.append(Hinge(int(neuron), start, end))
    return hinges


def count_cells(network: GatedNetwork, box: _Box) -> int:
    """Count the cells into which the hinge lines cut a box: 1 + lines + crossings.

    Counted for lines in general position: no three through one point, none coinciding.
    """
    neurons = [hinge.neuron for hinge in hinge_segments(network, box)]
    equations = np.column_stack(
        [network.G.detach().numpy(), network.g.detach().numpy()]
    )
    low, high = np.transpose(box)
    crossings = 0
    for first, second in itertools.combinations(equations[neurons], 2):
        # The cross product of two lines' coefficients is their crossing in homogeneous
        # coordinates; parallel lines cross at infinity.
        x, y, w = np.cross(first, second)
        if w:
            crossing = np.array([x, y]) / w
            crossings += bool(np.all((low < crossing) & (crossing < high)))
    return 1 + len(neurons) + crossings


def spline_gates(
    n: int, domain: tuple[float, float], orientation: Orientation
) -> tuple[np.ndarray, np.ndarray]:
    """Place the hinges of n gates equidistantly on an interval, ends included (Fig. 8).

    One-way gates open to the right (G = 1); alternating ones to the right and the left
    in turn, so that every point has an open gate once n > 2. Return G (n, 1) of entries
    +1 and -1, and g (n,).
    """
    second = -1.0 if orientation == "alternating" else 1.0
    signs = np.resize([1.0, second], n)
    return signs[:, None], -signs * np.linspace(*domain, n)
