"""Lower bounds against fitted splines and hostile targets."""

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from xsquared.functions import Target, target
from xsquared.quadrature import on_cells
from xsquared.splines import bounds
from xsquared.splines.bounds import bounds_with_breaks, least_errors, lower_bounds
from xsquared.splines.constants import least_squares_spline_rmse
from xsquared.splines.density import sign_intervals
from xsquared.splines.enclosures import enclosed
from xsquared.splines.optimal_knots import optimal_knots


@pytest.mark.parametrize("order", [2, 3, 4])
def test_one_polynomials_error_is_bounded_closely(order: int) -> None:
    f, grid = target("exp(2*x)"), np.linspace(-1, 1, 31)
    values, _ = enclosed(f, grid, order + 3)
    found = least_errors(values, order, grid, 30)
    error = 2 * least_squares_spline_rmse(f, order, 1) ** 2
    assert found[0, -1] == pytest.approx(error, rel=1e-4)
    assert found[0, -1] <= error * (1 + 1e-12)
    assert 0 < least_errors(values, order, grid, 15)[0, -1] < found[0, -1]
    assert (found[np.tril_indices(31)] == 0).all()


@pytest.mark.parametrize("text", ["exp(2*x)", "sin(4*x)"])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_bounds_are_close_below_the_best_pieces_found(text: str, order: int) -> None:
    certified, breaks = bounds_with_breaks(target(text), order, 12)
    assert (np.diff(certified) < 0).all()
    for n in (1, 2, 3, 6, 12):
        starts = breaks[n - 1], None
        found = min(
            optimal_knots(target(text), order, n, -1, start).rmse for start in starts
        )
        assert certified[n - 1] <= found < 1.7 * certified[n - 1]


def _exact_square(values: np.ndarray, order: int, width: mpmath.mpf) -> mpmath.mpf:
    """The squared error of one polynomial on one cell, to forty digits.

    Values at the exact Gauss nodes stand for a polynomial of degree count - 1, so
    Bessel's inequality is an equality.
    """
    count = len(values)
    rounded = np.polynomial.legendre.leggauss(count)[0].tolist()
    nodes = [mpmath.findroot(lambda x: mpmath.legendre(count, x), x) for x in rounded]
    square = mpmath.mpf(0)
    for j in range(order, count):
        projection = mpmath.mpf(0)
        for x, value in zip(nodes, values.tolist(), strict=True):
            slope = mpmath.diff(lambda x: mpmath.legendre(count, x), x)
            weight = width / ((1 - x**2) * slope**2)
            projection += weight * mpmath.legendre(j, x) * value
        square += (2 * j + 1) * projection**2 / width
    return square


@pytest.mark.parametrize("order", [3, 4, 11])
def test_rounding_never_lifts_a_bound_above_exact_arithmetic(order: int) -> None:
    """One cell, on which nothing but rounding separates the bound from the truth."""
    count = order + 3
    grid = np.array([1000.1, 1000.7])
    values = np.vstack([np.eye(count), np.random.default_rng(0).normal(size=count)])
    with mpmath.workdps(40):
        width = mpmath.mpf(grid[1]) - mpmath.mpf(grid[0])
        for row in values:
            exact = _exact_square(row, order, width)
            bound = mpmath.mpf(least_errors(row[None], order, grid, 1)[0, 1])
            assert exact * (1 - mpmath.mpf("1e-9")) < bound <= exact


@pytest.mark.parametrize("share", [-0.01, 0.01])
def test_the_distance_of_what_is_projected_is_taken_off(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place of the target stands a multiple of it, at a distance that is known."""
    f = target("exp(2*x)")
    norm = math.sqrt((math.exp(4) - math.exp(-4)) / 4)

    def multiple(f: Target, grid: np.ndarray, count: int) -> tuple[np.ndarray, float]:
        values, away = enclosed(f, grid, count)
        return (1 + share) * values, (1 + share) * away + abs(share) * norm

    error = least_squares_spline_rmse(f, 2, 1)
    expected = (1 + share) * error - abs(share) * norm / math.sqrt(2)
    monkeypatch.setattr(bounds, "enclosed", multiple)
    (bound,) = lower_bounds(f, 2, 1)
    assert bound == pytest.approx(expected, rel=1e-3)
    assert bound < error


@pytest.mark.parametrize(
    ("steep", "plain"),
    [("1e12*x + 1e15 + sin(4*x)", "sin(4*x)"), ("(1e5 + x)**2 + x**5", "x**2 + x**5")],
)
def test_a_line_costs_no_bound(steep: str, plain: str) -> None:
    found = lower_bounds(target(steep), 3, 4)
    assert found == pytest.approx(lower_bounds(target(plain), 3, 4), rel=1e-9)


SIZES = ("1e-150", "1e-75", "1e75", "1e150")
OF_ANY_SIZE = ("sin(3*x)", "tanh(200*x)", "sqrt(x**2 + 1e-6)", "1/(x**2 + 1e-4)")
#: Forty targets on intervals, and what share of one polynomial's error is certified at
#: least.
HOSTILE = [(text, interval, share) for share, interval, texts in (
    (0.6, (-1.0, 1.0), [f"{size}*{text}" for size in SIZES for text in OF_ANY_SIZE]),
    (0.9, (0.0, 1e-75), ["sin(3e75*x)"]), (0.9, (0.0, 1e50), ["sin(3e-50*x)"]),
    (0.9, (1e8, 1e8 + 1), ["sin(3*x)"]), (0.0, (-1.0, 1.0), ["sin(1e5*x)"]),
    (0.7, (-1.0, 1.0), ["1e9 + sin(4*x)", "x**2 + 1e-9*sin(9*x)", "(x**2 + 1e-20)**0.25",
                        "(x**2 + 1e-8)**0.75", "(x + 1.00001)**0.5", "x**3 + 1e-9*sin(1e5*x)"]),
    (0.4, (-1.0, 1.0), ["1/(x - 1.001)", "1/(x + 1.000001)", "1/(x**2 + 1e-16)", "tan(1.57*x)",
                        "log(x + 1 + 1e-9)", "sin(1/(x + 1.01))", "x**3 + atan(1e5*x)",
                        "tanh(1e4*x)", "erf(3e4*x) - x"]),
    (0.05, (-1.0, 1.0), ["exp(-1e4*(x + 1))", "1e-150*exp(-1e6*(x + 1))", "exp(400*x)",
                         "exp(-1e6*x**2)", "cosh(500*x)"]),
) for text in texts]  # fmt: skip


def _reached(f: Target, order: int, knots: np.ndarray) -> float:
    """The error of the best polynomials between knots, on cells that are narrow where f
    bends.
    """
    cells = [
        sign_intervals(f, order).mesh(2000),
        np.linspace(knots[0], knots[-1], 2001),
        knots,
    ]
    x, weights = (part.ravel() for part in on_cells(np.unique(np.concatenate(cells))))
    size, square = np.abs(f(x)).max(), 0.0
    for left, right in pairwise(knots):
        own = (x > left) & (x < right)
        root = np.sqrt(weights[own] / (knots[-1] - knots[0]))
        basis, _ = np.linalg.qr(
            np.vander((x[own] - left) / (right - left), order) * root[:, None]
        )
        rest = root * f(x[own]) / size
        square += np.sum((rest - basis @ (basis.T @ rest)) ** 2)
    return float(size * np.sqrt(square))


@pytest.mark.parametrize("i", range(40))
def test_bounds_hold_where_targets_are_hostile(i: int) -> None:
    (text, interval, share), order = HOSTILE[i], 2 + i % 3
    f = target(text, interval)
    for bound, ends in zip(*bounds_with_breaks(f, order, 3), strict=True):
        reached = min(
            _reached(f, order, t) for t in (ends, np.linspace(*interval, len(ends)))
        )
        assert share * reached <= bound <= reached * (1 + 1e-12)
        share = 0.0  # of more pieces any


@pytest.mark.parametrize(
    ("text", "interval", "why"),
    [("exp(900*x)", (-1.0, 1.0), "not finite"), ("1e-330*sin(3*x)", (-1.0, 1.0), "has none"),
     ("sin(1e300*x)", (0.0, 1e-300), "not finite"), ("sin(3*x)", (1e15, 1e15 + 4), "tell apart")],
)  # fmt: skip
def test_bounds_are_refused_by_name(
    text: str, interval: tuple[float, float], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        lower_bounds(target(text, interval), 2, 3)


def test_bounds_hold_for_waves_within_the_grid_and_are_nothing_for_a_parabola() -> None:
    # Twelve pieces cannot see the waves: their error is the target's own size, to four
    # digits.
    assert 0.2 < lower_bounds(target("sin(1000*x)"), 3, 12)[-1] < math.sqrt(0.5)
    # A parabola has no error as one: what is left is less than rounding.
    assert (least_errors(np.ones((40, 6)), 3, np.linspace(0.1, 1.1, 41), 40) == 0).all()
