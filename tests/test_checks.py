"""Checks: what passes, in which type, and the one line for what does not."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from xsquared.checks import (
    MOST,
    MOST_NUMBERS,
    MOST_OF_A_FIT,
    check_choice,
    check_finite_array,
    check_fit_size,
    check_integer,
    check_integers,
    check_number,
    check_size,
    quoted,
)


def test_a_known_name_passes() -> None:
    assert check_choice("unit", "glu", {"mlp": 1, "glu": 2}) == "glu"


@pytest.mark.parametrize("value", ["gqu", "", None, 1, ["glu"], {}, float("nan")])
def test_unknown_names_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"^unknown unit .+; known are mlp, glu$"):
        check_choice("unit", value, ("mlp", "glu"))


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_integers_pass_as_pythons(value: object) -> None:
    found = check_integer("n", value, 3, 3)
    assert type(found) is int
    assert found == 3


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "n: expected an integer >= 1, got 0"),
        (True, "n: expected an integer >= 1, got True"),
        (np.True_, "n: expected an integer >= 1, got np.True_"),
        (2.0, "n: expected an integer >= 1, got 2.0"),
        ("2", "n: expected an integer >= 1, got '2'"),
        (None, "n: expected an integer >= 1, got None"),
        (np.array(2), r"n: expected an integer >= 1, got array\(2\)"),
        (2**63, f"n: expected an integer <= {MOST}, got 9223372036854775808"),
        (np.uint64(2**63), f"n: expected an integer <= {MOST}, got 9223372036854775808"),
    ],
)
def test_other_integers_are_refused(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        check_integer("n", value, 1)


def test_a_huge_integer_is_not_printed() -> None:
    with pytest.raises(ValueError, match=f"^n: expected an integer <= {MOST}, .* of 16610 bits$"):
        check_integer("n", 10**5000)


def test_both_bounds_are_named_where_both_are_given() -> None:
    with pytest.raises(ValueError, match=r"^n: expected an integer from 0 to 5, got 6$"):
        check_integer("n", 6, 0, 5)


@pytest.mark.parametrize("values", [[1, 2], (1, np.int64(2)), range(1, 3), np.array([1, 2])])
def test_integers_pass_as_a_list(values: object) -> None:
    assert check_integers("widths", values, 1) == [1, 2]


@pytest.mark.parametrize("values", [None, 3, "12", [], [0], [1.0], [True], [[1]], {"a": 1}])
def test_other_lists_of_integers_are_refused(values: object) -> None:
    with pytest.raises(ValueError, match=r"^widths: expected .*integer.*, got "):
        check_integers("widths", values, 1)


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int64(2), Fraction(2)])
def test_numbers_pass_as_floats(value: object) -> None:
    found = check_number("w", value, least=2, above=1, most=2)
    assert type(found) is float
    assert found == 2


@pytest.mark.parametrize("value", [True, "1", None, 1j, math.nan, math.inf, 10**400, [1.0]])
def test_what_is_no_finite_number_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"^w: expected a finite number, got "):
        check_number("w", value)


def test_a_number_out_of_bounds_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^w: expected a finite number > 0, got 0$"):
        check_number("w", 0, above=0)
    with pytest.raises(ValueError, match=r"^w: expected a finite number >= 1, got 0\.5$"):
        check_number("w", 0.5, least=1)
    with pytest.raises(ValueError, match=r"^w: expected a finite number >= 0 and <= 1, got 2$"):
        check_number("w", 2, least=0, most=1)


@pytest.mark.parametrize(
    "values",
    [
        [1, 2.5],
        (1, np.float32(2.5)),
        np.array([1, 2.5], dtype=np.float16),
        np.array([1, 2.5], dtype=np.longdouble),
        torch.tensor([1, 2.5]),
        torch.tensor([1, 2.5], requires_grad=True),
        pd.Series([1, 2.5]),
    ],
)
def test_arrays_become_float64(values: object) -> None:
    found = check_finite_array("x", values, ndim=1)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [1.0, 2.5])


def test_an_array_of_float64_is_not_copied() -> None:
    values = np.zeros(3)
    assert check_finite_array("x", values) is values


MASKED = np.ma.masked_array([1.0, 2.0], mask=[True, False])
NESTED: list = []
NESTED.append(NESTED)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([True, 2.0], "expected finite real numbers, got bool"),
        (np.array([True]), "expected finite real numbers, got bool"),
        ([torch.tensor(True), torch.tensor(2.0)], "expected finite real numbers, got bool"),
        ([[np.array(True)], (2.0,)], "expected finite real numbers, got bool"),
        ([pd.Series([True]), [2.0]], "expected finite real numbers, got bool"),
        ([1j], "expected finite real numbers, got complex128"),
        (["1"], "expected finite real numbers, got <U1"),
        (np.array([1.0], dtype=object), "expected finite real numbers, got object"),
        (None, "expected finite real numbers, got object in None"),
        ([[1.0], [1.0, 2.0]], "expected finite real numbers of one shape, got"),
        ([2**70], "expected finite real numbers, got object"),
        (np.ma.masked_array([1.0], mask=[False]), "got a masked array"),
        ([MASKED, MASKED], "got a masked array"),
        ([[1.0, 2.0], MASKED], "got a masked array"),
        ([1.0, np.ma.masked], "got a masked array"),
        (NESTED, "expected finite real numbers of one shape, got"),
        ([torch.tensor(1.0, requires_grad=True), "a"], "expected finite real numbers"),
        ([1.0, math.nan], r"got nan at index \(1,\)"),
        ([[1.0, -math.inf]], r"got -inf at index \(0, 1\)"),
        (np.array([np.finfo(np.longdouble).max]), r"got inf at index \(0,\)"),
        (3.0, r"expected 1 axes, got shape \(\)"),
        ([[1.0]], r"expected 1 axes, got shape \(1, 1\)"),
    ],
)
def test_other_arrays_are_refused(values: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^x: .*{message}"):
        check_finite_array("x", values, ndim=1)


def test_sizes_are_refused_from_a_gibibyte_on() -> None:
    check_size("grid", MOST_NUMBERS)
    with pytest.raises(ValueError, match=r"^grid: expected at most 134217728 numbers, got 2 x 99"):
        check_size("grid", 2, 99 * 10**6)


def test_a_fit_is_refused_by_its_arrays_together() -> None:
    check_fit_size("varpro", 3, 50, MOST_OF_A_FIT)
    named = r"^the arrays of varpro for 3 neurons on 50 points: expected at most 201326592 numbers"
    with pytest.raises(ValueError, match=named):
        check_fit_size("varpro", 3, 50, MOST_OF_A_FIT + 1)


@given(st.one_of(st.text(), st.integers(), st.lists(st.text()), st.binary()))
def test_quotes_are_short_and_on_one_line(value: object) -> None:
    assert "\n" not in quoted(value)
    assert len(quoted(value)) < 600


def test_long_values_are_shortened() -> None:
    assert len(quoted("x+" * 50_000)) < 100
    assert len(quoted(np.ones((300, 300)))) < 100
    assert quoted(10**10_000) == "an integer of 33220 bits"
