"""Networks from free-knot splines: neuron counts, forward passes, the GQU's first cell."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import simpson

from xsquared.functions import PAPER_TARGET, Target, target
from xsquared.geometry import knots, neuron_polynomials
from xsquared.training import spline_network as module
from xsquared.training.free_knots import SPACES, FreeKnotSpline, fit_free_knots
from xsquared.training.spline_network import (
    best_spline,
    cell_errors,
    first_cell_factors,
    retrain_spline,
    searched_spline,
    train_spline_network,
)
from xsquared.units import GatedNetwork, predict

UNITS = list(SPACES)
TARGETS = [PAPER_TARGET, target("exp(2*x)", (0.0, 1.5)), target("x**3")]
WAYS = {
    "train": lambda f, unit, n: train_spline_network(f, unit, n, 0),
    "retrain": retrain_spline,
}


def evaluate(spline: FreeKnotSpline, x: np.ndarray) -> np.ndarray:
    cell = np.clip(np.searchsorted(spline.knots, x, side="right") - 1, 0, len(spline.pieces) - 1)
    s = x - spline.knots[cell]
    return sum(spline.pieces[cell, j] * s**j for j in range(spline.pieces.shape[1]))


def error(network: GatedNetwork, f: Target) -> float:
    """Root mean square error by Simpson's rule, on far more points than there are waves."""
    x = np.linspace(*f.domain[0], 20_001)
    squares = (predict(network, x) - f(x)) ** 2
    return math.sqrt(simpson(squares, x=x) / (x[-1] - x[0]))


def with_first_piece(coefficients: list[float]) -> FreeKnotSpline:
    return FreeKnotSpline(
        "gqu", np.array([-1.0, 1.0]), np.array([coefficients]), 0.0, 0, 0.0, "converged"
    )


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("f", TARGETS, ids=lambda f: f.name)
def test_n_neurons_carry_the_spline(f, unit: str, way: str) -> None:
    for n in (1, 4):
        made = WAYS[way](f, unit, n)
        assert made.network.n_hidden == n
        assert (made.network.n_in, made.network.n_out) == (1, 1)
        x = np.linspace(*f.domain[0], 2001)
        np.testing.assert_allclose(predict(made.network, x), evaluate(made.spline, x), atol=1e-9)
        assert math.isclose(error(made.network, f), made.spline.rmse, rel_tol=1e-6, abs_tol=1e-12)


@pytest.mark.parametrize("unit", UNITS)
def test_more_neurons_have_less_error(unit: str) -> None:
    errors = [
        error(train_spline_network(PAPER_TARGET, unit, n, 0).network, PAPER_TARGET)
        for n in (1, 2, 3, 5, 9)
    ]
    assert (np.diff(errors) < 0).all(), errors


@pytest.mark.parametrize("f", TARGETS[:2], ids=lambda f: f.name)
@pytest.mark.parametrize("n", [1, 4])
def test_a_flat_cell_is_taken_where_it_helps_only(f, n: int) -> None:
    trained = error(train_spline_network(f, "mlp", n, 0).network, f)
    without = best_spline(f, "mlp", n, 0)[0]
    assert trained <= without.rmse * (1 + 1e-9)
    more = best_spline(f, "mlp", n + 1, 0)[0]
    assert trained >= more.rmse * (1 - 1e-2)


def test_the_papers_target_has_a_place_for_a_flat_cell() -> None:
    """At an extremum: its hinges are then all inside, and there is one cell more."""
    made = train_spline_network(PAPER_TARGET, "mlp", 6, 0)
    assert len(made.spline.pieces) == 7
    assert (np.abs(knots(made.network)) < 1).all()


@pytest.mark.parametrize("flat", [0, 2, 4])
def test_any_cell_can_be_the_flat_one(flat: int, monkeypatch: pytest.MonkeyPatch) -> None:
    spline = fit_free_knots(PAPER_TARGET, "mlp", np.linspace(-1, 1, 6), flat_cell=flat)
    steep = np.ones((5, 2))
    steep[flat, 1] = 0.0
    start = FreeKnotSpline("mlp", spline.knots, steep, 0.0, 0, 0.0, "converged")
    monkeypatch.setattr(module, "best_spline", lambda *_: (start, 0))
    monkeypatch.setattr(module, "_FLAT_TRIALS", 1)
    made = module._with_flat_cell(PAPER_TARGET, 0, 4)
    x = np.linspace(-1, 1, 1001)
    np.testing.assert_allclose(predict(made.network, x), evaluate(made.spline, x), atol=1e-12)
    assert made.spline.pieces[flat, 1] == 0
    assert made.network.G[:, 0].tolist() == [-1.0] * flat + [1.0] * (4 - flat)


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=3))
def test_factors_multiply_to_the_first_cell(coefficients: list[float]) -> None:
    c1, c2, c3 = coefficients
    factors = first_cell_factors(with_first_piece([0.7, c1, c2, c3]))
    if factors is None:
        assert c2**2 < 4 * c1 * c3
        return
    (a, b), (p, q) = factors
    scale = max(abs(c1), abs(c2), abs(c3))
    np.testing.assert_allclose(
        [b * q, a * q + b * p, a * p], coefficients, atol=1e-9 * scale + 1e-150
    )


@pytest.mark.parametrize(
    "coefficients",
    [
        [0, 0, 0],
        [2, 0, 0],
        [0, 3, 0],
        [0, 0, 4],
        [2, 3, 0],
        [0, 3, 4],
        [-2, 0, 4],
        [1e-12, 1, 1e-12],
    ],
)
def test_factors_of_lower_degree(coefficients: list[float]) -> None:
    factors = first_cell_factors(with_first_piece([1.0, *coefficients]))
    assert factors is not None
    (a, b), (p, q) = factors
    np.testing.assert_allclose([b * q, a * q + b * p, a * p], coefficients, rtol=1e-14, atol=1e-15)


@given(st.floats(-2, 2), st.floats(0.01, 2), st.floats(0.1, 3) | st.floats(-3, -0.1))
def test_complex_roots_are_reported(real: float, imaginary: float, lead: float) -> None:
    quadratic = [lead * (real**2 + imaginary**2), -2 * lead * real, lead]
    assert first_cell_factors(with_first_piece([0.0, *quadratic])) is None


def test_a_cube_from_its_inflection_left_has_no_real_factors() -> None:
    """x^3 - (-1) over s = x + 1 is 3 - 3 s + s^2: two cells take one neuron more, exactly."""
    f = target("x**3")
    spline = fit_free_knots(f, "gqu", np.linspace(-1, 1, 4))
    np.testing.assert_allclose(spline.pieces[0], [-1, 3, -3, 1], atol=1e-10)
    assert first_cell_factors(spline) is None
    for way in WAYS.values():
        assert error(way(f, "gqu", 1).network, f) > 0.1
        for n in (2, 4):
            made = way(f, "gqu", n)
            assert made.network.n_hidden == n
            assert len(made.spline.pieces) == n - 1
            assert error(made.network, f) < 1e-12


def test_one_neuron_with_complex_roots_is_the_best_glu() -> None:
    f = target("x**3")
    glu = fit_free_knots(f, "glu", np.array([-1.0, 1.0]))
    for way in WAYS.values():
        made = way(f, "gqu", 1)
        assert made.spline.unit == "glu"
        assert math.isclose(error(made.network, f), glu.rmse, rel_tol=1e-9)


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("f", TARGETS, ids=lambda f: f.name)
def test_gqu_neurons_have_real_roots(f, way: str) -> None:
    for n in (1, 4):
        network = WAYS[way](f, "gqu", n).network
        gates = np.column_stack([network.g.detach(), network.G.detach()])
        for row, gate in zip(neuron_polynomials(network), gates, strict=True):
            quotient, _ = np.polynomial.polynomial.polydiv(row, gate)
            c, b, a = np.pad(quotient, (0, 3 - len(quotient)))
            assert b**2 - 4 * a * c >= -1e-9 * np.abs(row).max() ** 2


def test_a_gqu_is_no_worse_than_the_glu_it_contains() -> None:
    """Where the first cell's roots are complex: two cells of it against three of the GLU."""
    f = target("x**3 + 0.01*sin(3*x)")
    for n in (1, 3):
        gqu, glu = (
            error(train_spline_network(f, unit, n, 0).network, f) for unit in ("gqu", "glu")
        )
        assert gqu <= glu * (1 + 1e-9)


@pytest.mark.parametrize("unit", UNITS)
def test_seeds_change_the_jittered_start_only(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    starts: list[np.ndarray] = []

    def record(f, name, knots, *rest, **options) -> FreeKnotSpline:
        starts.append(np.array(knots))
        return fit_free_knots(f, name, knots, *rest, max_iterations=0, **options)

    monkeypatch.setattr(module, "fit_free_knots", record)
    monkeypatch.setattr(module, "_MOST_MOVES", 0)
    for seed in (0, 0, 1):
        best_spline(PAPER_TARGET, unit, 6, seed)
    plain, jittered, plain_again, same, plain_other, other = starts
    np.testing.assert_array_equal(plain, plain_again)
    np.testing.assert_array_equal(plain, plain_other)
    np.testing.assert_array_equal(jittered, same)
    assert (jittered[1:-1] != other[1:-1]).all()
    np.testing.assert_array_equal(jittered[[0, -1]], plain[[0, -1]])


@given(st.integers(1, 12), st.integers(0, 10**6))
def test_jitter_keeps_knots_apart(n: int, seed: int) -> None:
    starts: list[np.ndarray] = []

    def record(f, name, knots, *rest, **options) -> FreeKnotSpline:
        starts.append(np.array(knots))
        return fit_free_knots(f, name, knots, *rest, max_iterations=0, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "fit_free_knots", record)
        patch.setattr(module, "_MOST_MOVES", 0)
        best_spline(PAPER_TARGET, "mlp", n, seed)
    plain, jittered = starts
    assert (np.diff(jittered) > 0.19 * np.diff(plain).min()).all()


@pytest.mark.parametrize("unit", UNITS)
def test_the_best_of_all_starts_is_kept(unit: str) -> None:
    spline, iterations = best_spline(PAPER_TARGET, unit, 6, 0)
    start = module.equidistributed_knots(PAPER_TARGET, SPACES[unit].order, 6)
    alone = fit_free_knots(PAPER_TARGET, unit, start)
    assert spline.rmse <= alone.rmse
    assert iterations > alone.iterations


@pytest.mark.parametrize("unit", UNITS)
def test_an_independent_search_agrees_with_the_trainer(unit: str) -> None:
    """Of eight cells, where random starts find the optimum with certainty or nearly."""
    found = searched_spline(PAPER_TARGET, unit, 8, 0, 12)
    ours, _ = best_spline(PAPER_TARGET, unit, 8, 0)
    assert 0.95 < found.rmse / ours.rmse < 1.05


def test_the_search_starts_from_random_knots_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    starts: list[np.ndarray] = []

    def record(f, name, knots, *rest, **options) -> FreeKnotSpline:
        starts.append(np.array(knots))
        return fit_free_knots(f, name, knots, *rest, max_iterations=0, **options)

    monkeypatch.setattr(module, "fit_free_knots", record)
    made = [searched_spline(PAPER_TARGET, "glu", 7, seed, 3) for seed in (0, 0, 1)]
    assert len(starts) == 9
    assert len(np.unique(np.array(starts)[[0, 1, 2, 6, 7, 8]], axis=0)) == 6
    np.testing.assert_array_equal(starts[:3], starts[3:6])
    assert all((knots[0], knots[-1]) == (-1.0, 1.0) for knots in starts)
    assert made[0].rmse == min(
        fit_free_knots(PAPER_TARGET, "glu", knots, max_iterations=0).rmse for knots in starts[:3]
    )


def test_a_search_without_starts_is_refused() -> None:
    with pytest.raises(ValueError, match="starts must be at least 1, got 0"):
        searched_spline(PAPER_TARGET, "glu", 4, 0, 0)


@pytest.mark.parametrize("unit", UNITS)
def test_cell_errors_add_up_to_the_error(unit: str) -> None:
    spline = fit_free_knots(PAPER_TARGET, unit, np.linspace(-1, 1, 9))
    errors = cell_errors(PAPER_TARGET, spline)
    assert errors.shape == (8,)
    assert math.isclose(math.sqrt(errors.sum() / 2), spline.rmse, rel_tol=1e-4)


def test_the_knot_that_is_least_useful_moves_into_the_worst_cell() -> None:
    knots = np.array([-1.0, -0.99, -0.98, 0.0, 0.5, 1.0])
    spline = fit_free_knots(target("exp(3*x)"), "mlp", knots, max_iterations=0)
    moved = module._with_a_knot_moved(target("exp(3*x)"), spline)
    np.testing.assert_allclose(moved, [-1.0, -0.98, 0.0, 0.5, 0.75, 1.0])


def test_a_run_without_further_starts_begins_at_equidistant_knots() -> None:
    for unit in ("mlp", "glu"):
        made = retrain_spline(PAPER_TARGET, unit, 6)
        alone = fit_free_knots(PAPER_TARGET, unit, np.linspace(-1, 1, 7))
        np.testing.assert_array_equal(made.spline.knots, alone.knots)
        assert made.iterations == alone.iterations


def test_iterations_of_an_abandoned_fit_count() -> None:
    f = target("x**3 + 0.01*sin(3*x)")
    first = fit_free_knots(f, "gqu", np.linspace(-1, 1, 4))
    assert first_cell_factors(first) is None
    made = retrain_spline(f, "gqu", 3)
    assert made.iterations == first.iterations + made.spline.iterations
    assert first.iterations > 0


@pytest.mark.parametrize("way", list(WAYS))
def test_bad_arguments_are_refused(way: str) -> None:
    for f, unit, n, message in (
        (PAPER_TARGET, "mlp", 0, "n_hidden must be at least 1, got 0"),
        (PAPER_TARGET, "rnn", 2, "unknown unit 'rnn'; known are mlp, glu, gqu"),
        (target("x*y"), "mlp", 2, "expected a target of one variable"),
    ):
        with pytest.raises(ValueError, match=message):
            WAYS[way](f, unit, n)


def test_the_merged_gqu_needs_real_factors() -> None:
    spline = fit_free_knots(target("x**3"), "gqu", np.array([-1.0, 1.0]))
    with pytest.raises(ValueError, match="no real factors"):
        module._merged_gqu(spline)
