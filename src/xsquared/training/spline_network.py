"""Free knots: networks of n neurons from the best splines of one variable (ours).

Of n neurons with p affine factors all n hinges may lie inside the domain: n + 1 cells, the most
that n neurons can have. No neuron is then left for the polynomial behind all gates, which has to be
constant. The directions of the gates decide how much error that adds, in general next to nothing
(:func:`xsquared.training.directions.best_directions`). The alternative
has n cells: one gate is open everywhere and carries the polynomial of one cell, the anchor, from
which the other gates open away. For a GQU its cubic needs real roots, else n - 1 cells are left.

References:
    Barrow and Smith, Quart. Appl. Math. 36 (1978), for the density; Jupp, SIAM J. Numer. Anal. 15
    (1978), for why merged knots stall and starts must be several.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal, get_args

import numpy as np
import torch

from xsquared.checks import check_choice, check_integer
from xsquared.data.dataset import Dataset
from xsquared.errors import measured_rmse
from xsquared.functions import Target
from xsquared.splines.density import equidistributed_knots, proportioned_knots
from xsquared.splines.free_knots import DAMPING, FreeKnotSpline, fit_free_knots
from xsquared.training.conversion import spline_network
from xsquared.training.directions import best_directions
from xsquared.training.exchanged_knots import exchanged, with_a_knot_moved
from xsquared.training.free_roots import DRAWN_ROWS, best_descent, drawn_rows
from xsquared.training.frozen_gates import fit_frozen
from xsquared.training.points import descend_on_points, exact_target, smoothing_spline
from xsquared.training.result import Gates, Trained
from xsquared.training.variable_projection import Rows, to_network
from xsquared.units import GatedNetwork, Unit, build, find_unit, set_parameters, space

#: A move must lower the error by this share to be worth another.
_WORTH = 1e-6
#: Errors that differ by less are of one optimum.
_SAME = 1e-4
#: A fit with a knot moved goes on where after a few iterations it is so nearly as good as before.
_NEAR = 1.25
# In the study `ablation` none of those up to _MERGED, cut, moves a median by one per cent. They
# rescue single cases, most of them of narrow networks, as the study `misses` counts them.
#: How far a knot is jittered at most, in widths of the smaller cell beside it; below a half, beyond
#: which knots could cross.
_JITTER = 0.4
#: The widest network whose optima are searched more closely.
_NARROW = 8
#: Such networks have many fits: steps of each in first rounds, and how many of them go on;
_FIRST_ROUNDS = ((8, 16),)
#: the number of best ones that go on to the end after ``trial_iterations``.
_AHEAD = 5
#: Random knots from which directions are tried as well; of networks of fewer than _FEW neurons, and
#: of their drawn rows, a share that grows like the square of n.
_RANDOM_KNOTS = 48
#: Networks so narrow have most optima. GQUs no wider try slopes that jump; wider ones where
#: a unit of one factor less wins, or cells narrower than this share of those beside them show it.
_FEW, _MERGED = 3, 0.25

Start = Literal["density", "equidistant"]


@dataclass(frozen=True)
class FreeKnots:
    """Minimise the integral of the squared error of a target f of one variable, or that on points.

    Over knots t and splines s of the unit's space, with the constraints of its neurons::

        min_t min_s  1/(b - a) * integral of (f(x) - s(x))**2 over [a, b]

    1. Knots start at equal shares of the integral of abs(f^(k))**(2/(2k + 1)), which is optimal as
       n grows (k the unit's order), and at jittered copies.
    2. For given knots the best s is a banded linear problem; damped Newton steps move the knots.
    3. At each optimum, or the best if n > 8, gates' directions are chosen, and the fit goes on.
    4. A knot is put elsewhere, while that pays: the least useful one into the worst cell; up to
       eight neurons the best of many exchanges.
    5. Up to eight neurons, and where directions cost much: gates away from an anchor; up to eight
       random knots, too. GQUs where it may pay: slopes that jump at the hinges.
    6. The best spline becomes a network by formula; its forward pass is what is judged.

    Data without a target, or scaled, are fitted by way of a smooth curve through the points, in
    place of f; from there variable projection descends on the points themselves. Of a held-out
    split the network before that descent is kept where validation points favour it.

    Attributes:
        max_iterations: of each local fit.
        start: ``"density"`` as above, or ``"equidistant"`` knots, which are the paper's.
        starts: local fits that are compared: the start itself and jittered ones.
        moves: most knots moved (4.).
        directions: choices of directions fitted at an optimum (3.); with 0, an anchor alone.
        trial_iterations: of each of these fits before the best goes on, or some of them in narrow
            networks; a fit with a knot moved has twice as many until it must be near the best.
    """

    name: ClassVar[str] = "free_knots"
    max_iterations: int = 300
    start: Start = "density"
    starts: int = 3
    moves: int = 4
    directions: int = 4
    trial_iterations: int = 25

    def __post_init__(self) -> None:
        for name in ("moves", "directions"):
            check_integer(name, getattr(self, name), 0)
        for name in ("max_iterations", "starts", "trial_iterations"):
            check_integer(name, getattr(self, name), 1)
        check_choice("start", self.start, get_args(Start))

    def train(self, data: Dataset, unit: Unit, n_hidden: int, gates: Gates, seed: int) -> Trained:
        """Train; the gates of a known target may be frozen on equidistant knots."""
        target = exact_target(data)
        if data.dim != 1 or (target is None and gates == "frozen"):
            raise ValueError(
                f"free_knots fits points of one input, and freezes gates of unscaled data of a "
                f"known target, as sampled(target); {data.name} has {data.dim} features"
            )
        space(unit)
        if target is None:
            return self._on_points(data, unit, n_hidden, seed)
        if gates == "frozen":
            frozen = fit_frozen(target, unit, n_hidden, self.max_iterations)
            return Trained(to_network(frozen, unit), frozen.status, frozen.iterations)
        made = self.fit_target(target, unit, n_hidden, seed)
        promised = None
        if made.spline is not None:
            missed = made.spline(data.train.x[:, 0]) - data.train.y
            promised = float(np.sqrt(np.mean(missed**2)))
        return Trained(made.network, made.status, made.iterations, promised)

    def _on_points(self, data: Dataset, unit: Unit, n_hidden: int, seed: int) -> Trained:
        """The network for a curve, then on the points; held out, the one of less validation."""
        made = self.fit_target(smoothing_spline(data.train, data.name), unit, n_hidden, seed)
        end = descend_on_points(made.network, data.train, self.max_iterations)
        closest = to_network(end, unit)
        chosen = closest
        if data.split == "held-out":
            chosen = min(closest, made.network, key=lambda one: data.error(one, data.validation))
        iterations = made.iterations + end.iterations
        return Trained(chosen, end.status, iterations, end.rmse, closest=closest)

    def fit_target(
        self, target: Target, unit: str | Unit, n_hidden: int, seed: int = 0
    ) -> SplineNetwork:
        """Train all parameters of n neurons, for the error over the target's whole domain."""
        record = find_unit(unit)
        order = space(record).degree + 1
        made: list[SplineNetwork] = []

        def add(spline: FreeKnotSpline) -> float:
            """The error of the forward pass; infinite where n neurons cannot carry the spline."""
            try:
                network = spline_network(record, spline, n_hidden)
            except ValueError:  # rounding of cells that have all but merged: the pieces do not meet
                network = None
            if network is None:
                return np.inf
            made.append(
                SplineNetwork(network, spline, 0, measured_rmse(network, target), spline.status)
            )
            return made[-1].rmse

        spent, reached, bound = 0, np.inf, 0.0
        if self.directions:
            found = self._optima(target, record, n_hidden + 1, seed)
            optima = _distinct(found)
            ends, tried = self._with_directions(target, record, n_hidden, optima, seed)
            spent += sum(one.iterations for one in (*found, *ends)) + tried
            reached = add(min(ends, key=lambda one: one.rmse))
            bound = optima[0].rmse * (1 + 1 / n_hidden) ** order
        if n_hidden <= _NARROW or not reached <= bound:
            spline = self.spline(target, record, n_hidden, seed)
            spent += spline.iterations
            if add(spline) == np.inf and n_hidden > 1:
                spline = self.spline(target, record, n_hidden - 1, seed)
                spent += spline.iterations
                add(spline)
        best = min(made, key=lambda one: one.rmse, default=None)
        # Kinks: pieces that merely meet, of a degree less, come closer than smooth ones.
        kinked = n_hidden <= _FEW
        if order > 3 and not kinked and best is not None:
            fewer = replace(record, factors=record.factors[:-1])
            knots = equidistributed_knots(target, space(fewer), n_hidden + 1)
            if not (kinked := _merged(best.spline)):
                other = self._fit(target, fewer, knots)
                kinked, spent = other.rmse < best.rmse, spent + other.iterations
        if (kinked and order > 3) or (record.factors and not (best and best.holds)):
            jumping = self._with_free_roots(target, record, n_hidden, seed)
            spent += sum(one.iterations for one in jumping)
            made += jumping
        best = min(made, key=lambda one: one.rmse)
        if not best.holds and 1 < n_hidden <= _NARROW:  # what a neuron less can do, n can
            less = self.fit_target(target, record, n_hidden - 1, seed)
            spent += less.iterations
            made.append(less)
        best = min(made, key=lambda one: one.rmse)
        return replace(best, network=_widened(best.network, n_hidden), iterations=spent)

    def _with_directions(
        self, target: Target, unit: Unit, n_hidden: int, optima: list[FreeKnotSpline], seed: int
    ) -> tuple[list[FreeKnotSpline], int]:
        """Fits of n + 1 cells on which n gates suffice, and all short fits' iterations."""
        narrow = n_hidden <= _NARROW
        places = [(free.knots, self.directions) for free in optima[: None if narrow else 1]]
        if narrow:
            width = np.diff(equidistributed_knots(target, space(unit), n_hidden + 1))
            draw = np.random.default_rng((seed, n_hidden, 1))
            places += [
                (proportioned_knots(target, width * draw.exponential(size=len(width))), 2)
                for _ in range(_share(_RANDOM_KNOTS, n_hidden))
            ]
        tries: list[tuple[np.ndarray, np.ndarray | None]] = [
            (knots, directions)
            for knots, count in places
            for directions in best_directions(target, unit, knots, min(count, self.directions))
        ]
        spent = 0
        for limit, kept in self._rounds(narrow):
            fits = [
                self._fit(target, unit, knots, directions, limit) for knots, directions in tries
            ]
            spent += sum(one.iterations for one in fits)
            tries = [(one.knots, one.directions) for one in _distinct(fits)[:kept]]
        ends = [self._fit(target, unit, *one) for one in tries]
        if narrow:
            best = min(ends, key=lambda one: one.rmse)
            ends = [*ends, *self._moved(target, unit, best)[1:]]
        return ends, spent

    def _rounds(self, narrow: bool) -> list[tuple[int, int]]:
        """Iterations of short fits, and how many of them go on."""
        first = _FIRST_ROUNDS if narrow else ()
        return [*first, (self.trial_iterations, _AHEAD if narrow else 1)]

    def _with_free_roots(
        self, target: Target, unit: Unit, n_hidden: int, seed: int
    ) -> list[SplineNetwork]:
        """Networks with jumps of the slope, as of a unit with a factor less, or with free roots.

        First that unit's, the last factor set to one. With two factors also variable projection,
        from it and, where the network is narrow, from drawn rows.
        """
        fewer = replace(unit, factors=unit.factors[:-1])
        inner = self.fit_target(target, fewer, n_hidden, seed)
        network = build(unit, 1, n_hidden)
        (weight, bias) = unit.factors[-1]
        ones = {weight: np.zeros((n_hidden, 1)), bias: np.ones(n_hidden)}
        values = {name: value.detach().numpy() for name, value in inner.network.named_parameters()}
        set_parameters(network, **values, **ones)
        made = [replace(inner, network=network)]
        if len(unit.factors) < 2:
            return made
        gates = np.column_stack([values["G"], values["g"]])
        constant = np.tile([0.0, 1.0], (n_hidden, 1))
        starts = [Rows(torch.from_numpy(gates), (torch.from_numpy(constant),))]
        if n_hidden <= _NARROW:
            hinges, draw = -gates[:, 1] / gates[:, 0], np.random.default_rng((seed, n_hidden))
            starts += drawn_rows(target, hinges, _share(DRAWN_ROWS, n_hidden), draw)
        best, spent = best_descent(target, unit, starts, self.max_iterations)
        network = to_network(best, unit)
        error = measured_rmse(network, target)
        return [*made, SplineNetwork(network, None, spent, error, best.status)]

    def spline(
        self, target: Target, unit: str | Unit, n_cells: int, seed: int = 0
    ) -> FreeKnotSpline:
        """The best spline of the unit's space found, with iterations of all starts and moves."""
        fits = self._optima(target, unit, n_cells, seed)
        best = min(fits, key=lambda fit: fit.rmse)
        return replace(best, iterations=sum(fit.iterations for fit in fits))

    def _optima(
        self, target: Target, unit: str | Unit, n_cells: int, seed: int
    ) -> list[FreeKnotSpline]:
        """Where the starts lead, and the best of them with knots moved as long as that pays."""
        fits = [
            self._fit(target, unit, knots) for knots in self._knots(target, unit, n_cells, seed)
        ]
        best = min(fits, key=lambda fit: fit.rmse)
        return [*fits, *self._moved(target, unit, best)[1:]]

    def _moved(
        self, target: Target, unit: str | Unit, best: FreeKnotSpline
    ) -> list[FreeKnotSpline]:
        """A fit, and those after it with a knot put better, as long as that pays.

        Where cells merge a fit takes all iterations, for nothing; so each must be near soon.
        """
        fits, soon = [best], min(2 * self.trial_iterations, self.max_iterations)
        narrow = len(best.pieces) <= _NARROW + 1
        for _ in range(self.moves if len(best.pieces) > 1 else 0):
            if narrow:
                start = exchanged(target, space(unit), best, partial(self._fit, target, unit))
                knots, directions, spent = start.knots, start.directions, start.iterations
            else:
                knots, directions, spent = with_a_knot_moved(target, best), best.directions, 0
            moved = self._fit(target, unit, knots, directions, soon)
            if moved.status == "iterations" and moved.rmse < _NEAR * best.rmse:
                spent += moved.iterations
                moved = self._fit(target, unit, moved.knots, directions)
            moved = replace(moved, iterations=moved.iterations + spent)
            fits.append(moved)
            if not moved.rmse < best.rmse * (1 - _WORTH):
                break
            best = moved
        return fits

    def _fit(
        self,
        target: Target,
        unit: str | Unit,
        knots: np.ndarray,
        directions: np.ndarray | None = None,
        limit: int | None = None,
    ) -> FreeKnotSpline:
        limit = self.max_iterations if limit is None else min(limit, self.max_iterations)
        return fit_free_knots(target, space(unit), knots, limit, directions, DAMPING)

    def _knots(self, target: Target, unit: str | Unit, n_cells: int, seed: int) -> list[np.ndarray]:
        """The starts, each (n_cells + 1,)."""
        a, b = target.domain[0]
        plain = equidistributed_knots(target, space(unit), n_cells)
        if self.start == "equidistant":
            plain = np.linspace(a, b, n_cells + 1)
        width, draw = np.diff(plain), np.random.default_rng((seed, n_cells))
        room = np.minimum(width[:-1], width[1:])
        shifts = draw.uniform(-_JITTER, _JITTER, (self.starts - 1, n_cells - 1)) * room
        return [plain, *(plain + np.pad(shift, 1) for shift in shifts)]


@dataclass(frozen=True)
class SplineNetwork:
    """A network and the spline it came from.

    Attributes:
        network: n neurons.
        spline: the fitted spline; None where the network was fitted itself.
        iterations: damped Newton steps of all candidates together.
        rmse: of the network's forward pass over the domain.
        status: how the fit ended.
    """

    network: GatedNetwork
    spline: FreeKnotSpline | None
    iterations: int
    rmse: float
    status: str

    @property
    def holds(self) -> bool:
        """Whether the forward pass has the spline's error, up to one per cent and to rounding."""
        if self.spline is None:
            return True
        rounding = 1e-15 * float(np.abs(self.spline.pieces[:, 0]).max())
        return self.rmse <= 1.01 * self.spline.rmse + rounding


def _share(count: int, n_hidden: int) -> int:
    """How many of so many starts n neurons have use for: a share (n/_FEW)^2, at most all."""
    few = min(n_hidden, _FEW)
    return count * few**2 // max(_FEW, 1) ** 2


def _merged(spline: FreeKnotSpline | None) -> bool:
    """Whether a cell is much narrower than both beside it, as where a smooth spline has a kink."""
    if spline is None:
        return False
    width = np.diff(spline.knots)
    return bool((width[1:-1] < _MERGED * np.minimum(width[:-2], width[2:])).any())


def _widened(network: GatedNetwork, n_hidden: int) -> GatedNetwork:
    """The same function with neurons that are not read out: copies of the last one."""
    idle = n_hidden - network.n_hidden
    if not idle:
        return network
    wider = build(network.unit, 1, n_hidden)
    values = {
        name: np.pad(
            getattr(network, name).detach().numpy(),
            [(0, idle * (size == n_hidden)) for size in parameter.shape],
            mode="edge",
        )
        for name, parameter in wider.named_parameters()
    }
    values["D"][:, network.n_hidden :] = 0.0
    set_parameters(wider, **values)
    return wider


def _distinct(fits: list[FreeKnotSpline]) -> list[FreeKnotSpline]:
    """The fits by error, one of each group with nearly the same."""
    made: list[FreeKnotSpline] = []
    for one in sorted(fits, key=lambda fit: fit.rmse):
        if not made or one.rmse > made[-1].rmse * (1 + _SAME):
            made.append(one)
    return made
