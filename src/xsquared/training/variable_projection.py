"""Variable projection for gated units in any dimension (ours).

A unit with one output is linear in everything but its gates: for the MLP in D and d, for the GLU in
V = D * U and d. The GQU's two factors multiply, so one of them stays nonlinear beside the gate; it
is a true affine factor, hence the roots of every neuron's polynomial are real, as in the unit. For
fixed nonlinear rows the best linear weights are those of a least-squares problem (the projection);
the rows are stepped by Levenberg-Marquardt with Kaufman's Jacobian, which drops the term that
vanishes with the residual. Hinges of ReLU gates and factors don't change with a row's length, so
these rows are kept at unit length.

With p nonlinear and m linear parameters on N points the largest arrays are (N, m) and (N, p): there
is no array of size N p p, nor of size N m p. The step is solved from the damped Gauss-Newton matrix
of the reduced problem, scaled to a unit diagonal: the damping bounds its condition, and where a
step leads is judged by the loss alone, which comes of least squares on the features themselves.

A ridge, where asked for, is a multiple of the linear weights' sum of squares, bias left out. With
rows of unit length and standardised points it has the same meaning at every width. A very small one
keeps wide networks from weights that cancel on neurons with few points.

References:
    Golub and Pereyra, SIAM J. Numer. Anal. 10 (1973); Kaufman, BIT 15 (1975); Nocedal and Wright,
    Numerical Optimization, section 10.3, for the damped step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypedDict, Unpack

import numpy as np
import torch
from torch import Tensor

from xsquared.training.least_squares import Solution, solve, solve_ridge
from xsquared.units import ACTIVATIONS, GatedNetwork, set_parameters, unit_class

#: Share of the largest diagonal entry added to every entry of the damping matrix: directions that
#: the projection has annihilated (a hinge outside the data) stay bounded.
_LEAST_DAMPING = 1e-3
#: A relative decrease of the loss below this counts as none.
_STALL = 1e-8
_MAX_DAMPING = 1e10
#: Below it the damped Gram matrix, of unit diagonal, could be singular to rounding.
_MIN_DAMPING = 1e-12


@dataclass(frozen=True)
class Rows:
    """The nonlinear parameters: affine functions of the homogeneous points (x, 1).

    Attributes:
        gate: (n, d + 1) rows (G, g).
        factor: (n, d + 1) rows (Q, q) of the GQU's second factor; None for the other units.
    """

    gate: Tensor
    factor: Tensor | None = None


@dataclass(frozen=True)
class ProjectedFit:
    """Where a run of :func:`fit_rows` ended.

    Attributes:
        rows: the nonlinear parameters.
        linear: (m,) the linear ones: D or the columns of V, coordinate by coordinate, then d.
        rmse: root of the (weighted) mean square error on the training points; no ridge in it.
        iterations: Levenberg-Marquardt iterations.
        status: ``"converged"`` where the loss stopped falling, ``"iterations"`` where the limit
            came first.
    """

    rows: Rows
    linear: Tensor
    rmse: float
    iterations: int
    status: Literal["converged", "iterations"]


class Options(TypedDict, total=False):
    """What :func:`iterates` takes by name, for those who hand it on."""

    activation: str
    weights: Tensor | None
    train_gates: bool
    max_iterations: int
    ridge: float


@dataclass(frozen=True)
class _State:
    """Rows, their gates (N, n), the linear problem's solution for them, and what is left.

    The loss is the sum of squares of the residual, plus the ridge's penalty.
    """

    rows: Rows
    gates: Tensor
    solution: Solution
    residual: Tensor
    loss: float


def fit_rows(
    unit: str,
    x: Tensor,
    y: Tensor,
    start: Rows,
    **options: Unpack[Options],
) -> ProjectedFit:
    """Run variable projection from given rows: the last of :func:`iterates`, same arguments."""
    *_, last = iterates(unit, x, y, start, **options)
    return last


def iterates(
    unit: str,
    x: Tensor,
    y: Tensor,
    start: Rows,
    *,
    activation: str = "relu",
    weights: Tensor | None = None,
    train_gates: bool = True,
    max_iterations: int = 200,
    ridge: float = 0.0,
) -> Iterator[ProjectedFit]:
    """Variable projection from given rows, one fit after the other; stop taking to stop early.

    Args:
        unit: ``"mlp"``, ``"glu"`` or ``"gqu"``.
        x: (N, d) points, on the device where the work shall be done.
        y: (N,) values.
        start: rows to start from; ``factor`` is needed for the GQU and for it only.
        activation: of the gates.
        weights: (N,) quadrature weights with sum 1; equal ones where None.
        train_gates: False keeps the gates where they are; for the MLP and the GLU a single
            least-squares problem is left.
        max_iterations: at least 0.
        ridge: multiple of the linear weights' sum of squares that is added to the mean square
            error, at least 0.

    Yields:
        The fit at the start, then after each iteration. The last one's status says how it ended;
        that of the others is ``"iterations"``. An iteration that finds no lower loss yields none.

    Raises:
        ValueError: an unknown unit or activation, or rows that do not fit.
        FloatingPointError: the loss is not finite at the start.
    """
    unit_class(unit)
    if activation not in ACTIVATIONS:
        raise ValueError(f"unknown activation {activation!r}; known are {', '.join(ACTIVATIONS)}")
    if (start.factor is None) == (unit == "gqu"):
        raise ValueError(f"a {unit} {'needs' if unit == 'gqu' else 'has no'} factor rows")
    if max_iterations < 0:
        raise ValueError(f"max_iterations must be at least 0, got {max_iterations}")
    if not ridge >= 0:
        raise ValueError(f"ridge must be at least 0, got {ridge}")
    if start.gate.shape[1] != x.shape[1] + 1:
        raise ValueError(
            f"expected rows of {x.shape[1] + 1} entries, got {tuple(start.gate.shape)}"
        )
    model = _model(unit, x, y, activation, weights, train_gates, ridge)
    return _iterates(model, model.normalised(start), max_iterations)


def _model(
    unit: str,
    x: Tensor,
    y: Tensor,
    activation: str,
    weights: Tensor | None,
    train_gates: bool,
    ridge: float,
) -> _Model:
    root = torch.sqrt(weights) if weights is not None else torch.full_like(y, len(y) ** -0.5)
    points = torch.cat([x, torch.ones_like(x[:, :1])], dim=1)
    return _Model(unit, activation, points, points * root[:, None], root * y, train_gates, ridge)


def _iterates(model: _Model, start: Rows, max_iterations: int) -> Iterator[ProjectedFit]:
    state = model.project(start)
    if not np.isfinite(state.loss):
        raise FloatingPointError(f"the loss is {state.loss} at the start")
    damping, stalled, iterations = 1e-2, 0, 0
    limited = model.trains and max_iterations > 0

    def fit(status: Literal["converged", "iterations"]) -> ProjectedFit:
        rmse = float(torch.linalg.vector_norm(state.residual))
        return ProjectedFit(state.rows, state.solution.coefficients, rmse, iterations, status)

    while limited and iterations < max_iterations and stalled < 3 and state.loss > 1e-30:
        yield fit("iterations")
        iterations += 1
        gram, gradient = model.linearise(state)
        trial = None
        while damping < _MAX_DAMPING:
            trial = _attempt(model, model.stepped(state.rows, gram, gradient, damping))
            if trial is not None and trial.loss < state.loss:
                break
            damping *= 4
            trial = None
        if trial is None:
            break
        stalled = stalled + 1 if state.loss - trial.loss < _STALL * state.loss else 0
        state, damping = trial, max(damping / 4, _MIN_DAMPING)
    yield fit("iterations" if limited and iterations == max_iterations else "converged")


def _attempt(model: _Model, rows: Rows | None) -> _State | None:
    """The projected point; None where there is none, or its numbers are not finite."""
    try:
        return None if rows is None else model.project(rows)
    except FloatingPointError:
        return None


def to_network(fit: ProjectedFit, unit: str, activation: str = "relu") -> GatedNetwork:
    """The torch module with a fit's weights, on the CPU; D = 1 where it is a free scale."""
    gate = fit.rows.gate.cpu().numpy()
    n, size = gate.shape
    linear = fit.linear.cpu().numpy()
    network = unit_class(unit)(size - 1, n, 1, activation)
    set_parameters(network, G=gate[:, :-1], g=gate[:, -1], d=linear[-1:])
    if unit == "mlp":
        set_parameters(network, D=linear[None, :-1])
        return network
    rows = linear[:-1].reshape(size, n).T
    set_parameters(network, D=np.ones((1, n)), U=rows[:, :-1], u=rows[:, -1])
    if fit.rows.factor is not None:
        factor = fit.rows.factor.cpu().numpy()
        set_parameters(network, Q=factor[:, :-1], q=factor[:, -1])
    return network


def rows_on_data(unit: str, x: np.ndarray, n: int, generator: np.random.Generator) -> Rows:
    """Random gates whose hinges pass between training points, so that none starts dead.

    A row's direction is uniform on the sphere; its hinge cuts the segment between two points drawn
    from the data, in its middle half. Through a point itself, rounding would decide whether the
    gate is open there, and the runs of two machines would part at the first step. Factors of the
    GQU are drawn in the same way.

    Args:
        unit: the unit.
        x: (N, d) training points.
        n: number of neurons, at least 1.
        generator: of the randomness.

    Raises:
        ValueError: no neuron.
    """
    if n < 1:
        raise ValueError(f"expected at least 1 neuron, got {n}")

    def draw() -> Tensor:
        direction = generator.standard_normal((n, x.shape[1]))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        one = generator.integers(len(x), size=n)
        other = (one + generator.integers(1, max(len(x), 2), size=n)) % len(x)
        places = x[one] + generator.uniform(0.25, 0.75, (n, 1)) * (x[other] - x[one])
        rows = np.column_stack([direction, -np.sum(direction * places, axis=1)])
        return torch.from_numpy(rows)

    return Rows(draw(), draw() if unit == "gqu" else None)


def on_device(rows: Rows, device: str) -> Rows:
    """The same rows on another device."""
    return Rows(rows.gate.to(device), None if rows.factor is None else rows.factor.to(device))


def _products(left: list[Tensor], right: Tensor, rest: int = 0) -> Tensor:
    """Columns of every left matrix (N, n) times every column of the right one (N, k).

    They come (N, len(left) * k * n), those of one column of the right one side by side: a broadcast
    along the few columns of the right one takes several times as long. Room for more columns is
    left at the end where asked for.
    """
    (length, n), k = left[0].shape, right.shape[1]
    columns = right.new_empty(length, len(left) * k * n + rest)
    for part, factor in zip(columns.split(k * n, dim=1), left, strict=False):
        torch.mul(factor[:, None, :], right[:, :, None], out=part.unflatten(1, (k, n)))
    return columns


@dataclass(frozen=True)
class _Model:
    """The separable least-squares problem.

    Points are homogeneous, (N, d + 1), once as they are and once, like the values (N,), times the
    roots of the quadrature weights.
    """

    unit: str
    activation: str
    points: Tensor
    weighted: Tensor
    values: Tensor
    train_gates: bool
    ridge: float

    @property
    def trains(self) -> bool:
        """Whether any nonlinear parameter moves."""
        return self.train_gates or self.unit == "gqu"

    def normalised(self, rows: Rows) -> Rows:
        gate = rows.gate
        if self.activation == "relu" and self.train_gates:
            gate = gate / torch.linalg.vector_norm(gate, dim=1, keepdim=True)
        factor = rows.factor
        if factor is not None:
            factor = factor / torch.linalg.vector_norm(factor, dim=1, keepdim=True)
        return Rows(gate, factor)

    def gates(self, rows: Rows) -> Tensor:
        """Values (N, n) of the activated gates."""
        return ACTIVATIONS[self.activation](self.points @ rows.gate.T)

    def slopes(self, state: _State) -> Tensor:
        """Derivatives (N, n) of the gates by what they are an activation of; relu's are Boolean."""
        if self.activation == "relu":
            return state.gates > 0
        z = (self.points @ state.rows.gate.T).requires_grad_()
        return torch.autograd.grad(ACTIVATIONS[self.activation](z).sum(), z)[0]

    def features(self, gates: Tensor, rows: Rows) -> Tensor:
        """Columns (N, m) of the linear problem, weighted."""
        hidden = gates if rows.factor is None else gates * (self.points @ rows.factor.T)
        constant = self.weighted[:, -1:]
        matrix = _products([hidden], constant if self.unit == "mlp" else self.weighted, 1)
        matrix[:, -1:] = constant
        return matrix

    def project(self, rows: Rows) -> _State:
        gates = self.gates(rows)
        matrix = self.features(gates, rows)
        solution = (
            solve_ridge(matrix, self.values, self.ridge)
            if self.ridge
            else solve(matrix, self.values)
        )
        linear = solution.coefficients
        residual = matrix @ linear - self.values
        loss = residual @ residual
        if self.ridge:
            loss = loss + self.ridge * (linear[:-1] @ linear[:-1])
        return _State(rows, gates, solution, residual, float(loss))

    def linearise(self, state: _State) -> tuple[Tensor, Tensor]:
        """Gauss-Newton matrix (p, p) of the reduced problem, gradient (p,) of half the loss."""
        outer = state.solution.coefficients[:-1].reshape(-1, state.gates.shape[1])
        if self.unit != "mlp":
            outer = self.points @ outer
        factors = []
        if state.rows.factor is not None:
            factors.append(state.gates * outer)
            outer = outer * (self.points @ state.rows.factor.T)
        if self.train_gates:
            factors.insert(0, self.slopes(state) * outer)
        jacobian = _products(factors, self.weighted)
        return state.solution.reduced_gram(jacobian), jacobian.T @ state.residual

    def stepped(self, rows: Rows, gram: Tensor, gradient: Tensor, damping: float) -> Rows | None:
        """Rows after the damped step; None where the damping is too small for the arithmetic."""
        squares = torch.diagonal(gram)
        scale = torch.rsqrt(squares + _LEAST_DAMPING * squares.max() + 1e-300)
        damped = gram * scale[:, None] * scale
        damped.diagonal().add_(damping)
        factor, failed = torch.linalg.cholesky_ex(damped)
        if failed:
            return None
        step = -scale * torch.cholesky_solve((scale * gradient)[:, None], factor)[:, 0]
        turned = step.reshape(-1, *rows.gate.T.shape).mT
        moved = rows
        if self.train_gates:
            moved = replace(moved, gate=rows.gate + turned[0])
        if rows.factor is not None:
            moved = replace(moved, factor=rows.factor + turned[-1])
        return self.normalised(moved)
