"""Local bases against polynomials, finite differences and dense integrals."""

import numpy as np
import pytest

from xsquared.splines.spaces import (
    local_basis,
    local_derivatives,
    projection,
    to_powers,
    ungated_polynomial,
    unknowns_of,
)
from xsquared.units import PAPER_UNITS, space

KNOTS = np.array([-1.0, -0.3, 0.1, 1.0])
UNITS = pytest.mark.parametrize("unit", PAPER_UNITS)


def drawn(unit: str) -> np.ndarray:
    """Coefficients of a random spline of the unit's space, by cell."""
    shape = space(unit)
    count = 2 * (shape.block - 1) + shape.size - 2
    c = np.random.default_rng(0).normal(size=count)
    return c[unknowns_of(3, shape.block - 1, shape.size - 2)]


def values(
    unit: str, knots: np.ndarray, local: np.ndarray, x: np.ndarray, cell: int
) -> np.ndarray:
    pieces = to_powers(space(unit), np.diff(knots), local)
    return np.polynomial.polynomial.polyval(x - knots[cell], pieces[cell])


@UNITS
def test_pieces_with_shared_coefficients_meet_as_smoothly_as_the_space_says(
    unit: str,
) -> None:
    shape = space(unit)
    pieces = to_powers(shape, np.diff(KNOTS), drawn(unit))
    assert pieces.shape == (3, shape.degree + 1)
    for order in range(shape.smoothness + 2):
        jumps = [
            np.polynomial.Polynomial(left).deriv(order)(width)
            - np.polynomial.Polynomial(right).deriv(order)(0.0)
            for left, right, width in zip(
                pieces, pieces[1:], np.diff(KNOTS), strict=False
            )
        ]
        assert (np.abs(jumps) < 1e-12).all() == (order <= shape.smoothness)


@UNITS
def test_derivatives_by_the_knots_are_those_at_fixed_points(unit: str) -> None:
    shape, local, step = space(unit), drawn(unit), 1e-6
    _, by, _ = local_derivatives(shape, np.diff(KNOTS), local)
    x = np.array([-0.25, -0.1, 0.05])
    xi = (x - KNOTS[1]) / (KNOTS[2] - KNOTS[1])
    for knot, place in ((1, 0), (2, shape.block)):
        shift = step * np.eye(4)[knot]
        ahead, behind = (values(unit, KNOTS + s * shift, local, x, 1) for s in (1, -1))
        found = np.polynomial.polynomial.polyval(xi, by[1, place])
        np.testing.assert_allclose(found, (ahead - behind) / (2 * step), atol=1e-7)


@UNITS
def test_the_projections_matrix_holds_integrals_of_products(unit: str) -> None:
    shape, local = space(unit), drawn(unit)
    banded, _, _ = projection(shape, np.diff(KNOTS), np.zeros((3, shape.degree + 1)))
    c = np.empty(banded.shape[1])
    c[unknowns_of(3, shape.block - 1, shape.size - 2)] = local
    whole = sum(
        (1 if i == 0 else 2) * np.sum(row[: len(c) - i] * c[i:] * c[: len(c) - i])
        for i, row in enumerate(banded)
    )
    nodes, weights = np.polynomial.legendre.leggauss(6)
    exact = 0.0
    for cell, width in enumerate(np.diff(KNOTS)):
        x = KNOTS[cell] + width * (nodes + 1) / 2
        exact += width / 2 * weights @ values(unit, KNOTS, local, x, cell) ** 2
    assert np.isclose(whole, exact, rtol=1e-12)


@UNITS
def test_what_stands_behind_all_gates_is_the_cells_polynomial(unit: str) -> None:
    shape, local = space(unit), drawn(unit)
    made = ungated_polynomial(shape, KNOTS)
    scale = np.diff(KNOTS)[:, None] ** local_basis(shape.degree).exponents
    in_xi = (local * scale) @ local_basis(shape.degree).powers
    s = np.linspace(0, 1, 7)
    for cell in range(3):
        found = np.polynomial.polynomial.polyval(s, [0.0, *(made[cell] @ in_xi[cell])])
        x = KNOTS[0] + s * (KNOTS[-1] - KNOTS[0])
        exact = values(unit, KNOTS, local, x, cell)
        np.testing.assert_allclose(
            found, exact - exact[0], atol=1e-9 * np.abs(exact).max()
        )
