"""Our own comparison of units and law of a layer's features, as links that sympy checks.

What the chapter on the choice of a unit says of widths that tend to infinity rests on these
identities and on the constants of :mod:`xsquared_book.papers.ours_splines`; what the chapter on
transformers says of normal inputs rests on the last of them.
"""

from __future__ import annotations

import sympy as sp

from xsquared.splines.constants import equal_cells_constant
from xsquared.units import find_unit, parameter_count
from xsquared_book.papers.equations import Links, Paper

#: Our equations on units at equal parameters, in the chapter's order.
paper = Paper()
_d = sp.Symbol("d", positive=True)
#: Each power of a gate beside the unit with factors that has its order.
_PAIRS = (("glu", "relu2_mlp"), ("gqu", "relu3_mlp"))


def per_neuron(unit: str, inputs: sp.Expr = _d) -> sp.Expr:
    """Parameters of one neuron with one output, as an expression of the number of inputs."""
    one, two = (parameter_count(unit, d, 1) - 1 for d in (1, 2))
    return one + (two - one) * (inputs - 1)


# fmt: off
@paper.equation("xs-powers", "ours", "the splines of a power of a ReLU gate")
def _powers() -> Links:
    """A power of a gate is the truncated power of the smoothest splines; products are squares."""
    x, t = sp.symbols("x t", real=True)
    for p in (1, 2, 3):
        left = sp.symbols(f"l0:{p + 1}", real=True)
        right = (*left[:p], sp.Symbol("r", real=True))
        pieces = [sum(c * (x - t) ** j for j, c in enumerate(side)) for side in (left, right)]
        yield (f"increment-{p}", f"pieces of degree {p} that share {p - 1} derivatives differ by "
               "one neuron", pieces[1] - pieces[0], (right[p] - left[p]) * (x - t) ** p)
    for (factors, power), k in zip(_PAIRS, (3, 4), strict=True):
        yield (f"constant-{k}", f"order {k}: both units have the same best constant",
               equal_cells_constant(k, find_unit(factors).continuity),
               equal_cells_constant(k, find_unit(power).continuity))


@paper.equation("xs-equal-parameters", "ours", "units of one order at equal parameters")
def _equal_parameters() -> Links:
    """The ratio of errors is that of parameters a neuron, to the power of the order."""
    P, C2, C3 = sp.symbols("P C2 C3", positive=True)
    a, b = 2 * _d + 3, _d + 2
    for unit, count in (("mlp", b), ("relu2_mlp", b), ("glu", a), ("gqu", 3 * _d + 4)):
        yield f"count-{unit}", f"parameters of a neuron, {unit}", per_neuron(unit), count
    for (factors, power), k, first, limit in zip(
            _PAIRS, (3, 4), (sp.Rational(125, 27), sp.Rational(2401, 81)), (8, 81), strict=True):
        ratio = (per_neuron(factors) / per_neuron(power)) ** k
        yield (f"ratio-{k}", f"order {k}: C (P/a)^-k over C (P/b)^-k is (a/b)^k, whatever P",
               (P / per_neuron(factors)) ** -k / (P / per_neuron(power)) ** -k, ratio)
        yield f"one-input-{k}", f"order {k}: with one input", ratio.subs(_d, 1), first
        yield f"many-inputs-{k}", f"order {k}: the limit", sp.limit(ratio, _d, sp.oo), limit
    yield ("grows", "the GLU's neuron over that of a power grows with d: the GLU never overtakes",
           sp.diff(a / b, _d), 1 / b**2)
    yield ("grows-gqu", "so does the GQU's", sp.diff((3 * _d + 4) / b, _d), 2 / b**2)
    for unit, count, crossing in (("glu", a, C3 / C2 * a**3 / b**2),
                                  ("relu2_mlp", b, C3 / C2 * b)):
        yield (f"crossing-{unit}", f"{unit} and ReLU MLP have equal errors at this P",
               (C3 * (P / count) ** -3).subs(P, crossing),
               (C2 * (P / b) ** -2).subs(P, crossing))


@paper.equation("xs-products", "ours", "a product of two linear functions")
def _products() -> Links:
    """Two GLUs, or three squared ReLUs on a bounded domain, make such a product."""
    z, u, t = sp.symbols("z u t", real=True)

    def relu(value: sp.Expr) -> sp.Expr:
        return (value + sp.Abs(value)) / 2

    yield ("glu", "two GLUs make the product", relu(z) * u - relu(-z) * u, z * u)
    yield ("square", "two squared ReLUs make a square", relu(z) ** 2 + relu(-z) ** 2, z**2)
    far = [(value + t) ** 2 for value in (z + u, z, u)]  # their hinges lie where z, u < -t
    yield ("relu2", "three squared ReLUs, open throughout, make the product",
           (far[0] - far[1] - far[2] + t**2) / 2, z * u)
    yield ("price", "they have d parameters fewer than two GLUs",
           2 * per_neuron("glu") - 3 * per_neuron("relu2_mlp"), _d)


@paper.equation("xs-any-covariance", "ours", "Mehler's formula, by generating functions")
def _mehler() -> Links:
    """Polynomials of two normal numbers meet only in their own degree."""
    s, t, x, rho = sp.symbols("s t x rho", real=True)
    normal = sp.exp(-(x**2) / 2) / sp.sqrt(2 * sp.pi)
    for k in range(6):
        yield (f"generating-{k}", f"exp(s x - s^2/2) holds He_{k}(x)/{k}! beside s^{k}",
               sp.series(sp.exp(s * x - s**2 / 2), s, 0, k + 1).removeO().coeff(s, k),
               sp.hermite_prob(k, x) / sp.factorial(k))
    yield ("mean", "the mean of exp(s x) is exp(s^2/2)",
           sp.integrate(sp.expand(sp.exp(s * x) * normal), (x, -sp.oo, sp.oo)), sp.exp(s**2 / 2))
    yield ("variance", "s x + t y, with y = rho x + sqrt(1 - rho^2) z, has this variance",
           (s + t * rho) ** 2 + (t * sp.sqrt(1 - rho**2)) ** 2, s**2 + t**2 + 2 * rho * s * t)
    yield ("product", "so the mean product of both series is exp(rho s t), whose only terms are "
           "(rho s t)^k/k!: He_k(x)/sqrt(k!) and He_l(y)/sqrt(l!) have the mean product rho^k or 0",
           sp.exp((s**2 + t**2 + 2 * rho * s * t) / 2 - s**2 / 2 - t**2 / 2), sp.exp(rho * s * t))
