"""Networks of n neurons from splines with free knots: the solver for one dimension (ours).

Local fits start from knots of the asymptotically optimal density and from jittered copies of them.
Then knots that are better spent elsewhere move: the one whose two cells have the least error goes
to the middle of the worst cell, and the fit runs again, as long as that pays.

How many cells n neurons with p affine factors have:

- p = 0 (MLP): n + 1. If all n hinges lie inside the interval, the function is flat on one cell:
  gates left of it open to the left, gates right of it to the right. A flat cell costs little where
  it holds an extremum; for a target without one the fit on n cells with n - 1 inner knots is kept.
- p = 1 (GLU): n, with n - 1 inner knots and one hinge at the left end.
- p = 2 (GQU): n, if the first cell's cubic has real roots, so that one neuron can carry it; else
  n - 1, and two neurons at the left end. With one factor less on n cells, the other being one, it
  is a GLU too, which is taken where it is better.

References:
    Barrow and Smith, Quart. Appl. Math. 36 (1978), for the density; Jupp, SIAM J. Numer. Anal. 15
    (1978), for why merged knots stall and starts must be several.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from xsquared.constructions import increments, network_from_pieces, shifted
from xsquared.errors import measured_rmse
from xsquared.functions import Target
from xsquared.quadrature import on_cells
from xsquared.training.free_knots import (
    FreeKnotSpline,
    equidistributed_knots,
    fit_free_knots,
    space,
)
from xsquared.units import GatedNetwork, Unit, build, find_unit, set_parameters

#: A move must lower the error by this share to be worth another.
_WORTH = 1e-6


@dataclass(frozen=True)
class FreeKnots:
    """Minimise the integral of the squared error of a target of one variable.

    Attributes:
        max_iterations: of each local fit.
        start: knots of the asymptotically optimal ``"density"``, ``"equidistant"`` ones, which are
            the paper's, or ``"random"``: cells of the optimal density stretched by factors drawn
            from a gamma distribution whose standard deviation is half its mean.
        starts: local fits that are compared; the first from the start as it is unless that is
            random, the others with every knot jittered.
        jitter: how far a jittered knot may go, in widths of the smaller cell beside it.
        moves: most knots moved to better places.
        flat_trials: how many cells of the smallest rise are tried as an MLP's flat cell.
    """

    max_iterations: int = 300
    start: Literal["density", "equidistant", "random"] = "density"
    starts: int = 2
    jitter: float = 0.4
    moves: int = 4
    flat_trials: int = 3
    name: ClassVar[str] = "free_knots"

    def __post_init__(self) -> None:
        for field, least in (("max_iterations", 0), ("starts", 1), ("moves", 0), ("flat_trials", 0)):
            value = getattr(self, field)
            if not isinstance(value, int | np.integer) or value < least:
                raise ValueError(f"{field} must be an integer of at least {least}, got {value!r}")
        if self.start not in ("density", "equidistant", "random"):
            raise ValueError(
                f"start must be density, equidistant or random, got {self.start!r}"
            )
        if not 0 <= self.jitter < 0.5:
            raise ValueError(f"jitter must lie in [0, 0.5), so that knots stay, got {self.jitter}")

    def spline(
        self, target: Target, unit: str | Unit, n_cells: int, seed: int = 0
    ) -> FreeKnotSpline:
        """The best spline found; its iterations are those of all starts and moves.

        Args:
            target: a function of one variable with as many derivatives as the unit's order.
            unit: whose space.
            n_cells: at least 1.
            seed: of the randomness, at least 0.

        Raises:
            ValueError: as for :func:`xsquared.training.free_knots.equidistributed_knots`.
        """
        fits = [
            fit_free_knots(target, unit, knots, self.max_iterations)
            for knots in self._knots(target, unit, n_cells, seed)
        ]
        best = min(fits, key=lambda fit: fit.rmse)
        for _ in range(self.moves if n_cells > 3 else 0):
            knots = _with_a_knot_moved(target, best)
            fits.append(fit_free_knots(target, unit, knots, self.max_iterations))
            if not fits[-1].rmse < best.rmse * (1 - _WORTH):
                break
            best = fits[-1]
        return replace(best, iterations=sum(fit.iterations for fit in fits))

    def _knots(
        self, target: Target, unit: str | Unit, n_cells: int, seed: int
    ) -> list[np.ndarray]:
        """The starts, each (n_cells + 1,)."""
        a, b = target.domain[0]
        plain = (
            np.linspace(a, b, n_cells + 1)
            if self.start == "equidistant"
            else equidistributed_knots(target, space(unit).degree + 1, n_cells)
        )
        width, draw = np.diff(plain), np.random.default_rng((seed, n_cells))
        if self.start == "random":
            made = []
            for _ in range(self.starts):
                share = np.cumsum(width * draw.gamma(4.0, size=n_cells))
                made.append(np.concatenate([[a], a + (b - a) * share[:-1] / share[-1], [b]]))
            return made
        room = np.minimum(width[:-1], width[1:])
        shifts = [
            draw.uniform(-self.jitter, self.jitter, n_cells - 1) * room
            for _ in range(self.starts - 1)
        ]
        return [plain, *(plain + np.pad(shift, 1) for shift in shifts)]

    def on_target(
        self, target: Target, unit: str | Unit, n_hidden: int, seed: int = 0
    ) -> SplineNetwork:
        """Train all parameters of n neurons.

        Arguments and errors as for :meth:`spline`, n_hidden in place of n_cells.
        """
        if n_hidden < 1:
            raise ValueError(f"n_hidden must be at least 1, got {n_hidden}")
        degree = space(unit).degree
        splines = [self.spline(target, unit, n_hidden, seed)]
        networks = [spline_network(unit, splines[0], n_hidden)]
        if degree == 1:
            spline, cell = self._flat_spline(target, unit, n_hidden, seed)
            splines.append(spline)
            networks.append(_with_flat_cell(unit, spline, cell))
        if networks[0] is None and n_hidden > 1:
            splines.append(self.spline(target, unit, n_hidden - 1, seed))
            networks.append(spline_network(unit, splines[-1], n_hidden))
        made = [
            (measured_rmse(network, target), network, spline)
            for network, spline in zip(networks, splines, strict=True)
            if network is not None
        ]
        _, network, spline = min(made, key=lambda row: row[0])
        return SplineNetwork(network, spline, sum(spline.iterations for spline in splines))

    def _flat_spline(
        self, target: Target, unit: str | Unit, n_hidden: int, seed: int
    ) -> tuple[FreeKnotSpline, int]:
        """The best linear spline with all n knots inside the interval, and its flat cell."""
        free = self.spline(target, unit, n_hidden + 1, seed)
        rise = np.abs(free.pieces[:, 1]) * np.diff(free.knots)
        fits = [
            (
                fit_free_knots(target, unit, free.knots, self.max_iterations, flat_cell=int(cell)),
                int(cell),
            )
            for cell in np.argsort(rise)[: self.flat_trials]
        ]
        best, cell = min(fits, key=lambda pair: pair[0].rmse)
        spent = free.iterations + sum(fit.iterations for fit, _ in fits)
        return replace(best, iterations=spent), cell


def _with_flat_cell(unit: str | Unit, spline: FreeKnotSpline, cell: int) -> GatedNetwork:
    """Gates on both sides open away from the flat cell, which needs none."""
    signs = np.where(np.arange(1, len(spline.pieces)) > cell, 1.0, -1.0)
    network = build(find_unit(unit), 1, len(signs))
    set_parameters(
        network,
        G=signs[:, None],
        g=-signs * spline.knots[1:-1],
        D=np.diff(spline.pieces[:, 1])[None],
        d=spline.pieces[cell, :1],
    )
    return network


@dataclass(frozen=True)
class SplineNetwork:
    """A network and the spline it came from.

    Attributes:
        network: n neurons.
        spline: the fitted spline.
        iterations: Levenberg-Marquardt iterations of all candidates together.
    """

    network: GatedNetwork
    spline: FreeKnotSpline
    iterations: int


def spline_network(unit: str | Unit, spline: FreeKnotSpline, n_hidden: int) -> GatedNetwork | None:
    """The network of n neurons that is a spline, its gates opening away from the best anchor.

    Where all gates open one way, what one end of the domain needs in steep polynomials has to
    cancel at the other. So the anchor is the cell for which the sum of what neurons are at most is
    least. A GQU of as many neurons as cells needs an anchor whose cubic has real roots.

    Args:
        unit: the unit or its name.
        spline: of n_hidden cells; of one fewer if the unit has two factors.
        n_hidden: number of neurons.

    Returns:
        None where no cell can be the anchor.
    """
    t, c = spline.knots, spline.pieces
    powers = np.arange(c.shape[1])
    changes = np.abs(increments(t, c))
    right, left = (
        np.sum(changes * np.abs(end - t[1:-1, None]) ** powers, axis=1) for end in t[[-1, 0]]
    )
    whole = np.array([shifted(piece, t[0] - at) for piece, at in zip(c, t[:-1], strict=True)])
    size = np.sum(np.abs(whole) * (t[-1] - t[0]) ** powers, axis=1)
    size += np.append(0.0, np.cumsum(left)) + np.append(np.cumsum(right[::-1])[::-1], 0.0)
    for anchor in np.argsort(size, kind="stable"):
        factors = None
        if c.shape[1] == 4 and n_hidden == len(c):
            factors = real_factors(whole[anchor], t[-1] - t[0])
            if factors is None:
                continue
        return network_from_pieces(unit, t, c, int(anchor), factors)
    return None


def real_factors(cubic: np.ndarray, length: float) -> np.ndarray | None:
    """A cubic on [0, length] as a constant plus a product of real affine functions.

    The constant is free, so any of its roots may be chosen: all are real while one is no farther
    from the inflection than the critical points allow. One of them must not lie inside the
    interval: that factor is the gate.

    Args:
        cubic: (4,) coefficients in powers of s, the constant first.
        length: of the interval.

    Returns:
        Rows (slope, value at 0) of three factors, (3, 2), the gate first; None where there are
        none.
    """
    _, c1, c2, c3 = cubic
    # Real roots reach equally far to both sides of the inflection: if neither end lies that near,
    # it does itself, or no other point outside.
    inflection = [-c2 / (3 * c3)] if c3 != 0 else []
    for root in (0.0, length, *(place for place in inflection if not 0 < place < length)):
        # The cubic minus its value at the root is (s - root) (b0 + b1 s + c3 s^2).
        b1 = c2 + c3 * root
        b0 = c1 + b1 * root
        discriminant = b1**2 - 4 * b0 * c3
        if discriminant < 0:
            continue
        # The root of larger size first: no cancellation.
        q = -(b1 + np.copysign(np.sqrt(discriminant), b1)) / 2
        sign = 1.0 if root <= 0 else -1.0
        if q == 0:
            rest = [[0.0, b0], [0.0, 1.0]] if c3 == 0 else [[c3, 0.0], [1.0, 0.0]]
        else:
            rest = [[c3, -q], [1.0, -b0 / q]]
        return np.array([[sign, -sign * root], rest[0], [sign * v for v in rest[1]]])
    return None


def cell_errors(target: Target, spline: FreeKnotSpline) -> np.ndarray:
    """Integral of the squared error over each cell, (n,)."""
    x, weights = on_cells(spline.knots)
    s = x - spline.knots[:-1, None]
    powers = np.stack([s**j for j in range(spline.pieces.shape[1])], axis=-1)
    error = np.einsum("kqj,kj->kq", powers, spline.pieces) - target(x)
    return np.sum(weights * error**2, axis=1)


def _with_a_knot_moved(target: Target, spline: FreeKnotSpline) -> np.ndarray:
    """Knots with the least useful one put into the middle of the worst cell."""
    errors, knots = cell_errors(target, spline), spline.knots
    worst = int(np.argmax(errors))
    together = errors[:-1] + errors[1:]
    together[max(worst - 1, 0) : worst + 1] = np.inf
    least = int(np.argmin(together)) + 1
    middle = (knots[worst] + knots[worst + 1]) / 2
    return np.sort(np.append(np.delete(knots, least), middle))
