"""The GELU-linearization paper's Eqs. 1 to 6 and its derivative, and our own results, in sympy."""

from __future__ import annotations

from itertools import product

import sympy as sp
from sympy.physics.quantum import TensorProduct

from xsquared.papers.equations import Equation, Links, Paper

paper = Paper()
z, t = sp.symbols("z t", real=True)
n = sp.Symbol("n", integer=True, nonnegative=True)
_s, _v, _sigma, _lambda = sp.symbols("s v sigma lambda", positive=True)
_mu = sp.Symbol("mu", real=True)
_a = sp.symbols("a0:4", real=True)
_ROOT = sp.sqrt(2 * sp.pi)

#: The normal density, GELU by the error function, and its tanh form, as functions of z.
density = sp.exp(-(z**2) / 2) / _ROOT
gelu = z * (1 + sp.erf(z / sp.sqrt(2))) / 2
gelu_tanh = z * (1 + sp.tanh(sp.sqrt(2 / sp.pi) * (z + sp.Rational(44715, 10**6) * z**3))) / 2
#: Terms of the series of the density, the distribution function and GELU, without 1/sqrt(2 pi).
density_term = (-1) ** n * z ** (2 * n) / (2**n * sp.factorial(n))
cdf_term = (-1) ** n * z ** (2 * n + 1) / (2**n * sp.factorial(n) * (2 * n + 1))
gelu_term = (-1) ** n * z ** (2 * n + 2) / (2**n * sp.factorial(n) * (2 * n + 1))


def equations() -> tuple[Equation, ...]:
    """The GELU paper's equations in their order, then ours; the tests prove every link."""
    return paper.equations


def partial_sum(term: sp.Expr, count: int) -> sp.Expr:
    """The first ``count`` terms of a series over n, added."""
    return sp.Add(*(term.subs(n, k) for k in range(count)))


# fmt: off
def _taylor(expression: sp.Expr, below: int) -> sp.Expr:
    """sympy's own expansion about zero, up to powers below that one."""
    return sp.series(expression, z, 0, below).removeO()


def _rows(size: int) -> tuple[sp.Matrix, sp.Matrix]:
    """A symbolic row w of W and a column x."""
    return sp.Matrix([sp.symbols(f"w1:{size + 1}")]), sp.Matrix(sp.symbols(f"x1:{size + 1}"))


def _lifted(w: sp.Matrix, x: sp.Matrix, times: int) -> sp.Expr:
    """The product of the Kronecker powers of w and x."""
    return (TensorProduct(*[w] * times) * TensorProduct(*[x] * times))[0]


@paper.equation("gl-eq1", "1", "GELU as a product with the distribution function")
def _eq1() -> Links:
    cdf = sp.integrate(density.subs(z, t), (t, -sp.oo, z))
    extra = sp.integrate(t * density.subs(z, t), (t, -sp.oo, z))
    yield ("product", "z times the integral of the density is GELU",
           (z * cdf).rewrite(sp.erf), sp.expand(gelu))
    yield "extra", "with a factor t the integral is minus the density", extra, -density
    yield "printed", "z times the integral with the factor t", z * extra, gelu


@paper.equation("gl-cdf-series", "Section 2.1.2", "the series of the distribution function")
def _cdf_series() -> Links:
    cdf = (1 + sp.erf(z / sp.sqrt(2))) / 2
    yield ("density", "the density's series sums to it",
           sp.summation(density_term, (n, 0, sp.oo)) / _ROOT, density)
    yield ("integrates", "the general term of F is an antiderivative of that of the density",
           sp.diff(cdf_term, z), density_term)
    yield "half", "F(0) is one half", cdf.subs(z, 0), sp.Rational(1, 2)
    yield ("printed", "F to z^11, by sympy's own expansion",
           _taylor(cdf, 12), sp.Rational(1, 2) + partial_sum(cdf_term, 6) / _ROOT)


@paper.equation("gl-eq2", "2", "the series of GELU")
def _eq2() -> Links:
    magnitude = 1 / (2**n * sp.factorial(n) * (2 * n + 1))
    ratio = sp.gammasimp(magnitude.subs(n, n + 1) / magnitude)
    yield "term", "z times the term of F", z * cdf_term, gelu_term
    yield ("taylor", "six even terms are sympy's own expansion to z^12",
           _taylor(gelu, 13), z / 2 + partial_sum(gelu_term, 6) / _ROOT)
    yield ("radius", "the ratio of neighbouring coefficients tends to zero: the series converges "
           "everywhere", sp.limit(ratio, n, sp.oo), 0)
    yield ("printed", "the infinite sum is GELU",
           z / 2 + sp.summation(gelu_term, (n, 0, sp.oo)) / _ROOT, gelu)


@paper.equation("gl-multinomial", "Section 2.1.4", "powers of a dot product")
def _multinomial() -> Links:
    def expanded(size: int, power: int, first: bool) -> sp.Expr:
        """The sum over exponents; with the first entry alone as base, as printed."""
        w, x = _rows(size)
        total = sp.Integer(0)
        for exponents in product(range(power + 1), repeat=size):
            if sum(exponents) == power:
                count = sp.factorial(power) / sp.prod(map(sp.factorial, exponents))
                bases = [(w[0] * x[0]) if first else (w[m] * x[m]) for m in range(size)]
                total += count * sp.prod(b**k for b, k in zip(bases, exponents, strict=True))
        return total

    for size, power in ((2, 2), (2, 4), (3, 2), (4, 4)):
        w, x = _rows(size)
        yield (f"d{size}-p{power}", f"in {size} dimensions, power {power}",
               (w * x)[0] ** power, expanded(size, power, first=False))
    w, x = _rows(2)
    yield ("printed", "the printed products, whose bases do not depend on the place",
           (w * x)[0] ** 2, expanded(2, 2, first=True))


@paper.equation("gl-eq3", "3", "one linear term, the rest even powers")
def _eq3() -> Links:
    even = [sp.Poly(_taylor(gelu, 11) * _ROOT, z).coeff_monomial(z ** (2 * k)) for k in range(1, 6)]
    printed = [1, -sp.Rational(1, 6), sp.Rational(1, 40), -sp.Rational(1, 336)]
    yield ("odd", "the odd part of GELU is z/2 and nothing else",
           (gelu - gelu.subs(z, -z)) / 2, z / 2)
    yield "fifth", "the fifth even coefficient", even[4], sp.Rational(1, 3456)
    yield ("printed", "the four even coefficients that are written out",
           sp.Add(*(c * z ** (2 * k + 2) for k, c in enumerate(even[:4]))),
           sp.Add(*(c * z ** (2 * k + 2) for k, c in enumerate(printed))))


@paper.equation("gl-eq4", "4", "a square as a product of lifted vectors")
def _eq4() -> Links:
    w, x = _rows(2)
    square = (w * x)[0] ** 2
    written = sp.Add(*(w[i] * w[j] * x[i] * x[j] for i, j in product(range(2), repeat=2)))
    yield ("products", "the four products, with the factor a_1",
           _a[1] * square, _a[1] * written)
    yield ("kronecker", "they are a row times a column of Kronecker squares",
           square, _lifted(w, x, 2))
    yield "printed", "the first line as printed", _a[1] * square, written


@paper.equation("gl-eq5", "5", "GELU as a sum of products of feature maps")
def _eq5() -> Links:
    for size, terms in ((2, 2), (3, 1)):
        w, x = _rows(size)
        value = (w * x)[0]
        yield (f"d{size}",
               f"in {size} dimensions, {terms} even terms: lifted features give the polynomial",
               _a[0] * value + sp.Add(*(_a[k] * _lifted(w, x, 2 * k) for k in range(1, terms + 1))),
               _a[0] * value + sp.Add(*(_a[k] * value ** (2 * k) for k in range(1, terms + 1))))
    w, x = _rows(2)
    yield ("printed", "Phi_0 Psi_0 + Phi_1 Psi_1, as rows times columns",
           (_a[0] * w * x)[0] + _a[1] * _lifted(w, x, 2),
           _a[0] * (w * x)[0] + _a[1] * (w * x)[0] ** 2)


@paper.equation("gl-eq6", "6", "an antiderivative of the density")
def _eq6() -> Links:
    yield ("term", "its general term has the density's as derivative",
           sp.diff(cdf_term, z), density_term)
    yield ("whole", "summed, it is F - 1/2",
           sp.summation(cdf_term, (n, 0, sp.oo)) / _ROOT, sp.erf(z / sp.sqrt(2)) / 2)
    yield ("printed", "the four terms written out",
           partial_sum(cdf_term, 4), z - z**3 / 6 + z**5 / 40 - z**7 / 336)


@paper.equation("gl-tanh-derivative", "Section 2.3.1", "the derivative of GELU, both forms")
def _derivatives() -> Links:
    y = sp.Symbol("u", real=True)
    inner = sp.tanh(sp.sqrt(2) * (sp.Rational(8943, 200000) * z**3 + z) / sp.sqrt(sp.pi))
    yield ("erf", "the exact form: F + z phi",
           sp.diff(gelu, z), (1 + sp.erf(z / sp.sqrt(2))) / 2 + z * density)
    # sech^2 is written 1 - tanh^2 below, which this link proves.
    yield ("sech", "sech^2 = 1 - tanh^2",
           (sp.sech(y) ** 2).rewrite(sp.exp), (1 - sp.tanh(y) ** 2).rewrite(sp.exp))
    yield ("printed", "the tanh form", sp.diff(gelu_tanh, z), (inner + 1) / 2
           + z * (sp.Rational(26829, 200000) * z**2 + 1) * (1 - inner**2) / _ROOT)


@paper.equation("xs-gelu-remainder", "ours", "what N terms leave over, for every z")
def _remainder() -> Links:
    count = sp.Symbol("N", integer=True, positive=True)
    for k in (1, 2, 3, 4):
        kernel = (_s - _v) ** (k - 1) / sp.factorial(k - 1)
        yield (f"integral{k}",
               f"what {k} terms of exp(-s) leave over is (-1)^N times an integral with a positive "
               "kernel against exp(-v), which lies between 0 and 1",
               sp.exp(-_s) - sp.Add(*((-_s) ** j / sp.factorial(j) for j in range(k))),
               (-1) ** k * sp.integrate(kernel * sp.exp(-_v), (_v, 0, _s)))
    yield ("recursion", "the kernel (s - v)^(N-1)/(N-1)! is minus the derivative of the next one, "
           "up to N!, so integrating by parts carries the form from N to N + 1",
           sp.diff((_s - _v) ** count, _v), -count * (_s - _v) ** (count - 1))
    yield ("kernel", "without exp(-v), and with s - v as variable, the integral is the first term "
           "left out", sp.integrate(_v ** (count - 1), (_v, 0, _s)), _s**count / count)
    yield ("gelu", "with s = t^2/2, integrated over t and multiplied by z: the first term that "
           "GELU's series leaves out",
           _s * sp.integrate((_v**2 / 2) ** count / sp.factorial(count), (_v, 0, _s)),
           gelu_term.subs({n: count, z: _s}) / (-1) ** count)


@paper.equation("xs-gelu-curvature", "ours", "the largest curvature of GELU")
def _curvature() -> Links:
    second = density * (2 - z**2)
    yield "second", "GELU'' = phi(z)(2 - z^2)", sp.diff(gelu, z, 2), second
    yield ("extremes", "its derivative vanishes at 0, 2 and -2 only",
           sp.diff(second, z), density * z * (z - 2) * (z + 2))
    yield "centre", "at 0 it is 2 phi(0)", second.subs(z, 0), 2 / _ROOT
    yield ("wings", "at 2 it is -2 phi(2), which is smaller in size",
           second.subs(z, 2), -2 * density.subs(z, 2))


@paper.equation("xs-hermite-coefficients", "ours",
                 "the Hermite coefficients of GELU in closed form")
def _hermite() -> Links:
    s = sp.sqrt(1 + _sigma**2)
    law = sp.exp(-(t**2) / (2 * _sigma**2)) / (_sigma * _ROOT)
    shifted = sp.exp(-(_mu**2) / (2 * (1 + _sigma**2))) / (_ROOT * s)
    yield ("second", "GELU'' is the density less its own second derivative",
           sp.diff(gelu, z, 2), density - sp.diff(density, z, 2))
    yield ("blur", "the density at mu + sigma g is on average a normal density of variance "
           "1 + sigma^2",
           sp.integrate(density.subs(z, t + _mu) * law, (t, -sp.oo, sp.oo)), shifted)
    yield ("constant", "the mean of GELU(sigma g)",
           sp.integrate(sp.expand(gelu).subs(z, t) * law, (t, -sp.oo, sp.oo)),
           _sigma**2 / (_ROOT * s))
    for j in (0, 2, 4, 6):
        yield (f"derivative{j}", f"the mean of the density's derivative of order {j}",
               sp.diff(shifted, _mu, j).subs(_mu, 0),
               (-1) ** (j // 2) * sp.factorial2(j - 1) / (_ROOT * s ** (j + 1)))


@paper.equation("xs-random-maclaurin", "ours",
                 "random features that are unbiased, and their variance")
def _random_maclaurin() -> Links:
    k = sp.Symbol("k", integer=True, nonnegative=True)
    V = sp.Symbol("V", positive=True)
    w, x = _rows(3)
    omegas = [sp.Matrix([signs]) for signs in product((1, -1), repeat=3)]
    dots = [((o * w.T)[0], (o * x)[0]) for o in omegas]
    value = (w * x)[0]
    squares = sp.Add(*(w[i] ** 2 * x[i] ** 2 for i in range(3)))
    a = (-1) ** k / (_ROOT * 2**k * sp.factorial(k) * (2 * k + 1))
    p = sp.exp(-_lambda) * _lambda**k / sp.factorial(k)
    q = V**2 / (4 * _lambda)
    yield ("mean", "over all signs, (omega . w)(omega . x) is w . x on average",
           sp.Add(*(b * c for b, c in dots)) / 8, value)
    yield ("square", "and the mean of its square is V",
           sp.Add(*(b**2 * c**2 for b, c in dots)) / 8,
           (w * w.T)[0] * (x.T * x)[0] + 2 * value**2 - 2 * squares)
    yield ("weight", "with Poisson orders the factorials cancel from a_k / p_k",
           a / p, (-1) ** k * sp.exp(_lambda) / (_ROOT * (2 * _lambda) ** k * (2 * k + 1)))
    yield ("variance", "the term of order k of the second moment", a**2 / p * V ** (2 * k + 2),
           sp.exp(_lambda) * V**2 * q**k / (2 * sp.pi * sp.factorial(k) * (2 * k + 1) ** 2))
