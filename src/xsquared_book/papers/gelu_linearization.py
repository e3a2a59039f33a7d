"""The GELU-linearization paper's Eqs. 1 to 6 and its derivative, and our own results, in sympy."""

from __future__ import annotations

from itertools import product

import sympy as sp

from xsquared_book.papers.equations import Links, Paper

#: The GELU paper's equations in their order, then ours; the tests prove every link.
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
    return (sp.kronecker_product(*[w] * times) * sp.kronecker_product(*[x] * times))[0]


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


@paper.equation("gl-multinomial", "Section 2.1.4", "a power of a dot product")
def _multinomial() -> Links:
    p, k = sp.symbols("p k", integer=True, nonnegative=True)
    k1, k2 = sp.symbols("k1 k2", integer=True, nonnegative=True)
    a, b = sp.symbols("a b", positive=True)
    power = sp.Symbol("m", integer=True, positive=True)
    yield ("binomial", "two summands: the coefficient of a^k b^(p-k) obeys Pascal's rule, which "
           "multiplying by a + b asks for",
           sp.combsimp(sp.binomial(p, k + 1) + sp.binomial(p, k)), sp.binomial(p + 1, k + 1))
    yield ("splits", "one more summand: a binomial of k and a multinomial of the rest make the "
           "multinomial of all, so the theorem goes from d to d + 1 entries",
           sp.gammasimp(sp.binomial(k + k1 + k2, k) * sp.factorial(k1 + k2)
                        / (sp.factorial(k1) * sp.factorial(k2))),
           sp.gammasimp(sp.factorial(k + k1 + k2)
                        / (sp.factorial(k) * sp.factorial(k1) * sp.factorial(k2))))
    yield ("separates", "each summand is a function of w times one of x",
           (a * b) ** power, a**power * b**power)
    w, x = _rows(3)
    counts = [(i, j, 4 - i - j) for i in range(5) for j in range(5 - i)]
    def term(n: tuple[int, ...]) -> sp.Expr:
        many = sp.factorial(4) / sp.Mul(*map(sp.factorial, n))
        return many * sp.Mul(*(w[i] ** n[i] * x[i] ** n[i] for i in range(3)))
    yield ("three", "the fourth power in three dimensions",
           (w * x)[0] ** 4, sp.Add(*map(term, counts)))
    yield ("printed", "two entries to the second power, with bases that do not depend on m",
           (w[0] * x[0] + w[1] * x[1]) ** 2, 4 * w[0] ** 2 * x[0] ** 2)


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
    p = sp.Symbol("p", integer=True, positive=True)
    dot, power, one, two, lifted, other = sp.symbols("c P w_j x_j U_i V_i", real=True)
    yield ("entry", "a Kronecker product of w and a vector U has the entries w_j U_i: times one of "
           "x and V, each term is a factor of j times a factor of i",
           (one * lifted) * (two * other), (one * two) * (lifted * other))
    yield ("grows", "so the sum of all terms is w . x times U . V: one entry more makes "
           "c + w_j x_j of c = w . x, or P + U_i V_i of P = U . V, and the product gains the new "
           "terms, for any two lengths",
           (dot + one * two) * (power + lifted * other),
           dot * power + one * two * power + dot * lifted * other + one * lifted * two * other)
    yield ("step", "so if the Kronecker powers p of w and x have the product (w . x)^p = c^p, the "
           "powers p + 1 have c^(p+1); at p = 1 it is c: every power, in every dimension",
           dot * dot**p, dot ** (p + 1))
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
    k = sp.Symbol("k", integer=True, nonnegative=True)
    term = (-(_mu**2) / (2 * (1 + _sigma**2))) ** k / sp.factorial(k)
    yield ("linear", "and of g GELU(sigma g): sigma/2, the part z/2 alone being odd",
           sp.integrate(t / _sigma * t / 2 * law, (t, -sp.oo, sp.oo)), _sigma / 2)
    F, H = (sp.Function(name) for name in "FH")
    normal = sp.exp(-(t**2) / 2) / _ROOT
    yield ("rodrigues", "He_k times the density is (-1)^k times its derivative of order k: the "
           "step from k to k + 1 is He_(k+1) = t He_k - He_k'",
           -sp.diff(H(t) * normal, t), (t * H(t) - sp.diff(H(t), t)) * normal)
    yield ("parts", "where F = f(sigma t) meets such a derivative, the product's own derivative "
           "integrates to zero: each of k steps takes one derivative from the density to f and "
           "leaves a factor sigma, so the mean of f(sigma g) He_k(g) is sigma^k times that of f's "
           "derivative of order k",
           sp.diff(F(_sigma * t) * H(t), t) - F(_sigma * t) * sp.diff(H(t), t),
           _sigma * sp.Subs(sp.diff(F(_mu), _mu), _mu, _sigma * t) * H(t))
    order = sp.Symbol("k", integer=True, positive=True)
    yield ("norm", "with f = He_k, whose derivative of order k is that of t^k, the mean square is "
           "k!, k at the first derivative, k - 1 at the next: c_k is sigma^k/k! times that mean",
           sp.diff(t**order, t), order * t ** (order - 1))
    yield ("series", "the shifted density's series in mu",
           sp.summation(term, (k, 0, sp.oo)) / (_ROOT * s), shifted)
    yield ("derivative", "its coefficients times (2k)!: the mean of the density's derivative of "
           "order 2k, (-1)^k (2k-1)!!/(sqrt(2 pi) s^(2k+1)), for every k",
           sp.gammasimp(sp.factorial(2 * k) * term / _mu ** (2 * k) * s ** (2 * k)),
           sp.gammasimp((-1) ** k * 2**k * sp.gamma(k + sp.Rational(1, 2)) / sp.sqrt(sp.pi)))
    yield ("double", "where (2k-1)!! is 2^k Gamma(k + 1/2)/sqrt(pi): one at k = 0, and times "
           "2k + 1 from k to k + 1",
           2 * sp.expand_func(sp.gamma(k + sp.Rational(3, 2))) / sp.gamma(k + sp.Rational(1, 2)),
           2 * k + 1)
    half = sp.Symbol("h", integer=True, positive=True)

    def odd(j: sp.Expr) -> sp.Expr:
        """(2j - 1)!!"""
        return 2**j * sp.gamma(j + sp.Rational(1, 2)) / sp.sqrt(sp.pi)

    def mean_derivative(j: sp.Expr) -> sp.Expr:
        return (-1) ** j * odd(j) / (_ROOT * s ** (2 * j + 1))

    yield ("assembled", "with k = 2h: sigma^k/k! times the means of the density's derivatives of "
           "order k - 2, less that of order k, is c_k as the chapter has it, for every even k",
           _sigma ** (2 * half) / sp.factorial(2 * half)
           * (mean_derivative(half - 1) - mean_derivative(half)),
           _sigma ** (2 * half) / (_ROOT * sp.factorial(2 * half)) * (-1) ** (half - 1)
           * (odd(half - 1) / s ** (2 * half - 1) + odd(half) / s ** (2 * half + 1)))


@paper.equation("xs-random-maclaurin", "ours",
                 "random features that are unbiased, and the law of orders of least variance")
def _random_maclaurin() -> Links:
    k = sp.Symbol("k", integer=True, nonnegative=True)
    V, p = sp.symbols("V p", positive=True)
    w, x = _rows(3)
    omegas = [sp.Matrix([signs]) for signs in product((1, -1), repeat=3)]
    dots = [((o * w.T)[0], (o * x)[0]) for o in omegas]
    value = (w * x)[0]
    squares = sp.Add(*(w[i] ** 2 * x[i] ** 2 for i in range(3)))
    a = (-1) ** k / (_ROOT * 2**k * sp.factorial(k) * (2 * k + 1))
    weight = (V / 2) ** k / (sp.factorial(k) * (2 * k + 1))
    whole = sp.sqrt(sp.pi / (2 * V)) * sp.erfi(sp.sqrt(V / 2))
    b, c = sp.symbols("b c", positive=True)
    yield ("mean", "over all signs, (omega . w)(omega . x) is w . x on average",
           sp.Add(*(b * c for b, c in dots)) / 8, value)
    yield ("square", "and the mean of its square is V",
           sp.Add(*(b**2 * c**2 for b, c in dots)) / 8,
           (w * w.T)[0] * (x.T * x)[0] + 2 * value**2 - 2 * squares)
    yield ("least", "b^2/p + c^2/(1-p) exceeds (b + c)^2 by a square: it is least for p "
           "proportional to b, and so order by order",
           b**2 / p + c**2 / (1 - p) - (b + c) ** 2, (b - p * (b + c)) ** 2 / (p * (1 - p)))
    first, second = sp.symbols("b_1 b_2", positive=True)
    low, high = sp.symbols("c_1 c_2", positive=True)
    pair = [sp.sqrt((one**2 + two**2) / 2) for one, two in ((first, second), (low, high))]
    yield ("spread", "over pairs with different V, two here, b and c are the roots of the mean "
           "squares: |a_k| sqrt(E V^(2k+2)) in place of |a_k| V^(k+1)",
           ((first**2 + second**2) / p + (low**2 + high**2) / (1 - p)) / 2 - sum(pair) ** 2,
           (pair[0] - p * sum(pair)) ** 2 / (p * (1 - p)))
    yield ("law", "|a_k| V^(k+1) is proportional to (V/2)^k/(k! (2k+1))",
           a * (-1) ** k * V ** (k + 1), V / _ROOT * weight)
    yield ("whole", "whose sum, as the integral of exp(V u^2/2) over u from 0 to 1, is known",
           sp.integrate(sp.exp(V * t**2 / 2), (t, 0, 1)), whole)
    yield ("term", "the integral of a term of that exponential",
           sp.integrate((V * _s**2 / 2) ** k / sp.factorial(k), (_s, 0, 1)), weight)


@paper.equation("xs-optimal-heights", "ours", "what optimal features leave over at the corners")
def _heights() -> Links:
    d = sp.Symbol("d", positive=True)
    u = sp.Symbol("u", positive=True)
    a = (d - 3) / 2
    # With u = t^2 the integrals over angles are Euler's.
    half = sp.Rational(1, 2)
    whole, mean, third = (sp.gamma(b) / sp.gamma(a + 1 + b) for b in (half, 1, 2))
    mean, third = mean / whole, third / whole
    second = d * mean / (2 * (d + 1))
    yield ("mean", "the mean of |t|",
           sp.gammasimp(mean),
           sp.gammasimp(sp.gamma(d / 2) / (sp.sqrt(sp.pi) * sp.gamma((d + 1) / 2))))
    yield ("quadratic", "and that of |t| times the harmonic (d t^2 - 1)/(d - 1)",
           sp.gammasimp(sp.expand_func((d * third - mean) / (d - 1) / mean)), 1 / (d + 1))
    yield ("moment", "of relu(z), which |z|/2 makes of z/2, the mean square is d/2",
           d * sp.integrate(u**2 * sp.exp(-(u**2) / 2), (u, 0, sp.oo)) / _ROOT, d / 2)
    leading = (u - half) * sp.log(u) - u + sp.log(2 * sp.pi) / 2
    yield ("stirling", "log Gamma to its constant, by sympy's own expansion",
           sp.loggamma(u).series(u, sp.oo, 1).removeO().subs(sp.log(1 / u), -sp.log(u)), leading)
    # (d/2) (mean of |t|)^2 is u Gamma(u)^2/Gamma(u + 1/2)^2 over pi, with u = d/2.
    ratio = 2 * leading + sp.log(u) - 2 * leading.subs(u, u + half)
    first = sp.exp(sp.limit(ratio, u, sp.oo)) / sp.pi
    yield ("first", "the share of the radial function tends to 1/pi", first, 1 / sp.pi)
    yield ("second", "that of the quadratic harmonics is its multiple, and tends to its half",
           sp.limit((d - 1) * (d + 2) / 2 * (second / (d * mean / 2)) ** 2, d, sp.oo),
           sp.Rational(1, 2))
    yield ("left", "so the corners leave 1/2 - 1/pi and 1/2 - 3/(2 pi) of the mean square",
           1 - sp.Rational(1, 2) - first - first / 2, sp.Rational(1, 2) - 3 / (2 * sp.pi))
