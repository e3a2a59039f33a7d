"""Networks of one input from the best splines that can be found.

All hinges of n neurons may lie inside the domain: n + 1 cells, if the directions of the
gates make the polynomial behind them constant (:mod:`xsquared.networks_1d.directions`).
With n cells one gate is open everywhere (:mod:`xsquared.networks_1d.conversion`).
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from xsquared.errors import unchecked_rmse
from xsquared.functions import Target, interval_of
from xsquared.geometry import knots
from xsquared.networks_1d.conversion import network_from_spline
from xsquared.networks_1d.directions import best_directions
from xsquared.quadrature import between
from xsquared.splines.density import equidistributed_knots
from xsquared.splines.free_knots import FreeKnotSpline, fit_free_knots, fit_stacked
from xsquared.splines.spaces import Space
from xsquared.units import (
    GatedNetwork,
    Unit,
    build,
    find_unit,
    predict,
    set_parameters,
    space,
)

#: How far a knot is jittered, in widths of the smaller cell beside it: below 1/2 knots
#: keep their order.
_JITTER = 0.4
#: Cells of the second measurement: with eight nodes each they see a thousand waves.
_MEASURED_CELLS = 1000
#: Share by which the second measurement may differ: an error is quoted to a tenth.
_MEASURED_SHARE = 0.1
#: Arguments z of a smooth gate between which it bends: cut there, eight nodes a cell
#: miss at most 1.1 per cent of the distance of tanh, sigmoid, GELU and SiLU from the
#: step or hinge they tend to, in domains of up to a million widths. Cut at -1, 0 and 1
#: they miss half of SiLU's, without cuts all.
_GATE_EDGES = np.array([-4.0, 0.0, 4.0])
#: Rounding of values, as a share of the largest: errors below it are not compared.
_ROUNDING = 1e-12
#: Share by which a forward pass may come closer than its spline, which is measured at
#: other nodes: 4e-6 at a jump, 4e-11 where targets are smooth.
_NODES_SHARE = 1e-5
#: The error of a forward pass, its network, and the spline that this is.
_Candidate = tuple[float, GatedNetwork, FreeKnotSpline]


@dataclass(frozen=True)
class SplineSearch:
    """Search for splines of least error, and for the networks of n neurons they are.

    Attributes:
        max_iterations: Newton steps of each descent; few take more than a hundred.
        stacked_cells: cells of all splines that descend from starts together, and from
            directions of narrow networks, which have more optima than wide ones. In
            arrays so many cost little more than few.
        directions: choices of directions in wide networks. Of eight the best is within
            0.3 per cent of what 32 find for the paper's target.
    """

    max_iterations: int = 300
    stacked_cells: int = 160
    directions: int = 8

    def best_spline(
        self, f: Target, shape: Space, cells: int, seed: int = 0
    ) -> FreeKnotSpline:
        """Descend from the density's knots and jittered copies; take the best."""
        density_knots = equidistributed_knots(f, shape, cells)
        widths = np.diff(density_knots)
        room = _JITTER * np.minimum(widths[:-1], widths[1:])
        rng = np.random.default_rng((seed, cells))
        count = max(self.stacked_cells // cells, 1)
        shifts = np.zeros((count, cells + 1))
        shifts[1:, 1:-1] = rng.uniform(-room, room, (count - 1, cells - 1))
        starts = density_knots + shifts
        splines = fit_stacked(f, shape, starts, self.max_iterations, None)
        return min(splines, key=lambda spline: spline.rmse)

    def best_network(
        self, f: Target, unit: str | Unit, n: int, seed: int = 0
    ) -> tuple[GatedNetwork, FreeKnotSpline]:
        """Train all parameters of n neurons for the squared error's integral over f.

        Return the network whose forward pass has the least error and the spline that
        it is, of a unit with a factor less where that comes closer. A
        FloatingPointError says that no spline found is a network in float64.
        """
        record = find_unit(unit)
        candidates = self._with_directions(f, record, n, seed)
        least = min((error for error, *_ in candidates), default=np.inf)
        # A search where a descent from the density's knots alone comes closer.
        if self._from_density(f, space(record), n).rmse < least:
            candidates += self._with_open_gate(f, record, n, seed)
        if record.factors:
            # Pieces of a degree less may bend at every knot: at kinks they come closer.
            lesser = replace(record, factors=record.factors[:-1])
            if self._from_density(f, space(lesser), n + 1).rmse < least:
                network, spline = self.best_network(f, lesser, n, seed)
                equal = _with_unit_factor(network, record)
                candidates.append((unchecked_rmse(equal, f), equal, spline))
        if not candidates:
            raise FloatingPointError(f"no spline of {n} cells is a network in float64")
        _, network, spline = min(candidates, key=itemgetter(0))
        return network, spline

    def _from_density(self, f: Target, shape: Space, cells: int) -> FreeKnotSpline:
        """Descend from the optimal density's knots alone."""
        density_knots = equidistributed_knots(f, shape, cells)
        return fit_free_knots(f, shape, density_knots, self.max_iterations)

    def _with_directions(
        self, f: Target, unit: Unit, n: int, seed: int
    ) -> list[_Candidate]:
        """Search n + 1 cells, whose gates have chosen directions."""
        shape = space(unit)
        best_knots = self.best_spline(f, shape, n + 1, seed).knots
        count = max(self.stacked_cells // (n + 1), self.directions)
        directions = np.array(best_directions(f, unit, best_knots, count))
        starts = np.tile(best_knots, (len(directions), 1))
        splines = fit_stacked(f, shape, starts, self.max_iterations, directions)
        return _judged(f, unit, splines, n)

    def _with_open_gate(
        self, f: Target, unit: Unit, n: int, seed: int
    ) -> list[_Candidate]:
        """Search n cells, one gate of which is open everywhere.

        Of GQUs that takes a cubic with real roots; where it has none, n - 1 cells do.
        """
        shape = space(unit)
        spline = self.best_spline(f, shape, n, seed)
        candidates = _judged(f, unit, [spline], n)
        if not candidates and n > 1:
            spline = self.best_spline(f, shape, n - 1, seed)
            candidates = _judged(f, unit, [spline], n)
        return candidates


def _judged(
    f: Target, unit: Unit, splines: list[FreeKnotSpline], n: int
) -> list[_Candidate]:
    """Build networks of n neurons that are splines, and measure their forward passes.

    Splines whose own error is above a network's are left out.
    """
    candidates: list[_Candidate] = []
    least = np.inf
    for spline in splines:
        if spline.rmse > (1 + _NODES_SHARE) * least:
            continue
        # Rounding tears the pieces of merged cells apart, and some have no real roots.
        with suppress(ValueError):
            network = network_from_spline(unit, spline, n)
            error = unchecked_rmse(network, f)
            candidates.append((error, network, spline))
            least = min(least, error)
    return candidates


def _with_unit_factor(network: GatedNetwork, unit: Unit) -> GatedNetwork:
    """Copy a network of one input to a unit with a factor more, one everywhere."""
    n = network.n_hidden
    copy = build(unit, 1, n)
    weight, bias = unit.factors[-1]
    ones = {weight: np.zeros((n, 1)), bias: np.ones(n)}
    set_parameters(copy, **network.state_dict(), **ones)
    return copy


def is_resolved(network: GatedNetwork, f: Target, error: float | None = None) -> bool:
    """Measure an error once more, on cells where f bends; say whether it stays.

    The nodes of a fit lie between its own knots, and sampled points lie evenly. Where f
    has a jump, a peak or waves that they do not see, the fit's error is too small.

    Args:
        network: of one input, with any gate.
        f: what it is to be.
        error: root mean square; None is that of :func:`xsquared.errors.measured_rmse`.
    """
    a, b = interval_of(f)
    bends = equidistributed_knots(f, Space(1, 0), _MEASURED_CELLS)
    cuts = np.concatenate([bends, _gate_edges(network), f.jumps()])
    x, weights = between((a, b), cuts)
    values = f(x)
    square = weights @ (predict(network, x) - values) ** 2 / (b - a)
    if error is None:
        error = unchecked_rmse(network, f)
    rounding = _ROUNDING * float(np.abs(values).max())
    return bool(np.sqrt(square) <= (1 + _MEASURED_SHARE) * error + rounding)


def _gate_edges(network: GatedNetwork) -> np.ndarray:
    """Find the knots of hinged gates; of others, places some widths 1/G about -g/G."""
    if network.gate.hinged:
        return knots(network)
    slope = network.G.detach().numpy()[:, 0]
    bias = network.g.detach().numpy()
    bends = slope != 0
    return ((_GATE_EDGES[:, None] - bias[bends]) / slope[bends]).ravel()
