"""Variable projection against finite differences, dense least squares and networks to recover."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from xsquared.errors import rmse
from xsquared.training import variable_projection as module
from xsquared.training.variable_projection import (
    ProjectedFit,
    Rows,
    fit_rows,
    iterates,
    on_device,
    rows_on_data,
    to_network,
)
from xsquared.units import ACTIVATIONS, predict

UNITS = ["mlp", "glu", "gqu"]
N_POINTS = 60


def problem(dim: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    draw = np.random.default_rng(seed)
    x = draw.uniform(-1, 1, (N_POINTS, dim))
    return torch.from_numpy(x), torch.from_numpy(np.sin(3 * x).sum(axis=1) + x[:, 0] * x[:, -1])


def rows(unit: str, x: torch.Tensor, n: int, seed: int) -> Rows:
    return rows_on_data(unit, x.numpy(), n, np.random.default_rng(seed))


def model_of(
    unit: str,
    x: torch.Tensor,
    y: torch.Tensor,
    activation: str = "relu",
    weights: torch.Tensor | None = None,
    train_gates: bool = True,
    ridge: float = 0.0,
) -> module._Model:
    return module._model(unit, x, y, activation, weights, train_gates, ridge)


def flat(given_rows: Rows, train_gates: bool = True) -> torch.Tensor:
    """The rows' entries in the order of the Jacobian: coordinate by coordinate."""
    parts = [given_rows.gate] if train_gates else []
    if given_rows.factor is not None:
        parts.append(given_rows.factor)
    return torch.cat([part.T.reshape(-1) for part in parts])


def unflat(theta: torch.Tensor, like: Rows, train_gates: bool = True) -> Rows:
    size, shape = like.gate.numel(), like.gate.T.shape
    gate = theta[:size].reshape(shape).T if train_gates else like.gate
    factor = None if like.factor is None else theta[-size:].reshape(shape).T
    return Rows(gate, factor)


def values(unit: str, x: torch.Tensor, given_rows: Rows, linear: torch.Tensor) -> np.ndarray:
    """The forward pass of the module that these parameters make."""
    fit = ProjectedFit(given_rows, linear, math.nan, 0, "converged")
    return predict(to_network(fit, unit), x.numpy())


@pytest.mark.parametrize("train_gates", [True, False])
@pytest.mark.parametrize("activation", list(ACTIVATIONS))
@pytest.mark.parametrize("unit", UNITS)
def test_kaufmans_gradient_is_that_of_the_projected_loss(
    unit: str, activation: str, train_gates: bool
) -> None:
    """What Kaufman drops from the Jacobian is orthogonal to the residual, however large that is."""
    x, y = problem(2, 5)
    start = rows(unit, x, 3, 6)
    draw = np.random.default_rng(7)
    weights = torch.from_numpy(draw.dirichlet(np.ones(N_POINTS)))
    model = model_of(unit, x, y, activation, weights, train_gates)
    if not model.trains:
        return
    state = model.project(start)
    assert state.loss > 1e-3
    _, gradient = model.linearise(state)
    theta, numeric = flat(start, train_gates), []
    for shift in 1e-6 * torch.eye(len(theta), dtype=torch.float64):
        up, down = (
            model.project(unflat(theta + s, start, train_gates)).loss for s in (shift, -shift)
        )
        numeric.append((up - down) / 2e-6)
    np.testing.assert_allclose(2 * gradient, numeric, atol=1e-7)


@pytest.mark.parametrize("size", [0.0, 1e-7])
@pytest.mark.parametrize("unit", UNITS)
def test_kaufmans_jacobian_is_exact_where_the_residual_vanishes(unit: str, size: float) -> None:
    """J'J against differences of residuals."""
    x, noise = problem(2, 8)
    start = rows(unit, x, 3, 9)
    m = 3 * (1 if unit == "mlp" else 3) + 1
    linear = torch.from_numpy(np.random.default_rng(10).standard_normal(m))
    y = torch.from_numpy(values(unit, x, start, linear)) + size * noise
    model = model_of(unit, x, y)
    state = model.project(start)
    assert state.loss <= size**2 * 10 + 1e-28
    gram, _ = model.linearise(state)
    theta, columns = flat(start), []
    for shift in 1e-6 * torch.eye(len(theta), dtype=torch.float64):
        up, down = (model.project(unflat(theta + s, start)).residual for s in (shift, -shift))
        columns.append((up - down) / 2e-6)
    numeric = torch.stack(columns, dim=1)
    np.testing.assert_allclose(gram, numeric.T @ numeric, atol=1e-6)


@given(st.sampled_from(UNITS), st.integers(1, 3), st.integers(1, 4), st.integers(0, 10**6))
@settings(max_examples=40)
def test_projection_is_dense_least_squares(unit: str, dim: int, n: int, seed: int) -> None:
    x, y = problem(dim, seed)
    start = rows(unit, x, n, seed)
    fit = fit_rows(unit, x, y, start, max_iterations=0)
    points = np.column_stack([x, np.ones(N_POINTS)])
    hidden = np.maximum(points @ start.gate.numpy().T, 0)
    if start.factor is not None:
        hidden = hidden * (points @ start.factor.numpy().T)
    if unit != "mlp":
        hidden = np.column_stack([column[:, None] * points for column in hidden.T])
    matrix = np.column_stack([hidden, np.ones(N_POINTS)])
    c, *_ = np.linalg.lstsq(matrix, y.numpy(), rcond=1e-12)
    np.testing.assert_allclose(values(unit, x, fit.rows, fit.linear), matrix @ c, atol=1e-6)
    assert math.isclose(
        fit.rmse, math.sqrt(np.mean((matrix @ c - y.numpy()) ** 2)), rel_tol=1e-6, abs_tol=1e-9
    )
    assert (fit.iterations, fit.status) == (0, "converged")


@pytest.mark.parametrize("activation", list(ACTIVATIONS))
@pytest.mark.parametrize("unit", UNITS)
def test_the_networks_forward_pass_has_the_reported_rmse(unit: str, activation: str) -> None:
    x, y = problem(2, 11)
    fit = fit_rows(unit, x, y, rows(unit, x, 4, 12), activation=activation, max_iterations=15)
    network = to_network(fit, unit, activation)
    assert network.activation == activation
    assert math.isclose(rmse(network, x.numpy(), y.numpy()), fit.rmse, rel_tol=1e-7)


@pytest.mark.parametrize("unit", UNITS)
def test_a_weight_counts_as_often_as_its_point(unit: str) -> None:
    x, y = problem(1, 13)
    count = torch.from_numpy(np.random.default_rng(14).integers(1, 4, N_POINTS))
    shares = count.double() / count.sum()
    start = rows(unit, x, 3, 15)
    weighted = fit_rows(unit, x, y, start, weights=shares, max_iterations=5)
    repeated = fit_rows(
        unit,
        x.repeat_interleave(count, dim=0),
        y.repeat_interleave(count),
        start,
        max_iterations=5,
    )
    assert math.isclose(weighted.rmse, repeated.rmse, rel_tol=1e-8)
    np.testing.assert_allclose(weighted.rows.gate, repeated.rows.gate, atol=1e-6)


@pytest.mark.parametrize("unit", UNITS)
def test_the_loss_never_rises(unit: str) -> None:
    x, y = problem(2, 16)
    start = rows(unit, x, 5, 17)
    fits = list(iterates(unit, x, y, start, max_iterations=40))
    last = fit_rows(unit, x, y, start, max_iterations=40)
    assert fits[0].rmse == fit_rows(unit, x, y, start, max_iterations=0).rmse
    assert fits[-1].rmse == last.rmse
    assert (np.diff([fit.rmse for fit in fits[:-1]]) < 0).all()
    assert [fit.iterations for fit in fits[:-1]] == list(range(len(fits) - 1))
    assert fits[-1].rmse <= fits[-2].rmse


@pytest.mark.parametrize("unit", UNITS)
def test_moved_gates_are_recovered(unit: str) -> None:
    """From rows near a network's own, its values are reached to rounding."""
    x, _ = problem(2, 18)
    truth = rows(unit, x, 2, 19)
    m = 2 * (1 if unit == "mlp" else 3) + 1
    linear = torch.from_numpy(np.random.default_rng(20).uniform(1, 2, m))
    y = torch.from_numpy(values(unit, x, truth, linear))
    moved = unflat(flat(truth) + 0.01 * torch.sin(torch.arange(len(flat(truth)))), truth)
    assert fit_rows(unit, x, y, moved, max_iterations=0).rmse > 1e-4
    assert fit_rows(unit, x, y, moved).rmse < 1e-9


@pytest.mark.parametrize("unit", UNITS)
def test_lengths_of_rows_do_not_matter(unit: str) -> None:
    x, y = problem(2, 21)
    start = rows(unit, x, 3, 22)
    longer = Rows(7 * start.gate, None if start.factor is None else 0.1 * start.factor)
    one, other = (fit_rows(unit, x, y, s, max_iterations=5) for s in (start, longer))
    assert math.isclose(one.rmse, other.rmse, rel_tol=1e-9)
    np.testing.assert_allclose(torch.linalg.vector_norm(other.rows.gate, dim=1), 1, rtol=1e-14)


def test_smooth_gates_keep_their_length() -> None:
    """A GELU's bend depends on it."""
    x, y = problem(2, 23)
    start = Rows(3 * rows("mlp", x, 3, 24).gate)
    fit = fit_rows("mlp", x, y, start, activation="gelu", max_iterations=0)
    assert torch.equal(fit.rows.gate, start.gate)


@pytest.mark.parametrize("unit", UNITS)
def test_frozen_gates_stay(unit: str) -> None:
    x, y = problem(2, 25)
    start = Rows(5 * rows("mlp", x, 3, 26).gate, rows(unit, x, 3, 27).factor)
    fit = fit_rows(unit, x, y, start, train_gates=False, max_iterations=20)
    assert torch.equal(fit.rows.gate, start.gate)
    if unit == "gqu":
        assert fit.iterations > 0
        assert fit.rmse < fit_rows(unit, x, y, start, train_gates=False, max_iterations=0).rmse
    else:
        assert (fit.iterations, fit.status) == (0, "converged")


@pytest.mark.parametrize("unit", UNITS)
def test_dead_and_equal_neurons_do_not_break_a_run(unit: str) -> None:
    """A gate closed on all points gives zero columns, equal gates give equal ones."""
    x, y = problem(2, 28)
    start = rows(unit, x, 4, 29)
    start.gate[0] = torch.tensor([0.1, 0.1, -9.0])
    start.gate[2] = start.gate[1]
    fit = fit_rows(unit, x, y, start, max_iterations=30)
    assert fit.rmse < fit_rows(unit, x, y, start, max_iterations=0).rmse
    assert torch.isfinite(fit.rows.gate).all()
    assert torch.isfinite(fit.linear).all()


@pytest.mark.parametrize("unit", UNITS)
def test_all_neurons_dead_leave_the_mean(unit: str) -> None:
    x, y = problem(1, 30)
    gate = torch.tensor([[1.0, -5.0], [-1.0, -5.0]], dtype=torch.float64)
    start = Rows(gate, rows(unit, x, 2, 31).factor)
    fit = fit_rows(unit, x, y, start)
    assert math.isclose(fit.rmse, float(y.std(correction=0)), rel_tol=1e-12)
    assert fit.status == "converged"


@pytest.mark.parametrize("unit", UNITS)
def test_more_weights_than_points_interpolate(unit: str) -> None:
    x, y = problem(2, 32)
    fit = fit_rows(unit, x[:8], y[:8], rows(unit, x[:8], 30, 33), max_iterations=20)
    assert fit.rmse < 1e-6


def test_the_limit_of_iterations_is_reported() -> None:
    x, y = problem(2, 34)
    fit = fit_rows("glu", x, y, rows("glu", x, 4, 35), max_iterations=2)
    assert (fit.iterations, fit.status) == (2, "iterations")


def test_a_step_into_the_infinite_is_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = problem(2, 36)
    start, stepped, lengths = rows("mlp", x, 3, 37), module._Model.stepped, []

    def wild(self: module._Model, given_rows: Rows, *rest: object) -> Rows:
        lengths.append(rest[-1])
        moved = stepped(self, given_rows, *rest)
        return Rows(moved.gate * math.nan) if len(lengths) < 3 else moved

    monkeypatch.setattr(module._Model, "stepped", wild)
    fit = fit_rows("mlp", x, y, start, max_iterations=1)
    assert fit.rmse < fit_rows("mlp", x, y, start, max_iterations=0).rmse
    assert lengths[:3] == [1e-2, 4e-2, 16e-2]


@given(st.sampled_from(UNITS), st.integers(1, 4), st.integers(1, 6), st.integers(0, 10**6))
def test_hinges_start_between_points(unit: str, dim: int, n: int, seed: int) -> None:
    """Some points on either side, none so near that rounding could decide its side."""
    x = np.random.default_rng(seed).standard_normal((11, dim))
    made = rows_on_data(unit, x, n, np.random.default_rng(seed))
    for part in [made.gate] if made.factor is None else [made.gate, made.factor]:
        assert part.shape == (n, dim + 1)
        np.testing.assert_allclose(torch.linalg.vector_norm(part[:, :-1], dim=1), 1, rtol=1e-12)
        z = np.column_stack([x, np.ones(11)]) @ part.numpy().T
        assert ((z > 1e-12).any(axis=0) & (z < -1e-12).any(axis=0)).all()
    assert (made.factor is not None) == (unit == "gqu")
    again = rows_on_data(unit, x, n, np.random.default_rng(seed))
    assert torch.equal(flat(made), flat(again))


def test_a_single_point_has_hinges_through_it() -> None:
    made = rows_on_data("mlp", np.array([[2.0, 3.0]]), 4, np.random.default_rng(0))
    np.testing.assert_allclose(made.gate @ torch.tensor([2.0, 3.0, 1.0]).double(), 0, atol=1e-15)


def test_moving_to_a_device_keeps_the_rows() -> None:
    x, _ = problem(2, 38)
    for unit in UNITS:
        made = rows(unit, x, 3, 39)
        moved = on_device(made, "cpu")
        assert torch.equal(flat(made), flat(moved))
        assert (moved.factor is None) == (made.factor is None)


def test_bad_arguments_are_refused() -> None:
    x, y = problem(2, 40)
    plain, both = rows("mlp", x, 2, 41), rows("gqu", x, 2, 41)
    for unit, start, options, message in (
        ("rnn", plain, {}, "unknown unit 'rnn'; known are mlp, glu, gqu"),
        ("mlp", plain, {"activation": "tanh"}, "unknown activation 'tanh'; known are relu"),
        ("gqu", plain, {}, "a gqu needs factor rows"),
        ("glu", both, {}, "a glu has no factor rows"),
        ("mlp", plain, {"max_iterations": -1}, "max_iterations must be at least 0, got -1"),
        ("mlp", Rows(plain.gate[:, :2]), {}, r"expected rows of 3 entries, got \(2, 2\)"),
    ):
        with pytest.raises(ValueError, match=message):
            fit_rows(unit, x, y, start, **options)
    with pytest.raises(ValueError, match="expected at least 1 neuron, got 0"):
        rows("mlp", x, 0, 42)


def test_a_loss_that_is_not_finite_is_refused() -> None:
    x, y = problem(2, 43)
    with pytest.raises(FloatingPointError, match="the loss is inf at the start"):
        fit_rows("mlp", x, 1e200 * y, rows("mlp", x, 2, 44))
    with pytest.raises(FloatingPointError, match="not finite"):
        fit_rows("mlp", x, math.nan * y, rows("mlp", x, 2, 44))
