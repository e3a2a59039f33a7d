"""Targets: parsing, values, derivatives and norms against other implementations."""

import math

import mpmath
import numpy as np
import pytest
import sympy as sp
from scipy.integrate import quad

from xsquared.functions import FUNCTIONS, PAPER_TARGET, parse, target

SMOOTH = [
    "sin(3*x)",
    "exp(-x**2)",
    "1/(1+9*x**2)",
    "x**3 - 2*x",
    "erf(x)*cos(x)",
    "tanh(2*x)",
]


@pytest.mark.parametrize(
    "text", [*SMOOTH, "2", "x", "-x", "+x", "pi*e", "abs(x) + sqrt(x + 2)"]
)
def test_values_agree_with_plain_python(text: str) -> None:
    points = np.linspace(-1, 1, 11)
    names = {name: getattr(math, name) for name in FUNCTIONS if name != "abs"}
    names |= {"abs": abs, "pi": math.pi, "e": math.e}
    expected = [
        float(eval(text, {"__builtins__": {}}, names | {"x": p})) for p in points
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
            "sin(*x)",
            "gamma(x)",
            "sin",
            "w + 1",
            "x < 1",
            "x +",
            "",
            "x^2",
        ),
    ],
)
def test_text_beyond_arithmetic_is_refused_and_never_run(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"expected arithmetic|cannot read the expression"
    ):
        parse(text)


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


def test_a_kink_in_one_variable_leaves_the_other_smooth() -> None:
    made = target("x**2*abs(y)")
    with pytest.raises(ValueError, match="has no derivative of order"):
        made.derivative(0, 1)
    np.testing.assert_allclose(made.derivative(2, 0)(0.5, -0.25), 0.5)


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
        ("x*10**(-12)", 0, math.sqrt(2 / 3) * 1e-12),
    ],
)
def test_norms_are_known(text: str, order: int, exact: float) -> None:
    assert math.isclose(target(text).l2_norm(order), exact, rel_tol=1e-9)
