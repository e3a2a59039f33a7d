"""Variable projection for gated units in any dimension (ours).

Nonlinear parameters, p in all, are the rows of gates and of all factors but one, at
unit length where that is free, m are linear. Points come in blocks of k: arrays are (k,
m) and (k, p) at most.

References: Golub and Pereyra, SIAM J. Numer. Anal. 10 (1973); Kaufman, BIT 15 (1975).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from operator import mul
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from xsquared.data.dataset import Dataset
from xsquared.levenberg_marquardt import descend
from xsquared.training.least_squares import Solution, gram_matrix, solve
from xsquared.training.result import Fit, Gates
from xsquared.units import GatedNetwork, Unit, build, set_parameters

#: Share of the largest diagonal entry added to all, so that dead directions stay
#: bounded.
_LEAST_DAMPING = 1e-3
#: Iterations of each start before the best goes on.
_TRIAL = 10
#: Points whose part of the matrices is made at once: a processor's cache holds it.
BLOCK = 2048
#: Numbers of a matrix that is kept between two uses, not made again.
_KEPT = 2**24


@dataclass(frozen=True)
class InnerWeights:
    """The rows (n, d + 1) of gates and of all factors but one: functions of (x, 1)."""

    gate: Tensor
    factors: tuple[Tensor, ...] = ()

    def taken(self, neurons: Tensor | slice) -> InnerWeights:
        """The rows of some neurons, by indices or a slice."""
        return InnerWeights(
            self.gate[neurons], tuple(factor[neurons] for factor in self.factors)
        )

    def joined(self, other: InnerWeights) -> InnerWeights:
        """These rows, then other ones."""
        pairs = zip(self.factors, other.factors, strict=True)
        return InnerWeights(
            torch.cat([self.gate, other.gate]), tuple(torch.cat(pair) for pair in pairs)
        )


@dataclass(frozen=True)
class ProjectedFit:
    """Where a run of :func:`iterates` has come; the (weighted) error on the points has
    no ridge.

    The linear parameters (m,) are D or the columns of V, coordinate by coordinate, then
    d.
    """

    inner: InnerWeights
    linear: Tensor
    rmse: float
    iterations: int
    status: Literal["converged", "iterations"]


@dataclass(frozen=True)
class VariableProjection:
    """Minimise the mean square error on the training points, from hinges placed among
    the data.

    A unit is linear in c (D and d; with a factor V = D * U and d) for given rows r of
    gates and further factors, y ~ A(r) c, so the c are eliminated::

        min_r min_c  norm(A(r) c - y)**2 / N + ridge * norm(c without d)**2

    Rows are drawn: directions uniform on the sphere, hinges between two training
    points. They take Levenberg-Marquardt steps with Kaufman's Jacobian J = P dA/dr c,
    where P takes away what A explains. The best of several starts goes on after ten
    iterations.

    Attributes:
        starts: random starts that compete; with frozen gates there is one.
        ridge: as above; a very small one keeps wide networks from weights that cancel.
        sharpest: greatest length, 1 or more, of the rows of gates that are no power,
            which start between 1 and it. None: they start at 1, and nothing bounds
            them.
    """

    name: ClassVar[str] = "varpro"
    max_iterations: int = 200
    starts: int = 3
    ridge: float = 0.0
    sharpest: float | None = None

    def train(
        self, data: Dataset, unit: Unit, n_hidden: int, gates: Gates, seed: int
    ) -> Fit:
        """Train a unit with any gate."""
        trains, ridge, sharpest = gates == "trained", self.ridge, self.sharpest
        x, y = torch.tensor(data.train.x), torch.tensor(data.train.y)
        run = partial(
            iterates, unit, x, y, train_gates=trains, ridge=ridge, sharpest=sharpest
        )
        first, draw, trials = (
            min(_TRIAL, self.max_iterations),
            np.random.default_rng(seed),
            [],
        )
        for _ in range(self.starts if trains else 1):
            rows = draw_inner_weights(unit, data.train.x, n_hidden, draw)
            if sharpest is not None and unit.gate.degree is None:
                lengths = torch.from_numpy(draw.uniform(1, sharpest, (n_hidden, 1)))
                rows = InnerWeights(rows.gate * lengths, rows.factors)
            trials.append(last(run(rows, max_iterations=first)))
        best = min(trials, key=lambda trial: trial.rmse)
        total = sum(trial.iterations for trial in trials)
        if best.status == "iterations" and self.max_iterations > first:
            best = last(run(best.inner, max_iterations=self.max_iterations - first))
            total += best.iterations
        return Fit(to_network(best, unit), best.status, total, best.rmse)


class _Block(NamedTuple):
    """Some rows of the linear problem, and what they are made of."""

    matrix: Tensor  # (k, m)
    values: Tensor  # (k,), times the roots of the weights
    gates: Tensor  # (k, n)
    points: Tensor  # (k, d + 1), homogeneous
    weighted: Tensor  # the points times the roots of the weights


@dataclass(frozen=True)
class _State:
    """InnerWeights, the linear problem for them, its solution, what is left, and the loss."""

    inner: InnerWeights
    blocks: Callable[[], Iterable[_Block]]
    solution: Solution
    residual: Tensor  # (N,)
    loss: float  # squares of the residual, plus the ridge's penalty


def last(fits: Iterator[ProjectedFit]) -> ProjectedFit:
    """The fit with which a run ends."""
    *_, end = fits
    return end


def iterates(
    unit: Unit,
    x: Tensor,
    y: Tensor,
    start: InnerWeights,
    *,
    weights: Tensor | None = None,
    train_gates: bool = True,
    max_iterations: int = 200,
    ridge: float = 0.0,
    sharpest: float | None = None,
) -> Iterator[ProjectedFit]:
    """Descend by variable projection from given rows on; stop taking fits to stop
    early.

    Points x are (N, d), values y (N,), weights (N,) of a quadrature with sum 1, or None
    for equal ones. With frozen gates and at most one factor a single least-squares
    problem is left. A loss not finite at the start is a FloatingPointError, a pair with
    factors a ValueError. Yields as ``levenberg_marquardt.descend``.
    """
    if unit.paired and unit.factors:
        raise ValueError(
            f"variable projection trains no pairs with factors, got {unit.name}"
        )
    root = (
        torch.sqrt(weights)
        if weights is not None
        else torch.full_like(y, len(y) ** -0.5)
    )
    points, most = (
        torch.cat([x, torch.ones_like(x[:, :1])], dim=1),
        sharpest or math.inf,
    )
    model = _Model(
        unit, points, points * root[:, None], root * y, train_gates, ridge, most
    )
    state = model.project(model.normalised(start))
    if not math.isfinite(state.loss):
        raise FloatingPointError(f"the loss is {state.loss} at the start")
    limit = max_iterations if train_gates or start.factors else 0
    for point, iterations, status in descend(state, model.linearise, limit):
        rmse = float(torch.linalg.vector_norm(point.residual))
        yield ProjectedFit(
            point.inner, point.solution.coefficients, rmse, iterations, status
        )


def to_network(fit: ProjectedFit, unit: Unit) -> GatedNetwork:
    """Build the torch module with a fit's weights; D = 1 where it is a free scale."""
    gate = fit.inner.gate.numpy()
    n, size = gate.shape
    linear = fit.linear.numpy()
    network = build(unit, size - 1, n)
    factors = [
        linear[:-1].reshape(-1, n).T,
        *(factor.numpy() for factor in fit.inner.factors),
    ]
    outer = np.ones((1, n)) if unit.factors else linear[None, :-1]
    set_parameters(network, G=gate[:, :-1], g=gate[:, -1], D=outer, d=linear[-1:])
    for (weight, bias), rows in zip(unit.factors, factors, strict=False):
        set_parameters(network, **{weight: rows[:, :-1], bias: rows[:, -1]})
    return network


def inner_weights(network: GatedNetwork) -> InnerWeights:
    """Take the nonlinear parameters of a network: the inverse of :func:`to_network`."""
    values, pairs = network.state_dict(), [("G", "g"), *network.unit.factors[1:]]
    gate, *factors = (torch.column_stack([values[w], values[b]]) for w, b in pairs)
    return InnerWeights(gate, tuple(factors))


def draw_inner_weights(
    unit: Unit,
    x: np.ndarray,
    n: int,
    random: np.random.Generator,
    along: np.ndarray | None = None,
) -> InnerWeights:
    """Draw gates whose hinges pass between training points x (N, d), so that none
    starts dead.

    Directions are uniform on the sphere, or ``along`` (n, d). A hinge cuts the segment
    between two points in its middle half, as rounding would decide at a point.
    """

    def draw() -> Tensor:
        direction = random.standard_normal((n, x.shape[1])) if along is None else along
        direction = direction / np.linalg.norm(direction, axis=1, keepdims=True)
        one = random.integers(len(x), size=n)
        other = (one + random.integers(1, max(len(x), 2), size=n)) % len(x)
        places = x[one] + random.uniform(0.25, 0.75, (n, 1)) * (x[other] - x[one])
        rows = np.column_stack([direction, -np.sum(direction * places, axis=1)])
        return torch.from_numpy(rows)

    return InnerWeights(draw(), tuple(draw() for _ in unit.factors[1:]))


def hidden(unit: Unit, points: Tensor, rows: InnerWeights) -> tuple[Tensor, Tensor]:
    """Compute gates (N, n) at homogeneous points, and them times all factors but the
    linear one.
    """
    gates = unit.gate.value(points @ rows.gate.T)
    return gates, reduce(mul, (points @ factor.T for factor in rows.factors), gates)


def design(
    unit: Unit, rows: InnerWeights, points: Tensor, weighted: Tensor
) -> tuple[Tensor, Tensor]:
    """Gates (N, n), and the matrix (N, m) behind the linear parameters, at homogeneous
    points.
    """
    gates, neurons = hidden(unit, points, rows)
    numbers = [neurons, points @ rows.gate.T * neurons] if unit.paired else [neurons]
    matrix = _products(numbers, weighted if unit.factors else weighted[:, -1:], 1)
    matrix[:, -1] = weighted[:, -1]
    return gates, matrix


def _products(left: list[Tensor], right: Tensor, rest: int = 0) -> Tensor:
    """Multiply columns of every left matrix (N, n) by every column of the right one (N,
    k).

    Columns (N, len(left) * k * n + rest) of one right column lie side by side, which is
    faster.
    """
    (length, n), k = left[0].shape, right.shape[1]
    columns = right.new_empty(length, len(left) * k * n + rest)
    for i, factor in enumerate(left):
        part = columns[:, i * k * n : (i + 1) * k * n].unflatten(1, (k, n))
        torch.mul(factor[:, None, :], right[:, :, None], out=part)
    return columns


@dataclass(frozen=True)
class _Model:
    """The separable least-squares problem."""

    unit: Unit
    points: Tensor  # (N, d + 1), homogeneous
    weighted: Tensor  # the points times the roots of the weights
    values: Tensor  # (N,), as well
    train_gates: bool
    ridge: float
    sharpest: float = math.inf

    def normalised(self, rows: InnerWeights) -> InnerWeights:
        """Bring rows to unit length; gates whose length is a parameter to at most the
        sharpest.
        """
        gate = rows.gate
        if self.train_gates and self.unit.gate.degree is not None:
            gate = normalize(gate)
        elif self.train_gates and self.sharpest < math.inf:
            gate = gate * (
                self.sharpest / gate[:, :-1].norm(dim=1, keepdim=True)
            ).clamp(max=1.0)
        return InnerWeights(gate, tuple(normalize(factor) for factor in rows.factors))

    def blocks(self, rows: InnerWeights) -> Iterator[_Block]:
        """Make the rows of the linear problem, block by block."""
        parts = (
            part.split(BLOCK) for part in (self.points, self.weighted, self.values)
        )
        for points, weighted, values in zip(*parts, strict=True):
            gates, matrix = design(self.unit, rows, points, weighted)
            yield _Block(matrix, values, gates, points, weighted)

    def project(self, rows: InnerWeights) -> _State:
        """Solve for the best linear parameters behind some rows."""
        blocks: Callable[[], Iterable[_Block]] = partial(self.blocks, rows)
        if self.points.numel() * len(rows.gate) <= _KEPT:
            blocks = partial(iter, list(blocks()))
        solution = solve(blocks, self.ridge)
        linear = solution.coefficients
        residual = torch.cat(
            [block.matrix @ linear - block.values for block in blocks()]
        )
        loss = residual @ residual + self.ridge * (linear[:-1] @ linear[:-1])
        return _State(rows, blocks, solution, residual, float(loss))

    def jacobian(self, state: _State, block: _Block) -> Tensor:
        """Derivatives (k, p) of the values by the rows, the linear parameters held."""
        outer = state.solution.coefficients[:-1].reshape(-1, len(state.inner.gate))
        first, second = outer[0], outer[-1]
        if self.unit.factors:
            outer = block.points @ outer
        elif self.unit.paired:  # a s(z) + b z s(z) changes by (a + b z) s'(z) + b s(z)
            outer = first + second * (block.points @ state.inner.gate.T)
        values = [block.points @ factor.T for factor in state.inner.factors]
        inner = block.gates * outer
        moved = [
            reduce(mul, [*values[:j], *values[j + 1 :]], inner)
            for j in range(len(values))
        ]
        if self.train_gates:
            moved.insert(
                0, self.slopes(state.inner, block) * reduce(mul, values, outer)
            )
        if self.train_gates and self.unit.paired:
            moved[0] = moved[0] + second * block.gates
        return _products(moved, block.weighted)

    def slopes(self, rows: InnerWeights, block: _Block) -> Tensor:
        """Derivatives (k, n) of the gates by z = G x + g; those of relu are Boolean."""
        gate = self.unit.gate
        if gate.hinged and gate.degree == 1:
            return block.gates > 0
        z = (block.points @ rows.gate.T).requires_grad_()
        return torch.autograd.grad(gate.value(z).sum(), z)[0]

    def normal_equations(self, state: _State) -> tuple[Tensor, Tensor]:
        """Gauss-Newton matrix (p, p) of the reduced problem, and half its gradient."""
        gram, products, gradient = torch.zeros(()), torch.zeros(()), torch.zeros(())
        for block, residual in zip(
            state.blocks(), state.residual.split(BLOCK), strict=True
        ):
            jacobian = self.jacobian(state, block)
            gram = gram + gram_matrix(jacobian)
            products = products + block.matrix.T @ jacobian
            gradient = gradient + jacobian.T @ residual
        return gram - gram_matrix(state.solution.whiten(products)), gradient

    def linearise(self, state: _State) -> Callable[[float], _State | None]:
        """Return a function from a damping to the state after a step, or to None."""
        (gram, gradient), rows = self.normal_equations(state), state.inner
        squares = torch.diagonal(gram)
        scale = torch.rsqrt(squares + _LEAST_DAMPING * squares.max() + 1e-300)

        def attempt(damping: float) -> _State | None:
            damped = gram * scale[:, None] * scale
            damped.diagonal().add_(damping)
            factor, failed = torch.linalg.cholesky_ex(damped)
            if failed:
                return None
            step = (
                -scale * torch.cholesky_solve((scale * gradient)[:, None], factor)[:, 0]
            )
            turned = list(step.reshape(-1, *rows.gate.T.shape).mT)
            gate = rows.gate + turned.pop(0) if self.train_gates else rows.gate
            moved = (row + turn for row, turn in zip(rows.factors, turned, strict=True))
            try:
                return self.project(self.normalised(InnerWeights(gate, tuple(moved))))
            except FloatingPointError:
                return None

        return attempt
