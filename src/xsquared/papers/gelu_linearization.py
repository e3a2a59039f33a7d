"""The GELU-linearization paper's Eqs. 1 to 6 and its derivative, and our own results, in sympy."""

from __future__ import annotations

from functools import cache
from itertools import product

import sympy as sp
from sympy.physics.quantum import TensorProduct

from xsquared.papers.equations import Equation, Step

z, t = sp.symbols("z t", real=True)
n = sp.Symbol("n", integer=True, nonnegative=True)
_s = sp.Symbol("s", positive=True)
_sigma = sp.Symbol("sigma", positive=True)
_mu = sp.Symbol("mu", real=True)
_lambda = sp.Symbol("lambda", positive=True)
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
    return sum((term.subs(n, k) for k in range(count)), sp.Integer(0))


def _taylor(expression: sp.Expr, below: int) -> sp.Expr:
    """sympy's own expansion about zero, up to powers below that one."""
    return sp.series(expression, z, 0, below).removeO()


def _eq1() -> Equation:
    cdf = sp.integrate(density.subs(z, t), (t, -sp.oo, z))
    extra = sp.integrate(t * density.subs(z, t), (t, -sp.oo, z))
    return Equation(
        "gl-eq1",
        "1",
        "GELU as a product with the distribution function",
        (
            Step(
                "product",
                "z times the integral of the density is GELU",
                (z * cdf).rewrite(sp.erf),
                sp.expand(gelu),
            ),
            Step(
                "extra",
                "with a factor t the integral is minus the density",
                extra,
                -density,
            ),
        ),
        (Step("printed", "z times the integral with the factor t", z * extra, gelu),),
    )


def _cdf_series() -> Equation:
    whole = sp.summation(density_term, (n, 0, sp.oo))
    cdf = (1 + sp.erf(z / sp.sqrt(2))) / 2
    right = sp.Rational(1, 2) + partial_sum(cdf_term, 6) / _ROOT
    return Equation(
        "gl-cdf-series",
        "Section 2.1.2",
        "the series of the distribution function",
        (
            Step("density", "the density's series sums to it", whole / _ROOT, density),
            Step(
                "integrates",
                "the general term of F is an antiderivative of that of the density",
                sp.diff(cdf_term, z),
                density_term,
            ),
            Step("half", "F(0) is one half", cdf.subs(z, 0), sp.Rational(1, 2)),
        ),
        (Step("printed", "F to z^11, by sympy's own expansion", _taylor(cdf, 12), right),),
    )


def _eq2() -> Equation:
    magnitude = 1 / (2**n * sp.factorial(n) * (2 * n + 1))
    ratio = sp.gammasimp(magnitude.subs(n, n + 1) / magnitude)
    return Equation(
        "gl-eq2",
        "2",
        "the series of GELU",
        (
            Step("term", "z times the term of F", z * cdf_term, gelu_term),
            Step(
                "taylor",
                "six even terms are sympy's own expansion to z^12",
                _taylor(gelu, 13),
                z / 2 + partial_sum(gelu_term, 6) / _ROOT,
            ),
            Step(
                "radius",
                "the ratio of neighbouring coefficients tends to zero: the series converges "
                "everywhere",
                sp.limit(ratio, n, sp.oo),
                sp.Integer(0),
            ),
        ),
        (
            Step(
                "printed",
                "the infinite sum is GELU",
                z / 2 + sp.summation(gelu_term, (n, 0, sp.oo)) / _ROOT,
                gelu,
            ),
        ),
    )


def _eq3() -> Equation:
    even = [sp.Poly(_taylor(gelu, 11) * _ROOT, z).coeff_monomial(z ** (2 * k)) for k in range(1, 6)]
    printed = [1, -sp.Rational(1, 6), sp.Rational(1, 40), -sp.Rational(1, 336)]
    odd = gelu - gelu.subs(z, -z)
    return Equation(
        "gl-eq3",
        "3",
        "one linear term, the rest even powers",
        (
            Step("odd", "the odd part of GELU is z/2 and nothing else", odd / 2, z / 2),
            Step("fifth", "the fifth even coefficient", even[4], sp.Rational(1, 3456)),
        ),
        (
            Step(
                "printed",
                "the four even coefficients that are written out",
                sum((c * z ** (2 * k + 2) for k, c in enumerate(even[:4])), sp.Integer(0)),
                sum((c * z ** (2 * k + 2) for k, c in enumerate(printed)), sp.Integer(0)),
            ),
        ),
    )


def _rows(d: int) -> tuple[sp.Matrix, sp.Matrix]:
    """A symbolic row w of W and a column x."""
    return sp.Matrix([sp.symbols(f"w1:{d + 1}")]), sp.Matrix(sp.symbols(f"x1:{d + 1}"))


def _power(v: sp.Matrix, times: int) -> sp.Matrix:
    """Kronecker power."""
    out = v
    for _ in range(times - 1):
        out = TensorProduct(out, v)
    return out


def _eq4() -> Equation:
    w, x = _rows(2)
    square = (w * x)[0] ** 2
    kron = (_power(w, 2) * _power(x, 2))[0]
    written = sum((w[i] * w[j] * x[i] * x[j] for i, j in product(range(2), repeat=2)), sp.S.Zero)
    return Equation(
        "gl-eq4",
        "4",
        "a square as a product of lifted vectors",
        (
            Step("products", "the four products, with the factor a_1", _a[1] * square,
                 _a[1] * written),
            Step("kronecker", "they are a row times a column of Kronecker squares", square, kron),
        ),
        (Step("printed", "the first line as printed", _a[1] * square, written),),
    )  # fmt: skip


def _eq5() -> Equation:
    steps = []
    for d, terms in ((2, 2), (3, 1)):
        w, x = _rows(d)
        value = (w * x)[0]
        lifted = _a[0] * value
        for k in range(1, terms + 1):
            lifted += _a[k] * (_power(w, 2 * k) * _power(x, 2 * k))[0]
        direct = _a[0] * value + sum(
            (_a[k] * value ** (2 * k) for k in range(1, terms + 1)), sp.Integer(0)
        )
        steps.append(
            Step(
                f"d{d}",
                f"in {d} dimensions, {terms} even terms: lifted features give the polynomial",
                lifted,
                direct,
            )
        )
    w, x = _rows(2)
    printed = (_a[0] * w * x)[0] + (_a[1] * _power(w, 2) * _power(x, 2))[0]
    return Equation(
        "gl-eq5",
        "5",
        "GELU as a sum of products of feature maps",
        tuple(steps),
        (
            Step(
                "printed",
                "Phi_0 Psi_0 + Phi_1 Psi_1, as rows times columns",
                printed,
                _a[0] * (w * x)[0] + _a[1] * (w * x)[0] ** 2,
            ),
        ),
    )


def _eq6() -> Equation:
    written = z - z**3 / 6 + z**5 / 40 - z**7 / 336
    return Equation(
        "gl-eq6",
        "6",
        "an antiderivative of the density",
        (
            Step("term", "its general term has the density's as derivative",
                 sp.diff(cdf_term, z), density_term),
            Step("whole", "summed, it is F - 1/2",
                 sp.summation(cdf_term, (n, 0, sp.oo)) / _ROOT, sp.erf(z / sp.sqrt(2)) / 2),
        ),
        (Step("printed", "the four terms written out", partial_sum(cdf_term, 4), written),),
    )  # fmt: skip


def _derivatives() -> Equation:
    inner = sp.sqrt(2) * (sp.Rational(8943, 200000) * z**3 + z) / sp.sqrt(sp.pi)
    printed = (sp.tanh(inner) + 1) / 2 + z * (sp.Rational(26829, 200000) * z**2 + 1) * (
        1 - sp.tanh(inner) ** 2
    ) / (sp.sqrt(2) * sp.sqrt(sp.pi))
    u = sp.Symbol("u", real=True)
    return Equation(
        "gl-tanh-derivative",
        "Section 2.3.1",
        "the derivative of GELU, both forms",
        # sech^2 is written 1 - tanh^2 below, which the second link proves.
        (
            Step("erf", "the exact form: F + z phi", sp.diff(gelu, z),
                 (1 + sp.erf(z / sp.sqrt(2))) / 2 + z * density),
            Step("sech", "sech^2 = 1 - tanh^2", (sp.sech(u) ** 2).rewrite(sp.exp),
                 (1 - sp.tanh(u) ** 2).rewrite(sp.exp)),
        ),
        (Step("printed", "the tanh form", sp.diff(gelu_tanh, z), printed),),
    )  # fmt: skip


def paper_equations() -> tuple[Equation, ...]:
    """Eqs. 1 to 6 and two unnumbered formulas, each where it stands in the paper."""
    return (_eq1(), _cdf_series(), _eq2(), _eq3(), _eq4(), _eq5(), _eq6(), _derivatives())


def _remainder() -> Equation:
    count = sp.Symbol("N", integer=True, positive=True)
    v = sp.Symbol("v", positive=True)
    steps = [
        Step(
            f"integral{k}",
            f"what {k} terms of exp(-s) leave over is (-1)^N times an integral with a positive "
            "kernel against exp(-v), which lies between 0 and 1",
            sp.exp(-_s) - sum(((-_s) ** j / sp.factorial(j) for j in range(k)), sp.Integer(0)),
            (-1) ** k
            * sp.integrate((_s - v) ** (k - 1) / sp.factorial(k - 1) * sp.exp(-v), (v, 0, _s)),
        )
        for k in (1, 2, 3, 4)
    ]
    steps += [
        Step(
            "recursion",
            "the kernel (s - v)^(N-1)/(N-1)! is minus the derivative of the next one, up to N!, so "
            "integrating by parts carries the form from N to N + 1",
            sp.diff((_s - v) ** count, v),
            -count * (_s - v) ** (count - 1),
        ),
        Step(
            "kernel",
            "without exp(-v), and with s - v as variable, the integral is the first term left out",
            sp.integrate(v ** (count - 1), (v, 0, _s)),
            _s**count / count,
        ),
        Step(
            "gelu",
            "with s = t^2/2, integrated over t and multiplied by z: the first term that GELU's "
            "series leaves out",
            _s * sp.integrate((v**2 / 2) ** count / sp.factorial(count), (v, 0, _s)),
            gelu_term.subs({n: count, z: _s}) / (-1) ** count,
        ),
    ]  # fmt: skip
    return Equation(
        "xs-gelu-remainder", "ours", "what N terms leave over, for every z", tuple(steps), ()
    )


def _curvature() -> Equation:
    second = density * (2 - z**2)
    third = sp.diff(second, z)
    return Equation(
        "xs-gelu-curvature",
        "ours",
        "the largest curvature of GELU",
        (
            Step("second", "GELU'' = phi(z)(2 - z^2)", sp.diff(gelu, z, 2), second),
            Step("extremes", "its derivative vanishes at 0, 2 and -2 only",
                 third, density * z * (z - 2) * (z + 2)),
            Step("centre", "at 0 it is 2 phi(0)", second.subs(z, 0), 2 / _ROOT),
            Step("wings", "at 2 it is -2 phi(2), which is smaller in size",
                 second.subs(z, 2), -2 * density.subs(z, 2)),
        ),
        (),
    )  # fmt: skip


def _hermite() -> Equation:
    s = sp.sqrt(1 + _sigma**2)
    law = sp.exp(-(t**2) / (2 * _sigma**2)) / (_sigma * _ROOT)
    shifted = sp.exp(-(_mu**2) / (2 * (1 + _sigma**2))) / (_ROOT * s)
    blurred = sp.integrate(density.subs(z, t + _mu) * law, (t, -sp.oo, sp.oo))
    steps = [
        Step("second", "GELU'' is the density less its own second derivative",
             sp.diff(gelu, z, 2), density - sp.diff(density, z, 2)),
        Step("blur", "the density at mu + sigma g is on average a normal density of variance "
             "1 + sigma^2", blurred, shifted),
        Step("constant", "the mean of GELU(sigma g)",
             sp.integrate(sp.expand(gelu).subs(z, t) * law, (t, -sp.oo, sp.oo)),
             _sigma**2 / (_ROOT * s)),
    ]  # fmt: skip
    steps += [
        Step(
            f"derivative{j}",
            f"the mean of the density's derivative of order {j}",
            sp.diff(shifted, _mu, j).subs(_mu, 0),
            (-1) ** (j // 2) * sp.factorial2(j - 1) / (_ROOT * s ** (j + 1)),
        )
        for j in (0, 2, 4, 6)
    ]
    return Equation(
        "xs-hermite-coefficients",
        "ours",
        "the Hermite coefficients of GELU in closed form",
        tuple(steps),
        (),
    )


def _random_maclaurin() -> Equation:
    k = sp.Symbol("k", integer=True, nonnegative=True)
    V = sp.Symbol("V", positive=True)
    w, x = _rows(3)
    omegas = [sp.Matrix([signs]) for signs in product((1, -1), repeat=3)]
    dots = [((o * w.T)[0], (o * x)[0]) for o in omegas]
    z_value = (w * x)[0]
    squares = sum((w[i] ** 2 * x[i] ** 2 for i in range(3)), sp.Integer(0))
    a = (-1) ** k / (_ROOT * 2**k * sp.factorial(k) * (2 * k + 1))
    p = sp.exp(-_lambda) * _lambda**k / sp.factorial(k)
    q = V**2 / (4 * _lambda)
    return Equation(
        "xs-random-maclaurin",
        "ours",
        "random features that are unbiased, and their variance",
        (
            Step("mean", "over all signs, (omega . w)(omega . x) is w . x on average",
                 sum((b * c for b, c in dots), sp.Integer(0)) / 8, z_value),
            Step("square", "and the mean of its square is V",
                 sum((b**2 * c**2 for b, c in dots), sp.Integer(0)) / 8,
                 (w * w.T)[0] * (x.T * x)[0] + 2 * z_value**2 - 2 * squares),
            Step("weight", "with Poisson orders the factorials cancel from a_k / p_k",
                 a / p, (-1) ** k * sp.exp(_lambda) / (_ROOT * (2 * _lambda) ** k * (2 * k + 1))),
            Step("variance", "the term of order k of the second moment",
                 a**2 / p * V ** (2 * k + 2),
                 sp.exp(_lambda) * V**2 * q**k / (2 * sp.pi * sp.factorial(k) * (2 * k + 1) ** 2)),
        ),
        (),
    )  # fmt: skip


def our_equations() -> tuple[Equation, ...]:
    """Results that the paper does not have."""
    return (_remainder(), _curvature(), _hermite(), _random_maclaurin())


@cache
def equations() -> tuple[Equation, ...]:
    """The GELU paper's equations in their order, then ours; the tests prove every link."""
    return (*paper_equations(), *our_equations())
