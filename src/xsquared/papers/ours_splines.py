"""Our own theory of order and constants in one dimension, as links that sympy checks.

What the chapter on order and constants states of every function rests on these identities, and on
the smoothness and the limits that the chapter spells out.
"""

from __future__ import annotations

from functools import cache

import sympy as sp

from xsquared.papers.equations import Equation, Step
from xsquared.splines import equal_cells_constant, error_constant, monospline, x
from xsquared.truncation import (
    f,
    h,
    hermite_piece,
    leading_constant,
    linear_piece,
    quadratic_piece,
    target,
    terms_up_to,
)
from xsquared.truncation import x as place

_s = sp.Symbol("s", real=True)


def _increments() -> Equation:
    """A knot's increment is one neuron: gate, p - 1 factors at the knot, one free factor."""
    t = sp.Symbol("t", real=True)
    steps = []
    for p in range(1, 5):
        left = sp.symbols(f"l0:{p + 2}", real=True)
        right = (*left[:p], *sp.symbols(f"r{p}:{p + 2}", real=True))
        pieces = [sum(c * (place - t) ** j for j, c in enumerate(side)) for side in (left, right)]
        slope, offset = right[p + 1] - left[p + 1], right[p] - left[p]
        gate = place - t
        neuron = gate * (place - t) ** (p - 1) * (slope * place + offset - slope * t)
        steps.append(
            Step(
                f"factors-{p}",
                f"with {p} factors: pieces that share {p - 1} derivatives differ by one neuron",
                pieces[1] - pieces[0],
                neuron,
            )
        )
    r0, r1, r2, big = sp.symbols("r0 r1 r2 M", real=True)
    steps.append(
        Step(
            "two-neurons",
            "any quadratic is a difference of two with real roots: r + M (s^2 - 1) has the "
            "discriminant r1^2 + 4 (M + r2)(M - r0), positive for large M",
            sp.discriminant(r2 * _s**2 + r1 * _s + r0 + big * (_s**2 - 1), _s),
            r1**2 + 4 * (big + r2) * (big - r0),
        )
    )
    return Equation("xs-every-order", "ours", "a spline of every order", tuple(steps), ())


def _constants() -> Equation:
    """Best constants on equal cells, and what continuity costs."""
    known = {(2, 0): 720, (3, 0): 30240, (4, 0): 5040**2, (4, 1): 1209600}
    steps = [
        Step(
            f"constant-{k}-{r}",
            f"degree {k - 1} with {r} continuous derivatives: the mean square",
            equal_cells_constant(k, r) ** 2,
            1 / sp.Integer(number),
        )
        for (k, r), number in known.items()
    ]
    for k in range(2, 7):
        bernoulli = sp.bernoulli(k, x) / sp.factorial(k)
        steps += [
            Step(
                f"bernoulli-{k}",
                f"order {k}, as smooth as can be: the error is a Bernoulli polynomial",
                monospline(k, k - 2),
                bernoulli,
            ),
            Step(
                f"norm-{k}",
                "whose root mean square is the known one",
                equal_cells_constant(k, k - 2) ** 2,
                error_constant(k, "smooth") ** 2,
            ),
            Step(
                f"unit-{k}",
                f"order {k}: one continuous derivative fewer gains nothing",
                monospline(k, max(k - 3, -1)),
                bernoulli,
            ),
            Step(
                f"legendre-{k}",
                f"order {k}, pieces that need not meet: the Legendre polynomial's norm",
                equal_cells_constant(k, -1) ** 2,
                error_constant(k, "discontinuous") ** 2,
            ),
        ]
    return Equation("xs-equal-cells", "ours", "best constants on equal cells", tuple(steps), ())


def _optimal_constructions() -> Equation:
    """The constructions' errors against the best, and the shift that closes the gap."""

    def scaled(k: int) -> sp.Expr:
        return -f[k] * h**k * sp.bernoulli(k, place / h) / sp.factorial(k)

    shifts = {2: linear_piece() - h**2 * f[2] / 12, 4: hermite_piece() + h**4 * f[4] / 720}
    steps = [
        Step(
            "midpoint",
            "the midpoint GLU's leading error is the best one, -f''' h^3 B_3(x/h)/3!",
            terms_up_to(quadratic_piece(sp.Rational(1, 2)) - target(place), 3),
            scaled(3),
        ),
        *(
            Step(
                f"shift-{k}",
                f"the {name} with its values moved by {moved} has the best leading error",
                terms_up_to(sp.expand(shifts[k] - target(place)), k),
                scaled(k),
            )
            for k, name, moved in (
                (2, "interpolating MLP", "-h^2 f''/12"),
                (4, "Hermite GQU", "h^4 f''''/720"),
            )
        ),
        *(
            Step(
                f"gain-{name.replace('_', '-')}",
                "the construction's constant over the best one",
                leading_constant(name) / error_constant(k, "smooth"),
                gain,
            )
            for name, k, gain in (
                ("interpolating_mlp", 2, sp.sqrt(6)),
                ("left_curvature_glu", 3, sp.Integer(8)),
                ("midpoint_curvature_glu", 3, sp.Integer(1)),
                ("hermite_gqu", 4, sp.sqrt(sp.Rational(10, 3))),
            )
        ),
    ]
    return Equation(
        "xs-equal-cells-gain", "ours", "constructions against the best", tuple(steps), ()
    )


def _complex_roots() -> Equation:
    """The increment of the best continuous cubic spline has complex roots at every knot."""
    error = monospline(4, 0)
    jump = sp.expand(error.subs(x, _s + 1) - error.subs(x, _s))
    return Equation(
        "xs-complex-roots",
        "ours",
        "the best continuous cubics cannot be neurons",
        (
            Step(
                "increment",
                "the spline's increment at a knot is s (s^2 + 1/7)/6",
                jump,
                _s * (_s**2 + sp.Rational(1, 7)) / 6,
            ),
            Step(
                "price",
                "the factor at the knot costs the square root of 21",
                equal_cells_constant(4, 1) / equal_cells_constant(4, 0),
                sp.sqrt(21),
            ),
        ),
        (),
    )


def _legendre_bound() -> Equation:
    """The projection on one Legendre polynomial is a mean of f^(k), for any f."""
    steps = []
    for k in (2, 3, 4):
        jet = sp.symbols(f"f0:{k + 1}", real=True)
        weight = (place * (h - place)) ** k

        def total(expression: sp.Expr, jet: tuple[sp.Symbol, ...] = jet) -> sp.Expr:
            """The derivative along x of an expression in x, f, f', ...."""
            chain = sum(jet[j + 1] * sp.diff(expression, jet[j]) for j in range(len(jet) - 1))
            return sp.diff(expression, place) + chain

        by_parts = sum((-1) ** j * jet[j] * sp.diff(weight, place, k - 1 - j) for j in range(k))
        legendre = sp.legendre(k, 2 * place / h - 1)
        norm = sp.sqrt(sp.integrate(sp.expand(sp.diff(weight, place, k) ** 2), (place, 0, h)))
        steps += [
            Step(
                f"parts-{k}",
                "for any f: the derivative of the boundary terms is f W^(k) - (-1)^k f^(k) W",
                total(by_parts),
                jet[0] * sp.diff(weight, place, k) - (-1) ** k * jet[k] * weight,
            ),
            Step(
                f"ends-{k}",
                "the boundary terms vanish at both ends",
                by_parts.subs(place, 0) ** 2 + by_parts.subs(place, h) ** 2,
                sp.Integer(0),
            ),
            Step(
                f"legendre-{k}",
                "W^(k) is a multiple of the Legendre polynomial",
                sp.diff(weight, place, k),
                (-h) ** k * sp.factorial(k) * legendre,
            ),
            Step(
                f"constant-{k}",
                "the integral of W over the norm of W^(k) is the constant times h^(k + 1/2)",
                (sp.integrate(sp.expand(weight), (place, 0, h)) / norm) ** 2,
                error_constant(k, "discontinuous") ** 2 * h ** (2 * k + 1),
            ),
        ]
    return Equation("xs-lower-bound", "ours", "no piece does better", tuple(steps), ())


def _shares() -> Equation:
    """Optimal shares of cells, and why offsets add."""
    first, second, n, offset = sp.symbols("G1 G2 n K", positive=True)
    whole = first + second
    steps = []
    for k in (2, 3, 4):
        cells = [mass * (n + offset) / whole for mass in (first, second)]
        errors = [
            mass ** (2 * k + 1) * count ** (-2 * k)
            for mass, count in zip((first, second), cells, strict=True)
        ]
        steps.append(
            Step(
                f"add-{k}",
                "segments that share n + K in proportion to their masses have the error of one",
                sum(errors),
                whole ** (2 * k + 1) * (n + offset) ** (-2 * k),
            )
        )
        m, e = sp.symbols("m e", positive=True)
        steps.append(
            Step(
                f"fluctuation-{k}",
                "m cells stretched by e/m each: the second derivative of the error, at e = 0",
                sp.diff(m * (1 + e / m) ** (2 * k + 1), e, 2).subs(e, 0),
                2 * k * (2 * k + 1) / m,
            )
        )
    return Equation("xs-offsets", "ours", "offsets of zeros and ends add", tuple(steps), ())


@cache
def equations() -> tuple[Equation, ...]:
    """Our equations on order and constants, in the chapter's order."""
    return (
        _increments(),
        _constants(),
        _optimal_constructions(),
        _complex_roots(),
        _legendre_bound(),
        _shares(),
    )
