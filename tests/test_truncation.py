"""Truncation errors against independent computations."""

import pytest
import sympy as sp

from xsquared.truncation import (
    PIECES,
    f,
    h,
    hermite_piece,
    leading_constant,
    target,
    terms_of_degree,
    truncation_error,
    x,
)

# The squares of the reciprocal constants as the literature has them; the code never sees these.
KNOWN = {
    "interpolating_mlp": sp.Integer(120),
    "left_curvature_glu": sp.Rational(945, 2),
    "midpoint_curvature_glu": sp.Integer(30240),
    "hermite_gqu": sp.factorial(9),
}


@pytest.mark.parametrize("name", PIECES)
def test_constant_is_the_known_one(name: str) -> None:
    assert sp.simplify(1 / leading_constant(name) ** 2 - KNOWN[name]) == 0


@pytest.mark.parametrize("name", PIECES)
def test_nothing_of_lower_degree_is_left(name: str) -> None:
    error = truncation_error(name)
    for degree in range(PIECES[name].order):
        assert terms_of_degree(error, degree) == 0
    leading = terms_of_degree(error, PIECES[name].order)
    assert leading != 0
    assert leading.free_symbols == {x, h, f[PIECES[name].order]}


@pytest.mark.parametrize("name", PIECES)
def test_pieces_meet_the_target_at_both_ends(name: str) -> None:
    error = truncation_error(name)
    assert sp.expand(error.subs(x, 0)) == 0
    assert sp.expand(error.subs(x, h)) == 0


def test_hermite_piece_meets_the_slopes() -> None:
    slope = sp.diff(hermite_piece() - target(0, x), x)
    assert sp.expand(slope.subs(x, 0)) == 0
    assert sp.expand(slope.subs(x, h)) == 0
