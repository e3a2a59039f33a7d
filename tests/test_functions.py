"""Targets: parsing, values, derivatives, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from xsquared.functions import (
    FUNCTIONS,
    PAPER_TARGET,
    check_interval,
    parse,
    target,
)

SMOOTH = ["sin(3*x)", "exp(-x**2)", "1/(1+9*x**2)", "x**3 - 2*x", "erf(x)*cos(x)", "tanh(2*x)"]


@pytest.mark.parametrize("text", [*SMOOTH, "2", "x", "-x", "+x", "pi*e", "abs(x) + sqrt(x + 2)"])
def test_values_agree_with_plain_python(text: str) -> None:
    points = np.linspace(-1, 1, 11)
    names = {name: getattr(math, name) for name in FUNCTIONS if name != "abs"}
    names |= {"abs": abs, "pi": math.pi, "e": math.e}
    expected = [float(eval(text, {"__builtins__": {}}, names | {"x": p})) for p in points]
    np.testing.assert_allclose(target(text)(points), expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("text", SMOOTH)
@pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
def test_numpy_torch_and_autograd_agree(text: str, order: int) -> None:
    made = target(text)
    points = torch.linspace(-0.9, 0.9, 7, dtype=torch.float64, requires_grad=True)
    value = made.torch()(points)
    for _ in range(order):
        (value,) = torch.autograd.grad(value.sum(), points, create_graph=True)
    from_numpy = made.numpy(order)(points.detach().numpy())
    scale = 1 + np.abs(from_numpy).max()
    np.testing.assert_allclose(made.torch(order)(points).detach(), from_numpy, atol=1e-13 * scale)
    np.testing.assert_allclose(value.detach(), from_numpy, atol=1e-11 * scale)


@given(
    coefficients=st.lists(st.integers(-5, 5), min_size=1, max_size=6),
    order=st.integers(0, 6),
)
@settings(max_examples=40)
def test_polynomial_derivatives_agree_with_numpy(coefficients: list[int], order: int) -> None:
    text = " + ".join(f"({c})*x**{k}" for k, c in enumerate(coefficients))
    points = np.linspace(-1, 1, 9)
    expected = np.polynomial.Polynomial(coefficients).deriv(order)(points)
    found = target(text).numpy(order)(points)
    assert found.shape == points.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_constants_take_the_points_shape() -> None:
    points = np.zeros((3, 4))
    np.testing.assert_array_equal(target("3")(points), np.full((3, 4), 3.0))
    assert target("x").torch(1)(torch.zeros(5)).shape == (5,)
    assert target("x").torch(1)(torch.zeros(5)).dtype == torch.float64


def test_two_variables_broadcast_and_differentiate() -> None:
    made = target("sin(4*x)*sin(4*y)", (0.0, 1.0))
    assert made.dim == 2
    assert made.domain == ((0.0, 1.0), (0.0, 1.0))
    x, y = np.linspace(0, 1, 5)[:, None], np.linspace(0, 1, 3)
    np.testing.assert_allclose(made(x, y), np.sin(4 * x) * np.sin(4 * y), atol=1e-15)
    mixed = made.numpy(1, 2)(x, y)
    np.testing.assert_allclose(mixed, -64 * np.cos(4 * x) * np.sin(4 * y), atol=1e-12)


def test_sympy_expressions_in_any_assumptions_are_accepted() -> None:
    plain = sp.Symbol("x")
    np.testing.assert_allclose(target(plain**2)(np.array([3.0])), [9.0])


def test_decimals_are_exact() -> None:
    assert parse("0.1 + 0.2") == sp.Rational(3, 10)


def test_paper_target_has_its_values_and_norms() -> None:
    np.testing.assert_allclose(PAPER_TARGET(np.array([-1.0, 0.0, 0.5, 1.0])), [0.5, 0.5, 1, 0.5])
    x = sp.Symbol("x", real=True)
    exact = sp.sqrt(sp.Integral(PAPER_TARGET.derivative(2) ** 2, (x, -1, 1))).evalf(10)
    assert math.isclose(PAPER_TARGET.l2_norm(2), float(exact), rel_tol=1e-8)


@pytest.mark.parametrize(("text", "order", "exact"), [("x**2", 1, 8 / 3), ("x", 2, 0.0)])
def test_l2_norm_of_polynomials(text: str, order: int, exact: float) -> None:
    assert math.isclose(target(text).l2_norm(order), math.sqrt(exact), abs_tol=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("w + 1", r"unknown symbol 'w' in 'w \+ 1'; known are x, y, z, pi, e"),
        ("gamma(x)", r"unknown function 'gamma'"),
        ("__import__('os').system('true')", r"is not allowed"),
        ("(lambda: 1)()", r"is not allowed"),
        ("x.real", r"'x\.real' .* is not allowed"),
        ("[x for x in (1,)]", r"is not allowed"),
        ("x if x else 1", r"is not allowed"),
        ("sin(x, x)", r"is not allowed"),
        ("x < 1", r"is not allowed"),
        ("True", r"is not allowed"),
        ("'x'", r"is not allowed"),
        ("x +", r"cannot read the expression"),
        ("", r"cannot read the expression"),
    ],
)
def test_anything_beyond_arithmetic_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        target(text)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("1/x", "x=0"),
        ("log(x)", "x=-1"),
        ("sqrt(x)", "x=-1"),
        ("1/(1 + cos(pi*x))**2", "x=-1"),
        ("1/(x - y)", "x=-1, y=-1"),
    ],
)
def test_non_finite_values_on_the_domain_are_refused(text: str, where: str) -> None:
    with pytest.raises(ValueError, match=f"is not finite at {where}"):
        target(text)


@pytest.mark.parametrize(
    "domain", [(1, -1), (0, 0), (0, math.inf), (math.nan, 1), ((0, 1), (1, 0))]
)
def test_bad_intervals_are_refused(domain: tuple) -> None:
    with pytest.raises(ValueError, match="expected an interval with finite a < b"):
        target("x*y" if np.ndim(domain) == 2 else "x", domain)


def test_wrong_number_of_intervals_is_refused() -> None:
    with pytest.raises(ValueError, match=r"one interval \(a, b\) or 1 of them"):
        target("x", ((0, 1), (0, 1)))


@pytest.mark.parametrize("bad", [3.0, None, b"x"])
def test_other_types_are_refused(bad: object) -> None:
    with pytest.raises(TypeError, match="expected text or a sympy expression"):
        target(bad)


def test_foreign_sympy_symbols_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown symbol 't'"):
        target(sp.Symbol("t") ** 2)


def test_missing_derivatives_are_refused() -> None:
    with pytest.raises(ValueError, match="has no derivative of order"):
        target("abs(x)").numpy(1)
    with pytest.raises(ValueError, match="has no derivative of order"):
        target("abs(x)").numpy(2)
    with pytest.raises(ValueError, match=r"derivative of order 1 of sqrt\(x\) is not finite"):
        target("sqrt(x)", (0, 1)).l2_norm(1)
    np.testing.assert_array_equal(target("abs(x - 2)").numpy(1)(np.array([0.0])), [-1.0])


@pytest.mark.parametrize("orders", [(1, 1), (-1,), (1.5,)])
def test_bad_orders_are_refused(orders: tuple) -> None:
    with pytest.raises(ValueError, match="orders of differentiation"):
        target("x").derivative(*orders)


def test_l2_norm_needs_one_variable() -> None:
    with pytest.raises(ValueError, match="target of one variable, x\\*y has 2"):
        target("x*y").l2_norm()


def test_wrong_number_of_arrays_is_refused() -> None:
    with pytest.raises(TypeError, match="takes 1 arrays, got 2"):
        target("x")(np.zeros(2), np.zeros(2))
    with pytest.raises(TypeError, match="takes 2 tensors, got 1"):
        target("x*y").torch()(torch.zeros(2))


def test_parse_wants_text() -> None:
    with pytest.raises(TypeError, match="expected an expression as text, got int"):
        parse(3)


def test_check_interval_passes_good_ones() -> None:
    check_interval(-1.0, 1.0)
