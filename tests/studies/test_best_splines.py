"""The search that knows only values: cells against fits, knots against a search of all choices."""

from itertools import combinations

import numpy as np
import pytest

from xsquared.functions import target
from xsquared.splines.constants import least_squares_spline_rmse
from xsquared_studies.best_splines import _best_chain, global_search

F = target("sin(4*x)")


@pytest.mark.parametrize(("order", "continuity"), [(2, -1), (2, 0), (3, 0), (4, 0), (4, 1)])
@pytest.mark.parametrize("n", [1, 5, 20])
def test_a_given_chain_has_the_error_of_the_fitted_spline(
    order: int, continuity: int, n: int
) -> None:
    places = [np.array([t]) for t in np.linspace(-1, 1, n + 1)]
    _, square = _best_chain(F, order, continuity + 1, places, None)
    fitted = least_squares_spline_rmse(F, order, n, continuity)
    assert np.sqrt(square / 2) == pytest.approx(fitted, rel=1e-8)


def test_pieces_that_need_not_meet_are_the_best_of_all_on_the_grid() -> None:
    grid = np.linspace(-1, 1, 12)
    places = [grid[:1], grid[1:-1], grid[1:-1], grid[1:-1], grid[-1:]]
    knots, square = _best_chain(F, 3, 0, places, None)

    def error(inner: tuple[float, ...]) -> float:
        chain = [np.array([t]) for t in (-1.0, *inner, 1.0)]
        return _best_chain(F, 3, 0, chain, None)[1]

    choices = {inner: error(inner) for inner in combinations(grid[1:-1], 3)}
    # The target is even: which of two mirrored chains is found is a matter of rounding.
    assert choices[tuple(knots[1:-1])] == pytest.approx(min(choices.values()), rel=1e-12)
    assert square == pytest.approx(min(choices.values()), rel=1e-12)


@pytest.mark.parametrize(
    ("text", "order", "continuity", "n", "best"),
    [("sin(4*x)", 2, 0, 10, 1.0404150e-2), ("sin(4*x)", 4, 1, 40, 5.9057e-7)],
)  # fmt: skip
def test_known_optima(text: str, order: int, continuity: int, n: int, best: float) -> None:
    knots, error = global_search(target(text), order, n, continuity)
    assert error == pytest.approx(best, rel=1e-4)
    assert (np.diff(knots) > 0).all()
    assert len(knots) == n + 1


@pytest.mark.parametrize(("text", "order", "continuity"), [("x**3", 4, 1), ("abs(x - 0.3)", 2, 0)])
def test_a_spline_is_found_and_the_search_ends(text: str, order: int, continuity: int) -> None:
    """Squares of rounding errors may be negative, and lower ones for ever."""
    assert global_search(target(text), order, 3, continuity)[1] < 1e-12
