"""Enclosures of targets against fifty digits, and what is refused."""

from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
import sympy as sp
from flint import arb, ctx
from mpmath.calculus.quadrature import GaussLegendre
from numpy.polynomial import legendre

from xsquared.functions import target
from xsquared.quadrature import gauss_legendre
from xsquared.splines import enclosures
from xsquared.splines.enclosures import _piece, ball, enclosed

X = sp.Symbol("x", real=True)
CASES = (
    ("exp(2*x)", (-1.0, 1.0)),
    ("1/(1/1000 + x**2)", (-0.3, 0.4)),
    ("tanh(4*x)", (-1.0, 0.5)),
    ("1/(1 + cos(pi*x)**2)", (0.0, 1.0)),
    ("log(x + 2)*erf(x)", (-1.0, 1.0)),
    ("x**4.5", (0.2, 1.0)),
    ("abs(x + 2)*atan(3*x)", (-1.0, 1.0)),
    ("sinh(x)/cosh(2*x) + e**(-x)", (-1.0, 2.0)),
    ("sin(3*x)", (1e6, 1e6 + 1)),
    *((text, (-1.0, 1.0)) for text in (
        "sin(20*x)", "tan(1.5*x)", "asin(x/2)*acos(x/3)", "sqrt(x + 1.01)", "1e150*sin(3*x)",
        "1e-150*exp(x)/(x + 1.1)", "cosh(3*x)*tanh(20*x)", "exp(-100*x**2)", "log(x + 1.01)",
        "erf(8*x)", "(x**2 + 0.01)**0.75")),
)  # fmt: skip


def _error(text: str, interval: tuple[float, float], degree: int) -> float:
    """The least error of one polynomial, to fifty digits."""
    with mpmath.workdps(60):
        f = sp.lambdify(X, target(text, interval).expression, "mpmath")
        a, b = map(mpmath.mpf, interval)
        width = (b - a) / 24
        square, moments = mpmath.mpf(0), [mpmath.mpf(0)] * (degree + 1)
        for i, (node, weight) in product(
            range(24), GaussLegendre(mpmath.mp).calc_nodes(5, 200)
        ):
            place = a + width * (i + (node + 1) / 2)
            value = f(place)
            square += weight * width / 2 * value**2
            for j in range(degree + 1):
                basis = mpmath.legendre(j, 2 * (place - a) / (b - a) - 1)
                moments[j] += weight * width / 2 * value * basis
        square -= sum((2 * j + 1) * m**2 for j, m in enumerate(moments)) / (b - a)
        return float(mpmath.sqrt(square))


@pytest.mark.parametrize("i", range(20))
def test_values_and_errors_enclose_those_of_fifty_digits(i: int) -> None:
    (text, interval), order = CASES[i], 2 + i % 3
    f, count, grid = target(text, interval), order + 3, np.linspace(*interval, 25)
    values, away = enclosed(f, grid, count)
    xi, weights = gauss_legendre(count)
    # Everything that the grid's polynomials of degree count - 1 show, by the rule
    # exactly.
    z = (
        2 * ((grid[:-1, None] - grid[0]) + np.diff(grid)[:, None] * xi) / np.ptp(grid)
        - 1
    )
    weighed = np.diff(grid)[:, None] * weights
    basis = legendre.legvander(z, order - 1) * np.sqrt(
        (2 * np.arange(order) + 1) / np.ptp(grid)
    )
    rest = values - basis @ np.einsum("ci,ciq->q", weighed * values, basis)
    error = float(np.sqrt(np.sum(weighed * rest**2)))
    exact = _error(text, interval, order - 1)
    # What lies above the degree on every grid cell is left out: the bound is from
    # below.
    assert away < 1e-9 * exact
    assert error - away <= exact * (1 + 1e-13)
    assert exact - error < 2e-3 * exact
    with mpmath.workdps(60), ctx.workdps(60):
        for place in np.linspace(*interval, 8)[1:-1].tolist():
            value = sp.lambdify(X, f.expression, "mpmath")(mpmath.mpf(place))
            off = ball(f.expression, arb(place)) - arb(mpmath.nstr(value, 58))
            assert abs(off) < arb(mpmath.nstr(abs(value) * mpmath.mpf(10) ** -50))


@pytest.mark.parametrize(
    ("text", "interval"),
    [("abs(x)", (-1.0, 1.0)), ("1/(x - 0.3)**2", (-1.0, 1.0)), ("x**4.5", (0.0, 1.0))],
)  # fmt: skip
def test_what_is_not_analytic_has_no_bound(
    text: str, interval: tuple[float, float]
) -> None:
    with pytest.raises(ValueError, match="expected a target analytic on its interval"):
        enclosed(target(text, interval), np.linspace(*interval, 8), 5)


def test_high_orders_are_enclosed_too() -> None:
    """Series are as long as asked for: a coefficient cut off reads as a distance of
    nothing.
    """
    f = target("sin(8*x)")
    xi, weights = gauss_legendre(60)
    x = 2 * gauss_legendre(10)[0] - 1
    made = np.polynomial.Polynomial.fit(x, f(x / 2), 9, domain=[-1, 1])
    truth = np.sqrt(weights @ (made(2 * xi - 1) - f(xi - 0.5)) ** 2)
    assert truth > 5e-5
    assert truth < _piece(f, arb(0), arb(1) / 2, 10)[1] < 10 * truth


def test_values_are_rounded_and_the_distance_has_it() -> None:
    """A line needs two nodes: all that is between it and its values is rounding."""
    f, count = target("x/3 + 1/7"), 5
    values, bound = _piece(f, arb(0), arb(1), count)
    nodes = [2 * Fraction(share) - 1 for share in gauss_legendre(count)[0].tolist()]
    off = [
        float(Fraction(value) - x / 3 - Fraction(1, 7))
        for value, x in zip(values.tolist(), nodes, strict=True)
    ]
    made = np.polynomial.Polynomial.fit([*map(float, nodes)], off, count - 1)
    xi, weights = gauss_legendre(20)
    truth = float(np.sqrt(2 * weights @ made(2 * xi - 1) ** 2))
    assert 0 < truth < bound < 100 * truth


@pytest.mark.parametrize(("cells", "close"), [(32, 1e-3), (16, 2e-7)])
def test_distances_of_cells_and_of_halves_add_up_by_squares(
    cells: int, close: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interpolants at three nodes on 32 cells, or on 16 that are halved once."""
    monkeypatch.setattr(enclosures, "_CLOSE", close)
    f = target("exp(x)", (0.0, 1.0))
    _, away = enclosed(f, np.linspace(0, 1, cells + 1), 3)
    xi, _ = gauss_legendre(3)
    fine, weights = gauss_legendre(12)
    square = 0.0
    for left in np.linspace(0, 1, 33)[:-1]:
        made = np.polynomial.Polynomial.fit(left + xi / 32, f(left + xi / 32), 2)
        x = left + fine / 32
        square += weights / 32 @ (made(x) - f(x)) ** 2
    assert square**0.5 < away < 1.1 * square**0.5
