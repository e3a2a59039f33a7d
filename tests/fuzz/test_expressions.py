"""Expressions nobody thought of: each is finite and real on its domain, or ends in one line."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from xsquared.functions import FUNCTIONS, Target, target

ATOMS = ("x", "y", "pi", "e", "0", "1", "2", "9", "-1", "0.1", "1/3", "10**6", "1e300", "5e-324")


def larger(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Operations on parts."""
    return st.one_of(
        st.builds("({}){}({})".format, parts, st.sampled_from(["+", "-", "*", "/", "**"]), parts),
        st.builds("{}({})".format, st.sampled_from(sorted(FUNCTIONS)), parts),
    )


def read(text: str, domain: tuple[float, float]) -> Target | None:
    """The target, or None after one clear line; any other error passes through."""
    message = ""
    try:
        return target(text, domain)
    except ValueError as error:
        message = str(error)
    assert "\n" not in message
    assert 0 < len(message) < 600
    return None


@given(st.recursive(st.sampled_from(ATOMS), larger, max_leaves=8))
@settings(max_examples=300)
def test_any_expression_is_finite_or_refused(text: str) -> None:
    made = read(text, (0.25, 2.0))
    if made is None:
        return
    values = made(*np.random.default_rng(0).uniform(0.25, 2.0, (made.dim, 20)))
    assert values.dtype == np.float64
    assert np.isfinite(values).all()


@given(st.text(alphabet="xyz0189.e+-*/() sincoabrtlgp,[]'\\\n^=", max_size=30))
@settings(max_examples=300)
def test_any_text_is_read_or_refused(text: str) -> None:
    read(text, (-1.0, 1.0))
