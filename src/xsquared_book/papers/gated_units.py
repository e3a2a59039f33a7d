"""The gated-units paper's numbered equations, each as links that sympy checks, and two of ours.

Sections 1-3 and appendix A with the forms that the paper prints, in its order; then our two
constructions, which it does not have. Definitions are computed through :mod:`xsquared.truncation`.
What holds for every function is stated with an undefined one; limits that rest on its smoothness
are argued in the chapter on truncation errors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import sympy as sp

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
from xsquared_book.papers.equations import Links, Paper

#: The paper's equations in its own order, ours last.
paper = Paper()
D, U, u, G, g, d = sp.symbols("D U u G g d", real=True)
_Di, _Ui, _ui = (sp.symbols(f"{letter}0:5", real=True) for letter in "DUu")
_F = sp.symbols("F0:6", real=True)  # values of the target at 0, h, 2h, ...
_theta, _a, _b, _c, _P = sp.symbols("theta a b c P", positive=True)
_i, _n = sp.symbols("i n", positive=True, integer=True)
_Neuron = Callable[[int], sp.Expr]


# fmt: off
def _mlp_neuron(i: int) -> sp.Expr:
    return _Di[i] * (x - i * h)


def _glu_neuron(i: int) -> sp.Expr:
    return _Di[i] * (x - i * h) * (_Ui[i] * x + _ui[i])


def _network_at(position: sp.Expr, neuron: _Neuron) -> sp.Expr:
    """d + sum of those of five neurons that are open at ``position``; hinges at i h."""
    return d + sp.Add(*(neuron(i) for i in range(5) if (position - i * h).is_positive))


def _spline(neuron: _Neuron) -> Links:
    """What makes the rows a spline, and the first four rows: gates open or shut by the cell."""
    rows = [_network_at((k + sp.Rational(1, 2)) * h, neuron) for k in range(4)]
    crossed = rows[2] - rows[1]
    yield "outside", "left of all hinges only d remains", _network_at(-h, neuron), d
    yield "one-new", "crossing hinge 2 opens neuron 2 and no other", crossed, neuron(2)
    yield ("continuous", "neighbouring rows agree at their common hinge",
           crossed.subs(x, 2 * h), 0)
    for k, row in enumerate(rows):
        yield (f"printed-cell{k}",
               f"between hinges {k} and {k + 1} exactly the neurons 0 to {k} are open",
               row, d + sp.Add(*(neuron(i) for i in range(k + 1))))


def _on_unit_cell(error: sp.Expr) -> sp.Expr:
    """Mean square of an error on [0, 1] after h has been set to 1."""
    return sp.integrate(sp.expand(error.subs(h, 1) ** 2), (x, 0, 1))


def _any_target(name: str) -> Links:
    """For any f in C^k: what carries the error from Taylor polynomials to f itself."""
    order, any_f, start = PIECES[name].order, sp.Function("f"), sp.Symbol("s", real=True)
    taylor = sum(any_f(start).diff(start, j) * (x - start) ** j / sp.factorial(j)
                 for j in range(order))
    leading = leading_term(name)
    yield ("remainder", "for any f: the derivative by s of its Taylor polynomial of degree k - 1 "
           "at s, whose integral from 0 to x is Taylor's remainder",
           sp.diff(taylor, start),
           any_f(start).diff(start, order) * (x - start) ** (order - 1) / sp.factorial(order - 1))
    yield ("reproduces", "polynomials of degree below k are reproduced",
           terms_up_to(truncation_error(name), order - 1), 0)
    yield ("only", "the leading term carries f^(k) at the cell's left end and nothing else",
           leading, f[order] * sp.diff(leading, f[order]))


def _riemann_sum() -> Links:
    """For any g in C^1: sums over n cells tend to the integral, with a bound."""
    g, start = sp.Function("g")(x), sp.Symbol("a", real=True)
    yield ("by-parts", "for any g, on a cell that begins at a: (x - a) g has the derivative "
           "g + (x - a) g', so that h g(a + h) exceeds the integral of g by that of (x - a) g'",
           sp.diff((x - start) * g, x), g + (x - start) * sp.diff(g, x))
    yield ("bound", "where abs(g') is at most 1, n cells of width 1/n miss the integral by no more "
           "than 1/(2n)", _n * sp.integrate(x, (x, 0, 1 / _n)), 1 / (2 * _n))


def _leading(name: str, per_neuron: int, square: sp.Expr) -> Links:
    """A leading RMSE: the integral, the constant, the sum, and the rate by P = per_neuron n + 1."""
    order, constant = PIECES[name].order, leading_constant(name)
    derivative = sp.Symbol(f"C{order}", positive=True)
    error = leading_term(name).subs(f[order], derivative)
    rms = root_mean_square(error)
    yield ("integral", "the mean square of the leading term over a cell",
           sp.integrate(sp.expand(error**2), (x, 0, h)) / h,
           constant**2 * h ** (2 * order) * derivative**2)
    yield ("unit", "the same on a cell of width one",
           _on_unit_cell(error), constant**2 * derivative**2)
    yield from _any_target(name)
    yield from _riemann_sum()
    yield ("rate", f"in parameters the error falls like P^-{order}",
           sp.limit(rms.subs(h, per_neuron / (_P - 1)) * _P**order, _P, sp.oo),
           (rms / h**order) * per_neuron**order)
    yield ("printed", "the leading RMSE with the stated constant",
           rms**2, h ** (2 * order) * derivative**2 / square)


@paper.equation("gu-eq1", "1", "the GLU as a sum over its neurons")
def _eq1() -> Links:
    gates = sp.symbols("s0:3", real=True)
    slopes, offsets = sp.symbols("G0:3", real=True), sp.symbols("g0:3", real=True)
    gate, factor = sp.Matrix(gates), sp.Matrix(_Ui[:3]) * x + sp.Matrix(_ui[:3])
    layer = d + (sp.Matrix([_Di[:3]]) * gate.multiply_elementwise(factor))[0]
    opened = layer.subs({gates[i]: slopes[i] * x + offsets[i] for i in range(3)})
    yield ("piece", "where all gates are open, the layer's curvature is the sum of its neurons'",
           sp.diff(opened, x, 2), sp.Add(*(2 * _Di[i] * slopes[i] * _Ui[i] for i in range(3))))
    yield "shut", "where all are shut, only d is left", layer.subs(dict.fromkeys(gates, 0)), d
    yield ("printed", "the sum over three neurons is the layer, whatever the gates' values",
           d + sp.Add(*(_Di[i] * gates[i] * (_Ui[i] * x + _ui[i]) for i in range(3))), layer)


@paper.equation("gu-eq2", "2", "an open GLU neuron is a quadratic")
def _eq2() -> Links:
    neuron = D * (G * x + g) * (U * x + u)
    powers = sp.Add(*(sp.Poly(neuron, x).coeff_monomial(x**j) * x**j for j in range(3)))
    yield "powers", "an open neuron has no power of x above the second", neuron, powers
    yield "curvature", "its curvature is 2 D G U", sp.diff(neuron, x, 2), 2 * D * G * U
    yield ("printed", "the three coefficients as printed",
           neuron, D * (G * U * x**2 + (g * U + G * u) * x + g * u))


@paper.equation("gu-eq3", "3", "the form of a scaling law")
def _eq3() -> Links:
    E, A, alpha, B, beta, data = sp.symbols("E A alpha B beta N", positive=True)
    law = E + A / _P**alpha + B / data**beta
    ours = root_mean_square(leading_term("interpolating_mlp")).subs(h, 3 / (_P - 1))
    yield ("data", "with data without limit the last term vanishes",
           sp.limit((B / data**beta).subs(beta, 2), data, sp.oo), 0)
    yield ("slope", "the logarithmic slope of what parameters can remove is -alpha",
           _P * sp.diff(sp.log(A / _P**alpha), _P), -alpha)
    yield ("ours", "the MLP construction has this form, with alpha = 2 and A = 9 |f''|/sqrt(120)",
           sp.limit(ours * _P**2, _P, sp.oo) ** 2, 81 * f[2] ** 2 / 120)
    yield ("printed", "without noise and with data without limit, A/P^alpha is left",
           law.subs({E: 0, B: 0}), A / _P**alpha)


@paper.equation("gu-eq4", "4", "the RMSE tends to an integral")
def _eq4() -> Links:
    big = sp.Symbol("N", positive=True, integer=True)
    error = _a + _b * x + _c * x**2
    sample = sp.expand((error**2).subs(x, _i / big))
    mean = sp.limit(sp.expand(sp.summation(sample, (_i, 1, big)) / big), big, sp.oo)
    integral = sp.integrate(error**2, (x, 0, 1))
    yield from _riemann_sum()
    yield ("riemann", "the limit itself, for an error that is a quadratic", mean, integral)
    yield ("printed", "root of the mean tends to the root of the integral, for that error",
           sp.sqrt(mean), sp.sqrt(integral))


paper.equation("gu-eq5", "5", "one cell of the GLU")(partial(_spline, _glu_neuron))


@paper.equation("gu-eq6", "6", "the MLP recurrence")
def _eq6() -> Links:
    so_far, value = sp.symbols("Y f", real=True)
    yield ("every-cell", "whatever the earlier neurons sum to at the right end of a cell, its own "
           "neuron makes it f there", so_far + (value - so_far) / h * h, value)
    weights, y = [], _F[0]
    for i in range(4):
        weights.append(sp.expand((_F[i + 1] - y.subs(x, (i + 1) * h)) / h))
        y = y + weights[i] * (x - i * h)
        yield (f"interpolates{i}",
               f"with neurons 0 to {i} placed, y meets f at the right end of cell {i}",
               y.subs(x, (i + 1) * h), _F[i + 1])
    yield ("difference", "D_i is a second difference of f over h",
           weights[2], (_F[3] - 2 * _F[2] + _F[1]) / h)
    yield ("printed", "D_1 from the printed recurrence, read at the right end of cell 1",
           (_F[2] - _F[0]) / h - (_F[0] + weights[0] * 2 * h), weights[1])


@paper.equation("gu-eq7", "7", "truncation error of the MLP")
def _eq7() -> Links:
    error = truncation_error("interpolating_mlp")
    right = (h * x - x**2) * f[2] / 2 + (h**2 * x - x**3) * f[3] / 6 + (h**3 * x - x**4) * f[4] / 24
    printed = x**2 * f[2] / 2 - h * x * f[2] / 2 + x**3 * f[3] / 6 - h**3 * x * f[4] / 24
    yield "taylor", "y - f to degree four in x and h", terms_up_to(error, 4), right
    yield "left", "it vanishes at the left end", error.subs(x, 0), 0
    yield "right", "it vanishes at the right end", error.subs(x, h), 0
    yield ("printed", "the printed terms below degree four, up to the sign, against y - f",
           -terms_up_to(printed, 3), terms_up_to(error, 3))


@paper.equation("gu-eq8", "8", "from a cell to the whole interval")
def _eq8() -> Links:
    cell = sp.integrate((_a * (x * h - x**2)) ** 2, (x, 0, h))
    covers = sp.integrate(sp.Integer(1), (x, (_i - 1) / _n, _i / _n))
    yield ("cells", "n = 1/h cells of one and the same error add up to the mean over one cell",
           sp.summation(cell.subs(h, 1 / _n), (_i, 1, _n)), (cell / h).subs(h, 1 / _n))
    yield "cover", "cells 1 to n cover the unit interval once", sp.summation(covers, (_i, 1, _n)), 1
    yield ("printed", "cells 0 to n cover the unit interval once",
           sp.summation(covers, (_i, 0, _n)), 1)


paper.equation("gu-eq9", "9", "leading RMSE of the MLP")(
    partial(_leading, "interpolating_mlp", 3, sp.Integer(120)))


@paper.equation("gu-recurrences", "Section 3", "the unnumbered steps of both constructions")
def _recurrences() -> Links:
    bias, closing = -h, (_F[1] - _F[0]) / h
    second = (_F[2] - _F[0] - 2 * closing * h) / h
    added = D * (x + bias) * (U * x + u)
    rows = {i: _network_at((i + sp.Rational(1, 2)) * h, _mlp_neuron) for i in (0, 1)}
    weights = {d: _F[0], _Di[0]: closing, _Di[1]: second}
    yield "first", "D_0 = (f(h) - f(0))/h meets f at h", rows[0].subs(weights).subs(x, h), _F[1]
    yield ("second", "D_1 = (f(2h) - f(0) - 2 D_0 h)/h meets f at 2h",
           rows[1].subs(weights).subs(x, 2 * h), _F[2])
    yield ("printed", "what a GLU's neuron adds, with G = 1", added,
           D * U * x**2 + (D * U * bias + D * u) * x + D * bias * u)


@paper.equation("gu-eq10", "10", "u_0 closes the first cell")
def _eq10() -> Links:
    value = sp.Symbol("fh", real=True)
    closing = sp.solve(D * h * (U * h + u) + f[0] - value, u)[0]
    yield ("interpolates", "with this u_0 the first cell meets f at its right end",
           D * h * (U * h + closing) + f[0], value)
    yield "printed", "u_0 as printed", closing, (-D * U * h**2 - f[0] + value) / (D * h)


@paper.equation("gu-eq11", "11", "truncation error of the GLU with free curvature")
def _eq11() -> Links:
    start = target(sp.Integer(0))
    closing = (-D * U * h**2 - start + target(h)) / (D * h)
    error = sp.expand(-D * x * (U * x + closing) - start + target(x))
    kept = error.subs({f[4]: 0, f[5]: 0})
    yield "left", "the error vanishes at the left end", error.subs(x, 0), 0
    yield "right", "and at the right end", error.subs(x, h), 0
    yield ("rest", "what lies beyond the third derivative is of degree four or more",
           terms_up_to(error - kept, 3), 0)
    yield ("printed", "f - y up to the third derivative", kept,
           D * U * h * x - D * U * x**2 - h**2 * x * f[3] / 6 - h * x * f[2] / 2
           + x**3 * f[3] / 6 + x**2 * f[2] / 2)


@paper.equation("gu-eq12", "12", "the curvature that cancels two terms")
def _eq12() -> Links:
    free = D * U * h * x - D * U * x**2 - h * x * f[2] / 2 + x**2 * f[2] / 2
    solved = sp.solve(sp.Poly(free, x).coeff_monomial(x), U)[0]
    yield "cancels", "both second-derivative terms vanish", free.subs(U, solved), 0
    yield "curvature", "the cell's curvature is the target's at its left end", 2 * D * solved, f[2]
    yield "printed", "U_0 as printed", solved, f[2] / (2 * D)


@paper.equation("gu-eq13", "13", "truncation error of the GLU")
def _eq13() -> Links:
    error = -truncation_error("left_curvature_glu")
    kept = terms_up_to(error, 3)
    yield "order", "nothing of degree below three is left", terms_up_to(error, 2), 0
    yield ("ends", "the leading error vanishes at both ends",
           kept.subs(x, 0) + kept.subs(x, h), 0)
    yield "printed", "f - y to degree three", kept, -(h**2) * x * f[3] / 6 + x**3 * f[3] / 6


paper.equation("gu-eq14", "14", "leading RMSE of the GLU")(
    partial(_leading, "left_curvature_glu", 5, sp.Rational(945, 2)))


@paper.equation("gu-eq15", "15", "the GQU, whose open neurons are cubics")
def _eq15() -> Links:
    Q, q = sp.symbols("Q q", real=True)
    neuron = D * (G * x + g) * (U * x + u) * (Q * x + q)
    yield "third", "its third derivative is 6 D G U Q", sp.diff(neuron, x, 3), 6 * D * G * U * Q
    yield "fourth", "it has no power above the third", sp.diff(neuron, x, 4), 0
    yield ("printed", "the cubic term of its unfolding",
           sp.Poly(neuron, x).coeff_monomial(x**3), D * G * U * Q)


paper.equation("gu-eq16", "16", "the MLP as a piecewise linear spline")(
    partial(_spline, _mlp_neuron))
paper.equation("gu-eq17", "17", "the GLU as a piecewise quadratic spline")(
    partial(_spline, _glu_neuron))


@paper.equation("xs-midpoint-glu", "ours", "a GLU whose curvature is taken at the midpoint")
def _midpoint() -> Links:
    general = sp.expand(quadratic_piece(_theta) - target(x))
    mean = _on_unit_cell(terms_of_degree(general, 3) / f[3])
    factored = -f[3] * x * (2 * x - h) * (x - h) / 12
    yield ("factored", "its leading error also vanishes at the midpoint",
           terms_of_degree(truncation_error("midpoint_curvature_glu"), 3), factored)
    yield ("constant", "its mean square is 1/30240",
           _on_unit_cell(factored / f[3]), sp.Rational(1, 30240))
    yield ("eight", "an eighth of the left-end constant",
           leading_constant("left_curvature_glu") / leading_constant("midpoint_curvature_glu"), 8)
    yield ("best", "no other place in the cell does better",
           sp.solve(sp.diff(mean, _theta), _theta)[0], sp.Rational(1, 2))
    yield ("minimum", "the mean square is convex in the place",
           sp.diff(mean, _theta, 2), sp.Rational(1, 60))


@paper.equation("xs-hermite-gqu", "ours", "a GQU that is the cubic Hermite interpolant")
def _hermite() -> Links:
    tau = truncation_error("hermite_gqu")
    leading = terms_of_degree(tau, 4)
    a3, b2, t = sp.symbols("a3 b2 t", real=True)
    yield "lower", "nothing of degree below four is left", terms_up_to(tau, 3), 0
    yield ("factored", "the leading error is -f'''' x^2 (x - h)^2 / 24",
           leading, -f[4] * x**2 * (x - h) ** 2 / 24)
    yield ("constant", "its mean square is 1/9!",
           _on_unit_cell(leading / f[4]), 1 / sp.factorial(9))
    yield ("real", "what a knot adds to a C1 cubic is a gate times two real affine factors",
           a3 * (x - t) ** 3 + b2 * (x - t) ** 2, (x - t) * (x - t) * (a3 * (x - t) + b2))
