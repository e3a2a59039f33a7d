"""``fit()`` with every solver and unit: exact cases, seeds, failures."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch

from tests.data import raw, unscaled
from xsquared.data.dataset import Dataset, Points, from_arrays, from_target, sampled
from xsquared.errors import rmse
from xsquared.functions import PAPER_TARGET, target
from xsquared.geometry import knots, spline_gates
from xsquared.training import (
    LBFGS,
    STATUSES,
    AdamW,
    Fit,
    FreeKnots,
    Gates,
    Growth,
    Newton,
    Solver,
    VariableProjection,
    fit,
)
from xsquared.training.inner_weights import draw_inner_weights
from xsquared.units import (
    PAPER_UNITS,
    UNITS,
    GatedNetwork,
    Unit,
    build,
    predict,
)

LINE = sampled(PAPER_TARGET, 120)
PLANE = from_target(target("sin(2*x)*y"), points=60)
#: Enough to see every stage of every solver run.
FEW: dict[str, Solver] = {
    "varpro": VariableProjection(max_iterations=6, starts=2),
    "growth": Growth(),
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
    states = [
        made.network.state_dict() for made in (one, other) if made.network is not None
    ]
    return all(torch.equal(states[0][key], states[1][key]) for key in states[0])


#: Every unit with every solver that trains it: the paper's on a line, the others on a
#: plane.
TRAINED = [(u, s) for u in UNITS for s in FEW if s != "free_knots" or u in PAPER_UNITS]
TRAINED.remove(("pair", "growth"))


@pytest.mark.parametrize("gates", BOTH)
@pytest.mark.parametrize(("unit", "solver"), TRAINED)
def test_every_unit_is_trained_by_every_solver(
    unit: str, solver: str, gates: Gates
) -> None:
    data = LINE if unit in PAPER_UNITS else PLANE
    made = fit(data, unit, 3, solver=FEW[solver], gates=gates, seed=2)
    assert (made.network.n_hidden, made.network.n_in) == (3, data.dim)
    assert made.network.unit is UNITS[unit]
    assert made.train_rmse == rmse(made.network, data.train.x, data.train.y)
    # The test error is that of data.predict.
    x, y = raw(data, "test")
    away = (data.predict(made.network, x) - y) / data.target_scale
    assert math.isclose(
        made.test_rmse, math.sqrt(np.mean(away**2)), rel_tol=1e-6, abs_tol=1e-12
    )
    assert all(map(math.isfinite, (made.train_rmse, made.test_rmse)))
    assert made.status in ("converged", "iterations", "stalled")
    assert (made.detail, made.iterations >= 0, made.seconds > 0) == ("", True, True)
    assert (made.solver, made.seed) == (FEW[solver], 2)
    if solver in ("newton", "lbfgs"):
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


@pytest.mark.parametrize("solver", [*BY_GRADIENT, "free_knots"])
@pytest.mark.parametrize("unit", PAPER_UNITS)
def test_frozen_gates_stay_on_the_papers_knots(unit: str, solver: str) -> None:
    made = fit(LINE, unit, 4, gates="frozen", solver=FEW[solver])
    gates = np.column_stack(spline_gates(4, (-1.0, 1.0), "alternating"))
    np.testing.assert_allclose(made.network.G.detach(), gates[:, :1], rtol=1e-15)
    np.testing.assert_allclose(made.network.g.detach(), gates[:, 1], rtol=1e-15)
    np.testing.assert_allclose(knots(made.network), np.linspace(-1, 1, 4), atol=1e-15)


@pytest.mark.parametrize("unit", list(UNITS))
def test_frozen_gates_stay_where_the_data_put_them(unit: str) -> None:
    data = PLANE
    made = fit(data, unit, 4, gates="frozen", solver=VariableProjection(), seed=3)
    start = draw_inner_weights(
        UNITS[unit], data.train.x, 4, np.random.default_rng(3)
    ).gate.numpy()
    found = np.column_stack([made.network.G.detach(), made.network.g.detach()])
    np.testing.assert_array_equal(found, start)


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
    again, other = (
        fit(data, "glu", 3, solver=FEW[solver], seed=seed) for seed in (5, 6)
    )
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
    assert made.status == "diverged"
    assert not math.isfinite(made.train_rmse)


@pytest.mark.parametrize("unit", ["mlp", "gqu", "pair", "swiglu"])
@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("10**160*sin(3*x)", (-1.0, 1.0)),
        ("x**5", (-1e40, 1e40)),
        ("x/10**160", (-1e160, 1e160)),
        ("sin(3*x)/10**170", (-1.0, 1.0)),
    ],
)
def test_scales_whose_squares_are_no_floats_are_a_divergence(
    unit: str, text: str, domain: tuple[float, float]
) -> None:
    """An error of 0 or of infinity is not reported."""
    made = fit(target(text, domain), unit, 2)
    assert (made.network, made.status) == (None, "diverged")
    assert "squares" in made.detail


@pytest.mark.parametrize(
    ("text", "at", "unit", "resolved"),
    [
        ("sign(x - 0.3)", 0.3, "mlp:tanh", False),
        ("atan(10**6*x)", 0.0, "mlp", False),
        ("log(1.0000000001 + x)", -1.0, "relu2_mlp", False),
        ("exp(2*x)", 0.0, "mlp:silu", True),
        ("tanh(30*x)", 0.0, "glu", True),
    ],
)
def test_the_status_says_where_points_miss_what_a_target_does(
    text: str, at: float, unit: str, resolved: bool
) -> None:
    """Judged by the trapezoidal rule on points that fall together at the place."""
    f = target(text)
    made = fit(f, unit, 4)
    beside = np.geomspace(1e-13, 2, 20_001)
    x = np.concatenate([at - beside, at + beside, np.linspace(-1, 1, 20_001)])
    x = np.unique(x[(x > -1) & (x < 1)])
    square = np.trapezoid((predict(made.network, x) - f(x)) ** 2, x) / 2
    assert (math.sqrt(square) <= 1.1 * made.train_rmse) is resolved
    assert (made.status != "unresolved") is resolved


def test_a_fit_says_where_a_unit_of_fewer_factors_came_closest() -> None:
    at_jump = fit(target("sign(x - 0.3)"), "glu", 4)
    weights = at_jump.network.state_dict()
    assert not weights["U"].any()
    assert (weights["u"] == 1).all()
    assert "pieces of degree 1 came closest" in at_jump.detail
    assert at_jump.detail in str(at_jump)
    assert not fit(target("sin(3*x)"), "glu", 4).detail


def test_a_smooth_gate_as_sharp_as_the_arithmetic_bears_has_stalled() -> None:
    """Of a jump its error still falls, where even the least step is not finite."""
    data = sampled(target("sign(x)"), 400)
    made = fit(data, "swiglu", 6, solver=VariableProjection(starts=1))
    assert made.status == "stalled"


@dataclass(frozen=True)
class Fake:
    """Does what it is told."""

    name: ClassVar[str] = "fake"
    do: Callable[[Dataset, Unit, int], Fit]

    def train(
        self, data: Dataset, unit: Unit, n_hidden: int, gates: Gates, seed: int
    ) -> Fit:
        del gates, seed
        return self.do(data, unit, n_hidden)


def raises(error: BaseException) -> Fake:
    def do(*_: object) -> Fit:
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
    assert (made.status, made.detail) == ("failed", str(error))
    assert made.network is None
    assert (made.iterations, made.history.shape) == (0, (0, 2))
    assert all(map(math.isnan, (made.train_rmse, made.test_rmse)))
    assert made.seconds >= 0
    assert (made.solver, made.seed) == (solver, 4)
    assert str(made).startswith("no network, failed after 0 iterations")


@pytest.mark.parametrize("share", [1.0, 0.995, 2.0, None, 0.98, 0.0, math.nan])
def test_a_promise_that_the_forward_pass_does_not_keep_is_inexact(
    share: float | None,
) -> None:
    def do(data: Dataset, unit: Unit, n_hidden: int) -> Fit:
        network = of_zeros(data, unit, n_hidden)
        error = rmse(network, data.train.x, data.train.y)
        return Fit(network, "converged", 1, None if share is None else share * error)

    made = fit(PLANE, "glu", 2, solver=Fake(do))
    kept = share is None or share >= 0.99
    assert made.status == ("converged" if kept else "inexact")
    assert STATUSES[made.status] in str(made)
    assert made.train_rmse == math.sqrt(np.mean(PLANE.train.y**2))


def test_weights_that_float64_does_not_carry_are_inexact() -> None:
    x = np.linspace(-1, 1, 40)
    close = np.concatenate([x, [0.3, 0.3 + 1e-11]])[:, None]
    values = np.concatenate([np.sin(3 * x), [-1000.0, 1000.0]])
    for weight, word in ((1.0, "converged"), (6e15, "inexact")):

        def do(data: Dataset, unit: Unit, n_hidden: int, size: float = weight) -> Fit:
            network = of_zeros(data, unit, n_hidden)
            with torch.no_grad():  # two neurons that cancel
                network.G.add_(1.0)
                network.D.add_(torch.tensor([[size, -size]]))
            return Fit(network, "converged", 1)

        made = fit(from_arrays(close, values, split="paper"), "mlp", 2, solver=Fake(do))
        assert made.status == word


@pytest.mark.parametrize(
    ("data", "unit", "solver", "message"),
    [
        (PLANE, "glu", "free_knots", "free_knots fits one input"),
        (LINE, "geglu", "free_knots", "free_knots .*gelu"),
        (LINE, QUARTIC, "free_knots", "up to two factors"),
        (LINE, "pair", "free_knots", "up to two factors"),
        (PLANE, "pair", "growth", "no neurons of two numbers"),
        (
            PLANE,
            Unit("both", (("U", "u"),), paired=True),
            "varpro",
            "no pairs with factors",
        ),
    ],
)
@pytest.mark.parametrize("gates", BOTH)
def test_what_a_solver_does_not_implement_is_refused_by_name(
    data: Dataset, unit: str | Unit, solver: str, message: str, gates: Gates
) -> None:
    with pytest.raises(ValueError, match=message):
        fit(data, unit, 3, solver=FEW[solver], gates=gates)


def test_the_default_solver_is_that_of_the_inputs() -> None:
    """A target is sampled as in the paper."""
    made = fit(PAPER_TARGET, "glu", 3)
    assert (made.solver, len(made.history)) == (FreeKnots(), 0)
    assert made.test_rmse == fit(sampled(PAPER_TARGET), "glu", 3).test_rmse
    assert fit(PLANE, "mlp", 1).solver == Growth()
    by_projection = (
        (PLANE, "mlp", "frozen"),
        (LINE, "geglu", "trained"),
        (PLANE, "pair", "trained"),
    )
    for data, unit, gates in by_projection:
        assert fit(data, unit, 2, gates=gates).solver == VariableProjection()  # type: ignore[arg-type]


@pytest.mark.parametrize("expression", ["x + y", "x*y", "sin(x)*cos(y)*z"])
def test_a_target_of_several_variables_is_taken_as_its_points_are(
    expression: str,
) -> None:
    f = target(expression)
    one = fit(f, "glu", 2, seed=3)
    other = fit(from_target(f), "glu", 2, seed=3)
    assert same(one, other)
    assert (one.status, one.test_rmse) == (other.status, other.test_rmse)
    assert one.solver == Growth()
