"""Closed-form weights: from a target function straight to a network.

Each builder cuts the domain into equal cells, fixes one polynomial per cell, and lets
one ReLU neuron per cell add what that polynomial has more than the one on its left.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from xsquared.functions import Target, interval_of
from xsquared.splines.spaces import jumps_at_knots, taylor_shift, ungated_signs
from xsquared.units import GatedNetwork, Unit, build, find_unit, set_parameters

#: Largest jump at a knot, relative to the largest coefficient, that counts as rounding.
_JUMP = 1e-9


def interpolating_mlp(target: Target, n_cells: int) -> GatedNetwork:
    """Interpolate the target linearly at equidistant points, with n_cells neurons.

    The paper's Eq. (6) with its slip mended: neuron i adds a second difference for
    i > 0.
    """
    t, h = _cells(target, n_cells)
    values = target(t)
    pieces = np.stack([values[:-1], np.diff(values) / h], axis=1)
    return network_from_pieces("mlp", t, pieces)


def left_curvature_glu(target: Target, n_cells: int) -> GatedNetwork:
    """Take the curvature at each cell's left end, as the paper does (Eqs. 10-12)."""
    return _quadratic_glu(target, n_cells, 0.0)


def midpoint_curvature_glu(target: Target, n_cells: int) -> GatedNetwork:
    """Take each cell's curvature at its midpoint: eight times more accurate."""
    return _quadratic_glu(target, n_cells, 0.5)


def _quadratic_glu(target: Target, n_cells: int, theta: float) -> GatedNetwork:
    """Interpolate at cells' ends, with the target's curvature at theta h in a cell."""
    t, h = _cells(target, n_cells)
    values = target(t)
    c = target.derivative(2)(t[:-1] + theta * h) / 2
    b = np.diff(values) / h - c * h
    return network_from_pieces("glu", t, np.stack([values[:-1], b, c], axis=1))


def hermite_gqu(target: Target, n_cells: int) -> GatedNetwork:
    """Build the C1 cubic Hermite interpolant as a GQU of n_cells + 1 neurons.

    Two cubics that share value and slope at a knot differ by s^2 (a s + b), which is
    relu(s) * s * (a s + b); the first cell's linear term takes the neuron more.
    """
    t, h = _cells(target, n_cells)
    f = target(t)
    m = target.derivative(1)(t)
    secant = np.diff(f) / h
    c2 = (3 * secant - 2 * m[:-1] - m[1:]) / h
    c3 = (m[:-1] + m[1:] - 2 * secant) / h**2
    return network_from_pieces("gqu", t, np.stack([f[:-1], m[:-1], c2, c3], axis=1))


def network_from_pieces(
    unit: str | Unit,
    knots: np.ndarray,
    pieces: np.ndarray,
    directions: np.ndarray | None = None,
    factors: np.ndarray | None = None,
) -> GatedNetwork:
    """Write a given spline as a network of a ReLU unit with p affine factors.

    In s = x - t a gate at the knot t adds what the piece beyond it has more than the
    one before continued: D s for p = 0, and s^p (a s + b) for p > 0, with D = 1. What
    is left once all of these are taken off is one polynomial on the whole interval.
    Gates that are open everywhere carry it: one its two highest powers, p - 1 more its
    powers of s below p, unless it is given as one product.

    Args:
        unit: a name, or a record with a ReLU gate.
        knots: ends of the n cells, (n + 1,).
        pieces: (n, p + 2) coefficients in powers of x - t_k on the cells, the constant
            first, with p - 1 continuous derivatives.
        directions: (n - 1,) of the gates at the knots inside: 1 opens to the right
            (None: all), -1 to the left.
        factors: (p + 1, 2) rows (slope, value at the left end), the gate first, whose
            product is the polynomial on the whole interval but for its constant; or
            (0, 2) where it is a constant.

    Raises:
        ValueError: the pieces do not meet at the knots.
    """
    record = find_unit(unit)
    p = len(record.factors)
    t = np.asarray(knots, dtype=float)
    c = np.asarray(pieces, dtype=float)
    changes = jumps_at_knots(t, c)  # (n - 1, p + 2)
    _check_that_pieces_meet(record, t, c, changes)
    opened = np.ones(len(c) - 1)
    if directions is not None:
        opened = np.asarray(directions, dtype=float)
    # In powers of x - t_0, (p + 2,).
    polynomial = ungated_signs(opened) @ taylor_shift(c, t[0] - t[:-1])
    constant = polynomial[0]
    if factors is None:
        everywhere = _neurons_open_everywhere(p, polynomial)
    elif len(factors):
        everywhere = [factors]
        constant -= factors[:, 1].prod()
    else:
        everywhere = []
    # Rows (slope, value at its place) of each neuron's p + 1 affine functions.
    inside = np.tile([1.0, 0.0], (len(opened), p + 1, 1))
    inside[:, 0, 0] = opened
    if p:
        inside[:, -1] = changes[:, [p + 1, p]]
    neurons = np.array([*everywhere, *inside]).reshape(-1, p + 1, 2)
    places = np.concatenate([np.full(len(everywhere), t[0]), t[1:-1]])
    weights = np.ones(len(neurons))
    if p == 0:
        weights = np.append(polynomial[[1] * len(everywhere)], changes[:, 1])
    network = build(record, 1, len(neurons))
    slopes, values = neurons.T  # each (p + 1, neurons)
    biases = values - slopes * places
    affine = dict[str, np.ndarray]()
    for k, (weight, bias) in enumerate((("G", "g"), *record.factors)):
        affine |= {weight: slopes[k][:, None], bias: biases[k]}
    set_parameters(network, D=weights[None], d=[constant], **affine)
    return network


def _check_that_pieces_meet(
    record: Unit, t: np.ndarray, c: np.ndarray, changes: np.ndarray
) -> None:
    """Raise a ValueError where a value or a derivative below p jumps at a knot."""
    continuous = max(len(record.factors), 1)
    # Rounding of a piece continued is as large as its terms, not as what they sum to.
    continued = taylor_shift(np.abs(c), np.diff(t))
    terms = np.vstack([continued, np.abs(c)]).max(axis=0)
    jumps = np.abs(changes[:, :continuous])
    if not (jumps <= _JUMP * terms[:continuous]).all():
        raise ValueError(
            f"the pieces do not meet at the knots as a {record.name} needs"
        )


def _neurons_open_everywhere(p: int, polynomial: np.ndarray) -> list[np.ndarray]:
    """Write a polynomial without its constant, (p + 2,), as neurons of s = x - t_0.

    Each is rows (slope, value at t_0), (p + 1, 2). The powers 1 to p - 1 are s^k times
    constants, the two highest ones s^p (a s + b); for p = 0 it is s alone.
    """
    neurons = []
    for power in range(1, p):
        rows = np.tile([1.0, 0.0], (p + 1, 1))
        rows[power:] = [0.0, 1.0]
        rows[-1, 1] = polynomial[power]
        neurons.append(rows)
    highest = np.tile([1.0, 0.0], (p + 1, 1))
    if p:
        highest[-1] = polynomial[[p + 1, p]]
    return [*neurons, highest]


def ridge_sum(networks: Sequence[GatedNetwork], directions: np.ndarray) -> GatedNetwork:
    """Add networks of one input and one unit along directions (networks, d).

    Each takes a'x for its row a of ``directions``: hinges at t become hyperplanes
    a'x = t, and ridge functions keep the order of one dimension.
    """
    unit = networks[0].unit
    directions = np.asarray(directions)
    parameters = [
        {name: value.detach().numpy() for name, value in network.named_parameters()}
        for network in networks
    ]
    # Where neurons have two numbers, a readout weighs all the first, then all the
    # second: neurons are put side by side in each, (outputs, numbers, neurons).
    readouts = [
        weights["D"].reshape(network.n_out, unit.numbers, network.n_hidden)
        for weights, network in zip(parameters, networks, strict=True)
    ]
    readout = np.concatenate(readouts, axis=2)
    outputs, _, neurons = readout.shape
    values = {
        "D": readout.reshape(outputs, unit.numbers * neurons),
        "d": np.sum([weights["d"] for weights in parameters], axis=0),
    }
    for weight, bias in (("G", "g"), *unit.factors):
        rows = [
            weights[weight] * direction  # (neurons, 1) times (d,)
            for weights, direction in zip(parameters, directions, strict=True)
        ]
        values[weight] = np.vstack(rows)
        values[bias] = np.concatenate([weights[bias] for weights in parameters])
    network_of_all = build(unit, directions.shape[1], neurons, outputs)
    set_parameters(network_of_all, **values)
    return network_of_all


def _cells(target: Target, n_cells: int) -> tuple[np.ndarray, float]:
    """Compute the ends of the cells, (n_cells + 1,), and their width."""
    a, b = interval_of(target)
    return np.linspace(a, b, n_cells + 1), (b - a) / n_cells


@dataclass(frozen=True)
class Construction:
    """A way to write a network down, and the leading term of its error.

    Attributes:
        name: the builder's.
        build: ``(target, n_cells) -> network``.
        unit: name of the network's unit.
        order: k of RMSE = C h^k rms(f^(k)) + o(h^k), for cells of width h.
        inverse_square: 1/C^2, derived in the book's chapter 2.
    """

    name: str
    build: Callable[[Target, int], GatedNetwork]
    unit: str
    order: int
    inverse_square: float

    @property
    def constant(self) -> float:
        """The leading constant C of the RMSE."""
        return 1 / math.sqrt(self.inverse_square)


#: The four constructions by name.
CONSTRUCTIONS = {
    construction.name: construction
    for construction in (
        Construction("interpolating_mlp", interpolating_mlp, "mlp", 2, 120),
        Construction("left_curvature_glu", left_curvature_glu, "glu", 3, 945 / 2),
        Construction("midpoint_curvature_glu", midpoint_curvature_glu, "glu", 3, 30240),
        Construction("hermite_gqu", hermite_gqu, "gqu", 4, math.factorial(9)),
    )
}


def predicted_rmse(name: str, target: Target, n_cells: int) -> float:
    """Predict a construction's RMSE: constant * h^k * root mean square of f^(k)."""
    construction = CONSTRUCTIONS[name]
    k = construction.order
    t, h = _cells(target, n_cells)
    root_mean_square = target.l2_norm(k) / math.sqrt(t[-1] - t[0])
    return construction.constant * h**k * root_mean_square
