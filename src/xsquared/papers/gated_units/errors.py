"""Truncation errors and the RMSE they add up to: the paper's Eqs. 4 and 7 to 14, and ours."""

from __future__ import annotations

import sympy as sp

from xsquared.papers.equations import Equation, Step
from xsquared.truncation import (
    PIECES,
    f,
    h,
    leading_constant,
    leading_term,
    quadratic_piece,
    root_mean_square,
    target,
    terms_of_degree,
    terms_up_to,
    truncation_error,
    x,
)

D, U, u = sp.symbols("D U u", real=True)
_theta, _a, _b, _c, _P = sp.symbols("theta a b c P", positive=True)
_HALF = sp.Rational(1, 2)


def _mean_over_unit_cell(error: sp.Expr) -> sp.Expr:
    """Mean square of an error on [0, 1] after h has been set to 1."""
    return sp.integrate(sp.expand(error.subs(h, 1) ** 2), (x, 0, 1))


def _eq4() -> Equation:
    i, big = sp.symbols("i N", positive=True, integer=True)
    error = _a + _b * x + _c * x**2
    sample = sp.expand((error**2).subs(x, i / big))
    mean = sp.expand(sp.summation(sample, (i, 1, big)) / big)
    integral = sp.integrate(error**2, (x, 0, 1))
    return Equation(
        "gu-eq4",
        "4",
        "the RMSE tends to an integral",
        (
            Step(
                "riemann",
                "the mean square over N equidistant points tends to the integral of the square, "
                "shown for a generic quadratic error",
                sp.limit(mean, big, sp.oo),
                integral,
            ),
        ),
        (
            Step(
                "printed",
                "root of the mean tends to the root of the integral",
                sp.sqrt(sp.limit(mean, big, sp.oo)),
                sp.sqrt(integral),
            ),
        ),
    )


def _eq7() -> Equation:
    error = truncation_error("interpolating_mlp")
    right = (h * x - x**2) * f[2] / 2 + (h**2 * x - x**3) * f[3] / 6 + (h**3 * x - x**4) * f[4] / 24
    kept = terms_up_to(error, 4)
    printed = x**2 * f[2] / 2 - h * x * f[2] / 2 + x**3 * f[3] / 6 - h**3 * x * f[4] / 24
    return Equation(
        "gu-eq7",
        "7",
        "truncation error of the MLP",
        (
            Step("taylor", "y - f to degree four in x and h", kept, right),
            Step("left", "it vanishes at the left end", error.subs(x, 0), sp.Integer(0)),
            Step("right", "it vanishes at the right end", error.subs(x, h), sp.Integer(0)),
        ),
        (
            Step(
                "printed",
                "the printed terms below degree four, up to the sign, against y - f",
                -terms_up_to(printed, 3),
                terms_up_to(error, 3),
            ),
        ),
    )


def _eq8() -> Equation:
    i, n = sp.symbols("i n", positive=True, integer=True)
    tau = _a * (x * h - x**2)
    cell = sp.integrate(tau**2, (x, 0, h))
    covered = sp.summation(sp.integrate(sp.Integer(1), (x, (i - 1) / n, i / n)), (i, 0, n))
    covered_right = sp.summation(sp.integrate(sp.Integer(1), (x, (i - 1) / n, i / n)), (i, 1, n))
    return Equation(
        "gu-eq8",
        "8",
        "from a cell to the whole interval",
        (
            Step(
                "cells",
                "n = 1/h cells of one and the same error add up to the mean over one cell",
                sp.summation(cell.subs(h, 1 / n), (i, 1, n)),
                (cell / h).subs(h, 1 / n),
            ),
            Step(
                "cover", "cells 1 to n cover the unit interval once", covered_right, sp.Integer(1)
            ),
        ),
        (Step("printed", "cells 0 to n cover the unit interval once", covered, sp.Integer(1)),),
    )


def _global(name: str, coefficient: sp.Expr) -> Step:
    """Cells with different f^(k) add up to the constant times the root mean square of f^(k)."""
    i, n = sp.symbols("i n", positive=True, integer=True)
    order = PIECES[name].order
    cell = (coefficient * h**order * (_a + _b * i * h)) ** 2 * h
    total = sp.summation(sp.expand(cell.subs(h, 1 / n)), (i, 0, n - 1)) * n ** (2 * order)
    mean = sp.integrate((_a + _b * x) ** 2, (x, 0, 1))
    return Step(
        "global",
        "summed over cells, the bound on the derivative becomes its root mean square, shown for a "
        "derivative that varies linearly",
        sp.limit(sp.expand(total), n, sp.oo),
        coefficient**2 * mean,
    )


def _rate(name: str, per_neuron: int, rms: sp.Expr) -> Step:
    """h = 1/n and P = per_neuron n + 1: the error times P^k tends to a constant."""
    order = PIECES[name].order
    scaled = rms.subs(h, per_neuron / (_P - 1)) * _P**order
    return Step(
        "rate",
        f"in parameters the error falls like P^-{order}",
        sp.limit(scaled, _P, sp.oo),
        (rms / h**order) * per_neuron**order,
    )


def _constant_equation(
    key: str, number: str, title: str, name: str, per_neuron: int, square: sp.Expr
) -> Equation:
    """An equation that states a leading RMSE: the integral, the constant, the sum, the rate."""
    order = PIECES[name].order
    derivative = sp.Symbol(f"C{order}", positive=True)
    error = leading_term(name).subs(f[order], derivative)
    rms = root_mean_square(error)
    constant = leading_constant(name)
    return Equation(
        key,
        number,
        title,
        (
            Step(
                "integral",
                "the mean square of the leading term over a cell",
                sp.integrate(sp.expand(error**2), (x, 0, h)) / h,
                constant**2 * h ** (2 * order) * derivative**2,
            ),
            Step(
                "unit",
                "the same on a cell of width one",
                _mean_over_unit_cell(error),
                constant**2 * derivative**2,
            ),
            _global(name, constant),
            _rate(name, per_neuron, rms),
        ),
        (
            Step(
                "printed",
                "the leading RMSE with the stated constant",
                rms**2,
                h ** (2 * order) * derivative**2 / square,
            ),
        ),
    )


def _eq10() -> Equation:
    value = sp.Symbol("fh", real=True)
    closing = sp.solve(D * h * (U * h + u) + f[0] - value, u)[0]
    printed = (-D * U * h**2 - f[0] + value) / (D * h)
    return Equation(
        "gu-eq10",
        "10",
        "u_0 closes the first cell",
        (
            Step(
                "interpolates",
                "with this u_0 the first cell meets f at its right end",
                D * h * (U * h + closing) + f[0],
                value,
            ),
        ),
        (Step("printed", "u_0 as printed", closing, printed),),
    )


def _eq11() -> Equation:
    closing = (-D * U * h**2 - target(sp.Integer(0)) + target(h)) / (D * h)
    error = sp.expand(-D * x * (U * x + closing) - target(sp.Integer(0)) + target(x))
    kept = error.subs({f[4]: 0, f[5]: 0})
    printed = (
        D * U * h * x - D * U * x**2 - h**2 * x * f[3] / 6 - h * x * f[2] / 2
        + x**3 * f[3] / 6 + x**2 * f[2] / 2
    )  # fmt: skip
    return Equation(
        "gu-eq11",
        "11",
        "truncation error of the GLU with free curvature",
        (
            Step("left", "the error vanishes at the left end", error.subs(x, 0), sp.Integer(0)),
            Step("right", "and at the right end", error.subs(x, h), sp.Integer(0)),
            Step(
                "rest",
                "what lies beyond the third derivative is of degree four or more",
                terms_up_to(error - kept, 3),
                sp.Integer(0),
            ),
        ),
        (Step("printed", "f - y up to the third derivative", kept, printed),),
    )


def _eq12() -> Equation:
    free = D * U * h * x - D * U * x**2 - h * x * f[2] / 2 + x**2 * f[2] / 2
    solved = sp.solve(sp.Poly(free, x).coeff_monomial(x), U)[0]
    return Equation(
        "gu-eq12",
        "12",
        "the curvature that cancels two terms",
        (
            Step(
                "cancels",
                "both second-derivative terms vanish",
                free.subs(U, solved),
                sp.Integer(0),
            ),
            Step(
                "curvature",
                "the cell's curvature is the target's at its left end",
                2 * D * solved,
                f[2],
            ),
        ),
        (Step("printed", "U_0 as printed", solved, f[2] / (2 * D)),),
    )


def _eq13() -> Equation:
    error = -truncation_error("left_curvature_glu")
    kept = terms_up_to(error, 3)
    return Equation(
        "gu-eq13",
        "13",
        "truncation error of the GLU",
        (
            Step(
                "order",
                "nothing of degree below three is left",
                terms_up_to(error, 2),
                sp.Integer(0),
            ),
            Step(
                "ends",
                "the leading error vanishes at both ends",
                kept.subs(x, 0) + kept.subs(x, h),
                sp.Integer(0),
            ),
        ),
        (Step("printed", "f - y to degree three", kept, -(h**2) * x * f[3] / 6 + x**3 * f[3] / 6),),
    )


def _midpoint() -> Equation:
    tau = truncation_error("midpoint_curvature_glu")
    general = sp.expand(quadratic_piece(_theta) - target(x))
    mean = _mean_over_unit_cell(terms_of_degree(general, 3) / f[3])
    best = sp.solve(sp.diff(mean, _theta), _theta)[0]
    ratio = leading_constant("left_curvature_glu") / leading_constant("midpoint_curvature_glu")
    factored = -f[3] * x * (2 * x - h) * (x - h) / 12
    return Equation(
        "xs-midpoint-glu",
        "ours",
        "a GLU whose curvature is taken at the midpoint",
        (
            Step(
                "factored",
                "its leading error also vanishes at the midpoint",
                terms_of_degree(tau, 3),
                factored,
            ),
            Step(
                "constant",
                "its mean square is 1/30240",
                _mean_over_unit_cell(factored / f[3]),
                1 / sp.Integer(30240),
            ),
            Step("eight", "an eighth of the left-end constant", ratio, sp.Integer(8)),
            Step("best", "no other place in the cell does better", best, _HALF),
            Step(
                "minimum",
                "the mean square is convex in the place",
                sp.diff(mean, _theta, 2),
                sp.Rational(1, 60),
            ),
        ),
        (),
    )


def _hermite() -> Equation:
    tau = truncation_error("hermite_gqu")
    leading = terms_of_degree(tau, 4)
    a3, b2, t = sp.symbols("a3 b2 t", real=True)
    cubic = sp.Poly(a3 * (x - t) ** 3 + b2 * (x - t) ** 2, x)
    factored = (x - t) * (x - t) * (a3 * (x - t) + b2)
    return Equation(
        "xs-hermite-gqu",
        "ours",
        "a GQU that is the cubic Hermite interpolant",
        (
            Step(
                "lower",
                "nothing of degree below four is left",
                terms_up_to(tau, 3),
                sp.Integer(0),
            ),
            Step(
                "factored",
                "the leading error is -f'''' x^2 (x - h)^2 / 24",
                leading,
                -f[4] * x**2 * (x - h) ** 2 / 24,
            ),
            Step(
                "constant",
                "its mean square is 1/9!",
                _mean_over_unit_cell(leading / f[4]),
                1 / sp.factorial(9),
            ),
            Step(
                "real",
                "what a knot adds to a C1 cubic is a gate times two real affine factors",
                cubic.as_expr(),
                factored,
            ),
        ),
        (),
    )


def error_equations() -> tuple[Equation, ...]:
    """Eqs. 4 and 7 to 14 in that order, then our two constructions."""
    return (
        _eq4(),
        _eq7(),
        _eq8(),
        _constant_equation(
            "gu-eq9", "9", "leading RMSE of the MLP", "interpolating_mlp", 3, sp.Integer(120)
        ),
        _eq10(),
        _eq11(),
        _eq12(),
        _eq13(),
        _constant_equation(
            "gu-eq14", "14", "leading RMSE of the GLU", "left_curvature_glu", 5, sp.Rational(945, 2)
        ),
        _midpoint(),
        _hermite(),
    )
