"""Networks with equidistant hinges as splines: the paper's Eqs. 2, 5, 6, 16 and 17."""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from xsquared.papers.equations import Equation, Step
from xsquared.truncation import h, x

D, U, u, G, g, d = sp.symbols("D U u G g d", real=True)
_HALF = sp.Rational(1, 2)
_Di, _Ui, _ui = (sp.symbols(f"{letter}0:5", real=True) for letter in "DUu")
_F = sp.symbols("F0:6", real=True)  # values of the target at 0, h, 2h, ...


def _network_at(position: sp.Expr, neuron: Callable[[int], sp.Expr], count: int) -> sp.Expr:
    """d + sum of the neurons that are open at ``position``, as a function of x; hinges at i h."""
    total = d
    for i in range(count):
        if (position - i * h).is_positive:
            total += neuron(i)
    return total


def _mlp_neuron(i: int) -> sp.Expr:
    return _Di[i] * (x - i * h)


def _glu_neuron(i: int) -> sp.Expr:
    return _Di[i] * (x - i * h) * (_Ui[i] * x + _ui[i])


def _constructed_mlp(cells: int) -> list[sp.Expr]:
    """The D_i of the mended recurrence on generic values F_0, F_1, ... at the hinges."""
    weights: list[sp.Expr] = []
    y = _F[0]
    for i in range(cells):
        weight = sp.expand((_F[i + 1] - y.subs(x, (i + 1) * h)) / h)
        weights.append(weight)
        y = sp.expand(y + weight * (x - i * h))
    return weights


def _rows(neuron: Callable[[int], sp.Expr]) -> tuple[Step, ...]:
    """Printed rows against the network with its gates opened or shut by where the cell lies."""
    return tuple(
        Step(
            f"printed-cell{k}",
            f"between hinges {k} and {k + 1} exactly the neurons 0 to {k} are open",
            _network_at((k + _HALF) * h, neuron, 5),
            d + sum((neuron(i) for i in range(k + 1)), sp.Integer(0)),
        )
        for k in range(4)
    )


def _joints(neuron: Callable[[int], sp.Expr]) -> tuple[Step, ...]:
    """What makes the rows a spline: one new neuron per hinge, and no jump there."""
    left, right = (_network_at((k + _HALF) * h, neuron, 5) for k in (1, 2))
    return (
        Step("outside", "left of all hinges only d remains", _network_at(-h, neuron, 5), d),
        Step("one-new", "crossing hinge 2 opens neuron 2 and no other", right - left, neuron(2)),
        Step(
            "continuous",
            "neighbouring rows agree at their common hinge",
            (right - left).subs(x, 2 * h),
            sp.Integer(0),
        ),
    )


def _eq2() -> Equation:
    neuron = D * (G * x + g) * (U * x + u)
    by_powers = sum(
        (sp.Poly(neuron, x).coeff_monomial(x**j) * x**j for j in range(3)), sp.Integer(0)
    )
    printed = D * (G * U * x**2 + (g * U + G * u) * x + g * u)
    return Equation(
        "gu-eq2",
        "2",
        "an open GLU neuron is a quadratic",
        (
            Step("powers", "an open neuron has no power of x above the second", neuron, by_powers),
            Step("curvature", "its curvature is 2 D G U", sp.diff(neuron, x, 2), 2 * D * G * U),
        ),
        (Step("printed", "the three coefficients as printed", neuron, printed),),
    )


def _piecewise_equation(number: str, title: str, neuron: Callable[[int], sp.Expr]) -> Equation:
    return Equation(f"gu-eq{number}", number, title, _joints(neuron), _rows(neuron))


def _eq6() -> Equation:
    weights = _constructed_mlp(4)
    steps = []
    y = _F[0]
    for i, weight in enumerate(weights):
        y = y + weight * (x - i * h)
        steps.append(
            Step(
                f"interpolates{i}",
                f"with neurons 0 to {i} placed, y meets f at the right end of cell {i}",
                y.subs(x, (i + 1) * h),
                _F[i + 1],
            )
        )
    second = (_F[3] - 2 * _F[2] + _F[1]) / h
    steps.append(Step("difference", "D_i is a second difference of f over h", weights[2], second))
    y0 = _F[0] + weights[0] * x
    return Equation(
        "gu-eq6",
        "6",
        "the MLP recurrence",
        tuple(steps),
        (
            Step(
                "printed",
                "D_1 from the printed recurrence, read at the right end of cell 1",
                (_F[2] - _F[0]) / h - y0.subs(x, 2 * h),
                weights[1],
            ),
        ),
    )


def piecewise_equations() -> tuple[Equation, ...]:
    """Eqs. 2, 5, 6, 16 and 17, in that order."""
    return (
        _eq2(),
        _piecewise_equation("5", "one cell of the GLU", _glu_neuron),
        _eq6(),
        _piecewise_equation("16", "the MLP as a piecewise linear spline", _mlp_neuron),
        _piecewise_equation("17", "the GLU as a piecewise quadratic spline", _glu_neuron),
    )
