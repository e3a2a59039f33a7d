"""The separable least-squares problem: an error as a function of inner weights.

For inner weights r a network of N points is A(r) c, and the outer weights c are
eliminated: with P = I - Q Q', Q an orthonormal basis of A's range, r minimises
``|P(r) y|^2``. Points come in blocks of k rows: arrays are (k, m) and (k, p) at most, m
outer and p inner weights.

References: Golub and Pereyra, SIAM J. Numer. Anal. 10 (1973); Kaufman, BIT 15 (1975).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from operator import mul
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize

from xsquared.training.inner_weights import InnerWeights, column_products, design
from xsquared.training.least_squares import Solution, gram_matrix, solve
from xsquared.units import Unit

#: Share of the largest diagonal entry of the Gauss-Newton matrix that is added to all
#: where steps are scaled: the inner weights of dead neurons stay bounded.
_LEAST_DAMPING = 1e-3
#: Points of a block: a processor's cache holds what is computed of them.
_BLOCK = 2048
#: Numbers of a matrix that is kept between two uses, at most; else it is made again.
_KEPT = 2**24


class Block(NamedTuple):
    """Some rows of the linear problem, and what they are made of."""

    matrix: Tensor  # (k, m)
    values: Tensor  # (k,), times the roots of the weights
    gates: Tensor  # (k, n)
    points: Tensor  # (k, d + 1), homogeneous
    weighted: Tensor  # the points times the roots of the weights


@dataclass(frozen=True)
class State:
    """Inner weights, the linear problem for them, its solution, and what is left."""

    inner: InnerWeights
    blocks: Callable[[], Iterable[Block]]
    solution: Solution
    residual: Tensor  # A c - y, (N,)
    loss: float  # squares of the residual, plus the ridge's penalty


@dataclass(frozen=True)
class Problem:
    """A unit, points, values, and what is trained: the module's problem."""

    unit: Unit
    points: Tensor  # (N, d + 1), homogeneous
    weighted: Tensor  # the points times the roots of the weights
    values: Tensor  # (N,), as well
    train_gates: bool
    ridge: float
    sharpest: float = math.inf

    def normalised(self, inner: InnerWeights) -> InnerWeights:
        """Bring rows whose length is free to one, others to the sharpest at most."""
        gate = inner.gate
        if self.train_gates and self.unit.gate.degree is not None:
            gate = normalize(gate)
        elif self.train_gates and self.sharpest < math.inf:
            lengths = gate[:, :-1].norm(dim=1, keepdim=True)
            gate = gate * (self.sharpest / lengths).clamp(max=1.0)
        return InnerWeights(gate, tuple(normalize(row) for row in inner.factors))

    def project(self, inner: InnerWeights) -> State:
        """Solve for the best outer weights of some inner ones.

        A FloatingPointError says that a number is not finite.
        """
        blocks: Callable[[], Iterable[Block]] = partial(self.blocks, inner)
        if self.points.numel() * len(inner.gate) <= _KEPT:
            blocks = partial(iter, list(blocks()))
        solution = solve(blocks, self.ridge)
        outer = solution.coefficients
        parts = [block.matrix @ outer - block.values for block in blocks()]
        residual = torch.cat(parts)
        loss = residual @ residual + self.ridge * (outer[:-1] @ outer[:-1])
        return State(inner, blocks, solution, residual, float(loss))

    def blocks(self, inner: InnerWeights) -> Iterator[Block]:
        """Make the rows of the linear problem, block by block."""
        columns = (self.points, self.weighted, self.values)
        pieces = (column.split(_BLOCK) for column in columns)
        for points, weighted, values in zip(*pieces, strict=True):
            gates, matrix = design(self.unit, inner, points, weighted)
            yield Block(matrix, values, gates, points, weighted)

    def linearise(self, state: State) -> Callable[[float], State | None]:
        """Return a function from a damping to the state after a step, or to None.

        With B = J'J, g half the gradient, and S = diag(s) that scales B's diagonal to
        about one, the step is -S (S B S + damping I)^-1 S g.
        """
        gauss_newton, gradient = self.normal_equations(state)
        squares = gauss_newton.diagonal()
        scale = torch.rsqrt(squares + _LEAST_DAMPING * squares.max() + 1e-300)

        def attempt(damping: float) -> State | None:
            damped = gauss_newton * scale[:, None] * scale
            damped.diagonal().add_(damping)
            factor, failed = torch.linalg.cholesky_ex(damped)
            if failed:
                return None
            scaled = torch.cholesky_solve((scale * gradient)[:, None], factor)[:, 0]
            try:
                return self.project(self.normalised(self.moved(state, -scale * scaled)))
            except FloatingPointError:
                return None

        return attempt

    def moved(self, state: State, step: Tensor) -> InnerWeights:
        """Add a step (p,), whose order is that of the Jacobian's columns."""
        steps = [*step.reshape(-1, *state.inner.gate.T.shape).mT]  # each (n, d + 1)
        gate = state.inner.gate
        if self.train_gates:
            gate = gate + steps.pop(0)
        pairs = zip(state.inner.factors, steps, strict=True)
        return InnerWeights(gate, tuple(factor + change for factor, change in pairs))

    def normal_equations(self, state: State) -> tuple[Tensor, Tensor]:
        """Compute J'J (p, p) and half the gradient, J'e (p,), of the reduced problem.

        With K = dA/dr c, c held, Kaufman's Jacobian is J = P K, so that
        J'J = K'K - (Q'K)'(Q'K); and J'e = K'e, as the residual e is orthogonal to A.
        """
        gram = torch.zeros(())
        products = torch.zeros(())
        gradient = torch.zeros(())
        residuals = state.residual.split(_BLOCK)
        for block, residual in zip(state.blocks(), residuals, strict=True):
            jacobian = self.jacobian(state, block)
            gram = gram + gram_matrix(jacobian)
            products = products + block.matrix.T @ jacobian
            gradient = gradient + jacobian.T @ residual
        return gram - gram_matrix(state.solution.whiten(products)), gradient

    def jacobian(self, state: State, block: Block) -> Tensor:
        """Compute K (k, p): derivatives of A c by the inner weights, c held.

        A neuron of outer weight o(p) is s(z) o f_2 ... f_k, z = g'p and f_j = u_j'p. It
        changes with z by s'(z) o f_2 ... f_k, with f_j by s(z) o times the others; z
        and f_j change with their rows by p. Columns: gates, then factor by factor, of
        each coordinate by coordinate.
        """
        n = len(state.inner.gate)
        rows = state.solution.coefficients[:-1].reshape(-1, n)  # V' or D
        outer = rows[0]
        if self.unit.factors:
            outer = block.points @ rows
        elif self.unit.paired:  # o s(z) + b z s(z): the same with o + b z, but for b s
            outer = rows[0] + rows[1] * (block.points @ state.inner.gate.T)
        factors = [block.points @ factor.T for factor in state.inner.factors]
        changes = []
        if self.train_gates:
            by_gate = self.slopes(state.inner, block) * reduce(mul, factors, outer)
            if self.unit.paired:
                by_gate = by_gate + rows[1] * block.gates
            changes.append(by_gate)
        gated = block.gates * outer
        for j in range(len(factors)):
            others = [*factors[:j], *factors[j + 1 :]]
            changes.append(reduce(mul, others, gated))
        return column_products(changes, block.weighted)

    def slopes(self, inner: InnerWeights, block: Block) -> Tensor:
        """Compute s'(z) (k, n); of ReLUs it is Boolean."""
        gate = self.unit.gate
        if gate.hinged and gate.degree == 1:
            return block.gates > 0
        z = (block.points @ inner.gate.T).requires_grad_()
        return torch.autograd.grad(gate.value(z).sum(), z)[0]
