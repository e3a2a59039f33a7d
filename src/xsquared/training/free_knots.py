"""Free knots: networks of n neurons from the best splines of one variable (ours).

All hinges of n neurons may lie inside: n + 1 cells, with a constant polynomial behind
the gates (``directions.py``), or n cells, with one gate open everywhere
(``conversion.py``). Starts are several, as merged knots stall (Jupp, SIAM J. Numer.
Anal. 15, 1978).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, takewhile
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
import torch

from xsquared.data.dataset import Dataset
from xsquared.errors import measured_rmse
from xsquared.functions import Target
from xsquared.networks_1d.conversion import network_from_spline
from xsquared.networks_1d.directions import best_directions
from xsquared.networks_1d.points import smoothing_spline
from xsquared.splines.density import equidistributed_knots, is_rough, proportioned_knots
from xsquared.splines.free_knots import FreeKnotSpline, fit_free_knots, fit_stacked
from xsquared.splines.spaces import Space
from xsquared.training.frozen_gates import fit_frozen, weighted_points
from xsquared.training.greedy import greedy_rows
from xsquared.training.inner_weights import InnerWeights
from xsquared.training.result import Fit, Gates
from xsquared.training.variable_projection import iterates, last, to_network
from xsquared.units import GatedNetwork, Unit, build, find_unit, set_parameters, space

#: What is narrow, at most; its random knots; a GQU's greedy neurons over all starts,
#: and of rough targets; by what these multiply starts; their draws of gates; the width
#: over its neighbours' of a cell at a kink, for whose two knots a GQU has one gate.
_NARROW, _RANDOM, _INSERTED, _ROUGH, _DRAWN, _KINK = 8, 8, (10, 120), 4, 40, 0.1
#: Steps of fits, and how many of these go on, in narrow networks, in wide, and of rough
#: targets.
_STAGES = (
    ((12, 16), (36, 4), (60, 2), (9999, 2)),
    ((12, 2), (9999, 2)),
    ((25, 8), (9999, 8)),
)
#: Directions are chosen once more, so many with these steps, beyond this share of the
#: best spline.
_TIGHT, _AGAIN, _DEEP = 1.01, 32, ((25, 16), (60, 4), (9999, 2))
#: Variable projection: first steps, cells of its rule, how many times the error reached
#: the best start may have to go on, and steps after which it has to be below that
#: error.
_FIRST, _CELLS, _NEAR, _SOON = 6, 60, 1.5, 30
#: Errors that differ by less are of one optimum; how many times the best one's those go
#: on with; how far a knot is jittered at most, in widths of the smaller cell beside it.
_SAME, _CLOSE, _JITTER = 1e-4, 1.5, 0.4
_error = attrgetter("rmse")


@dataclass(frozen=True)
class FreeKnots:
    """Minimise the squared error's integral for a target f of one variable, or the sum
    on points.

    Knots start from the optimal density and jittered copies, and take damped Newton
    steps. At the best optimum (up to eight neurons: at four, and at random knots)
    directions of gates are chosen, once more where the fits stay behind that optimum.
    The best spline becomes a network by formula. It competes, by its forward pass, with
    n cells whose gates all open away from one, with a unit of one factor less, and in
    narrow networks or at kinks with descents from gates inserted, drawn.

    Data with no target, or a standardised one, are fitted by a smooth curve through the
    points and by variable projection from there; held-out validation chooses before or
    after.
    """

    name: ClassVar[str] = "free_knots"
    max_iterations: int = 300
    starts: int = (
        3  # half the local fits without directions: the density's and jittered ones
    )
    directions: int = (
        4  # a quarter of the choices at an optimum, half of wide MLPs' and GLUs'
    )

    def train(
        self, data: Dataset, unit: Unit, n_hidden: int, gates: Gates, seed: int
    ) -> Fit:
        """Train; the gates of a known target may be frozen on equidistant knots."""
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
        if target is not None and gates == "frozen":
            frozen = fit_frozen(target, unit, n_hidden, self.max_iterations)
            return Fit(to_network(frozen, unit), frozen.status, frozen.iterations)
        made = self.fit_target(
            target or smoothing_spline(data.train), unit, n_hidden, seed
        )
        if target is not None:
            missed = (
                None
                if made.spline is None
                else made.spline(data.train.x[:, 0]) - data.train.y
            )
            promised = None if missed is None else float(np.sqrt(np.mean(missed**2)))
            return Fit(made.network, made.status, made.iterations, promised)
        x, y, start = (
            torch.tensor(data.train.x),
            torch.tensor(data.train.y),
            InnerWeights.from_network(made.network),
        )
        end = last(
            iterates(made.network.unit, x, y, start, max_iterations=self.max_iterations)
        )
        closest = chosen = to_network(end, unit)
        if data.split == "held-out":
            chosen = min(
                closest, made.network, key=lambda one: data.error(one, data.validation)
            )
        iterations = made.iterations + end.iterations
        return Fit(chosen, end.status, iterations, end.rmse, training_minimiser=closest)

    def fit_target(
        self, target: Target, unit: str | Unit, n: int, seed: int = 0
    ) -> SplineNetwork:
        """Train all parameters of n neurons, for the error over the target's whole
        domain.
        """
        record = find_unit(unit)
        shape, narrow, several = space(record), n <= _NARROW, len(record.factors) > 1
        made, rough = list[SplineNetwork](), is_rough(target)
        optima, draw = (
            self._optima(target, shape, n + 1, seed),
            np.random.default_rng((seed, n)),
        )
        bound = optima[0].rmse * (1 + 1 / n) ** (shape.degree + 1)
        for spline in self._with_directions(target, record, optima, seed):
            made += _measured(target, record, spline, n)
        if narrow or not min(map(_error, made), default=np.inf) <= bound:
            splines = (
                self.spline(target, record, cells, seed) for cells in (n, max(n - 1, 1))
            )
            made += next(
                filter(None, (_measured(target, record, one, n) for one in splines)), []
            )
        count = (-(-_INSERTED[rough] // n) if several else 1) * (narrow or rough)
        starts = [greedy_rows(target, record, n, draw) for _ in range(count)]
        if rough:
            for _ in range(2 * several):
                width = np.diff(optima[0].knots)
                kinks = np.sum(width[1:-1] < _KINK * np.minimum(width[:-2], width[2:]))
                optima = self._optima(target, shape, n + 1 + int(kinks), seed)
            fits = self._with_directions(target, record, optima, seed)
            starts += [
                _gates(record, one.knots, n, draw, one.directions) for one in fits
            ]
            starts += [_gates(record, optima[0].knots, n, draw) for _ in range(_DRAWN)]
        # Roots that leave the hinges of a spline lower its error.
        more = [
            InnerWeights.from_network(one.network) for one in made if several and narrow
        ]
        reached = min(map(_error, made), default=np.inf)
        for group in (starts, more) if rough and more else (starts + more,):
            made += self._descent(target, record, group, reached)
        lesser = replace(record, factors=record.factors[:-1])
        best = min(made, key=_error, default=None)
        try_lesser = best is None or not best.holds
        if (
            best and several and not try_lesser
        ):  # pieces of a degree less that meet come closer
            knots = equidistributed_knots(target, space(lesser), n + 1)
            other = fit_free_knots(target, space(lesser), knots, self.max_iterations)
            try_lesser = other.rmse < best.rmse
        if record.factors and try_lesser:
            inner, (weight, bias) = (
                self.fit_target(target, lesser, n, seed),
                record.factors[-1],
            )
            # A factor that is one everywhere leaves the function as it is.
            same, one = (
                build(record, 1, n),
                {weight: np.zeros((n, 1)), bias: np.ones(n)},
            )
            set_parameters(same, **inner.network.state_dict(), **one)
            made.append(replace(inner, network=same))
        if not made:
            raise FloatingPointError("no spline of these cells is a network in float64")
        return replace(
            min(made, key=_error), iterations=sum(one.iterations for one in made)
        )

    def spline(
        self, f: Target, unit: str | Unit, n_cells: int, seed: int = 0
    ) -> FreeKnotSpline:
        """The best spline of the unit's space found."""
        return self._optima(f, space(unit), n_cells, seed)[0]

    def _optima(
        self, target: Target, shape: Space, cells: int, seed: int
    ) -> list[FreeKnotSpline]:
        """Where the density's start and jittered ones lead, the best first."""
        plain = equidistributed_knots(target, shape, cells)
        width, draw = np.diff(plain), np.random.default_rng((seed, cells))
        room = _JITTER * np.minimum(width[:-1], width[1:])
        count = 2 * self.starts * (_ROUGH if is_rough(target) else 1) - 1
        starts = plain + np.pad(
            draw.uniform(-room, room, (count, cells - 1)), ((1, 0), (1, 1))
        )
        return _distinct(fit_stacked(target, shape, starts, self.max_iterations, None))

    def _with_directions(
        self, target: Target, unit: Unit, optima: list[FreeKnotSpline], seed: int
    ) -> list[FreeKnotSpline]:
        """The best splines of n + 1 cells that n neurons carry, the best first: five,
        wide two.
        """
        shape, n_cells, rough = space(unit), len(optima[0].pieces), is_rough(target)
        narrow = n_cells - 1 <= _NARROW
        count = (4 if narrow or rough or shape.degree == 3 else 1) * self.directions
        places = [(one.knots, count) for one in optima[: 4 if narrow or rough else 1]]
        if narrow:
            fewer = self.spline(target, unit, n_cells - 1, seed).knots
            beside = fewer[:-1] + 0.05 * np.diff(fewer)
            # Two gates that face each other imitate a jump.
            twins = [np.insert(fewer, k + 1, beside[k]) for k in range(1, n_cells - 1)]
            width = np.diff(equidistributed_knots(target, shape, n_cells))
            drawn = np.random.default_rng((seed, n_cells, 1)).exponential(
                width, (_RANDOM, n_cells)
            )
            random = [proportioned_knots(target, widths) for widths in drawn]
            places += [(knots, 2) for knots in twins + random]
        fits = list[FreeKnotSpline]()
        for stages in (_STAGES[0 if narrow else 1 + rough], _DEEP):
            chosen = [best_directions(target, unit, *place) for place in places]
            starts = [
                knots
                for (knots, _), ways in zip(places, chosen, strict=True)
                for _ in ways
            ]
            ways: list[Any] = [way for several in chosen for way in several]
            for steps, kept in stages:
                limit, where = min(steps, self.max_iterations), np.array(starts)
                new = _distinct(
                    fit_stacked(target, shape, where, limit, np.array(ways))
                )[:kept]
                near = [one for one in new if one.rmse <= _CLOSE * new[0].rmse]
                starts, ways = (
                    [one.knots for one in near],
                    [one.directions for one in near],
                )
            fits = _distinct(fits + new)
            if not rough and fits[0].rmse <= _TIGHT * optima[0].rmse:
                break
            places = [(fits[0].knots, _AGAIN), (optima[0].knots, _AGAIN)]
        return fits

    def _descent(
        self, target: Target, unit: Unit, starts: list[InnerWeights], reached: float
    ) -> list[SplineNetwork]:
        """The network where variable projection leads; none where no start comes near
        soon.
        """
        rough = is_rough(target)
        cells = np.linspace(*target.domain[0], _CELLS * (1 + rough) + 1)
        x, y, weights = map(torch.from_numpy, weighted_points(target, cells))
        run = partial(iterates, unit, x[:, None], y, weights=weights)
        first = min(_FIRST * (1 + rough), self.max_iterations)
        fits, made = [last(run(rows, max_iterations=first)) for rows in starts], []
        for near in sorted(fits, key=_error)[: 1 + 5 * rough]:
            if near.rmse <= _NEAR * reached:
                steps = run(near.inner, max_iterations=self.max_iterations)
                end = last(
                    takewhile(lambda x: x.iterations < _SOON or x.rmse < reached, steps)  # noqa: B023
                )
                error = measured_rmse(network := to_network(end, unit), target)
                made.append(SplineNetwork(network, error, end.iterations, end.status))
                reached = min(reached, end.rmse)
        return made


@dataclass(frozen=True)
class SplineNetwork:
    """A network, the RMSE of its pass over the domain, and the spline it came from, if
    any.
    """

    network: GatedNetwork
    rmse: float
    iterations: int  # short fits and starts that lost are left out
    status: str
    spline: FreeKnotSpline | None = None

    @property
    def holds(self) -> bool:
        """Whether the pass has the spline's error, up to one per cent and to rounding."""
        if self.spline is None:
            return True
        rounding = 1e-15 * float(np.abs(self.spline.pieces[:, 0]).max())
        return self.rmse <= 1.01 * self.spline.rmse + rounding


def _distinct(fits: list[FreeKnotSpline]) -> list[FreeKnotSpline]:
    """Sort fits, the best first, each optimum once."""
    found = sorted(fits, key=_error)
    return found[:1] + [b for a, b in pairwise(found) if b.rmse > a.rmse * (1 + _SAME)]


def _gates(
    unit: Unit, knots: np.ndarray, n: int, draw: np.random.Generator, ways: Any = None
) -> InnerWeights:
    """Gates at n knots inside, roots beside them; where cells are narrowest one, roots
    far away.
    """
    width, inner = np.diff(knots), np.arange(len(knots) - 2)
    pairs = np.argsort(width[1:-1])[: len(inner) - n]
    kept = np.delete(inner, pairs + 1)
    hinges, room = knots[1:-1][kept], np.minimum(width[:-1], width[1:])[kept] / 2
    signs = draw.choice([-1.0, 1.0], n) if ways is None else ways[kept]
    gate, alone = np.column_stack([signs, -signs * hinges]), ~np.isin(kept, pairs)
    constants = (
        np.where(alone, draw.uniform(-room, room) - hinges, 1.0)
        for _ in unit.factors[1:]
    )
    roots = [
        torch.from_numpy(np.column_stack([alone, constant])) for constant in constants
    ]
    return InnerWeights(torch.from_numpy(gate), tuple(roots))


def _measured(
    target: Target, unit: Unit, spline: FreeKnotSpline, n: int
) -> list[SplineNetwork]:
    """The network that is a spline, judged by its forward pass; none where there is
    none.
    """
    try:
        net = network_from_spline(unit, spline, n)
    except ValueError:
        return []
    steps, end = spline.iterations, spline.status
    return [SplineNetwork(net, measured_rmse(net, target), steps, end, spline)]
