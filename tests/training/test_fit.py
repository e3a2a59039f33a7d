"""``fit()`` with every solver and unit, gates trained and frozen: exact cases, seeds, failures."""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from tests.data import unscaled
from xsquared.data.dataset import Dataset, Points, from_arrays, from_target, sampled
from xsquared.errors import rmse
from xsquared.functions import PAPER_TARGET, target
from xsquared.geometry import knots
from xsquared.training import (
    LBFGS,
    SOLVERS,
    STATUSES,
    AdamW,
    Fit,
    FreeKnots,
    Gates,
    Growth,
    Newton,
    Solver,
    Trained,
    VariableProjection,
    fit,
    grow,
    solver_from,
)
from xsquared.training.start import alternating_gates
from xsquared.training.variable_projection import rows_on_data
from xsquared.units import PAPER_UNITS, UNITS, Gate, GatedNetwork, Unit, build, predict, register

LINE = sampled(PAPER_TARGET, 120)
PLANE = from_target(target("sin(2*x)*y"), points=60)
#: Enough to see every stage of every solver run.
FEW: dict[str, Solver] = {
    "varpro": VariableProjection(max_iterations=6, trial_iterations=2),
    "growth": Growth(candidates=20, exchanges=2, iterations=3, max_iterations=6),
    "free_knots": FreeKnots(max_iterations=6),
    "newton": Newton(max_iterations=2),
    "adamw": AdamW(max_iterations=6),
    "lbfgs": LBFGS(max_iterations=6),
}
#: Solvers of any unit whose module overrides the formula.
QUARTIC = Unit("quartic", (("U", "u"), ("Q", "q"), ("V", "v")))
BY_GRADIENT = ["newton", "adamw", "lbfgs"]
BOTH: list[Gates] = ["trained", "frozen"]
every_solver = pytest.mark.parametrize("solver", list(FEW))


def same(one: Fit, other: Fit) -> bool:
    states = [made.network.state_dict() for made in (one, other) if made.network is not None]
    return all(torch.equal(states[0][key], states[1][key]) for key in states[0])


#: Every unit with every solver that trains it: the paper's on a line, the others on a plane.
TRAINED = [(u, s) for u in UNITS for s in FEW if s != "free_knots" or u in PAPER_UNITS]


@pytest.mark.parametrize("gates", BOTH)
@pytest.mark.parametrize(("unit", "solver"), TRAINED)
def test_every_unit_is_trained_by_every_solver(unit: str, solver: str, gates: Gates) -> None:
    data = LINE if unit in PAPER_UNITS else PLANE
    made = fit(data, unit, 3, solver=FEW[solver], gates=gates, seed=2)
    assert (made.network.n_hidden, made.network.n_in) == (3, data.dim)
    assert made.network.unit is UNITS[unit]
    assert made.train_rmse == rmse(made.closest, data.train.x, data.train.y)
    # The test error is that of data.predict.
    x = data.test.x * data.feature_scale + data.feature_mean
    away = (data.predict(made.network, x) - data.inverse(data.test.y)) / data.target_scale
    assert math.isclose(made.test_rmse, math.sqrt(np.mean(away**2)), rel_tol=1e-6, abs_tol=1e-12)
    assert all(map(math.isfinite, (made.train_rmse, made.test_rmse)))
    assert made.status.word in ("converged", "iterations", "stalled")
    assert (made.detail, made.iterations >= 0, made.wall_s > 0) == ("", True, True)
    assert (made.solver, made.seed) == (FEW[solver], 2)
    if solver in BY_GRADIENT:
        assert made.history[0, 0] == 0
        assert (np.diff(made.history[:, 0]) > 0).all()
        assert math.isclose(made.history[-1, 1], made.train_rmse, rel_tol=1e-12)
    else:
        assert made.history.shape == (0, 2)


@pytest.mark.parametrize(
    ("solver", "unit", "power"),
    [(Newton(), "glu", 2), (Newton(), "gqu", 3), (VariableProjection(), "glu", 2)],
    ids=lambda value: getattr(value, "name", value),
)
def test_powers_are_learnt_on_points_too(solver: Solver, unit: str, power: int) -> None:
    made = fit(sampled(target(f"x**{power}"), 200), unit, 2, solver=solver)
    assert made.train_rmse < 1e-10


@pytest.mark.parametrize(("unit", "expression"), [("glu", "x*y"), ("gqu", "x*y*(x + y)")])
def test_products_of_two_variables_are_learnt(unit: str, expression: str) -> None:
    data = from_target(target(expression), points=300)
    made = fit(data, unit, 4)
    assert made.test_rmse * data.target_scale < 1e-3


@pytest.mark.parametrize("unit", PAPER_UNITS)
def test_more_freedom_has_less_error(unit: str) -> None:
    data = sampled(PAPER_TARGET, 200)
    few = FreeKnots(starts=1, directions=0)
    errors = [
        made.train_rmse
        for made in (
            fit(data, unit, 5, solver=few, gates="frozen"),
            fit(data, unit, 5, solver=few),
            fit(data, unit, 5, solver=FreeKnots()),
        )
    ]
    assert errors[0] > errors[1] >= errors[2] * (1 - 1e-3)


@pytest.mark.parametrize("solver", [*BY_GRADIENT, "free_knots"])
@pytest.mark.parametrize("unit", PAPER_UNITS)
def test_frozen_gates_stay_on_the_papers_knots(unit: str, solver: str) -> None:
    made = fit(LINE, unit, 4, gates="frozen", solver=FEW[solver])
    gates = alternating_gates(4, (-1.0, 1.0))
    np.testing.assert_allclose(made.network.G.detach(), gates[:, :1], rtol=1e-15)
    np.testing.assert_allclose(made.network.g.detach(), gates[:, 1], rtol=1e-15)
    np.testing.assert_allclose(knots(made.network), np.linspace(-1, 1, 4), atol=1e-15)


@pytest.mark.parametrize("unit", list(UNITS))
def test_frozen_gates_stay_where_the_data_put_them(unit: str) -> None:
    data = PLANE
    made = fit(data, unit, 4, gates="frozen", solver=VariableProjection(), seed=3)
    start = rows_on_data(UNITS[unit], data.train.x, 4, np.random.default_rng(3)).gate.numpy()
    found = np.column_stack([made.network.G.detach(), made.network.g.detach()])
    np.testing.assert_array_equal(found, start)


@pytest.mark.parametrize("solver", [name for name in FEW if name != "free_knots"])
def test_the_values_are_what_is_fitted(solver: str) -> None:
    """Not a function that is known by another way: noise is a value as any other."""
    x = np.linspace(-1, 1, 40)[:, None]
    noise = np.random.default_rng(1).standard_normal(40)
    plain, noisy = (unscaled(Points(x, x[:, 0] ** 2 + extra)) for extra in (0, noise))
    one, other = (fit(data, "glu", 3, solver=FEW[solver]) for data in (plain, noisy))
    assert not same(one, other)
    assert other.train_rmse == rmse(other.closest, x, noisy.train.y)
    assert other.train_rmse < rmse(one.closest, x, noisy.train.y)


def test_frozen_gates_need_no_derivative_of_the_target() -> None:
    data = sampled(target("abs(x)"), 50)
    assert fit(data, "mlp", 3, solver=FreeKnots(), gates="frozen").train_rmse < 1e-12


@every_solver
def test_the_seed_decides_everything_and_global_randomness_nothing(solver: str) -> None:
    """For free knots it decides the jitter only, so results may agree."""
    data = LINE if solver == "free_knots" else PLANE
    torch.manual_seed(1)
    before, numpy_before = torch.random.get_rng_state(), np.random.get_state()  # noqa: NPY002
    one = fit(data, "glu", 3, solver=FEW[solver], seed=5)
    assert torch.equal(torch.random.get_rng_state(), before)
    np.testing.assert_equal(np.random.get_state(), numpy_before)  # noqa: NPY002
    torch.manual_seed(2)
    again, other = (fit(data, "glu", 3, solver=FEW[solver], seed=seed) for seed in (5, 6))
    assert same(one, again)
    for name in ("train_rmse", "status", "iterations"):
        assert getattr(one, name) == getattr(again, name)
    assert solver == "free_knots" or not same(one, other)


@pytest.mark.parametrize("solver", [name for name in FEW if name != "free_knots"])
@pytest.mark.parametrize("gates", BOTH)
def test_huge_values_are_a_divergence(gates: Gates, solver: str) -> None:
    """Without a warning: the square of 1e200 overflows."""
    huge = unscaled(Points(PLANE.train.x, 1e200 * PLANE.train.y))
    made = fit(huge, "glu", 3, gates=gates, solver=FEW[solver])
    assert made.status.word == "diverged"
    assert not math.isfinite(made.train_rmse)


@pytest.mark.parametrize("solver", ["free_knots", "varpro"])
def test_a_huge_target_is_a_divergence(solver: str) -> None:
    made = fit(sampled(target("10**200*x**2"), 50), "glu", 3, solver=FEW[solver])
    assert (made.status.word, made.network) == ("diverged", None)
    assert "the loss is inf" in made.detail


@dataclass(frozen=True)
class Fake:
    """Does what it is told."""

    name: ClassVar[str] = "fake"
    do: Callable[[Dataset, Unit, int], Trained]

    def train(self, data: Dataset, unit: Unit, n_hidden: int, gates: Gates, seed: int) -> Trained:
        del gates, seed
        return self.do(data, unit, n_hidden)


def raises(error: BaseException) -> Fake:
    def do(*_: object) -> Trained:
        raise error

    return Fake(do)


def of_zeros(data: Dataset, unit: Unit, n_hidden: int) -> GatedNetwork:
    network = build(unit, data.dim, n_hidden)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
    return network


@pytest.mark.parametrize(
    "error",
    [
        np.linalg.LinAlgError("singular"),
        torch.linalg.LinAlgError("singular"),  # type: ignore[attr-defined]
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
        MemoryError("singular"),
    ],
    ids=lambda error: type(error).__module__ + "." + type(error).__name__,
)
def test_failures_are_results(error: Exception) -> None:
    solver = raises(error)
    made = fit(PLANE, "glu", 2, solver=solver, seed=4)
    assert (made.status.word, made.detail) == ("failed", str(error))
    assert made.network is made.closest is None
    assert (made.iterations, made.history.shape) == (0, (0, 2))
    assert all(map(math.isnan, (made.train_rmse, made.test_rmse)))
    assert made.wall_s >= 0
    assert (made.solver, made.seed) == (solver, 4)
    assert str(made).startswith("no network, failed after 0 iterations")


def test_print_says_what_was_trained_how_well_and_how_it_ended() -> None:
    made = fit(PLANE, "glu", 2, solver=FEW["varpro"])
    assert str(made).startswith(
        f"glu, 2 neurons, 2 inputs: root mean square error {made.train_rmse:.3g} on"
    )
    assert f"{made.test_rmse:.3g} on the test points; {made.status.word}" in str(made)
    assert ("at best to a local optimum" in str(made)) == (made.status.word == "converged")


@pytest.mark.parametrize("error", [KeyError("a bug"), ValueError("a bug"), TypeError("a bug")])
def test_mistakes_in_the_program_are_not_hidden(error: Exception) -> None:
    with pytest.raises(type(error), match="a bug"):
        fit(PLANE, "glu", 2, solver=raises(error))


@pytest.mark.parametrize("share", [1.0, 0.995, 2.0, None, 0.98, 0.0, math.nan])
def test_a_promise_that_the_forward_pass_does_not_keep_is_inexact(share: float | None) -> None:
    def do(data: Dataset, unit: Unit, n_hidden: int) -> Trained:
        network = of_zeros(data, unit, n_hidden)
        error = rmse(network, data.train.x, data.train.y)
        return Trained(network, "converged", 1, None if share is None else share * error)

    made = fit(PLANE, "glu", 2, solver=Fake(do))
    kept = share is None or share >= 0.99
    assert made.status is STATUSES["converged" if kept else "inexact"]
    assert made.train_rmse == math.sqrt(np.mean(PLANE.train.y**2))


def test_weights_that_float64_does_not_carry_are_inexact() -> None:
    x = np.linspace(-1, 1, 40)
    close = np.concatenate([x, [0.3, 0.3 + 1e-11]])[:, None]
    values = np.concatenate([np.sin(3 * x), [-1000.0, 1000.0]])
    for weight, word in ((1.0, "converged"), (6e15, "inexact")):

        def do(data: Dataset, unit: Unit, n_hidden: int, size: float = weight) -> Trained:
            network = of_zeros(data, unit, n_hidden)
            with torch.no_grad():  # two neurons that cancel
                network.G.add_(1.0)
                network.D.add_(torch.tensor([[size, -size]]))
            return Trained(network, "converged", 1)

        made = fit(from_arrays(close, values, split="paper"), "mlp", 2, solver=Fake(do))
        assert made.status.word == word


def test_rounding_keeps_a_promise_and_the_infinite_is_a_divergence() -> None:
    x = np.linspace(-1, 1, 9)[:, None]
    for constant, error, word in ((1e5 + 1e-7, 0.0, "converged"), (math.inf, 0.1, "diverged")):

        def do(data: Dataset, unit: Unit, n: int, d: float = constant, e: float = error) -> Trained:
            network = of_zeros(data, unit, n)
            with torch.no_grad():
                network.d.add_(d)
            return Trained(network, "converged", 1, e)

        made = fit(unscaled(Points(x, np.full(9, 1e5))), "glu", 2, solver=Fake(do))
        assert made.train_rmse == math.inf if word == "diverged" else made.train_rmse > 0
        assert made.status.word == word


def test_iterations_add_up_over_starts_and_stages() -> None:
    """Three starts of at most fifteen, then the rest of the limit for the best of them."""
    made = fit(PLANE, "mlp", 4, solver=VariableProjection(max_iterations=20))
    assert 20 < made.iterations <= 3 * 15 + 5
    one = VariableProjection(max_iterations=20, starts=1)
    assert 15 < fit(PLANE, "mlp", 4, solver=one).iterations <= 20
    assert fit(PLANE, "mlp", 4, solver=AdamW(max_iterations=7)).iterations == 7
    stages: dict[tuple[bool, Gates], int]
    stages = {(True, "trained"): 6, (False, "trained"): 4, (True, "frozen"): 2}
    for (joint, gates), expected in stages.items():
        solver = Newton(max_iterations=2, joint=joint)
        made = fit(PLANE, "gqu", 4, solver=solver, gates=gates)
        assert made.iterations == len(made.history) - 1 <= expected
        assert made.iterations > expected - 2


@pytest.mark.parametrize(
    ("solver", "n", "gates"),
    [
        ("varpro", 4000, "trained"),
        ("growth", 4000, "trained"),
        ("free_knots", 30_000, "trained"),
        ("free_knots", 3000, "frozen"),
        ("newton", 2000, "trained"),
        ("adamw", 10**6, "trained"),
        ("lbfgs", 300_000, "trained"),
    ],
)
def test_what_memory_cannot_hold_is_refused_at_the_door(solver: str, n: int, gates: Gates) -> None:
    """Although the hidden layer itself would fit, or nearly."""
    with pytest.raises(ValueError, match=r"neurons on \d+ points: expected at most 268435456 num"):
        fit(LINE, "glu", n, solver=SOLVERS[solver](), gates=gates)


@pytest.mark.parametrize(
    ("solver", "points", "n"),
    [
        *((name, 10_000, 128) for name in FEW if name != "free_knots"),
        *((name, 10**6, 64) for name in ("varpro", "growth")),
    ],
)
def test_a_table_of_ones_own_and_a_wide_network_pass_the_door(
    solver: str, points: int, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begun(*_: object) -> None:
        raise LookupError("training has begun")

    for where in ("newton.start", "first_order.start", "variable_projection.rows_on_data"):
        monkeypatch.setattr(f"xsquared.training.{where}", begun)
    monkeypatch.setattr("xsquared.training.growth.rows_on_data", begun)
    data = unscaled(Points(np.zeros((points, 8)), np.zeros(points)))
    with pytest.raises(LookupError, match="has begun"):
        fit(data, "gqu", n, solver=SOLVERS[solver]())


@pytest.mark.parametrize("name", list(SOLVERS))
def test_a_solver_comes_from_its_name_and_settings(name: str) -> None:
    assert solver_from(name) == SOLVERS[name]() == solver_from(name, {})
    settings = {field.name: getattr(FEW[name], field.name) for field in fields(FEW[name])}  # type: ignore[arg-type]
    assert solver_from(name, settings) == FEW[name] != solver_from(name)
    for unknown in ("rate", "name"):
        message = f"unknown setting of {name} '{unknown}'; known are {', '.join(settings)}"
        with pytest.raises(ValueError, match=message):
            solver_from(name, {unknown: 1})


@pytest.mark.parametrize(
    ("data", "unit", "solver", "message"),
    [
        (PLANE, "glu", "free_knots", "free_knots fits points of one input"),
        (LINE, "geglu", "free_knots", "free_knots .*gelu"),
        (LINE, QUARTIC, "free_knots", "up to two factors"),
    ],
)
@pytest.mark.parametrize("gates", BOTH)
def test_what_a_solver_does_not_implement_is_refused_by_name(
    data: Dataset, unit: str | Unit, solver: str, message: str, gates: Gates
) -> None:
    with pytest.raises(ValueError, match=message):
        fit(data, unit, 3, solver=FEW[solver], gates=gates)


BAD_SETTINGS: dict[str, dict[str, tuple[Any, ...]]] = {
    "varpro": {"max_iterations": (2.5,), "starts": (0,), "trial_iterations": (True,),
               "ridge": (math.nan,), "sharpest": (0.5,)},
    "growth": {"candidates": (0,), "exchanges": (-1,), "share": (0,), "exchanged": (2.0,),
               "ridges": ((), (1e-3, 0.0), 1e-3)},
    "free_knots": {},
    "newton": {"max_iterations": (0,), "joint": ("no",)},
    "adamw": {"max_iterations": (2.5,), "learning_rate": (0,)},
    "lbfgs": {"max_iterations": (0,)},
}  # fmt: skip


@pytest.mark.parametrize("solver", list(BAD_SETTINGS))
def test_bad_settings_are_refused(solver: str) -> None:
    for name, values in BAD_SETTINGS[solver].items():
        for value in values:
            with pytest.raises(ValueError, match=f"^{name}: expected .*, got|^unknown {name} '"):
                solver_from(solver, {name: value})


@pytest.mark.parametrize("device", ["meta", "cuda", "mps"])
def test_another_default_device_is_one_line(device: str) -> None:
    """Be it one that this build of torch has not."""
    network = build("mlp", 1, 2)
    torch.set_default_device(device)
    try:
        for call in (
            lambda: fit(sampled(PAPER_TARGET, 20), "mlp", 2),
            lambda: grow(sampled(PAPER_TARGET, 20), "mlp", [2]),
            lambda: build("mlp", 1, 2),
            lambda: predict(network, np.ones(3)),
        ):
            with pytest.raises(ValueError, match=r"^expected the cpu as torch's .* got .+$"):
                call()
    finally:
        torch.set_default_device(None)


def test_a_gate_is_registered_whatever_the_default_device() -> None:
    torch.set_default_device("meta")
    try:
        register(Gate("of_a_test", torch.sin))
    finally:
        torch.set_default_device(None)


def test_unknown_solvers_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown solver 'sgd'; known are varpro, growth, free_kn"):
        solver_from("sgd")


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("solver", [VariableProjection(max_iterations=2), AdamW(max_iterations=2)])
def test_training_needs_no_gradients_of_its_caller(mode: Callable, solver: Solver) -> None:
    data = sampled(PAPER_TARGET, 50)
    with mode():
        inside = fit(data, "glu", 2, solver=solver)
        assert not torch.is_grad_enabled()
    assert inside.train_rmse == fit(data, "glu", 2, solver=solver).train_rmse
