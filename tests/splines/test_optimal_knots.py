"""Free knots at their optimum: derivatives, known optima, and the solver that knows
only points.
"""

import math

import numpy as np
import pytest

from xsquared.functions import PAPER_TARGET, target
from xsquared.splines.constants import error_constant
from xsquared.splines.free_knots import fit_free_knots
from xsquared.splines.optimal_knots import _Cells, optimal_knots
from xsquared.units import space

SPACES = [(2, -1), (2, 0), (3, -1), (3, 0), (4, 0), (4, 1)]


@pytest.mark.parametrize(("order", "continuity"), SPACES)
def test_derivatives_of_a_cell_against_differences(order: int, continuity: int) -> None:
    cells = _Cells(PAPER_TARGET, order, continuity, 20)
    unknowns = 2 * (2 + continuity)
    local = np.random.default_rng(0).normal(0, 0.1, (3, unknowns))
    local[:, 0], local[:, unknowns // 2] = (-0.5, 0.1, 0.3), (-0.4, 0.2, 0.4)
    slopes, curvature = cells.derivatives(local)
    for i, step in enumerate(1e-6 * np.eye(unknowns)):
        ahead, behind = local + step, local - step
        by_errors = (cells.errors(ahead) - cells.errors(behind)) / 2e-6
        np.testing.assert_allclose(slopes[:, i], by_errors, rtol=1e-6)
        by_slopes = (cells.derivatives(ahead)[0] - cells.derivatives(behind)[0]) / 2e-6
        np.testing.assert_allclose(
            curvature[:, i], by_slopes, rtol=1e-6, atol=1e-6 * np.abs(curvature).max()
        )


@pytest.mark.parametrize("order", [2, 3, 4])
def test_pieces_of_a_constant_derivative_are_equal_and_exact(order: int) -> None:
    found = optimal_knots(target(f"x**{order}", (0.0, 1.0)), order, 7, -1)
    np.testing.assert_allclose(found.knots, np.linspace(0, 1, 8), atol=1e-9)
    constant = float(error_constant(order, "discontinuous")) * math.factorial(order)
    assert found.rmse == pytest.approx(constant * 7.0**-order, rel=1e-10)


@pytest.mark.parametrize(
    ("order", "continuity", "unit"), [(2, 0, "mlp"), (3, 0, "glu")]
)
def test_no_worse_than_the_solver_on_values(
    order: int, continuity: int, unit: str
) -> None:
    found = optimal_knots(PAPER_TARGET, order, 24, continuity)
    assert (np.diff(found.knots) > 0).all()
    # Its own coefficients, fitted to values of the target on these knots, have the same
    # error.
    refit = fit_free_knots(PAPER_TARGET, space(unit), found.knots, max_iterations=0)
    assert refit.rmse == pytest.approx(found.rmse, rel=1e-6)
    assert fit_free_knots(PAPER_TARGET, space(unit), found.knots).rmse > found.rmse * (
        1 - 1e-6
    )


@pytest.mark.parametrize(
    ("text", "order", "continuity", "n", "best"),
    [("sin(4*x)", 4, 1, 40, 5.906e-7), ("sin(4*x)", 3, 0, 10, 1.531e-3),
     ("exp(-4*x**2)", 4, 1, 80, 1.697e-8)],
)  # fmt: skip
def test_cells_between_zeros_are_as_many_as_is_best(
    text: str, order: int, continuity: int, n: int, best: float
) -> None:
    """One cell more on the other side of a zero costs 1 to 6 per cent."""
    assert optimal_knots(target(text), order, n, continuity).rmse < 1.001 * best


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("sqrt(x**2 + 1e-10)", 1),
        ("sin(200*x)", 3),
        ("1e160*x**3", 3),
        ("1e-160*x**3", 3),
    ],
)
def test_a_derivative_that_cells_do_not_resolve_is_refused(text: str, n: int) -> None:
    with pytest.raises(ValueError, match="by the derivative of order 2"):
        optimal_knots(target(text), 2, n, -1)


@pytest.mark.parametrize(("order", "continuity"), [(2, 1), (3, 1), (4, 2)])
def test_a_spline_smoother_than_its_ends_allow_is_refused(
    order: int, continuity: int
) -> None:
    most = order // 2 - 1
    with pytest.raises(ValueError, match=f"needs a continuity of {most} at most"):
        optimal_knots(PAPER_TARGET, order, 5, continuity)
