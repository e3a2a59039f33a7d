"""Variable projection for gated units in any dimension (ours).

Outer weights are solved for, inner ones take Levenberg-Marquardt steps
(:mod:`xsquared.training.separable`).

The descent, :func:`iterates`, is also that of ``Growth``, of ``FreeKnots`` on points
and with frozen gates, and of ``GatedRegressor``: its defaults are theirs as well. What
is the solver's alone, :class:`VariableProjection` hands over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from xsquared.data.dataset import Dataset
from xsquared.levenberg_marquardt import Status, descend
from xsquared.training.inner_weights import (
    InnerWeights,
    draw_inner_weights,
    homogeneous,
)
from xsquared.training.result import Fit, Gates
from xsquared.training.separable import Problem
from xsquared.units import GatedNetwork, Unit, build, set_parameters

#: Iterations of each start before the best goes on.
_FIRST_ITERATIONS = 10


@dataclass(frozen=True)
class VariableProjection:
    """Minimise the mean square error on the training points, from hinges among them.

    With A(r) the columns that inner weights r make, and outer weights c::

        min_r min_c  norm(A(r) c - y)**2 / N + ridge * norm(c without d)**2

    Inner weights are drawn: directions uniform on the sphere, hinges between two
    training points. They take Levenberg-Marquardt steps with Kaufman's Jacobian
    J = P dA/dr c. After ten iterations of each start the inner weights of least error,
    without the ridge, start a descent of their own, with the damping of a first step,
    unless they have converged.

    Attributes:
        max_iterations: of the start that goes on, its ten among them; a fit counts
            those of all starts.
        starts: random starts that compete; with frozen gates there is one.
        ridge: as above; a very small one keeps wide networks from weights that cancel.
        sharpest: greatest length, 1 or more, of the rows of gates that are no power,
            which start between 1 and it. None: they start at 1, and nothing bounds
            them; a descent to steep targets may end there, as converged.
    """

    name: ClassVar[str] = "varpro"
    max_iterations: int = 200
    starts: int = 3
    ridge: float = 0.0
    sharpest: float | None = None

    def train(
        self, data: Dataset, unit: Unit, n_hidden: int, gates: Gates, seed: int
    ) -> Fit:
        """Train a unit with any gate; of pairs with factors a ValueError.

        The fit's error is ``promised``, as :func:`xsquared.training.fit.fit` measures
        the others.
        """
        random = np.random.default_rng(seed)
        run = partial(
            iterates,
            unit,
            torch.tensor(data.train.x),
            torch.tensor(data.train.y),
            train_gates=gates == "trained",
            ridge=self.ridge,
            sharpest=self.sharpest,
        )
        first_limit = min(_FIRST_ITERATIONS, self.max_iterations)
        fits = []
        for _ in range(self.starts if gates == "trained" else 1):
            inner = draw_inner_weights(unit, data.train.x, n_hidden, random)
            if self.sharpest is not None and unit.gate.degree is None:
                lengths = random.uniform(1, self.sharpest, (n_hidden, 1))
                gate = inner.gate * torch.from_numpy(lengths)
                inner = InnerWeights(gate, inner.factors)
            fits.append(last(run(inner, max_iterations=first_limit)))
        best = min(fits, key=lambda fit: fit.rmse)
        iterations = sum(fit.iterations for fit in fits)
        if best.status == "iterations" and self.max_iterations > first_limit:
            remaining = self.max_iterations - first_limit
            best = last(run(best.inner, max_iterations=remaining))
            iterations += best.iterations
        return Fit(to_network(best, unit), best.status, iterations, best.rmse)


@dataclass(frozen=True)
class ProjectedFit:
    """Where a run of :func:`iterates` has come.

    Attributes:
        inner: gates, where they are trained and a power, and factors have rows of
            length one.
        outer: (m,), D or the columns of V, coordinate by coordinate, then d; of a pair
            the second numbers' D follow the first ones'.
        rmse: weighted root mean square error on the points, without the ridge; the loss
            that falls in a descent has it.
        iterations: those so far.
    """

    inner: InnerWeights
    outer: Tensor
    rmse: float
    iterations: int
    status: Status


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
    """Yield the fit at given inner weights, then after each step of the descent.

    Points x are (N, d), values y (N,), weights (N,) of a quadrature with sum 1, or None
    for equal ones. With frozen gates and at most one factor a single least-squares
    problem is left: its fit alone comes, as converged. Fits come as from
    :func:`xsquared.levenberg_marquardt.descend`; stop taking them to stop early.

    Raises:
        FloatingPointError: the loss is not finite at the start.
        ValueError: the unit is a pair with factors.
    """
    if unit.paired and unit.factors:
        raise ValueError(
            f"variable projection trains no pairs with factors, got {unit.name}"
        )
    if weights is None:
        roots = torch.full_like(y, len(y) ** -0.5)
    else:
        roots = torch.sqrt(weights)
    points = homogeneous(x)
    problem = Problem(
        unit,
        points,
        points * roots[:, None],
        roots * y,
        train_gates,
        ridge,
        sharpest or math.inf,
    )
    state = problem.project(problem.normalised(start))
    if not math.isfinite(state.loss):
        raise FloatingPointError(f"the loss is {state.loss} at the start")
    limit = max_iterations if train_gates or start.factors else 0
    for point, iterations, status in descend(state, problem.linearise, limit):
        rmse = float(torch.linalg.vector_norm(point.residual))
        outer = point.solution.coefficients
        yield ProjectedFit(point.inner, outer, rmse, iterations, status)


def last(fits: Iterator[ProjectedFit]) -> ProjectedFit:
    """Run a descent to its end, and return the fit there."""
    *_, end = fits
    return end


def to_network(fit: ProjectedFit, unit: Unit) -> GatedNetwork:
    """Build the torch module with a fit's weights; D = 1 where it is a free scale."""
    gate = fit.inner.gate.numpy()
    outer = fit.outer.numpy()
    n, size = gate.shape
    network = build(unit, size - 1, n)
    readout = np.ones((1, n)) if unit.factors else outer[None, :-1]
    set_parameters(network, G=gate[:, :-1], g=gate[:, -1], D=readout, d=outer[-1:])
    if unit.factors:
        first = outer[:-1].reshape(size, n).T  # V, coordinate by coordinate
        factors = [first, *(factor.numpy() for factor in fit.inner.factors)]
        for (weight, bias), rows in zip(unit.factors, factors, strict=True):
            set_parameters(network, **{weight: rows[:, :-1], bias: rows[:, -1]})
    return network
