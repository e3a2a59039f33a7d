"""Growth: networks grown neuron by neuron among the data, refined jointly by variable projection.

A neuron is inserted by the orthogonal greedy algorithm: of many candidates drawn among the data, it
is the one whose columns, orthogonalised against those in use, take most from the residual. After a
few insertions all gates and factors move together under Levenberg-Marquardt steps. At every width
asked for, the neurons that matter least are exchanged for new ones, which is kept where it lowers
the error; then steps go on until twice as many lower the error by less than 2 per cent, and that is
what "converged" means here. A width starts from the network of the one before, whose error it keeps
where all else fails: errors on the training points never rise with the width.

For points not seen, each fit on the way is solved again for its linear weights under a row of
ridges. The best of all these networks on the validation points is the one to use, filled up by
neurons without weight where it is narrower. A gated unit grows like the square or the cube of the
distance from the points it has seen; predictions for others are therefore confined to the range of
the training values, widened by a margin.

References:
    DeVore and Temlyakov, Adv. Comput. Math. 5 (1996), for the orthogonal greedy algorithm; Siegel
    and Xu, IEEE Trans. Inf. Theory 68 (2022), for its rates with ridge functions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from xsquared.checks import check_integer, check_integers, check_number, check_size
from xsquared.data.dataset import Dataset
from xsquared.errors import confined_rmse
from xsquared.training.result import Gates, Trained
from xsquared.training.variable_projection import (
    ProjectedFit,
    Rows,
    check_device,
    hidden,
    iterates,
    last,
    require_formula,
    rows_on_data,
    to_network,
)
from xsquared.units import Unit

#: Numbers of the candidates' columns that are formed at a time; they should stay in a cache.
_CHUNK = 2**20
#: Squares of what is left of a column, as a share of the column's, that count as rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Growth:
    """Orthogonal greedy insertion and joint refinement, from width to width.

    Attributes:
        candidates: neurons drawn for each group of insertions.
        share: neurons inserted before the next refinement, as a share of those there.
        iterations: of a refinement on the way and after an exchange.
        exchanges: attempts at each width to exchange neurons; none with frozen gates.
        exchanged: share of the neurons that an attempt exchanges.
        max_iterations: Levenberg-Marquardt iterations at each width, after the exchanges.
        moved: a fit has converged where doubling its iterations, from ``iterations`` on, lowers
            the error by less than this share.
        ridges: multiples of the linear weights' sum of squares added to the mean square error. The
            last is that of training; on validation points any of them may be the best.
        margin: by how much of the training values' range a prediction for a point not seen may
            leave it.
        device: ``"cpu"`` or ``"cuda"``.
    """

    name: ClassVar[str] = "growth"
    candidates: int = 1024
    share: float = 0.2
    iterations: int = 15
    exchanges: int = 2
    exchanged: float = 0.2
    max_iterations: int = 120
    moved: float = 0.02
    ridges: tuple[float, ...] = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10)
    margin: float = 0.1
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name in ("candidates", "iterations", "max_iterations"):
            check_integer(name, getattr(self, name), 1)
        check_integer("exchanges", self.exchanges, 0)
        for name in ("share", "exchanged", "moved"):
            check_number(name, getattr(self, name), above=0, most=1)
        if not self.ridges:
            raise ValueError("ridges: expected at least one, got none")
        for ridge in self.ridges:
            check_number("ridges", ridge, above=0)
        check_number("margin", self.margin, least=0)
        check_device(self.device)

    def train(self, data: Dataset, unit: Unit, n_hidden: int, gates: Gates, seed: int) -> Trained:
        """Train by way of the widths 1, ..., n/4, n/2; else as :meth:`grow`."""
        widths = {-(-n_hidden // 2**halvings) for halvings in range(n_hidden.bit_length() + 1)}
        *_, end = self.grow(data, unit, sorted(widths), gates, seed)
        return end

    def grow(
        self, data: Dataset, unit: Unit, widths: Iterable[int], gates: Gates, seed: int
    ) -> Iterator[Trained]:
        """Networks of ascending widths, each grown from the one before.

        Yields:
            What is left at each width, its iterations counted from the first width on.

        Raises:
            ValueError: a unit whose module overrides the formula, or widths that do not ascend.
            FloatingPointError: a number that is not finite in the linear algebra.
        """
        require_formula(self.name, unit)
        widths = check_integers("widths", widths, 1)
        if any(wide <= narrow for narrow, wide in itertools.pairwise(widths)):
            raise ValueError(f"widths: expected ascending ones, got {widths}")
        check_size("candidates on the training points", self.candidates, len(data.train))
        task = _Task(self, data, unit, gates == "trained", np.random.default_rng(seed))
        fit = used = task.empty()
        least, total = math.inf, 0
        for width in widths:
            before, made = fit, []
            while (have := len(fit.rows.gate)) < width:
                count = min(max(round(self.share * have), 1), width - have)
                made.append(task.refined(task.inserted(fit.rows, count), self.iterations)[0])
                fit = made[-1]
            failed = 0 if task.trains and width > 1 else self.exchanges
            while failed < self.exchanges:
                made.append(task.refined(task.exchanged(fit.rows), self.iterations)[0])
                failed = 0 if made[-1].rmse < (1 - self.moved) * fit.rmse else failed + 1
                fit = min(fit, made[-1], key=_error)
            end, converged = task.refined(fit.rows, self.max_iterations)
            total += sum(fit.iterations for fit in (*made, end))
            fit = min(task.widened(before, end.rows), fit, end, key=_error)
            for ridge in self.ridges if data.split == "held-out" else ():
                for candidate in (*made, end):
                    again = last(task.run(candidate.rows, ridge, 0))
                    if (judged := task.judged(again)) < least:
                        least, used = judged, again
            closest, held_out = to_network(fit, unit), data.split == "held-out"
            yield Trained(
                to_network(task.widened(used, fit.rows), unit) if held_out else closest,
                "converged" if converged else "iterations",
                total,
                fit.rmse,
                closest=closest,
                margin=self.margin if held_out else None,
            )


def _error(fit: ProjectedFit) -> float:
    return fit.rmse


@dataclass(frozen=True)
class _Task:
    """What is grown: a unit on the data, by the solver's settings and one stream of draws."""

    solver: Growth
    data: Dataset
    unit: Unit
    trains: bool
    draw: np.random.Generator

    @cached_property
    def points(self) -> Tensor:
        """The training points (N, d + 1), homogeneous, on the solver's device."""
        x = torch.tensor(self.data.train.x, device=self.solver.device)
        return torch.cat([x, torch.ones_like(x[:, :1])], dim=1)

    @cached_property
    def y(self) -> Tensor:
        """Their values (N,)."""
        return torch.tensor(self.data.train.y, device=self.solver.device)

    def run(self, rows: Rows, ridge: float, limit: int) -> Iterator[ProjectedFit]:
        x, trains = self.points[:, :-1], self.trains
        return iterates(
            self.unit, x, self.y, rows, train_gates=trains, max_iterations=limit, ridge=ridge
        )

    def refined(self, rows: Rows, limit: int) -> tuple[ProjectedFit, bool]:
        """The end of a descent, and whether it converged."""
        due, before = self.solver.iterations, math.inf
        for fit in self.run(rows, self.solver.ridges[-1], limit):
            if fit.iterations == due:
                if fit.rmse > (1 - self.solver.moved) * before:
                    return fit, True
                due, before = 2 * due, fit.rmse
        return fit, fit.status == "converged"

    def empty(self) -> ProjectedFit:
        """The mean of the values, without neurons."""
        rows = rows_on_data(self.unit, self.data.train.x, 1, self.draw).taken(slice(0))
        mean = self.y.mean(dim=0, keepdim=True)
        return ProjectedFit(
            rows.to(self.solver.device), mean, float(self.y.std(correction=0)), 0, "converged"
        )

    def widened(self, fit: ProjectedFit, rows: Rows) -> ProjectedFit:
        """The same function with as many neurons as the rows, the last of which fill it up."""
        have, width = len(fit.rows.gate), len(rows.gate)
        weights = fit.linear.new_zeros(self.points.shape[1] if self.unit.factors else 1, width)
        weights[:, :have] = fit.linear[:-1].reshape(len(weights), have)
        linear = torch.cat([weights.flatten(), fit.linear[-1:]])
        return replace(fit, rows=fit.rows.joined(rows.taken(slice(have, width))), linear=linear)

    def judged(self, fit: ProjectedFit) -> float:
        """The error on the validation points."""
        points, seen = self.data.validation, self.data.train.y
        network = to_network(fit, self.unit)
        return confined_rmse(network, points.x, points.y, seen, self.solver.margin)

    def inserted(self, rows: Rows, count: int) -> Rows:
        """Some rows and as many more as asked for, of candidates drawn among the data."""
        pool = candidates(
            self.unit, self.data.train.x, max(self.solver.candidates, count), self.draw
        )
        pool = pool.to(self.solver.device)
        ridge = self.solver.ridges[-1]
        chosen = insertions(self.unit, self.points, self.y, rows, pool, count, ridge)
        return rows.joined(pool.taken(chosen))

    def exchanged(self, rows: Rows) -> Rows:
        """The rows with those that matter least exchanged."""
        count = max(round(self.solver.exchanged * len(rows.gate)), 1)
        losses = removal_losses(self.unit, self.points, self.y, rows, self.solver.ridges[-1])
        kept = torch.argsort(losses)[count:].sort().values
        return self.inserted(rows.taken(kept), count)


def candidates(unit: Unit, x: np.ndarray, count: int, draw: np.random.Generator) -> Rows:
    """Neurons whose gates and factors cut the data (N, d).

    A factor is drawn for itself, is the gate's own row, so that the neuron has one more continuous
    derivative, or is constant, so that the neuron is one of a unit with a factor less. Gates that
    are no powers have a width of their own; it is drawn over a factor of 16.
    """
    rows = rows_on_data(unit, x, count, draw)
    gate, constant = rows.gate, torch.zeros_like(rows.gate)
    constant[:, -1] = 1.0
    factors = []
    for factor in rows.factors:
        kind = torch.from_numpy(draw.integers(3, size=(count, 1)))
        factors.append(torch.where(kind == 0, factor, torch.where(kind == 1, gate, constant)))
    if unit.gate.degree is None:
        gate = gate * torch.from_numpy(2.0 ** draw.uniform(-1, 3, (count, 1)))
    return Rows(gate, tuple(factors))


def insertions(
    unit: Unit, points: Tensor, y: Tensor, rows: Rows, pool: Rows, count: int, ridge: float
) -> list[int]:
    """Which neurons of a pool the orthogonal greedy algorithm inserts, in its order.

    With C the columns of a candidate, orthogonalised against those in use, and r the residual, it
    is the candidate with the largest r'C (C'C + ridge)^-1 C'r. The Gram matrices C'C are kept up to
    date by the new directions alone, so that nothing larger than the gates' values is stored.

    Args:
        unit: of the standard formula.
        points: (N, d + 1), homogeneous.
        y: (N,) values.
        rows: the neurons in use, possibly none.
        pool: candidates, at least as many as are to be inserted.
        count: how many.
        ridge: multiple of the weights' sum of squares added to the mean square error.
    """
    right = points if unit.factors else points[:, -1:]
    k = right.shape[1]
    new = basis = _basis(_design(unit, points, rows))
    residual = y - basis @ (basis.T @ y)
    neurons = hidden(unit, points, pool)
    parts = neurons.split(max(_CHUNK // (len(y) * k), 1), dim=1)
    grams: list[Tensor] = []
    floors: list[Tensor] = []
    chosen: list[int] = []
    while len(chosen) < count:
        gains = []
        for i, part in enumerate(parts):
            block = part[:, :, None] * right[:, None, :]
            if not chosen:
                turned = block.transpose(0, 1)
                grams.append(turned.mT @ turned)
                sizes = grams[i].diagonal(dim1=1, dim2=2).amax(dim=1)
                floor = _ROUNDING * sizes + ridge * len(y)
                floors.append(torch.diag_embed(floor[:, None].expand(-1, k)))
            columns = block.flatten(1)
            explained = (new.T @ columns).unflatten(1, (-1, k)).transpose(0, 1)
            grams[i] = grams[i] - explained.mT @ explained
            slope = (residual @ columns).unflatten(0, (-1, k))
            gains.append((slope * torch.linalg.solve(grams[i] + floors[i], slope)).sum(dim=1))
        gain = torch.cat(gains)
        gain[chosen] = -math.inf
        chosen.append(int(gain.argmax()))
        new = _basis(neurons[:, chosen[-1], None] * right, basis)
        basis = torch.cat([basis, new], dim=1)
        residual = residual - new @ (new.T @ residual)
    return chosen


def removal_losses(unit: Unit, points: Tensor, y: Tensor, rows: Rows, ridge: float) -> Tensor:
    """By how much the loss would rise without each neuron, the others' linear weights refitted.

    With c the weights of a neuron and S the block of the inverse of the normal equations' matrix
    that belongs to them, that is c' S^-1 c. Arguments as for :func:`insertions`; (n,).
    """
    n = len(rows.gate)
    design = _design(unit, points, rows)
    gram = design.T @ design
    gram.diagonal()[:-1].add_(ridge * len(y))
    scale = torch.rsqrt(gram.diagonal())
    matrix = gram * scale[:, None] * scale
    matrix.diagonal().add_(_ROUNDING)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(matrix))
    weights = (inverse @ (scale * (design.T @ y)))[:-1].reshape(-1, n).T
    k = weights.shape[1]
    blocks = inverse[:-1, :-1].reshape(k, n, k, n).diagonal(dim1=1, dim2=3).permute(2, 0, 1)
    return (weights * torch.linalg.solve(blocks, weights)).sum(dim=1)


def _design(unit: Unit, points: Tensor, rows: Rows) -> Tensor:
    """The columns of some neurons' linear weights, and the constant one."""
    right = points if unit.factors else points[:, -1:]
    columns = hidden(unit, points, rows)[:, None, :] * right[:, :, None]
    return torch.cat([columns.flatten(1), points[:, -1:]], dim=1)


def _basis(columns: Tensor, others: Tensor | None = None) -> Tensor:
    """An orthonormal basis of columns (N, m), of what is left of them beside an orthonormal one."""
    length = torch.linalg.vector_norm(columns, dim=0)
    left = columns / torch.where(length > 0, length, 1.0)
    if others is None:
        return torch.linalg.qr(left).Q
    for _ in range(2):  # once leaves rounding of what is taken away
        left = left - others @ (others.T @ left)
    u, s, _ = torch.linalg.svd(left, full_matrices=False)
    return u[:, s > _ROUNDING**0.5]
