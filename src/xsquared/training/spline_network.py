"""Networks of n neurons from splines with free knots: the trainer for one dimension (ours).

A fit starts from knots of the asymptotically optimal density and from a jittered copy of them, and
then moves knots that are better spent elsewhere: the knot whose two cells have the least error goes
to the middle of the worst cell, and the fit runs again, as long as that pays.

How many cells n neurons have differs between the units:

- MLP: n + 1. If all n hinges lie inside the interval, the function is flat on one cell: gates left
  of it open to the left, gates right of it to the right. A flat cell costs little where it holds an
  extremum; for a target without one the fit on n cells with n - 1 inner knots is kept.
- GLU: n, with n - 1 inner knots and one hinge at the left end.
- GQU: n, if the first cell's cubic has real roots, so that one neuron can carry it; else n - 1, and
  two neurons at the left end. A GLU with n cells is a GQU too, and is taken where it is better.

References:
    Barrow and Smith, Quart. Appl. Math. 36 (1978), for the density; Jupp, SIAM J. Numer. Anal. 15
    (1978), for why merged knots stall and starts must be several.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from xsquared.constructions import network_from_pieces
from xsquared.data.dataset import Dataset
from xsquared.functions import Target
from xsquared.quadrature import on_cells
from xsquared.training.free_knots import (
    FreeKnotSpline,
    equidistributed_knots,
    fit_free_knots,
    space,
)
from xsquared.training.frozen_gates import fit_frozen
from xsquared.training.result import Gates, Trained
from xsquared.training.variable_projection import to_network
from xsquared.units import GatedNetwork, Unit, build, set_parameters

#: How far a jittered knot may go, in widths of the smaller cell beside it.
_JITTER = 0.4
#: Most knots moved to better places.
_MOST_MOVES = 4
#: A move must lower the error by this share to be worth another.
_WORTH = 1e-6
#: How many cells of the smallest rise are tried as an MLP's flat cell.
_FLAT_TRIALS = 3


@dataclass(frozen=True)
class FreeKnots:
    """Minimise the integral of the squared error of a target of one variable.

    Attributes:
        start: ``"density"`` with several starts and moves, or one run from ``"equidistant"`` knots.
        max_iterations: for a GQU's factors behind frozen gates.
    """

    name: ClassVar[str] = "free_knots"
    start: Literal["density", "equidistant"] = "density"
    max_iterations: int = 200

    def train(self, data: Dataset, unit: Unit, n_hidden: int, gates: Gates, seed: int) -> Trained:
        """Train."""
        target = data.target
        if target is None or data.dim != 1 or data.target_scale != 1.0:
            raise ValueError("free_knots needs the target itself, of one variable, unscaled")
        if gates == "frozen":
            frozen = fit_frozen(target, unit.name, n_hidden, self.max_iterations)
            return Trained(to_network(frozen, unit), frozen.status, frozen.iterations)
        made = (
            retrain_spline(target, unit.name, n_hidden)
            if self.start == "equidistant"
            else train_spline_network(target, unit.name, n_hidden, seed)
        )
        return Trained(made.network, made.spline.status, made.iterations)


@dataclass(frozen=True)
class SplineNetwork:
    """A network and the spline it came from.

    Attributes:
        network: n neurons.
        spline: the fitted spline.
        iterations: Levenberg-Marquardt iterations of all starts together.
    """

    network: GatedNetwork
    spline: FreeKnotSpline
    iterations: int


def best_spline(target: Target, unit: str, n_cells: int, seed: int) -> tuple[FreeKnotSpline, int]:
    """The best free-knot spline found from several starts, and all iterations spent.

    Args:
        target: a function of one variable with as many derivatives as the unit's order.
        unit: whose space.
        n_cells: at least 1.
        seed: of the jittered start.

    Raises:
        ValueError: as for :func:`xsquared.training.free_knots.equidistributed_knots`.
    """
    start = equidistributed_knots(target, space(unit).order, n_cells)
    width = np.diff(start)
    jitter = np.random.default_rng((seed, n_cells)).uniform(-_JITTER, _JITTER, n_cells - 1)
    jittered = start.copy()
    jittered[1:-1] += jitter * np.minimum(width[:-1], width[1:])
    fits = [fit_free_knots(target, unit, knots) for knots in (start, jittered)]
    best = min(fits, key=lambda fit: fit.rmse)
    iterations = sum(fit.iterations for fit in fits)
    for _ in range(_MOST_MOVES if n_cells > 3 else 0):
        moved = fit_free_knots(target, unit, _with_a_knot_moved(target, best))
        iterations += moved.iterations
        if not moved.rmse < best.rmse * (1 - _WORTH):
            break
        best = moved
    return best, iterations


def searched_spline(
    target: Target, unit: str, n_cells: int, seed: int, starts: int
) -> FreeKnotSpline:
    """The best free-knot spline from random knots: a check on :func:`best_spline`.

    It shares neither starts nor moves with that function. The cells of the asymptotically optimal
    density are stretched and shrunk independently, by factors drawn from a gamma distribution whose
    standard deviation is half its mean.

    Args:
        target: a function of one variable with as many derivatives as the unit's order.
        unit: whose space.
        n_cells: at least 1.
        seed: of the random knots, at least 0.
        starts: number of them, at least 1.

    Raises:
        ValueError: no start, or as for
            :func:`xsquared.training.free_knots.equidistributed_knots`.
    """
    if starts < 1:
        raise ValueError(f"starts must be at least 1, got {starts}")
    width = np.diff(equidistributed_knots(target, space(unit).order, n_cells))
    draw = np.random.default_rng((seed, n_cells))
    a, b = target.domain[0]
    fits = []
    for _ in range(starts):
        share = np.cumsum(width * draw.gamma(4.0, size=n_cells))
        knots = np.concatenate([[a], a + (b - a) * share / share[-1]])
        knots[-1] = b
        fits.append(fit_free_knots(target, unit, knots))
    return min(fits, key=lambda fit: fit.rmse)


def train_spline_network(target: Target, unit: str, n_hidden: int, seed: int) -> SplineNetwork:
    """Train all parameters of a network of one input and one output.

    Args:
        target: a function of one variable with as many derivatives as the unit's order.
        unit: ``"mlp"``, ``"glu"`` or ``"gqu"``.
        n_hidden: number of neurons, at least 1.
        seed: of the jittered start.

    Raises:
        ValueError: an unknown unit, fewer than one neuron, or several variables.
    """
    if n_hidden < 1:
        raise ValueError(f"n_hidden must be at least 1, got {n_hidden}")
    space(unit)
    spline, iterations = best_spline(target, unit, n_hidden, seed)
    if unit == "mlp":
        candidates = [
            SplineNetwork(_one_way(spline), spline, 0),
            _with_flat_cell(target, seed, n_hidden),
        ]
    elif unit == "glu":
        candidates = [SplineNetwork(_one_way(spline), spline, 0)]
    else:
        candidates = _gqu_candidates(target, spline, n_hidden, seed)
    best = min(candidates, key=lambda made: made.spline.rmse)
    total = iterations + sum(made.iterations for made in candidates)
    return SplineNetwork(best.network, best.spline, total)


def retrain_spline(target: Target, unit: str, n_hidden: int) -> SplineNetwork:
    """One run from equidistant knots, the paper's initialisation, without further starts or moves.

    Arguments and errors as for :func:`train_spline_network`.
    """
    if n_hidden < 1:
        raise ValueError(f"n_hidden must be at least 1, got {n_hidden}")
    spline = fit_free_knots(target, unit, np.linspace(*target.domain[0], n_hidden + 1))
    if unit == "gqu" and first_cell_factors(spline) is None:
        if n_hidden == 1:
            return _embedded_glu(target, 1, 0)
        fewer = fit_free_knots(target, unit, np.linspace(*target.domain[0], n_hidden))
        return SplineNetwork(_one_way(fewer), fewer, spline.iterations + fewer.iterations)
    network = _merged_gqu(spline) if unit == "gqu" else _one_way(spline)
    return SplineNetwork(network, spline, spline.iterations)


def cell_errors(target: Target, spline: FreeKnotSpline) -> np.ndarray:
    """Integral of the squared error over each cell, (n,)."""
    x, weights = on_cells(spline.knots)
    s = x - spline.knots[:-1, None]
    powers = np.stack([s**j for j in range(spline.pieces.shape[1])], axis=-1)
    error = np.einsum("kqj,kj->kq", powers, spline.pieces) - target(x)
    return np.sum(weights * error**2, axis=1)


def first_cell_factors(spline: FreeKnotSpline) -> np.ndarray | None:
    """Real factors of the first cell's cubic without its constant, or None where there are none.

    The cubic is c0 + s (c1 + c2 s + c3 s^2). Where the quadratic has real roots, one GQU neuron at
    the left end carries it.

    Returns:
        Rows (a, b) of two affine factors ``a s + b``, shape (2, 2).
    """
    _, c1, c2, c3 = spline.pieces[0]
    discriminant = c2**2 - 4 * c1 * c3
    if discriminant < 0:
        return None
    # The root of larger size first: no cancellation.
    q = -(c2 + np.copysign(np.sqrt(discriminant), c2)) / 2
    if q == 0:
        return np.array([[c3, 0.0], [1.0, 0.0]]) if c1 == 0 else np.array([[0.0, c1], [0.0, 1.0]])
    return np.array([[c3, -q], [1.0, -c1 / q]])


def _with_a_knot_moved(target: Target, spline: FreeKnotSpline) -> np.ndarray:
    """Knots with the least useful one put into the middle of the worst cell."""
    errors, knots = cell_errors(target, spline), spline.knots
    worst = int(np.argmax(errors))
    together = errors[:-1] + errors[1:]
    together[max(worst - 1, 0) : worst + 1] = np.inf
    least = int(np.argmin(together)) + 1
    middle = (knots[worst] + knots[worst + 1]) / 2
    return np.sort(np.append(np.delete(knots, least), middle))


def _one_way(spline: FreeKnotSpline) -> GatedNetwork:
    """All gates open to the right."""
    return network_from_pieces(spline.unit, spline.knots, spline.pieces)


def _with_flat_cell(target: Target, seed: int, n_hidden: int) -> SplineNetwork:
    """The best MLP found that has all its hinges inside the interval."""
    free, iterations = best_spline(target, "mlp", n_hidden + 1, seed)
    rise = np.abs(free.pieces[:, 1]) * np.diff(free.knots)
    fits = [
        (int(cell), fit_free_knots(target, "mlp", free.knots, flat_cell=int(cell)))
        for cell in np.argsort(rise)[:_FLAT_TRIALS]
    ]
    cell, best = min(fits, key=lambda pair: pair[1].rmse)
    slopes = best.pieces[:, 1]
    signs = np.where(np.arange(n_hidden) < cell, -1.0, 1.0)
    network = build("mlp", 1, n_hidden)
    set_parameters(
        network,
        G=signs[:, None],
        g=-signs * best.knots[1:-1],
        D=np.diff(slopes)[None],
        d=best.pieces[cell, :1],
    )
    return SplineNetwork(network, best, iterations + sum(fit.iterations for _, fit in fits))


def _gqu_candidates(
    target: Target, spline: FreeKnotSpline, n_hidden: int, seed: int
) -> list[SplineNetwork]:
    if first_cell_factors(spline) is not None:
        return [SplineNetwork(_merged_gqu(spline), spline, 0)]
    candidates = [_embedded_glu(target, n_hidden, seed)]
    if n_hidden > 1:
        fewer, iterations = best_spline(target, "gqu", n_hidden - 1, seed)
        candidates.append(SplineNetwork(_one_way(fewer), fewer, iterations))
    return candidates


def _merged_gqu(spline: FreeKnotSpline) -> GatedNetwork:
    """The GQU with one neuron per cell, whose first cell's cubic has real roots."""
    factors = first_cell_factors(spline)
    if factors is None:
        raise ValueError("the first cell's cubic has no real factors")
    whole = network_from_pieces("gqu", spline.knots, spline.pieces)
    left = spline.knots[0]
    weights = {
        name: value.detach().numpy()[..., 1:].copy()
        if name == "D"
        else value.detach().numpy()[1:].copy()
        for name, value in whole.named_parameters()
        if name != "d"
    }
    for (a, b), weight, bias in zip(factors, "UQ", "uq", strict=True):
        weights[weight][0], weights[bias][0] = a, b - a * left
    network = build("gqu", 1, len(spline.pieces))
    set_parameters(network, d=whole.d.detach().numpy(), **weights)
    return network


def _embedded_glu(target: Target, n_hidden: int, seed: int) -> SplineNetwork:
    """The GLU of n neurons as a GQU: its second factor is one."""
    spline, iterations = best_spline(target, "glu", n_hidden, seed)
    glu = _one_way(spline)
    network = build("gqu", 1, n_hidden)
    weights = {name: value.detach().numpy() for name, value in glu.named_parameters()}
    set_parameters(network, Q=np.zeros((n_hidden, 1)), q=np.ones(n_hidden), **weights)
    return SplineNetwork(network, spline, iterations)
