"""Our own theory of order and constants, as links that sympy checks.

What the chapters on higher dimensions and on order and constants state of every function rests on
these identities, and on the smoothness and the limits that the chapters spell out.
"""

from __future__ import annotations

from typing import Any

import sympy as sp
from sympy.polys.matrices import DomainMatrix

from xsquared.splines.constants import equal_cells_constant, error_constant, monospline, x
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
from xsquared_book.papers.equations import Links, Paper

#: Our equations on order and constants, in the chapter's order.
paper = Paper()
_s = sp.Symbol("s", real=True)


# fmt: off
@paper.equation("xs-every-order", "ours", "a spline of every order")
def _increments() -> Links:
    """A knot's increment is one neuron: gate, p - 1 factors at the knot, one free factor."""
    t = sp.Symbol("t", real=True)
    for p in range(1, 5):
        left = sp.symbols(f"l0:{p + 2}", real=True)
        right = (*left[:p], *sp.symbols(f"r{p}:{p + 2}", real=True))
        pieces = [sum(c * (place - t) ** j for j, c in enumerate(side)) for side in (left, right)]
        slope, offset = right[p + 1] - left[p + 1], right[p] - left[p]
        yield (f"factors-{p}", f"with {p} factors: pieces that share {p - 1} derivatives differ by "
               "one neuron", pieces[1] - pieces[0],
               (place - t) * (place - t) ** (p - 1) * (slope * place + offset - slope * t))
    r0, r1, r2, big = sp.symbols("r0 r1 r2 M", real=True)
    yield ("two-neurons", "any quadratic is a difference of two with real roots: r + M (s^2 - 1) "
           "has the discriminant r1^2 + 4 (M + r2)(M - r0), positive for large M",
           sp.discriminant(r2 * _s**2 + r1 * _s + r0 + big * (_s**2 - 1), _s),
           r1**2 + 4 * (big + r2) * (big - r0))


@paper.equation("xs-equal-cells", "ours", "best constants on equal cells")
def _constants() -> Links:
    """What continuity costs."""
    for (k, r), number in {(2, 0): 720, (3, 0): 30240, (4, 0): 5040**2, (4, 1): 1209600}.items():
        yield (f"constant-{k}-{r}", f"degree {k - 1} with {r} continuous derivatives: the mean "
               "square", equal_cells_constant(k, r) ** 2, 1 / sp.Integer(number))
    for k in range(2, 7):
        bernoulli = sp.bernoulli(k, x) / sp.factorial(k)
        yield (f"bernoulli-{k}", f"order {k}, as smooth as can be: the error is a Bernoulli "
               "polynomial", monospline(k, k - 2), bernoulli)
        yield (f"norm-{k}", "whose root mean square is the known one",
               equal_cells_constant(k, k - 2) ** 2, error_constant(k, "smooth") ** 2)
        yield (f"unit-{k}", f"order {k}: one continuous derivative fewer gains nothing",
               monospline(k, max(k - 3, -1)), bernoulli)
        yield (f"legendre-{k}", f"order {k}, pieces that need not meet: the Legendre polynomial's "
               "norm", equal_cells_constant(k, -1) ** 2, error_constant(k, "discontinuous") ** 2)


@paper.equation("xs-equal-cells-gain", "ours", "constructions against the best")
def _optimal_constructions() -> Links:
    """The constructions' errors against the best, and the shift that closes the gap."""
    def best(k: int) -> sp.Expr:
        return -f[k] * h**k * sp.bernoulli(k, place / h) / sp.factorial(k)

    yield ("midpoint", "the midpoint GLU's leading error is the best one, -f''' h^3 B_3(x/h)/3!",
           terms_up_to(quadratic_piece(sp.Rational(1, 2)) - target(place), 3), best(3))
    for k, name, shifted in ((2, "interpolating MLP", linear_piece() - h**2 * f[2] / 12),
                             (4, "Hermite GQU", hermite_piece() + h**4 * f[4] / 720)):
        yield (f"shift-{k}", f"the {name} with its values moved has the best leading error",
               terms_up_to(sp.expand(shifted - target(place)), k), best(k))
    for name, k, gain in (("interpolating_mlp", 2, sp.sqrt(6)), ("left_curvature_glu", 3, 8),
                          ("midpoint_curvature_glu", 3, 1), ("hermite_gqu", 4, sp.sqrt(30) / 3)):
        yield (f"gain-{name.replace('_', '-')}", "the construction's constant over the best one",
               leading_constant(name) / error_constant(k, "smooth"), gain)
    line = sp.expand(linear_piece() - target(place)).coeff(f[2])
    crossing = sp.expand(best(2)).coeff(f[2])
    yield ("largest", "the best line's largest deviation, at the ends, is two thirds of the "
           "interpolating one's, at the middle",
           crossing.subs(place, 0) / line.subs(place, h / 2), -sp.Rational(2, 3))
    yield ("largest-minimax", "halving takes another shift, which makes both deviations equal",
           (line - h**2 / 16).subs(place, 0) / (line - h**2 / 16).subs(place, h / 2), -1)


@paper.equation("xs-complex-roots", "ours", "the best continuous cubics cannot be neurons")
def _complex_roots() -> Links:
    """The increment of the best continuous cubic spline has complex roots at every knot."""
    error = monospline(4, 0)
    yield ("increment", "the spline's increment at a knot is s (s^2 + 1/7)/6",
           error.subs(x, _s + 1) - error.subs(x, _s), _s * (_s**2 + sp.Rational(1, 7)) / 6)
    yield ("price", "the factor at the knot costs the square root of 21",
           equal_cells_constant(4, 1) / equal_cells_constant(4, 0), sp.sqrt(21))


@paper.equation("xs-real-roots", "ours", "on equal cells real roots cost a GQU the whole factor")
def _real_roots() -> Links:
    """Lagrange's function of the condition on the roots is least at B_4, by convexity.

    Its quadratic part is that of waves with the phase t from cell to cell. A Hermitian form is
    positive where its leading minors are; they are polynomials in cos t, and Sturm counts zeros.
    """
    nu, c = sp.Rational(1, 10080), sp.symbols("c0:4", real=True)
    best, other = sp.bernoulli(4, x), sum(a * x**j for j, a in enumerate(c))

    def jet(piece: sp.Expr, j: int, end: int) -> sp.Expr:
        return (sp.diff(piece, x, j) / sp.factorial(j)).subs(x, end)

    for j, jump in enumerate((0, 0, 0, -4)):
        yield (f"jump-{j}", f"at a knot the error B_4 jumps by {jump} in its derivative {j}, over "
               f"{j}!", jet(best, j, 0) - jet(best, j, 1), sp.Integer(jump))
    yield ("stationary", "of a piece c: what B_4 leaves is what the condition's linear part takes",
           sp.integrate(sp.expand(2 * best * other), (x, 0, 1)),
           16 * nu * (jet(other, 1, 0) - jet(other, 1, 1)))
    z, wave = sp.symbols("z t")
    jumps = [[sp.diff(z * jet(other, j, 0) - jet(other, j, 1), a) for a in c] for j in range(4)]
    value, alpha, beta, gamma = (sp.Matrix([row]) for row in jumps)
    form = sp.Matrix(4, 4, lambda i, j: sp.Rational(1, i + j + 1))

    def paired(left: sp.Matrix, right: sp.Matrix) -> sp.Matrix:
        return left.subs(z, 1 / z).T * right

    form += paired(value, value) - nu * (
        paired(beta, beta) - 2 * paired(alpha, gamma) - 2 * paired(gamma, alpha))
    for size in range(1, 5):
        minor = sp.expand(form[:size, :size].det(method="berkowitz"))
        powers = [minor.coeff(z, j) for j in range(size + 1)]
        yield (f"real-{size}", f"leading minor {size} is the same for z and 1/z",
               minor - powers[0] - sum(a * (z**j + z**-j) for j, a in enumerate(powers) if j),
               sp.Integer(0))
        cosine = sp.Poly(powers[0] + sum(2 * a * sp.chebyshevt(j, wave)
                                         for j, a in enumerate(powers) if j), wave)
        yield (f"positive-{size}", "and positive, without a zero, for every phase",
               sp.Integer(cosine.count_roots(-1, 1) + int(bool(cosine.eval(0) <= 0))),
               sp.Integer(0))


@paper.equation("xs-lower-bound", "ours", "no piece does better")
def _legendre_bound() -> Links:
    """The projection on one Legendre polynomial is a mean of f^(k), for any f."""
    any_f = sp.Function("f")(place)
    for k in (2, 3, 4):
        weight = (place * (h - place)) ** k
        top = sp.diff(weight, place, k)
        by_parts = sum((-1) ** j * any_f.diff(place, j) * sp.diff(weight, place, k - 1 - j)
                       for j in range(k))
        yield (f"parts-{k}", "for any f: the derivative of the boundary terms is "
               "f W^(k) - (-1)^k f^(k) W",
               sp.diff(by_parts, place), any_f * top - (-1) ** k * any_f.diff(place, k) * weight)
        yield (f"ends-{k}", "the derivatives of W below the k-th vanish at both ends",
               sum(sp.diff(weight, place, j).subs(place, end) ** 2
                   for j in range(k) for end in (0, h)), 0)
        yield (f"legendre-{k}", "W^(k) is a multiple of the Legendre polynomial",
               top, (-h) ** k * sp.factorial(k) * sp.legendre(k, 2 * place / h - 1))
        yield (f"constant-{k}", "the integral of W over the norm of W^(k) is the constant times "
               "h^(k + 1/2)", sp.integrate(sp.expand(weight), (place, 0, h)) ** 2
               / sp.integrate(sp.expand(top**2), (place, 0, h)),
               error_constant(k, "discontinuous") ** 2 * h ** (2 * k + 1))


def _free_cell(k: int) -> tuple[sp.Expr, sp.Expr, list[sp.Symbol]]:
    """The error on a cell of width h for f^(k) = 1, in z from -1 to 1, its square, the states."""
    shared = {2: 1, 3: 1, 4: 2}[k]
    v, w = (sp.symbols(f"{side}:{shared}", real=True) for side in "vw")
    top = sp.factorial(k) * h**k / sp.factorial(2 * k)
    ends = [(h / 2) ** j * (w[j] + sign * v[j]) / 2 for j in range(shared) for sign in (1, -1)]
    if k == 2:
        parts = [ends[0] - top, ends[1], top]
    elif k == 3:
        parts = [ends[0] / 6, ends[1] - top, 5 * ends[0] / 6, top]
    else:
        bend, tilt = (ends[3] - 10 * top) / 3, (ends[2] - ends[1]) / 5
        parts = [ends[0] - bend - top, ends[1] - tilt, bend, tilt, top]
    error = sum(a * sp.legendre(j, _s) for j, a in enumerate(parts))
    square = h * sum(a**2 / (2 * j + 1) for j, a in enumerate(parts))
    return error, square, [*v, *w]


#: The potential: a form of a knot's state, cut off at 2 and -2; and the multipliers, by widths.
_POTENTIALS: dict[int, tuple[Any, Any]] = {
    2: (lambda v: 0 * v[0], [(0, None, 0)]),
    3: (lambda v: 84 * v[0], [(0, "1/5", 1), ("1/5", None, 0)]),
    4: (lambda v: (80 + 16000 * (v[0] + sp.Rational(1, 720))) * v[1],
        [(0, "2/5", 1), ("2/5", "11/20", "1/2"), ("11/20", None, 0)]),
}


@paper.equation("xs-free-cells", "ours", "no chain of free cells does better than equal ones")
def _free_cells() -> Links:
    """For f^(k) = 1, with a potential: tangent less squared error is never positive.

    A form in (1, states) is positive where all leading minors of its matrix are, states first.
    They are polynomials in the width h. Sturm's theorem counts their zeros in exact arithmetic.
    """
    c, cut = {2: 720, 3: 30240, 4: 1209600}, 2
    for k, (potential, ranges) in _POTENTIALS.items():
        error, square, states = _free_cell(k)
        half = len(states) // 2
        yield (f"error-{k}", f"order {k}: the k-th derivative of a cell's error is 1",
               sp.diff(error, _s, k) * (2 / h) ** k, sp.Integer(1))
        yield (f"ends-{k}", "at both ends the error and its derivatives are the given states",
               sum((sp.diff(error, _s, j).subs(_s, end) * (2 / h) ** j - states[i * half + j]) ** 2
                   for i, end in enumerate((-1, 1)) for j in range(half)), 0)
        yield (f"square-{k}", "and its squared error is this form",
               sp.integrate(sp.expand(error**2), (_s, -1, 1)) * h / 2, square)
        if k == 3:
            yield ("bubble-3", "least, as it is orthogonal to the piece that vanishes at both ends",
                   sp.integrate(sp.expand(error * (1 - _s**2)), (_s, -1, 1)), 0)
        loss = 2 * k - (2 * k + 1) * h + c[k] * square
        out, into = -potential(states[:half]), potential(states[half:])
        for lo, hi, part in ranges:
            share = sp.Rational(part)
            for name, gain in (("both", out + into), ("one", cut + out), ("none", 2 * cut)):
                if k == 2 and name != "both":
                    continue
                form = sp.Poly(loss + (1 - share) * gain - 2 * share * cut * (k > 2), *states)
                hom = form.homogenize(_s)
                matrix = DomainMatrix.from_Matrix(sp.hessian(hom.as_expr(), (*states, _s)))
                matrix = matrix.convert_to(sp.QQ[h])
                touches = name == "both" and hi is None
                for size in range(1, len(states) + 2):
                    last = matrix[:size, :size].charpoly()[-1]
                    minor = sp.Poly((-1) ** size * sp.QQ[h].to_sympy(last), h)
                    if touches and size == len(states) + 1:
                        once, rest = sp.div(minor, sp.Poly((h - 1) ** 2, h))
                        yield (f"touches-{k}", "the least value has a double zero at h = 1",
                               rest.as_expr(), 0)
                        minor = once
                    while minor.eval(0) == 0:
                        minor = minor.quo(sp.Poly(h, h))
                    start, stop = sp.Rational(lo), None if hi is None else sp.Rational(hi)
                    wrong = minor.count_roots(start, stop) + int(bool(minor.eval(stop or 2) <= 0))
                    yield (f"positive-{k}-{sp.Rational(lo).q}-{name}-{size}",
                           f"h from {lo} to {hi or 'infinity'}, {name} of two potentials uncut: "
                           f"leading minor {size} is positive, without a zero",
                           sp.Integer(wrong), 0)


@paper.equation("xs-offsets", "ours", "offsets of zeros and ends add")
def _shares() -> Links:
    """The tangent's identity, from which the law follows, and the scales of a local model."""
    mass, n, offset, u, m, e = sp.symbols("G n K u m e", positive=True)
    for k in (2, 3, 4):
        power = 2 * k + 1
        share = mass / (n + offset)
        yield (f"law-{k}", "at the tangent in G/(n + K) a gain of 2 k K turns n cells into n + K",
               share**power * (power * mass / share - 2 * k * n - 2 * k * offset),
               mass**power * (n + offset) ** (-2 * k))
        yield (f"tangent-{k}", "a power lies above its tangent: the difference is a square times a "
               "positive sum", u**power - power * u + 2 * k,
               (u - 1) ** 2 * sum(j * u ** (power - 1 - j) for j in range(1, power)))
        yield (f"fluctuation-{k}", "m cells stretched by e/m each: the second derivative of the "
               "error, at e = 0", sp.diff(m * (1 + e / m) ** power, e, 2).subs(e, 0),
               2 * k * power / m)
        exponent = sp.Rational(2, power)
        yield (f"scale-{k}", "where f^(k) is A, cells are as wide as A^-s and errors as large as "
               "A^(1 - k s) = A^(s/2)", 1 - k * exponent, exponent / 2)


@paper.equation("xs-any-dimension", "ours", "order k in any dimension, and no more")
def _any_dimension() -> Links:
    """Pieces along a line, equal pieces, shares of waves, and a radial target's profile."""
    t, a, w, n, total, amount = sp.symbols("t a w n S A", positive=True)
    for k in (2, 3, 4):
        start, along = sp.symbols("p:3", real=True), sp.symbols("v:3", real=True)
        factors = [sp.symbols(f"c{i}_:4", real=True) for i in range(k - 1)]
        neuron = sp.prod([offset + sum(c * (p + t * v) for c, p, v in zip(
            weights, start, along, strict=True)) for *weights, offset in factors])
        yield (f"line-{k}", "an open gate times its affine factors, on a line in space: the k-th "
               "derivative", sp.diff(neuron, t, k), sp.Integer(0))
        power = 2 * k + 1
        yield (f"tangent-{k}", "the power 2k + 1 lies above its tangent at a: the difference is a "
               "square times a positive sum", w**power - power * a ** (power - 1) * w
               + (power - 1) * a**power, (w - a) ** 2 * sum(
                   j * a ** (j - 1) * w ** (power - 1 - j) for j in range(1, power)))
        yield (f"equal-{k}", "n + 1 pieces at that tangent: the sum over equal pieces",
               (n + 1) * (w / (n + 1)) ** power, w**power / (n + 1) ** (2 * k))
        share = n * amount ** sp.Rational(1, k + 1) / total
        yield (f"wave-{k}", "a wave's error at its share of neurons", amount * share**-k,
               amount ** sp.Rational(1, k + 1) * (total / n) ** k)
        yield (f"left-out-{k}", "the same bounds a wave at a share of one neuron, A itself",
               (amount ** sp.Rational(1, k + 1) * (total / n) ** k).subs(
                   n, total / amount ** sp.Rational(1, k + 1)), amount)
    j = sp.Symbol("j", integer=True, positive=True)
    primitive = sp.asinh(_s) / sp.sqrt(1 + _s**2)
    yield ("profile", "the radial profile is a derivative", sp.diff(primitive, _s),
           1 / (1 + _s**2) - _s * sp.asinh(_s) / (1 + _s**2) ** sp.Rational(3, 2))
    yield ("recursion", "which obeys (1 + s^2) G' + s G = 1, so that the series of G' has "
           "(2j - 1) a_j = -2j a_(j-1)",
           (1 + _s**2) * sp.diff(primitive, _s) + _s * primitive, sp.Integer(1))
    yield ("mean", "and the means of even powers of the cosine, (2j - 1)/2j from one to the next, "
           "turn it into that of 1/(1 + s^2)",
           -2 * j / (2 * j - 1) * sp.gammasimp(sp.binomial(2 * j, j).rewrite(sp.gamma) / 4**j
           / (sp.binomial(2 * j - 2, j - 1).rewrite(sp.gamma) / 4 ** (j - 1))), sp.Integer(-1))
