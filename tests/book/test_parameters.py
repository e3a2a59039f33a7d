"""What a chapter's parameters cell declares, and which values its parameters take."""

import math
import re
from pathlib import Path

import pytest

from tests.small_project import notebook_text
from xsquared_book.parameters import Parameter, declared, parameter_value
from xsquared_book.project import BookError


def test_the_parameters_cell_is_read_as_python(tmp_path: Path) -> None:
    source = tmp_path / "01_some.md"
    lines = "n = 2  # not n = 3\npair = (\n    1.0, -2.0,\n)\nrange_ = list(range(3))"
    source.write_text(notebook_text("other = 1", parameters=lines))
    expected = {"n": "2", "pair": "(1.0, -2.0)", "range_": "list(range(3))"}
    assert {name: parameter.default for name, parameter in declared(source).items()} == expected


def test_bounds_stand_behind_a_parameter(tmp_path: Path) -> None:
    source = tmp_path / "01_some.md"
    lines = "n = 2  # [of what] [1, 1e3]\nm = [1.5]  # [-2.5, 3]\nk = 3  # none"
    source.write_text(notebook_text("other = 1  # [4, 5]", parameters=lines))
    found = {name: (p.low, p.high) for name, p in declared(source).items()}
    assert found == {"n": (1, 1000), "m": (-2.5, 3), "k": (-math.inf, math.inf)}


@pytest.mark.parametrize(
    ("value", "default", "passed"),
    [
        (3, "2", 3),
        (3, "2.5", 3.0),
        ([1, 2.5], "[0.5]", [1.0, 2.5]),
        ("abs(x)", "'x**2'", "abs(x)"),
        (True, "False", True),
        ((0, 10**6), "(-1.0, 1.0)", [0.0, 1e6]),
        ([[1, 2], (3,)], "[[1]]", [[1, 2], [3]]),
        ((5, 7), "list(range(3))", [5, 7]),
        ((5, -1, 7), "(0.5, 1.0, 2.0)", [5.0, -1.0, 7.0]),
        (["relu", "abs"], "['a', 'b']", ["relu", "abs"]),
        (10**6, "2", 10**6),
    ],
)
def test_values_of_the_defaults_kind_pass(value: object, default: str, passed: object) -> None:
    assert repr(Parameter("p", default, -1.0, 1e6).fitting(value)) == repr(passed)


@pytest.mark.parametrize(
    ("value", "default", "expected"),
    [
        (2.5, "2", "a whole number"),
        (True, "2", "a whole number"),
        ("2", "2.5", "a finite number"),
        (math.inf, "2.5", "a finite number"),
        (10**400, "2.5", "a finite number"),
        (2, "'x'", "text"),
        (31, "4", "a whole number from 2 to 30"),
        (-(10**9), "4", "a whole number from 2 to 30"),
        (1.9, "4.0", "a finite number from 2 to 30"),
        (
            [[4], [5, 31]],
            "[[4]]",
            "a list, each entry a list, each entry a whole number from 2 to 30",
        ),
        ([4] * 1001, "[4]", "a list, each entry a whole number"),
        (1, "True", "True or False"),
        (8, "[4, 8]", "a list, each entry a whole number"),
        ([], "[4, 8]", "a list, each entry a whole number"),
        ("sine", "['sine']", "a list, each entry text"),
        ({1, 2}, "[4, 8]", "a list, each entry a whole number"),
        ([4, 5, 6], "(4, 8)", "2 entries"),
        *(([8, 4], default, "ascending numbers") for default in ("(4, 8)", "[4, 8, 9]")),
        *(([4, 4], default, "ascending numbers") for default in ("(4, 8)", "[4, 8, 9]")),
    ],
)
def test_values_of_another_kind_are_refused(value: object, default: str, expected: str) -> None:
    with pytest.raises(BookError, match=f"parameter p: expected {expected}, such as .*, got "):
        Parameter("p", default, 2, 30).fitting(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", "expected an expression in x that is no polynomial of degree 3 or less"),
        ("(x + 1)**3 - 2*x", "expected an expression in x that is no polynomial of degree 3"),
        ("y**5", "expected an expression in x that is no polynomial of degree 3"),
        ("x**5*y", "expected an expression in x that is no polynomial of degree 3"),
        ("2", "expected an expression in x that is no polynomial of degree 3"),
        ("sin(x)**2 + cos(x)**2", "expected an expression in x that is no polynomial of degree 3"),
        ("cosh(x)**2 - sinh(x)**2 + (x - 0.1)**3", "expected an expression in x that is no poly"),
        ("gamma(x)", "unknown function 'gamma'; known are"),
    ],
)
def test_an_expression_is_none_that_units_contain(text: str, expected: str) -> None:
    with pytest.raises(BookError, match=f"^parameter expression: {re.escape(expected)}"):
        Parameter("expression", "'x**5'").fitting(text)
    # Nested ones as quickly as others: their fourth derivatives fill memory.
    nested, narrow = "sin(" * 50 + "x" + ")" * 50, "sqrt(1 - 1e6*x**2)"
    for good in ("abs(x - 1/3)", "1e-9*x**4", nested, "x**1000000", narrow, "sqrt(-1 - x**2)"):
        assert Parameter("expression", "'x**5'").fitting(good) == good


@pytest.mark.parametrize(
    "text",
    [
        *("(x - 0.79)**5", "x**5 - 3.95*x**4", "cos(400*pi*x)", "x + cos(400*pi*x)"),
        *("sinh(7.1*x)", "1e290*exp(x)", "exp(exp(exp(x)))", "acos(cos(pi*x))", "abs(x - 99)"),
        *("x + exp(-1e8*(x - 0.1234)**2)", "x**3 + 1e-8*sin(x)", "sqrt(1e6 + x)"),
    ],
)
def test_an_expression_that_is_nearly_one_is_none(text: str) -> None:
    assert Parameter("expression", "'x**5'").fitting(text) == text


@pytest.mark.parametrize(
    "default", ["print(1)", "[n for n in (1,)]", "list(range(10**15))", "list(range(9**9**9))", "n"]
)
def test_a_default_is_a_literal_or_a_list_of_a_range(default: str) -> None:
    with pytest.raises(BookError, match="expected a literal or list"):
        parameter_value(default)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("n = 2", "n = ="), "01_some.md: its parameters cell is no Python, line 1: invalid"),
        (("[parameters]", "[parameters"), "01_some.md is no MyST notebook: Code cell 1 at line"),
        (("jupytext:", "jupytext: ["), "01_some.md is no MyST notebook: while parsing"),
        (("kernelspec:", "kernel:"), "01_some.md: expected a header with a kernelspec, got none"),
    ],
)
def test_a_malformed_notebook_is_named(
    change: tuple[str, str], message: str, tmp_path: Path
) -> None:
    source = tmp_path / "01_some.md"
    source.write_text(notebook_text("print(n)").replace(*change, 1))
    with pytest.raises(BookError, match=message) as raised:
        declared(source)
    assert "\n" not in str(raised.value)
