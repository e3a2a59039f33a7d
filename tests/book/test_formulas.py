"""Formulas as a person writes them: signs in front, a term per derivative."""

import sympy as sp

from xsquared.book.formulas import truncation_error

x, h = sp.symbols("x h", positive=True)
f2, f3 = sp.symbols("f2 f3")


def test_an_error_of_positive_terms_has_no_minus_but_in_factors() -> None:
    error = sp.expand(f3 * x * (h**2 - x**2) / 6 - f2 * x * (x - h) / 2)
    text = truncation_error("t", error, x, h).data
    assert text.index("f_0''") < text.index("f_0'''")
    assert text.count("h - x") == 2
    assert "-" not in text.replace("h - x", "")


def test_a_minus_stands_in_front_of_its_term() -> None:
    text = truncation_error("t", sp.expand(f2 * x * (x - h)), x, h).data
    assert "h - x" in text
    assert text.replace("h - x", "").count("-") == 1
