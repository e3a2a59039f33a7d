"""The splines hidden in a network: its neurons' polynomials, its knots, hinges and cells."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch

from xsquared.checks import check_choice
from xsquared.units import Gate, GatedNetwork, as_points

Orientation = Literal["one-way", "alternating"]


def neuron_contributions(network: GatedNetwork, x: np.ndarray) -> np.ndarray:
    """What each neuron adds to each output at points x, (N,) for one input or (N, n_in).

    Returns:
        (N, n_hidden, n_out), D included; the sum over neurons plus d is the forward pass.

    Raises:
        ValueError: points that are no real numbers.
    """
    with torch.no_grad():
        return (network.hidden(as_points(x))[:, :, None] * network.D.T[None]).numpy()


def neuron_polynomials(network: GatedNetwork) -> np.ndarray:
    """Coefficients of each open neuron's polynomial in x (the paper's Eq. 2, for any unit).

    Returns:
        (n_hidden, degree + 1), the constant term first.

    Raises:
        ValueError: a gate without a hinge, several inputs or outputs.
    """
    gates = [("G", "g")] * (_hinged(network, 1, 1).degree or 0)
    affine = [
        np.stack([_array(network, bias), _array(network, weight)[:, 0]], axis=1)
        for weight, bias in (*gates, *network.unit.factors)
    ]
    neurons = zip(_array(network, "D")[0][:, None], *affine, strict=True)
    return np.array([functools.reduce(np.convolve, neuron) for neuron in neurons])


def knots(network: GatedNetwork) -> np.ndarray:
    """Where the gates of a network of one input open or close: -g/G, ascending.

    Returns:
        (m,), m at most n_hidden, as a gate with G = 0 has no knot.

    Raises:
        ValueError: a gate without a hinge, or several inputs.
    """
    _hinged(network, 1, network.n_out)
    slope, bias = _array(network, "G")[:, 0], _array(network, "g")
    hinged = slope != 0
    return np.sort(-bias[hinged] / slope[hinged])


@dataclass(frozen=True)
class Hinge:
    """The straight piece of one neuron's hinge that lies in a box: the neuron's index, two ends."""

    neuron: int
    start: tuple[float, float]
    end: tuple[float, float]


def hinge_segments(
    network: GatedNetwork, box: tuple[tuple[float, float], tuple[float, float]]
) -> list[Hinge]:
    """The lines G x + g = 0 of a network on the plane, clipped exactly to a box (appendix B).

    The box is ``((x_min, x_max), (y_min, y_max))``.

    Returns:
        One segment per neuron whose line passes through the box, in the neurons' order.
    """
    found: list[Hinge] = []
    for neuron, (normal, offset) in enumerate(zip(*_lines(network), strict=True)):
        squared = float(normal @ normal)
        if squared == 0:
            continue
        # Liang-Barsky: point + t direction, t narrowed by each pair of parallel sides.
        point = -offset * normal / squared
        direction = np.array([-normal[1], normal[0]])
        t_low, t_high = -np.inf, np.inf
        for sides, place, slope in zip(box, point, direction, strict=True):
            if slope != 0:
                first, last = sorted((side - place) / slope for side in sides)
                t_low, t_high = max(t_low, first), min(t_high, last)
            elif not sides[0] < place < sides[1]:  # along a side it cuts nothing
                t_low, t_high = 1.0, 0.0
        if t_low < t_high:
            start, end = ((point + t * direction).tolist() for t in (t_low, t_high))
            found.append(Hinge(neuron, tuple(start), tuple(end)))
    return found


def count_cells(network: GatedNetwork, box: tuple[tuple[float, float], tuple[float, float]]) -> int:
    """Number of cells into which the hinge lines cut a box: 1 + lines + crossings inside it.

    Counted for lines in general position: no three through one point, none coinciding.

    Raises:
        ValueError: a gate without a hinge, or not two inputs.
    """
    _hinged(network, 2, network.n_out)
    hinges = hinge_segments(network, box)
    weights, biases = _lines(network)
    crossings = 0
    for one, other in itertools.combinations(hinges, 2):
        rows = [one.neuron, other.neuron]
        lengths = np.linalg.norm(weights[rows], axis=1)  # of which the lines know nothing
        normals = weights[rows] / lengths[:, None]
        if np.linalg.matrix_rank(normals) < 2:
            continue
        x, y = np.linalg.solve(normals, -biases[rows] / lengths)
        crossings += int(box[0][0] < x < box[0][1] and box[1][0] < y < box[1][1])
    return 1 + len(hinges) + crossings


def spline_gates(
    n: int, domain: tuple[float, float], orientation: Orientation
) -> tuple[np.ndarray, np.ndarray]:
    """Gates whose hinges are n equidistant points of an interval, ends included (Fig. 8).

    The spacing is (b - a)/(n - 1), not (b - a)/n. One-way gates open to the right (G = 1); of
    alternating ones the first opens to the right, the second to the left, and so on, so that every
    point of the line lies on the open side of some gate once n > 2.

    Returns:
        G (n, 1) of entries +1 and -1, and g (n,) with hinges at -g/G.

    Raises:
        ValueError: an unknown orientation.
    """
    check_choice("orientation", orientation, get_args(Orientation))
    signs = np.ones(n)
    if orientation == "alternating":
        signs[1::2] = -1.0
    return signs[:, None], -signs * np.linspace(*domain, n)


def _hinged(network: GatedNetwork, n_in: int, n_out: int) -> Gate:
    """A network's gate, if it has a hinge and the network these sizes; else a ValueError."""
    if not network.gate.hinged:
        raise ValueError(f"only hinged gates have knots, this one is {network.gate.name}")
    if (sizes := (network.n_in, network.n_out)) != (n_in, n_out):
        raise ValueError(f"expected a network of sizes ({n_in}, {n_out}), got {sizes}")
    return network.gate


def _lines(network: GatedNetwork) -> tuple[np.ndarray, np.ndarray]:
    """G and g, each row times the power of two, of which its line knows nothing, that fits."""
    weights, biases = _array(network, "G"), _array(network, "g")
    powers = -np.frexp(np.abs(weights).max(axis=1))[1]  # else squares of 1e-170 are zero
    return np.ldexp(weights, powers[:, None]), np.ldexp(biases, powers)


def _array(network: GatedNetwork, letter: str) -> np.ndarray:
    return getattr(network, letter).detach().numpy()
