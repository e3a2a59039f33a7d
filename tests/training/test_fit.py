"""``fit()`` with every optimiser, protocol and unit: exact cases, seeds, failures."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from xsquared.data.samples import Samples, sampled

from xsquared.errors import rmse
from xsquared.functions import PAPER_TARGET, target
from xsquared.geometry import knots, neuron_polynomials
from xsquared.training import fit as fitting
from xsquared.training.fit import OPTIMIZERS, PROTOCOLS, fit
from xsquared.training.frozen_gates import alternating_gates
from xsquared.training.result import STATUSES, Fit
from xsquared.units import ACTIVATIONS

UNITS = ["mlp", "glu", "gqu"]
LINE = sampled(PAPER_TARGET, 200)
PLANE = sampled(target("sin(2*x)*y"), 60)
#: Enough to see every stage of every method run.
FEW = 6


def scaled(problem: Samples, size: float) -> Samples:
    return Samples(
        problem.name,
        problem.x_train,
        size * problem.y_train,
        problem.x_test,
        size * problem.y_test,
    )


def same(one: Fit, other: Fit) -> bool:
    states = [made.network.state_dict() for made in (one, other) if made.network is not None]
    return all(torch.equal(states[0][key], states[1][key]) for key in states[0])


@pytest.mark.parametrize("optimizer", list(OPTIMIZERS))
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("problem", [LINE, PLANE], ids=["line", "plane"])
def test_every_way_ends_with_a_network(problem, unit: str, protocol, optimizer) -> None:
    made = fit(problem, unit, 3, protocol=protocol, optimizer=optimizer, max_iterations=FEW)
    assert made.network is not None
    assert (made.network.n_hidden, made.network.n_in) == (3, problem.dim)
    assert made.train_rmse == rmse(made.network, problem.x_train, problem.y_train)
    assert made.test_rmse == rmse(made.network, problem.x_test, problem.y_test)
    assert all(map(math.isfinite, (made.train_rmse, made.test_rmse, made.gradient_norm)))
    assert made.status in STATUSES.values()
    assert made.status.word not in ("diverged", "failed")
    assert made.detail == ""
    assert made.iterations >= 0
    assert made.wall_s > 0


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_glu_learns_the_square(n: int, protocol) -> None:
    made = fit(sampled(target("x**2"), 200), "glu", n, protocol=protocol)
    assert made.train_rmse < 1e-10
    assert made.status.word == "converged"


@pytest.mark.parametrize("n", [2, 3, 5, 8])
@pytest.mark.parametrize("protocol", ["gates", "full"])
def test_a_gqu_learns_the_cube(n: int, protocol) -> None:
    made = fit(sampled(target("x**3"), 200), "gqu", n, protocol=protocol)
    assert made.train_rmse < 1e-10
    assert made.status.word == "converged"


@pytest.mark.parametrize(("unit", "power"), [("glu", 2), ("gqu", 3)])
def test_newton_learns_powers_too(unit: str, power: int) -> None:
    made = fit(sampled(target(f"x**{power}"), 200), unit, 2, optimizer="newton")
    assert made.train_rmse < 1e-10


@pytest.mark.parametrize(("unit", "expression"), [("glu", "x*y"), ("gqu", "x*y*(x + y)")])
def test_products_of_two_variables_are_learnt(unit: str, expression: str) -> None:
    made = fit(sampled(target(expression), 300), unit, 4)
    assert made.test_rmse < 1e-3


@pytest.mark.parametrize("unit", UNITS)
def test_more_freedom_has_less_error(unit: str) -> None:
    errors = [fit(LINE, unit, 5, protocol=protocol).train_rmse for protocol in PROTOCOLS]
    assert errors[0] > errors[1] >= errors[2] * (1 - 1e-3)


@pytest.mark.parametrize("optimizer", list(OPTIMIZERS))
@pytest.mark.parametrize("unit", UNITS)
def test_the_spline_protocol_leaves_the_gates(unit: str, optimizer) -> None:
    made = fit(LINE, unit, 4, protocol="spline", optimizer=optimizer, max_iterations=2)
    gates = alternating_gates(4, (-1.0, 1.0))
    np.testing.assert_allclose(made.network.G.detach(), gates[:, :1], rtol=1e-15)
    np.testing.assert_allclose(made.network.g.detach(), gates[:, 1], rtol=1e-15)
    np.testing.assert_allclose(knots(made.network), np.linspace(-1, 1, 4), atol=1e-15)


@pytest.mark.parametrize("optimizer", ["newton", "lbfgs", "adamw"])
def test_without_a_target_the_gates_span_the_points(optimizer) -> None:
    x = np.random.default_rng(0).uniform(2, 5, (40, 1))
    problem = Samples("cloud", x, x[:, 0] ** 2, x, x[:, 0] ** 2)
    made = fit(problem, "glu", 4, protocol="spline", optimizer=optimizer, max_iterations=1)
    np.testing.assert_allclose(knots(made.network), np.linspace(x.min(), x.max(), 4), rtol=1e-14)


@pytest.mark.parametrize("unit", UNITS)
def test_without_a_target_varpro_works_on_the_points(unit: str) -> None:
    x = np.linspace(-1, 1, 80)[:, None]
    problem = Samples("points", x, np.abs(x[:, 0] - 0.1), x, np.abs(x[:, 0] - 0.1))
    assert fit(problem, unit, 3).train_rmse < 0.01


def test_a_target_without_derivatives_is_refused_where_they_are_needed() -> None:
    problem = sampled(target("abs(x)"), 50)
    assert fit(problem, "mlp", 3, protocol="spline").train_rmse < 1e-12
    with pytest.raises(ValueError, match="has no derivative"):
        fit(problem, "mlp", 3)


@pytest.mark.parametrize("activation", [name for name in ACTIVATIONS if name != "relu"])
@pytest.mark.parametrize("optimizer", list(OPTIMIZERS))
def test_smooth_gates(activation: str, optimizer) -> None:
    made = fit(LINE, "glu", 3, optimizer=optimizer, activation=activation, max_iterations=FEW)
    assert made.network.activation == activation
    assert math.isfinite(made.train_rmse)


def test_gqu_neurons_have_real_roots_however_trained() -> None:
    for protocol in PROTOCOLS:
        network = fit(LINE, "gqu", 5, protocol=protocol, max_iterations=30).network
        gates = np.column_stack([network.g.detach(), network.G.detach()])
        for row, gate in zip(neuron_polynomials(network), gates, strict=True):
            quotient, _ = np.polynomial.polynomial.polydiv(row, gate)
            c, b, a = np.pad(quotient, (0, 3 - len(quotient)))
            assert b**2 - 4 * a * c >= -1e-9 * np.abs(row).max() ** 2


@pytest.mark.parametrize("optimizer", list(OPTIMIZERS))
@pytest.mark.parametrize("problem", [LINE, PLANE], ids=["line", "plane"])
def test_the_seed_decides_everything(problem, optimizer) -> None:
    """For variable projection on a line it decides the jitter only, so results may agree."""
    one, again, other = (
        fit(problem, "glu", 3, optimizer=optimizer, seed=seed, max_iterations=3)
        for seed in (5, 5, 6)
    )
    assert same(one, again)
    assert (one.train_rmse, one.status, one.iterations, one.gradient_norm) == (
        again.train_rmse,
        again.status,
        again.iterations,
        again.gradient_norm,
    )
    if not (problem is LINE and optimizer == "varpro"):
        assert not same(one, other)


@pytest.mark.parametrize("optimizer", list(OPTIMIZERS))
def test_global_randomness_is_neither_used_nor_changed(optimizer) -> None:
    torch.manual_seed(1)
    before, numpy_before = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    one = fit(PLANE, "glu", 2, optimizer=optimizer, max_iterations=2)
    assert torch.equal(torch.random.get_rng_state(), before)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_before)  # noqa: NPY002
    torch.manual_seed(2)
    assert same(one, fit(PLANE, "glu", 2, optimizer=optimizer, max_iterations=2))


def test_randomness_is_restored_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        torch.rand(3)
        raise MemoryError("no room")

    monkeypatch.setattr(fitting, "_staged", fails)
    before = torch.random.get_rng_state()
    assert fit(LINE, "mlp", 2, optimizer="newton").status.word == "failed"
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("optimizer", list(OPTIMIZERS))
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("problem", [LINE, PLANE], ids=["line", "plane"])
def test_huge_values_are_a_divergence(problem, protocol, optimizer) -> None:
    """Without a warning: the square of 1e200 overflows."""
    made = fit(
        scaled(problem, 1e200), "glu", 3, protocol=protocol, optimizer=optimizer, max_iterations=FEW
    )
    assert made.status.word == "diverged"
    assert not math.isfinite(made.train_rmse)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("unit", UNITS)
def test_a_huge_target_is_a_divergence(unit: str, protocol) -> None:
    made = fit(sampled(target("10**200*x**2"), 50), unit, 3, protocol=protocol)
    assert made.status.word == "diverged"
    assert made.network is None
    assert "the loss is inf" in made.detail


@pytest.mark.parametrize(
    "error",
    [
        np.linalg.LinAlgError("singular"),
        torch.linalg.LinAlgError("singular"),
        RuntimeError("CUDA out of memory"),
        MemoryError("singular"),
    ],
    ids=lambda error: type(error).__module__ + "." + type(error).__name__,
)
@pytest.mark.parametrize(
    ("optimizer", "name"),
    [("varpro", "fit_rows"), ("newton", "newton")],
)
def test_failures_are_results(error, optimizer, name: str, monkeypatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(fitting, name, fails)
    made = fit(PLANE, "glu", 2, optimizer=optimizer)
    assert made.status.word == "failed"
    assert made.detail == str(error)
    assert made.network is None
    assert made.iterations == 0
    assert all(map(math.isnan, (made.train_rmse, made.test_rmse, made.gradient_norm)))
    assert made.wall_s >= 0


def test_mistakes_in_the_program_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(fitting, "newton", fails)
    with pytest.raises(KeyError, match="a bug"):
        fit(PLANE, "glu", 2, optimizer="newton")


def test_iterations_add_up_over_starts_and_stages() -> None:
    """Three starts of at most fifteen, then the rest of the limit for the best of them."""
    made = fit(PLANE, "mlp", 4, max_iterations=20)
    assert 20 < made.iterations <= 3 * 15 + 5
    assert fit(PLANE, "mlp", 4, protocol="gates", max_iterations=20).iterations <= 20
    assert fit(PLANE, "mlp", 4, optimizer="adamw", max_iterations=7).iterations == 7
    gates = fit(PLANE, "mlp", 4, optimizer="adamw", protocol="gates", max_iterations=7)
    assert gates.iterations == 14


def test_several_starts_are_no_worse_than_the_first() -> None:
    one, three = (
        fit(PLANE, "glu", 4, protocol=protocol, max_iterations=15).train_rmse
        for protocol in ("gates", "full")
    )
    assert three <= one


def test_the_gradient_is_that_of_all_parameters() -> None:
    made = fit(PLANE, "gqu", 2, optimizer="adamw", max_iterations=3)
    squares = 0.0
    for parameter in made.network.parameters():
        values = parameter.data.view(-1)
        for i in range(len(values)):
            middle = float(values[i])
            ends = []
            for shift in (1e-6, -1e-6):
                values[i] = middle + shift
                ends.append(rmse(made.network, PLANE.x_train, PLANE.y_train) ** 2)
            values[i] = middle
            squares += ((ends[0] - ends[1]) / 2e-6) ** 2
    assert math.isclose(made.gradient_norm, math.sqrt(squares), rel_tol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"unit": "rnn"}, "unknown unit 'rnn'; known are mlp, glu, gqu"),
        ({"n_hidden": 0}, "n_hidden must be an integer of at least 1, got 0"),
        ({"n_hidden": 2.5}, "n_hidden must be an integer of at least 1, got 2.5"),
        ({"protocol": "all"}, "protocol must be one of spline, gates, full, got 'all'"),
        ({"optimizer": "sgd"}, "optimizer must be one of varpro, newton, adamw, lbfgs, got 'sgd'"),
        ({"activation": "tanh"}, "activation must be one of relu, gelu, silu, got 'tanh'"),
        ({"device": "tpu"}, "device must be one of cpu, cuda, got 'tpu'"),
        ({"max_iterations": 0}, "max_iterations must be an integer of at least 1, got 0"),
        ({"max_iterations": 2.5}, "max_iterations must be an integer of at least 1, got 2.5"),
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
        ({"seed": None}, "seed must be an integer of at least 0, got None"),
    ],
)
def test_bad_arguments_are_refused(change: dict, message: str) -> None:
    arguments = {"unit": "glu", "n_hidden": 2} | change
    with pytest.raises(ValueError, match=message):
        fit(LINE, **arguments)


def test_a_missing_device_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="torch sees no CUDA device"):
        fit(LINE, "glu", 2, device="cuda")
