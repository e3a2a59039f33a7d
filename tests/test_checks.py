"""Checks: what passes, in which type, and the one line for what does not."""

import math
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from xsquared.checks import (
    MOST,
    MOST_NUMBERS,
    check_choice,
    check_finite_array,
    check_integer,
    check_integers,
    check_number,
    check_size,
    quoted,
    without_warnings,
)


def test_a_known_name_passes_and_another_is_refused() -> None:
    assert check_choice("unit", "glu", {"mlp": 1, "glu": 2}) == "glu"
    values: tuple[Any, ...] = ("gqu", "", None, 1, ["glu"], {}, math.nan)
    for value in values:
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
        *((value, "an integer >= 1, got ") for value in (0, True, np.True_, 2.0, "2", None)),
        (np.array(2), r"an integer >= 1, got array\(2\)"),
        *((kind(2**63), f"an integer <= {MOST}, got 92233720368547") for kind in (int, np.uint64)),
    ],
)
def test_other_integers_are_refused(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^n: expected {message}"):
        check_integer("n", value, 1)


@pytest.mark.parametrize("values", [[1, 2], (1, np.int64(2)), range(1, 3), np.array([1, 2])])
def test_integers_pass_as_a_list(values: object) -> None:
    assert check_integers("widths", values, 1) == [1, 2]


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
    with pytest.raises(ValueError, match=r"^n: expected an integer from 0 to 5, got 6$"):
        check_integer("n", 6, 0, 5)
    with pytest.raises(ValueError, match=r"^n: .* to 5, got an integer of 16610 bits$"):
        check_integer("n", 10**5000, 0, 5)
    with pytest.raises(ValueError, match=r"^w: expected a finite number > 0, got 0$"):
        check_number("w", 0, above=0)
    with pytest.raises(ValueError, match=r"^w: expected a finite number >= 0 and <= 1, got 2$"):
        check_number("w", 2, least=0, most=1)


@pytest.mark.parametrize(
    "values",
    [
        *([1, 2.5], (1, np.float32(2.5)), pd.Series([1, 2.5])),
        *(np.array([1, 2.5], dtype=kind) for kind in (np.float16, np.longdouble)),
        *(torch.tensor([1, 2.5], requires_grad=followed) for followed in (False, True)),
    ],
)
def test_arrays_become_float64(values: object) -> None:
    found = check_finite_array("x", values, ndim=1)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [1.0, 2.5])
    assert check_finite_array("x", found) is found


def test_sizes_are_refused_from_a_gibibyte_on() -> None:
    check_size("grid", MOST_NUMBERS)
    with pytest.raises(ValueError, match=r"^grid: expected at most 134217728 numbers, got 2 x 99"):
        check_size("grid", 2, 99 * 10**6)


@given(st.one_of(st.text(), st.integers(), st.lists(st.text()), st.binary()))
def test_quotes_are_short_and_on_one_line(value: object) -> None:
    assert "\n" not in quoted(value)
    assert len(quoted(value)) <= 200
    assert len(quoted([[Fraction(1, 10**20)] * 6] * 6)) <= 200


def test_long_values_are_shortened() -> None:
    assert len(quoted("x+" * 50_000)) < 100
    assert len(quoted(np.ones((300, 300)))) < 100
    assert quoted(10**10_000) == "an integer of 33220 bits"


def test_threads_without_warnings_leave_the_filters_as_they_were() -> None:
    """Without a lock a thread restores filters that another has set: warnings are heard inside."""
    before = list(warnings.filters)

    def warn(_: int) -> None:
        with without_warnings():
            time.sleep(0.001)
            warnings.warn("unheard", RuntimeWarning, stacklevel=1)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(warn, range(40)))
    assert warnings.filters == before
    with pytest.raises(RuntimeWarning, match="heard"):
        warnings.warn("heard", RuntimeWarning, stacklevel=1)
