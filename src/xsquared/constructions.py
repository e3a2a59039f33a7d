"""Closed-form weights: from a target function straight to a network.

Each builder cuts the domain into equal cells, fixes one polynomial per cell, and lets one ReLU
neuron per cell add the difference between that cell's polynomial and the one on its left. The
result is a torch module, and its error is that of the module's forward pass.

========================= ======= =================================== ===== ==================
builder                   unit    polynomial on a cell [t, t + h]     order leading constant
========================= ======= =================================== ===== ==================
interpolating_mlp         MLP     line through both end values        2     1/sqrt(120)
left_curvature_glu        GLU     end values, curvature f''(t)        3     1/sqrt(945/2)
midpoint_curvature_glu    GLU     end values, curvature f''(t + h/2)  3     1/sqrt(30240)
hermite_gqu               GQU     end values and end slopes           4     1/sqrt(9!)
========================= ======= =================================== ===== ==================

The first two are the gated-units paper's (Eq. 6 in its corrected form, and Eqs. 10-12). The last
two are ours. :mod:`xsquared.truncation` derives the constants. Without cells,
:func:`fewest_bilinear` writes a quadratic polynomial with as few ungated neurons as can be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from xsquared.checks import check_finite_array, check_integer, quoted
from xsquared.functions import Target, interval_of
from xsquared.splines.spaces import combination, increments, shifted
from xsquared.truncation import PIECES, leading_constant
from xsquared.units import GatedNetwork, Unit, build, find_unit, set_parameters

#: Largest jump at a knot, relative to the largest coefficient, that counts as rounding.
_JUMP = 1e-9
#: Eigenvalues and parts of a vector below this share of the largest are rounding.
_ROUNDING = 1e-10


def interpolating_mlp(target: Target, n_cells: int) -> GatedNetwork:
    """The MLP that interpolates the target linearly at n_cells + 1 equidistant points.

    The paper's Eq. (6) with its slip mended: what neuron i must add is the whole mismatch at the
    right end of cell i, divided by h, which is a second difference of the target for i > 0.

    Args:
        target: a function of one variable.
        n_cells: number of cells, and of neurons, at least 1.
    """
    t, h = _cells(target, n_cells)
    values = target(t)
    return network_from_pieces("mlp", t, np.stack([values[:-1], np.diff(values) / h], axis=1))


def left_curvature_glu(target: Target, n_cells: int) -> GatedNetwork:
    """The paper's GLU construction (Eqs. 10-12): curvature taken at each cell's left end.

    Arguments as for :func:`interpolating_mlp`; the target needs a second derivative.
    """
    t, h = _cells(target, n_cells)
    return _quadratic_glu(target, t, h, target.derivative(2)(t[:-1]))


def midpoint_curvature_glu(target: Target, n_cells: int) -> GatedNetwork:
    """The same GLU with each cell's curvature taken at its midpoint: eight times more accurate."""
    t, h = _cells(target, n_cells)
    return _quadratic_glu(target, t, h, target.derivative(2)(t[:-1] + h / 2))


def _quadratic_glu(target: Target, t: np.ndarray, h: float, curvature: np.ndarray) -> GatedNetwork:
    """The GLU that interpolates at t and has the given second derivative on each cell."""
    values = target(t)
    c = curvature / 2
    b = np.diff(values) / h - c * h
    return network_from_pieces("glu", t, np.stack([values[:-1], b, c], axis=1))


def hermite_gqu(target: Target, n_cells: int) -> GatedNetwork:
    """A GQU that is the C1 cubic Hermite interpolant: the slope -4 that the paper hoped for.

    Two cubics that share value and slope at a knot differ by s^2 (a s + b), and that is
    relu(s) * s * (a s + b): always a product of real affine factors. The first cell also needs the
    linear term f'(t_0) s, for which one more neuron stands at the left end.

    Args:
        target: a function of one variable with a derivative.
        n_cells: number of cells, at least 1; the network has n_cells + 1 neurons.
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
    """The network that is a given spline, for a unit with a ReLU gate and p affine factors.

    A gate at each knot inside adds what the piece beyond it has more than the one before continued.
    In s = x - t that is D s for p = 0 and s^p (a s + b) for p > 0: the gate, p - 1 factors s and
    the factor a s + b. The scale of a neuron is free then, and D = 1. If all gates open to the
    right, the first cell's polynomial stands behind them, carried by gates that are open on the
    whole interval; a gate that opens to the left puts what its knot adds, with the sign changed, in
    front of it, and adds it to the polynomial behind. Powers of s below p in that polynomial take
    p - 1 neurons more, unless it has real roots and is given as one product.

    Args:
        unit: the unit or its name; its splines have degree p + 1 and, for p > 0, p - 1 continuous
            derivatives.
        knots: (n + 1,) strictly ascending ends of the cells.
        pieces: (n, p + 2) coefficients in powers of x - t_k on cell k, the constant first.
        directions: (n - 1,) in which the gates at the knots inside open, 1 to the right and -1 to
            the left; all to the right where None.
        factors: (p + 1, 2) rows (slope, value at the left end), a gate open on the whole interval
            first, whose product is the polynomial behind the gates but for its constant; (0, 2)
            where that is all of it.

    Raises:
        ValueError: another gate than the ReLU, pieces of another degree than the unit's or not as
            smooth at a knot as it needs, knots that do not ascend, or other directions.
    """
    record = find_unit(unit)
    p = len(record.factors)
    t, c = np.asarray(knots, dtype=float), np.asarray(pieces, dtype=float)
    if record.gate.name != "relu" or c.shape != (len(t) - 1, p + 2):
        raise ValueError(
            f"expected a unit with a ReLU gate and pieces of shape {(len(t) - 1, p + 2)}, got unit "
            f"{record.name!r} with gate {record.gate.name!r} and pieces of shape {c.shape}"
        )
    changes = increments(t, c)
    # Rounding of a piece continued is as large as its terms, not as what they sum to.
    terms = np.vstack([shifted(np.abs(c), np.diff(t)), np.abs(c)]).max(axis=0)
    if not (np.abs(changes[:, : max(p, 1)]) <= _JUMP * terms[: max(p, 1)]).all():
        raise ValueError(f"the pieces do not meet at the knots as a {record.name} needs")
    opened = np.ones(len(c) - 1) if directions is None else np.asarray(directions, dtype=float)
    if not ((np.diff(t) > 0).all() and (np.abs(opened) == 1).all()):
        raise ValueError("expected ascending knots and directions of 1 and -1")
    whole = combination(opened) @ shifted(c, t[0] - t[:-1])
    lower = range(1, p) if factors is None else range(0)
    if factors is None:
        factors = np.array([[1.0, 0.0]] * max(p, 1) + [whole[: p - 1 : -1]][: min(p, 1)])
    elif len(factors):
        whole[0] -= factors[:, 1].prod()
    # Rows (slope, value at the neuron's place) of gate and factors: neurons behind the gates stand
    # at the left end, the others at the knots inside.
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
        set_parameters(network, **{weight: row[:, :1], bias: row[:, 1] - row[:, 0] * places})
    set_parameters(network, D=weights[None], d=whole[:1])
    return network


def ridge_sum(networks: Sequence[GatedNetwork], directions: np.ndarray) -> GatedNetwork:
    """The network of d inputs that is the sum of networks of one, each along its direction.

    Hinges at t become hyperplanes a'x = t. A target that is a sum of ridge functions, as
    sin(4x) sin(4y) = (cos 4(x - y) - cos 4(x + y))/2, is thereby approximated in any dimension with
    the order that its unit has in one.

    Args:
        networks: of one input and one output and of one unit, at least one.
        directions: (networks, d) rows a.

    Raises:
        ValueError: networks of several units, inputs or outputs.
    """
    (unit, gate), along = (networks[0].unit, networks[0].gate), np.asarray(directions)
    if names := {n.unit.name for n in networks if (n.unit, n.gate) != (unit, gate)}:
        raise ValueError(f"expected networks of one unit, {unit.name!r}, got {quoted(names)} too")
    if sizes := {(n.n_in, n.n_out) for n in networks} - {(1, 1)}:
        raise ValueError(f"expected networks of one input and output, got sizes {quoted(sizes)}")
    parts = [{k: v.detach().numpy() for k, v in n.named_parameters()} for n in networks]
    made = build(unit, along.shape[1], sum(network.n_hidden for network in networks))
    values = {
        "D": np.hstack([part["D"] for part in parts]),
        "d": np.sum([part["d"] for part in parts], axis=0),
    }
    for weight, bias in (("G", "g"), *unit.factors):
        values[weight] = np.vstack([part[weight] * a for part, a in zip(parts, along, strict=True)])
        values[bias] = np.concatenate([part[bias] for part in parts])
    set_parameters(made, **values)
    made.gate = gate  # its name may be registered anew
    return made


def fewest_bilinear(form: np.ndarray) -> GatedNetwork:
    """The ungated network of one output that is a quadratic polynomial, with no neuron too many.

    The polynomial is x'Ax + 2b'x + f. The output bias is free, so that its constant costs nothing.
    Where b is in the range of A, completing the square leaves as many squares of either sign as A
    has eigenvalues, and two of different signs are one product, a^2 - c^2 = (a + c)(a - c): the
    larger number is that of the neurons. Elsewhere A is singular, and what remains of b is one
    linear neuron more. So d always suffice. Fewer never do: whatever is taken off f, the matrix
    [[A, b], [b', f]] has these numbers of eigenvalues of either sign, one more each in the second
    case, and each neuron can bring one of either.

    Args:
        form: (d + 1, d + 1) that symmetric matrix. Eigenvalues of A and what remains of b count as
            zero below 1e-10 of the largest eigenvalue and of b.

    Returns:
        A network of the unit ``bilinear``, with one neuron of zeros for a constant.

    Raises:
        ValueError: a matrix that is not symmetric, or whose squares float64 does not hold.
    """
    form = check_finite_array("form", form, 2)
    if not form.size or form.shape[0] != form.shape[1]:
        raise ValueError(f"form: expected a square matrix, got shape {form.shape}")
    largest = np.abs(form).max()
    if largest and not 1e-100 <= largest <= 1e100:
        raise ValueError(f"form: expected a largest entry from 1e-100 to 1e100, got {largest:g}")
    if not (np.abs(form - form.T) <= _ROUNDING * largest).all():
        raise ValueError(f"form: expected a symmetric matrix, got {quoted(form.tolist())}")
    linear, constant = form[:-1, -1], form[-1, -1]
    values, vectors = np.linalg.eigh(form[:-1, :-1])
    kept = np.abs(values) > _ROUNDING * np.abs(values).max()
    values, axes = values[kept], vectors[:, kept].T
    centre = axes @ linear / values
    squares = np.column_stack([axes, centre]) * np.sqrt(np.abs(values))[:, None]
    plus, minus = squares[values > 0], squares[values < 0]
    n, size = max(len(plus), len(minus)), len(form)
    plus, minus = (np.vstack([part, np.zeros((n - len(part), size))]) for part in (plus, minus))
    rest = linear - axes.T @ (axes @ linear)
    one, two = plus + minus, plus - minus
    if np.linalg.norm(rest) > _ROUNDING * np.linalg.norm(linear) or n == 0:
        one = np.vstack([one, [*(2 * rest), 0.0]])
        two = np.vstack([two, np.eye(size)[-1]])
    made = build("bilinear", size - 1, len(one))
    factors = {"G": one[:, :-1], "g": one[:, -1], "U": two[:, :-1], "u": two[:, -1]}
    bias = np.array([constant - centre**2 @ values])
    set_parameters(made, D=np.ones((1, len(one))), d=bias, **factors)
    return made


def _cells(target: Target, n_cells: int) -> tuple[np.ndarray, float]:
    """The ends of the cells, (n_cells + 1,), and their width."""
    a, b = interval_of(target)
    check_integer("n_cells", n_cells, 1)
    return np.linspace(a, b, n_cells + 1), (b - a) / n_cells


@dataclass(frozen=True)
class Construction:
    """A builder and what theory says of it.

    Attributes:
        name: the builder's name, a key of :data:`xsquared.truncation.PIECES`.
        build: ``(target, n_cells) -> network``.
    """

    name: str
    build: Callable[[Target, int], GatedNetwork]

    @property
    def unit(self) -> str:
        """Name of the unit it builds."""
        return PIECES[self.name].unit

    @property
    def order(self) -> int:
        """Order of convergence k, that of the unit's splines."""
        return PIECES[self.name].order

    def constant(self) -> float:
        """Leading constant of the RMSE, from the derivation."""
        return float(leading_constant(self.name))


#: The four constructions by name.
CONSTRUCTIONS: dict[str, Construction] = {
    builder.__name__: Construction(builder.__name__, builder)
    for builder in (interpolating_mlp, left_curvature_glu, midpoint_curvature_glu, hermite_gqu)
}


def predicted_rmse(name: str, target: Target, n_cells: int) -> float:
    """Leading term of the RMSE: constant * h^k * root mean square of f^(k) over the domain.

    Args:
        name: a key of :data:`CONSTRUCTIONS`.
        target: a function of one variable with k derivatives.
        n_cells: number of equal cells, at least 1.
    """
    made = CONSTRUCTIONS[name]
    t, h = _cells(target, n_cells)
    mean_square_root = target.l2_norm(made.order) / math.sqrt(t[-1] - t[0])
    return made.constant() * h**made.order * mean_square_root
