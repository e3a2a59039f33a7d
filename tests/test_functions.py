"""Targets: parsing, values, derivatives and norms against other implementations."""

import math

import mpmath
import numpy as np
import pytest
import sympy as sp
from scipy.integrate import quad

from xsquared.functions import PAPER_TARGET, parse, target

SMOOTH = [
    "sin(3*x)",
    "exp(-x**2)",
    "1/(1+9*x**2)",
    "x**3 - 2*x",
    "erf(x)*cos(x)",
    "tanh(2*x)",
]


@pytest.mark.parametrize(
    "text",
    [
        *(*SMOOTH, "2", "x", "-x", "+x", "pi*e", "abs(x) + sqrt(x + 2)"),
        *("floor(3*x)", "min(x, 0.3)", "max(x**2, -x, 0.5)", "relu(x)*ln(x + 2)"),
        *("sign(x - 0.2)*exp(x)", "sign(x)"),
    ],
)
def test_values_agree_with_plain_python(text: str) -> None:
    points = np.linspace(-1, 1, 11)
    names = vars(math) | {"abs": abs, "min": min, "max": max, "ln": math.log}
    names |= {"sign": lambda z: (z > 0) - (z < 0), "relu": lambda z: max(z, 0)}
    expected = [
        float(eval(text, {"__builtins__": {}}, names | {"x": p}))
        for p in points.tolist()
    ]
    np.testing.assert_allclose(target(text)(points), expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("text", SMOOTH)
@pytest.mark.parametrize("order", [1, 2, 4])
def test_derivatives_agree_with_mpmaths_differences(text: str, order: int) -> None:
    made = target(text)
    for place in (-0.9, 0.1, 0.7):
        expected = mpmath.diff(
            sp.lambdify(parse("x"), made.expression, "mpmath"), place, order
        )
        np.testing.assert_allclose(
            made.derivative(order)(place), float(expected), rtol=1e-11
        )


def test_constants_take_the_points_shape() -> None:
    points = np.zeros((3, 4))
    np.testing.assert_array_equal(target("3")(points), np.full((3, 4), 3.0))
    assert target("x").derivative(1)(np.zeros(5)).shape == (5,)


def test_two_variables_broadcast_and_differentiate() -> None:
    made = target("sin(4*x)*sin(4*y)", (0.0, 1.0))
    assert made.dim == 2
    assert made.domain == ((0.0, 1.0), (0.0, 1.0))
    x, y = np.linspace(0, 1, 5)[:, None], np.linspace(0, 1, 3)
    np.testing.assert_allclose(made(x, y), np.sin(4 * x) * np.sin(4 * y), atol=1e-15)
    mixed = made.derivative(1, 2)(x, y)
    np.testing.assert_allclose(mixed, -64 * np.cos(4 * x) * np.sin(4 * y), atol=1e-12)


def test_decimals_are_exact() -> None:
    assert parse("0.1 + 2e-1") == sp.Rational(3, 10)
    assert parse("0.12345678901234567890*x").args[0] == sp.Rational(
        "0.1234567890123456789"
    )


def test_an_expression_of_sympy_is_that_of_its_text() -> None:
    x, y = sp.symbols("x y")  # of any assumptions
    made = target(sp.sqrt(x**2) + y / 3)
    assert made == target("abs(x) + y/3", name=made.name)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "__import__('os').system('true')",
            "eval('x')",
            "(lambda: 1)()",
            "[x for x in (1,)]",
        ),
        *(
            "x.real",
            "sin.__class__",
            "x[0]",
            "'x'",
            "True",
            "1j",
            "x if x else 1",
            "x := 1",
        ),
        *(
            "sin(x, x)",
            "max(x)",
            "max(*x)",
            "sin(*x)",
            "gamma(x)",
            "sin",
            "w + 1",
            "x < 1",
            "x +",
            "",
        ),
    ],
)
def test_text_beyond_arithmetic_is_refused_and_never_run(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"expected arithmetic|cannot read the expression"
    ):
        parse(text)


def test_a_caret_is_answered_by_the_sign_of_a_power() -> None:
    with pytest.raises(ValueError, match=r"a power is written \*\*, not \^"):
        parse("1 + 2*x^2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1/x", "finite at x=0"),
        ("log(x)", "finite at x=-1"),
        ("log(-1)", "real at x=-1"),
        ("(-8*x**2)**(1/3)", "real at x=-1"),
        ("1/(x - y)", "finite at x=-1, y=-1"),
        ("1/0", "finite at x=-1"),
    ],
)
def test_values_that_are_not_real_numbers_are_refused_where_they_are_asked(
    text: str, message: str
) -> None:
    made, points = target(text), np.array([-1.0, 0.0])
    with pytest.raises(ValueError, match=f"the value of .* is not {message}"):
        made(*[points] * made.dim)


def test_unknown_symbols_and_empty_or_infinite_domains_are_refused() -> None:
    with pytest.raises(ValueError, match="in x, y, z, got w in w"):
        target(sp.Symbol("w"))
    for domain in ((1, -1), (0, math.inf), (math.nan, 1)):
        with pytest.raises(
            ValueError, match="expected an interval with finite a < b, got"
        ):
            target("x", domain)


@pytest.mark.parametrize(
    ("rough", "why"),
    [
        ("abs(y)", r"Abs\(y\) may have a kink"),
        ("relu(y)", r"Max\(0, y\) may have a kink"),
        ("min(y, 0)", r"Min\(0, y\) may have a kink"),
        ("sign(y)", r"sign\(y\) may jump"),
        ("floor(y)", r"floor\(y\) may jump"),
    ],
)
def test_kinks_and_jumps_in_one_variable_leave_the_other_smooth(
    rough: str, why: str
) -> None:
    made = target(f"x**2*{rough}")
    with pytest.raises(ValueError, match=f"no derivative of order 1 in y: {why}"):
        made.derivative(0, 1)
    y = np.linspace(-0.9, 0.9, 4)
    twice = made.derivative(2, 0)(np.full(4, 0.5), y)
    np.testing.assert_allclose(twice, 2 * made(np.ones(4), y), rtol=1e-15)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("sign(x - 0.2)*exp(x)", [0.2]),
        ("sign(x)", [0.0]),
        ("floor(2*x + 0.5)", [-0.75, -0.25, 0.25, 0.75]),
        ("sign(x**2 - 0.25) + floor(x + 0.3)", [-0.5, -0.3, 0.5, 0.7]),
        ("x*sign(x**2 + 1)", []),
        ("abs(x)", []),
    ],
)
def test_places_of_jumps_are_those_of_algebra(text: str, places: list[float]) -> None:
    np.testing.assert_allclose(target(text).jumps(), places, rtol=0, atol=1e-15)


def test_paper_target_has_its_values_and_norms() -> None:
    np.testing.assert_allclose(
        PAPER_TARGET(np.array([-1.0, 0.0, 0.5, 1.0])), [0.5, 0.5, 1, 0.5]
    )
    second = sp.diff(PAPER_TARGET.expression, parse("x"), 2)
    square, _ = quad(sp.lambdify(parse("x"), second**2), -1, 1)
    assert math.isclose(PAPER_TARGET.l2_norm(2), math.sqrt(square), rel_tol=1e-8)


@pytest.mark.parametrize(
    ("text", "order", "exact"),
    [
        ("x**2", 1, math.sqrt(8 / 3)),
        ("x", 2, 0.0),
        ("sin(100*x)", 0, math.sqrt(1 - math.sin(200) / 200)),
        ("tanh((x - 0.3)/0.01)", 2, math.sqrt(16 / 15 / 0.01**3)),
        ("10**12*x", 0, math.sqrt(2 / 3) * 1e12),
        ("1 + sign(x - 0.3)/3", 0, math.sqrt((1.3 * 4 + 0.7 * 16) / 9)),
        ("x*10**(-12)", 0, math.sqrt(2 / 3) * 1e-12),
    ],
)
def test_norms_are_known(text: str, order: int, exact: float) -> None:
    assert math.isclose(target(text).l2_norm(order), exact, rel_tol=1e-9)
