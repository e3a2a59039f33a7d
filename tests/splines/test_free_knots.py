"""Free-knot fits against dense least squares, finite differences and known optima."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xsquared.constructions import network_from_pieces
from xsquared.errors import measured_rmse
from xsquared.functions import PAPER_TARGET, target
from xsquared.splines import free_knots as module
from xsquared.splines.density import equidistributed_knots
from xsquared.splines.free_knots import fit_free_knots, fit_stacked
from xsquared.splines.spaces import ungated_signs
from xsquared.units import predict, space

UNITS = ["mlp", "glu", "gqu"]


def dense_fit(
    unit: str, knots: np.ndarray, x: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Best spline by truncated powers and dense least squares: the naive way."""
    degree, start = space(unit).degree, space(unit).smoothness + 1
    columns = [(x - knots[0]) ** j for j in range(degree + 1)]
    columns += [
        np.maximum(x - t, 0) ** j for t in knots[1:-1] for j in range(start, degree + 1)
    ]
    matrix, root = np.stack(columns, axis=1), np.sqrt(weights)
    c, *_ = np.linalg.lstsq(matrix * root[:, None], PAPER_TARGET(x) * root, rcond=None)
    return matrix @ c


def drawn_knots(draw: np.random.Generator, n: int) -> np.ndarray:
    gaps = draw.uniform(0.3, 1, n)
    knots = -1 + 2 * np.concatenate([[0], np.cumsum(gaps)]) / gaps.sum()
    knots[-1] = 1.0
    return knots


def nodes_on(knots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes of every cell, and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(240)
    half = np.diff(knots)[:, None] / 2
    return (knots[:-1, None] + half * (1 + nodes)).ravel(), (half * weights).ravel()


@given(st.sampled_from(UNITS), st.integers(1, 8), st.integers(0, 10**6))
@settings(max_examples=30)
def test_projection_is_dense_least_squares(unit: str, n: int, seed: int) -> None:
    knots = drawn_knots(np.random.default_rng(seed), n)
    fit = fit_free_knots(PAPER_TARGET, space(unit), knots, max_iterations=0)
    np.testing.assert_array_equal(fit.knots, knots)
    x, w = nodes_on(knots)
    expected = dense_fit(unit, knots, x, w)
    np.testing.assert_allclose(fit(x), expected, atol=1e-8)
    rmse = math.sqrt(float(w @ (expected - PAPER_TARGET(x)) ** 2) / 2)
    assert math.isclose(fit.rmse, rmse, rel_tol=1e-6)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("directions", [None, np.array([-1, 1, 1, -1])])
def test_steps_are_newtons_on_the_error_of_the_best_coefficients(
    unit: str, directions: np.ndarray | None
) -> None:
    """Gradient and Hessian by differences of the projected loss, which knows of knots
    only.
    """
    signs = np.empty((1, 0)) if directions is None else ungated_signs(directions[None])
    model = module.Model(PAPER_TARGET, space(unit))
    knots = np.array([-1.0, -0.55, -0.1, 0.3, 0.8, 1.0])

    def loss(shift: np.ndarray) -> float:
        return float(model.project(knots[None] + np.pad(shift, 1), signs).loss[0])

    d, unit_steps = 1e-3, 1e-3 * np.eye(4)
    gradient = np.array([loss(a) - loss(-a) for a in unit_steps]) / (2 * d)
    hessian = [
        [
            (loss(a + b) - loss(a - b) - loss(b - a) + loss(-a - b)) / (4 * d * d)
            for a in unit_steps
        ]
        for b in unit_steps
    ]
    # A shift at which both agree to the order of the differences: as small as the
    # damping is large.
    points, damping = model.linearise(model.project(knots[None], signs)), 1e3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MAX_SHRINK", np.inf)
        moved = [model.step(points, np.array([k * damping])) for k in (1, 2)]
    taken = [(one[0] - knots)[1:-1] for one in moved]
    # (H + damping S) step = -gradient for both, S diagonal: S from the difference of
    # the two.
    room = np.minimum(np.diff(knots)[:-1], np.diff(knots)[1:]) ** -2
    scale = -(np.array(hessian) @ (taken[1] - taken[0])) / damping / room
    scale /= 2 * taken[1] - taken[0]
    assert np.ptp(scale) < 0.02 * np.abs(scale).max()
    by_steps = np.array(hessian) @ taken[0] + damping * scale.mean() * room * taken[0]
    np.testing.assert_allclose(
        by_steps, -gradient, rtol=0.02, atol=1e-3 * np.abs(gradient).max()
    )


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("n", [1, 2, 7])
def test_polynomials_of_the_units_degree_are_exact(unit: str, n: int) -> None:
    power = target(f"x**{space(unit).degree}")
    fit = fit_free_knots(power, space(unit), np.linspace(-1, 1, n + 1))
    assert fit.rmse < 1e-13
    network = network_from_pieces(unit, fit.knots, fit.pieces)
    x = np.linspace(-1, 1, 501)
    np.testing.assert_allclose(predict(network, x), power(x), atol=1e-12)


@pytest.mark.parametrize(
    ("unit", "n", "best"),
    [("mlp", 20, 1.99e-3), ("mlp", 50, 3.5e-4), ("glu", 20, 1.45e-4), ("glu", 50, 9.2e-6),
     ("gqu", 20, 2.0e-5), ("gqu", 50, 7.0e-7)],
)  # fmt: skip
def test_known_optima_are_reached(unit: str, n: int, best: float) -> None:
    start = equidistributed_knots(PAPER_TARGET, space(unit), n)
    fit = fit_free_knots(PAPER_TARGET, space(unit), start)
    assert fit.rmse <= 1.01 * best
    assert fit.status == "converged"
    gaps = np.diff(fit.knots)
    for knot, room in enumerate(np.minimum(gaps[:-1], gaps[1:]), 1):
        for shift in (-0.01, 0.01):
            moved = fit.knots.copy()
            moved[knot] += shift * room
            assert (
                fit_free_knots(PAPER_TARGET, space(unit), moved, 0).rmse > fit.rmse
            ), "a minimum"
    network = network_from_pieces(unit, fit.knots, fit.pieces)
    assert math.isclose(measured_rmse(network, PAPER_TARGET), fit.rmse, rel_tol=1e-3)


def neurons(
    unit: str, x: np.ndarray, knots: np.ndarray, directions: np.ndarray
) -> np.ndarray:
    """Columns of a network without a neuron behind its gates: its neurons and a
    constant.
    """
    power = space(unit).degree - 1
    columns = [np.ones_like(x)]
    for t, way in zip(knots[1:-1], directions, strict=True):
        gate, s = np.maximum(way * (x - t), 0), x - t
        columns += [gate] if power == 0 else [gate * s ** (power - 1), gate * s**power]
    return np.stack(columns, axis=1)


@given(st.sampled_from(UNITS), st.integers(2, 7), st.integers(0, 10**6))
@settings(max_examples=40)
def test_projection_for_directions_is_dense_least_squares(
    unit: str, n: int, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    knots, directions = drawn_knots(draw, n), draw.choice([-1, 1], n - 1)
    (fit,) = fit_stacked(PAPER_TARGET, space(unit), knots[None], 0, directions[None])
    x, w = nodes_on(knots)
    matrix, root = neurons(unit, x, knots, directions), np.sqrt(w)
    c, *_ = np.linalg.lstsq(matrix * root[:, None], PAPER_TARGET(x) * root, rcond=1e-13)
    np.testing.assert_allclose(fit(x), matrix @ c, atol=1e-7)


def test_a_flat_cell_costs_nothing_where_the_target_is_flat() -> None:
    """Lines through the parabola: the middle one of an odd number is flat by symmetry."""
    start = np.array([-1.0, -0.7, -0.1, 0.3, 0.5, 1.0])
    free = fit_free_knots(target("x**2"), space("mlp"), start)
    directions = np.array([[-1, -1, 1, 1]])
    (flat,) = fit_stacked(target("x**2"), space("mlp"), start[None], 300, directions)
    assert math.isclose(flat.rmse, free.rmse, rel_tol=1e-6)
    np.testing.assert_allclose(flat.knots, np.linspace(-1, 1, 6), atol=1e-4)
    assert abs(flat.pieces[2, 1]) < 1e-14
