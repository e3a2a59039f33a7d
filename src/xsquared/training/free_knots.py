"""Free knots: networks of one input from the best splines (ours).

Of a known target the integral of the squared error is minimised; of points the sum, by
variable projection from the network for a smooth curve through them.

Gates of a known target may stay on the paper's equidistant knots (section 4.1, Fig. 2
a, d): the MLP and the GLU are linear in what is left (V = D * U). The GQU keeps the
roots of its factors, trained by variable projection from factors that vanish at the
knots.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import sympy as sp
import torch
from scipy.interpolate import BSpline, make_lsq_spline

from xsquared.data.dataset import Dataset, Points
from xsquared.functions import Target
from xsquared.geometry import spline_gates
from xsquared.networks_1d.solver import SplineSearch, is_resolved
from xsquared.quadrature import between
from xsquared.training.inner_weights import InnerWeights
from xsquared.training.result import Fit, Gates
from xsquared.training.variable_projection import (
    ProjectedFit,
    iterates,
    last,
    to_network,
)
from xsquared.units import Unit, find_unit, space

#: Least share of the points that coefficients of a curve leave free: with all used it
#: is zero.
_LEAST_FREE = 1e-3


@dataclass(frozen=True)
class FreeKnots(SplineSearch):
    """Minimise the squared error's integral for a target of one variable.

    Knots descend from the optimal density; the best spline becomes a network by
    formula, judged by its forward pass (:class:`SplineSearch` has the settings). GQUs
    at kinks may be some times from the best: two knots of the smooth splines merge at a
    kink, for which a GQU has one neuron. At jumps GLUs and GQUs come out as the MLPs
    that they contain: float64 carries no curvature of the narrow cell there. The
    result's detail says so.

    Data with no target, or a standardised one, are fitted by a smooth curve through the
    points and by variable projection from there; held-out validation chooses before or
    after.
    """

    name: ClassVar[str] = "free_knots"

    def train(
        self, data: Dataset, unit: Unit, n_hidden: int, gates: Gates, seed: int
    ) -> Fit:
        """Train; the gates of a known target may be frozen on equidistant knots.

        A ValueError says that the data have several inputs, that gates are to be frozen
        without an unscaled target, or that the unit's networks are not splines.
        """
        scaled = (
            data.target_scale != 1
            or data.feature_scale[0] != 1
            or data.target_mean != 0
        )
        target = None if scaled else data.target
        if data.dim != 1 or (target is None and gates == "frozen"):
            raise ValueError(
                "free_knots fits one input, with frozen gates an unscaled target"
            )
        space(unit)
        if target is None:
            return self._fit_points(data, unit, n_hidden, seed)
        if gates == "frozen":
            frozen = fit_frozen(target, unit, n_hidden, self.max_iterations)
            return Fit(to_network(frozen, unit), frozen.status, frozen.iterations)
        return self._fit_target(data, target, unit, n_hidden, seed)

    def _fit_target(
        self, data: Dataset, target: Target, unit: Unit, n: int, seed: int
    ) -> Fit:
        """Fit the target; the status says where its error is not resolved.

        The detail says where a unit of fewer factors came closest.
        """
        network, spline = self.best_network(target, unit, n, seed)
        degree = spline.pieces.shape[1] - 1
        detail = ""
        if degree < unit.degree:
            detail = f"pieces of degree {degree} came closest: other factors are one"
        if not is_resolved(network, target):
            return Fit(network, "unresolved", spline.iterations, detail=detail)
        errors = spline(data.train.x[:, 0]) - data.train.y
        promised = float(np.sqrt(np.mean(errors**2)))
        return Fit(network, spline.status, spline.iterations, promised, detail=detail)

    def _fit_points(self, data: Dataset, unit: Unit, n: int, seed: int) -> Fit:
        """Fit a curve through the points, then the points from there."""
        curve = smoothing_spline(data.train)
        start, spline = self.best_network(curve, unit, n, seed)
        end = last(
            iterates(
                unit,
                torch.tensor(data.train.x),
                torch.tensor(data.train.y),
                InnerWeights.from_network(start),
                max_iterations=self.max_iterations,
            )
        )
        closest = to_network(end, unit)
        iterations = spline.iterations + end.iterations
        fit = Fit(closest, end.status, iterations, end.rmse, training_minimiser=closest)
        if data.split != "held-out":
            return fit
        errors = [data.error(network, data.validation) for network in (closest, start)]
        return fit if errors[0] <= errors[1] else replace(fit, network=start)


def fit_frozen(
    target: Target, unit: str | Unit, n: int, max_iterations: int
) -> ProjectedFit:
    """Fit the best weights for the paper's frozen gates.

    Iterations move the roots of a second factor; there are at most two.
    """
    record = find_unit(unit)
    gates = np.column_stack(spline_gates(n, target.domain[0], "alternating"))
    hinges = -gates[:, 1] / gates[:, 0]
    x, y, weights = weighted_points(target, hinges)
    factors = []
    if len(record.factors) > 1:
        second = gates / np.linalg.norm(gates, axis=1, keepdims=True)
        # Factors that vanish at the knot leave no lower powers: the first neuron
        # supplies them.
        second[0] = [0.0, 1.0]
        factors.append(torch.from_numpy(second))
    return last(
        iterates(
            record,
            torch.from_numpy(x[:, None]),
            torch.from_numpy(y),
            InnerWeights(torch.from_numpy(gates), tuple(factors)),
            weights=torch.from_numpy(weights),
            train_gates=False,
            max_iterations=max_iterations,
        )
    )


def weighted_points(
    target: Target, knots: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Choose points, target values and weights (sum 1), each (N,), between knots."""
    interval = target.domain[0]
    points, weights = between(interval, knots)
    return points, target(points), weights / np.ptp(interval)


@dataclass(frozen=True)
class Curve(Target):
    """A spline in the place of an expression."""

    spline: BSpline

    def __call__(self, *points: np.ndarray) -> np.ndarray:
        """Values at points of the domain."""
        return self.spline(*points)


def smoothing_spline(points: Points) -> Curve:
    """Fit the cubic spline of least cross-validated error to points of one input.

    Generalised cross-validation (Craven and Wahba, Numer. Math. 31, 1979) chooses its
    number of cells, so noise does not attract knots: 1, 2, 4, ... cells hold equally
    many points, at least two for each coefficient. Of N points and p = cells + 3
    coefficients, the error is the root of the sum of squares over 1 - p/N. Points that
    coincide count as one of their mean, with the root of their number as weight.
    """
    x, places, counts = np.unique(
        points.x[:, 0], return_inverse=True, return_counts=True
    )
    y = np.bincount(places, points.y) / counts
    ranks = np.arange(len(x))
    degree = min(3, len(x) - 1)
    least = np.inf
    cells = 1
    while cells == 1 or cells + degree <= len(x) / 2:
        ends = np.interp(np.linspace(0, len(x) - 1, cells + 1), ranks, x)
        knots = np.r_[[x[0]] * degree, ends, [x[-1]] * degree]
        spline = make_lsq_spline(x, y, knots, degree, np.sqrt(counts))
        free = max(1 - (cells + degree) / len(points), _LEAST_FREE)
        residual = spline(points.x[:, 0]) - points.y
        error = float(np.linalg.norm(residual)) / free
        if error < least:
            least, best = error, spline
        cells *= 2
    domain = ((float(x[0]), float(x[-1])),)
    return Curve(sp.Symbol("x", real=True), domain, "a curve through points", best)
