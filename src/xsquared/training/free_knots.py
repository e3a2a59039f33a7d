"""Free knots: networks of one input from the best splines (ours).

Of a known target the integral of the squared error is minimised; of points the sum, by
variable projection from the network for a smooth curve through them.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch

from xsquared.data.dataset import Dataset
from xsquared.functions import Target
from xsquared.networks_1d.points import smoothing_spline
from xsquared.networks_1d.solver import SplineSearch, is_resolved
from xsquared.training.frozen_gates import fit_frozen
from xsquared.training.inner_weights import InnerWeights
from xsquared.training.result import Fit, Gates
from xsquared.training.variable_projection import iterates, last, to_network
from xsquared.units import Unit, space


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
