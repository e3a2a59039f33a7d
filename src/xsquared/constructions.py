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
    """Interpolate the target linearly at n_cells + 1 equidistant points, with n_cells
    neurons.

    The paper's Eq. (6) with its slip mended: neuron i adds a second difference for i >
    0.
    """
    t, h = _cells(target, n_cells)
    values = target(t)
    return network_from_pieces(
        "mlp", t, np.stack([values[:-1], np.diff(values) / h], axis=1)
    )


def left_curvature_glu(target: Target, n_cells: int) -> GatedNetwork:
    """Take the curvature at each cell's left end: the paper's GLU construction (Eqs.
    10-12).
    """
    return _quadratic_glu(target, n_cells, 0.0)


def midpoint_curvature_glu(target: Target, n_cells: int) -> GatedNetwork:
    """Take each cell's curvature at its midpoint instead, which is eight times more
    accurate.
    """
    return _quadratic_glu(target, n_cells, 0.5)


def _quadratic_glu(target: Target, n_cells: int, theta: float) -> GatedNetwork:
    """Build the GLU that interpolates at both ends and has the target's curvature at
    theta h.
    """
    t, h = _cells(target, n_cells)
    values, c = target(t), target.derivative(2)(t[:-1] + theta * h) / 2
    b = np.diff(values) / h - c * h
    return network_from_pieces("glu", t, np.stack([values[:-1], b, c], axis=1))


def hermite_gqu(target: Target, n_cells: int) -> GatedNetwork:
    """Build the C1 cubic Hermite interpolant as a GQU of n_cells + 1 neurons.

    Two cubics that share value and slope at a knot differ by s^2 (a s + b), which is
    relu(s) * s * (a s + b); the first cell's linear term takes the neuron more.
    """
    t, h = _cells(target, n_cells)
    f, m = target(t), target.derivative(1)(t)
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
    """Write a given spline as a network, for a unit with a ReLU gate and p affine
    factors.

    A gate at each knot inside adds what the piece beyond it has more than the one
    before continued: in s = x - t, D s for p = 0 and s^p (a s + b) for p > 0, with D =
    1. Gates open on the whole interval carry the polynomial behind all gates, to which
    gates that open to the left add. Its powers of s below p take p - 1 neurons more,
    unless it is given as one product.

    Args:
        pieces: (n, p + 2) coefficients in powers of x - t_k on the cells of knots (n +
            1,), the constant first, with p - 1 continuous derivatives; a ValueError
            where they do not meet.
        directions: (n - 1,) of the gates at the knots inside, 1 to the right (None:
            all) or -1.
        factors: (p + 1, 2) rows (slope, value at the left end), a gate open on the
            whole interval first, with the polynomial behind all gates but for its
            constant as product; or (0, 2).
    """
    record = find_unit(unit)
    p = len(record.factors)
    t, c = np.asarray(knots, dtype=float), np.asarray(pieces, dtype=float)
    changes = jumps_at_knots(t, c)
    # Rounding of a piece continued is as large as its terms, not as what they sum to.
    terms = np.vstack([taylor_shift(np.abs(c), np.diff(t)), np.abs(c)]).max(axis=0)
    if not (np.abs(changes[:, : max(p, 1)]) <= _JUMP * terms[: max(p, 1)]).all():
        raise ValueError(
            f"the pieces do not meet at the knots as a {record.name} needs"
        )
    opened = (
        np.ones(len(c) - 1)
        if directions is None
        else np.asarray(directions, dtype=float)
    )
    whole = ungated_signs(opened) @ taylor_shift(c, t[0] - t[:-1])
    lower = range(1, p) if factors is None else range(0)
    if factors is None:
        factors = np.array(
            [[1.0, 0.0]] * max(p, 1) + [whole[: p - 1 : -1]][: min(p, 1)]
        )
    elif len(factors):
        whole[0] -= factors[:, 1].prod()
    # Rows (slope, value at its place) of gate and factors; neurons behind the gates
    # stand at t[0].
    m = len(lower) + min(len(factors), 1)
    places = np.concatenate([np.full(m, t[0]), t[1:-1]])
    rows = np.zeros((p + 1, len(places), 2))
    rows[..., 0] = 1.0
    for power in lower:
        rows[power:, power - 1] = [0.0, 1.0]
        rows[-1, power - 1, 1] = whole[power]
    if m:
        rows[:, m - 1] = factors
    rows[0, m:, 0] = opened
    weights = np.ones(len(places))
    if p:
        rows[-1, m:] = changes[:, :-3:-1]
    else:
        weights = np.append(whole[1:2][:m], changes[:, 1])
    network = build(record, 1, len(places))
    for (weight, bias), row in zip((("G", "g"), *record.factors), rows, strict=True):
        set_parameters(
            network, **{weight: row[:, :1], bias: row[:, 1] - row[:, 0] * places}
        )
    set_parameters(network, D=weights[None], d=whole[:1])
    return network


def ridge_sum(networks: Sequence[GatedNetwork], directions: np.ndarray) -> GatedNetwork:
    """Add networks of one input and one unit, each along its row a of directions
    (networks, d).

    Hinges at t become hyperplanes a'x = t: ridge functions keep the order of one
    dimension.
    """
    unit, along = networks[0].unit, np.asarray(directions)
    parts = [{k: v.detach().numpy() for k, v in n.named_parameters()} for n in networks]
    made = build(unit, along.shape[1], sum(network.n_hidden for network in networks))
    values = {"D": np.hstack([part["D"] for part in parts])}
    values["d"] = np.sum([part["d"] for part in parts], axis=0)
    for weight, bias in (("G", "g"), *unit.factors):
        values[weight] = np.vstack(
            [part[weight] * a for part, a in zip(parts, along, strict=True)]
        )
        values[bias] = np.concatenate([part[bias] for part in parts])
    set_parameters(made, **values)
    return made


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
    """Predict the RMSE: constant * h^k * root mean square of f^(k), for a
    construction's name.
    """
    construction = CONSTRUCTIONS[name]
    t, h = _cells(target, n_cells)
    mean_square_root = target.l2_norm(construction.order) / math.sqrt(t[-1] - t[0])
    return construction.constant * h**construction.order * mean_square_root
