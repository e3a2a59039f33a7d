"""Variable projection against differences, dense least squares, known networks."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from xsquared.data.dataset import from_target, sampled
from xsquared.errors import rmse
from xsquared.functions import target
from xsquared.training import separable
from xsquared.training.inner_weights import InnerWeights, draw_inner_weights
from xsquared.training.variable_projection import (
    ProjectedFit,
    VariableProjection,
    iterates,
    last,
    to_network,
)
from xsquared.units import GATES, PAPER_UNITS, UNITS, Unit, find_unit, predict

#: More factors than any unit of the package has.
QUARTIC = Unit("quartic", (("U", "u"), ("Q", "q"), ("V", "v")))
#: Every unit with its own gate, and the paper's with every gate.
GATED = (find_unit(unit, gate) for unit in PAPER_UNITS for gate in GATES)
PAIRS = (find_unit("pair", gate) for gate in GATES)
RECORDS = list(dict.fromkeys([*UNITS.values(), QUARTIC, *GATED, *PAIRS]))


def records(true: Callable[[Unit], bool] = lambda _: True) -> pytest.MarkDecorator:
    """Those of the records of which something holds."""
    found = {f"{unit.name}-{unit.activation}": unit for unit in RECORDS if true(unit)}
    return pytest.mark.parametrize("unit", found.values(), ids=found)


every_record = records()
hinged_record = records(lambda unit: unit.gate.hinged)
#: Without a bend at most one factor makes a quadratic, which the linear weights reach
#: at once.
bent_record = records(lambda unit: unit.activation != "identity")
N_POINTS = 60


def problem(dim: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    draw = np.random.default_rng(seed)
    x = draw.uniform(-1, 1, (N_POINTS, dim))
    return torch.from_numpy(x), torch.from_numpy(
        np.sin(3 * x).sum(axis=1) + x[:, 0] * x[:, -1]
    )


def rows(unit: Unit, x: torch.Tensor, n: int, seed: int) -> InnerWeights:
    return draw_inner_weights(unit, x.numpy(), n, np.random.default_rng(seed))


def run(
    unit: Unit, x: torch.Tensor, y: torch.Tensor, start: InnerWeights, **options: Any
) -> ProjectedFit:
    return last(iterates(unit, x, y, start, **options))


def linear_count(unit: Unit, n: int, dim: int) -> int:
    return n * (dim + 1 if unit.factors else unit.numbers) + 1


def model_of(
    unit: Unit,
    x: torch.Tensor,
    y: torch.Tensor,
    weights: torch.Tensor | None = None,
    train_gates: bool = True,
) -> separable.Problem:
    root = (
        torch.full_like(y, len(y) ** -0.5) if weights is None else torch.sqrt(weights)
    )
    points = torch.cat([x, torch.ones_like(x[:, :1])], dim=1)
    return separable.Problem(
        unit, points, points * root[:, None], root * y, train_gates, 0.0
    )


def flat(given_rows: InnerWeights, train_gates: bool = True) -> torch.Tensor:
    """The rows' entries in the order of the Jacobian: coordinate by coordinate."""
    parts = [given_rows.gate] if train_gates else []
    return torch.cat([part.T.reshape(-1) for part in (*parts, *given_rows.factors)])


def unflat(
    theta: torch.Tensor, like: InnerWeights, train_gates: bool = True
) -> InnerWeights:
    parts = [part.T for part in theta.reshape(-1, *like.gate.T.shape)]
    return InnerWeights(parts.pop(0) if train_gates else like.gate, tuple(parts))


def values(
    unit: Unit, x: torch.Tensor, given_rows: InnerWeights, linear: torch.Tensor
) -> np.ndarray:
    """The forward pass of the module that these parameters make."""
    fit = ProjectedFit(given_rows, linear, math.nan, 0, "converged")
    return predict(to_network(fit, unit), x.numpy())


@every_record
def test_kaufmans_gradient_is_that_of_the_projected_loss(unit: Unit) -> None:
    """What Kaufman drops from the Jacobian is orthogonal to any residual."""
    x, y = problem(2, 5)
    start = rows(unit, x, 3, 6)
    draw = np.random.default_rng(7)
    weights = torch.from_numpy(draw.dirichlet(np.ones(N_POINTS)))
    for train_gates in (True, False) if start.factors else (True,):
        model = model_of(unit, x, y, weights, train_gates)
        theta, state = flat(start, train_gates), model.project(start)
        assert state.loss > 1e-3
        _, gradient = model.normal_equations(state)
        numeric = []
        for shift in 1e-6 * torch.eye(len(theta), dtype=torch.float64):
            moved = (unflat(theta + s, start, train_gates) for s in (shift, -shift))
            up, down = (model.project(other).loss for other in moved)
            numeric.append((up - down) / 2e-6)
        np.testing.assert_allclose(2 * gradient, numeric, atol=1e-7)


@pytest.mark.parametrize("size", [0.0, 1e-7])
@every_record
def test_kaufmans_jacobian_is_exact_where_the_residual_vanishes(
    unit: Unit, size: float
) -> None:
    """J'J against differences of residuals."""
    x, noise = problem(2, 8)
    start = rows(unit, x, 3, 9)
    m = linear_count(unit, 3, 2)
    linear = torch.from_numpy(np.random.default_rng(10).standard_normal(m))
    y = torch.from_numpy(values(unit, x, start, linear)) + size * noise
    model = model_of(unit, x, y)
    state = model.project(start)
    assert state.loss <= size**2 * 10 + 1e-28
    gram, _ = model.normal_equations(state)
    theta, columns = flat(start), []
    for shift in 1e-6 * torch.eye(len(theta), dtype=torch.float64):
        up, down = (
            model.project(unflat(theta + s, start)).residual for s in (shift, -shift)
        )
        columns.append((up - down) / 2e-6)
    numeric = torch.stack(columns, dim=1)
    np.testing.assert_allclose(gram, numeric.T @ numeric, atol=1e-6)


@pytest.mark.parametrize("ridge", [0.0, 1e-10])
@every_record
def test_points_in_blocks_leave_the_steps_of_all_at_once(
    unit: Unit, ridge: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block may have fewer rows than columns, the last one fewer than the others."""
    x, y = problem(2, 45)
    options = {"train_gates": True, "max_iterations": 2, "ridge": ridge}
    whole = run(unit, x, y, rows(unit, x, 4, 47), **options)
    monkeypatch.setattr(separable, "_BLOCK", 7)
    for kept in (0, separable._KEPT):
        monkeypatch.setattr(separable, "_KEPT", kept)
        made = run(unit, x, y, rows(unit, x, 4, 47), **options)
        # Two steps make 1.2e-5 of rounding, on a processor without AVX2.
        assert math.isclose(made.rmse, whole.rmse, rel_tol=1e-4, abs_tol=1e-9)


@given(
    st.sampled_from(RECORDS),
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(0, 10**6),
)
@settings(max_examples=40)
def test_projection_is_dense_least_squares(
    unit: Unit, dim: int, n: int, seed: int
) -> None:
    x, y = problem(dim, seed)
    start = rows(unit, x, n, seed)
    fit = run(unit, x, y, start, max_iterations=0)
    points = np.column_stack([x, np.ones(N_POINTS)])
    hidden = unit.gate.value(torch.from_numpy(points) @ start.gate.T).numpy()
    if unit.gate.degree is not None:
        hidden = hidden / np.linalg.norm(start.gate.numpy(), axis=1) ** unit.gate.degree
    for factor in start.factors:
        hidden = hidden * (points @ factor.numpy().T)
    if unit.factors:
        hidden = np.column_stack([column[:, None] * points for column in hidden.T])
    if unit.paired:
        hidden = np.column_stack([hidden, points @ start.gate.numpy().T * hidden])
    matrix = np.column_stack([hidden, np.ones(N_POINTS)])
    c, *_ = np.linalg.lstsq(matrix, y.numpy(), rcond=1e-12)
    np.testing.assert_allclose(
        values(unit, x, fit.inner, fit.outer), matrix @ c, atol=1e-6
    )
    assert math.isclose(
        fit.rmse,
        math.sqrt(np.mean((matrix @ c - y.numpy()) ** 2)),
        rel_tol=1e-6,
        abs_tol=1e-9,
    )
    assert (fit.iterations, fit.status) == (0, "converged")


@hinged_record
def test_a_weight_counts_as_often_as_its_point(unit: Unit) -> None:
    x, y = problem(1, 13)
    count = torch.from_numpy(np.random.default_rng(14).integers(1, 4, N_POINTS))
    start, weights = rows(unit, x, 3, 15), count.double() / count.sum()
    repeated = x.repeat_interleave(count, dim=0), y.repeat_interleave(count)
    paper = unit in map(UNITS.get, PAPER_UNITS)
    for limit, error, apart in (
        (0, 1e-11, 1e-11),
        (1, 1e-6, 1e-6),
        *[(5, 1e-8, 1e-6)] * paper,
    ):
        one = run(unit, x, y, start, weights=weights, max_iterations=limit)
        other = run(unit, *repeated, start, max_iterations=limit)
        assert math.isclose(one.rmse, other.rmse, rel_tol=error)
        np.testing.assert_allclose(one.inner.gate, other.inner.gate, atol=apart)


@every_record
def test_the_loss_never_rises(unit: Unit) -> None:
    x, y = problem(2, 16)
    start = rows(unit, x, 5, 17)
    fits = list(iterates(unit, x, y, start, max_iterations=40))
    end = run(unit, x, y, start, max_iterations=40)
    assert fits[0].rmse == run(unit, x, y, start, max_iterations=0).rmse
    assert fits[-1].rmse == end.rmse
    assert (np.diff([fit.rmse for fit in fits[:-1]]) < 0).all()
    assert [fit.iterations for fit in fits[:-1]] == list(range(len(fits) - 1))
    assert fits[-1].rmse <= fits[-2].rmse


@records(lambda unit: unit.activation != "identity" and unit is not QUARTIC)
def test_moved_gates_are_recovered(unit: Unit) -> None:
    """From rows near a network's own, its values are reached to rounding."""
    x, _ = problem(2, 18)
    truth = rows(unit, x, 2, 19)
    m = linear_count(unit, 2, 2)
    linear = torch.from_numpy(np.random.default_rng(20).uniform(1, 2, m))
    y = torch.from_numpy(values(unit, x, truth, linear))
    moved = unflat(
        flat(truth) + 0.01 * torch.sin(torch.arange(len(flat(truth)))), truth
    )
    assert run(unit, x, y, moved, max_iterations=0).rmse > 1e-4
    assert run(unit, x, y, moved).rmse < 1e-9


@pytest.mark.parametrize("limit", [10, 25])
def test_the_best_of_the_starts_goes_on(limit: int) -> None:
    data = from_target(target("sin(3*x)*y"), points=80)
    unit, x, y = UNITS["glu"], torch.tensor(data.train.x), torch.tensor(data.train.y)
    draw = np.random.default_rng(2)
    starts = [draw_inner_weights(unit, data.train.x, 3, draw) for _ in range(4)]
    trials = [run(unit, x, y, start, max_iterations=10) for start in starts]
    errors = [trial.rmse for trial in trials]
    assert 0 < np.argmin(errors) < 3  # neither the first nor the last
    end = run(unit, x, y, trials[np.argmin(errors)].inner, max_iterations=limit - 10)
    solver = VariableProjection(max_iterations=limit, starts=4)
    made = solver.train(data, unit, 3, "trained", 2)
    assert made.promised == pytest.approx(end.rmse, rel=1e-9)
    assert made.iterations == end.iterations + sum(t.iterations for t in trials)


def test_smooth_gates_start_and_stay_within_a_bound_of_their_sharpness() -> None:
    """Towards a step they would sharpen without end; a hinge has no sharpness."""
    data = sampled(target("tanh(200*x)"), 200)
    for unit, gates in (("mlp", "gelu"), ("glu", "silu")):
        record = find_unit(unit, gates)
        made = {}
        for bound in (None, 4.0):
            solver = VariableProjection(max_iterations=60, starts=2, sharpest=bound)
            network = solver.train(data, record, 3, "trained", 0).network
            made[bound] = float(network.G.abs().max().detach())
        assert made[None] > 4.5
        assert 1 < made[4.0] <= 4 * (1 + 1e-14)
    frozen = VariableProjection(sharpest=4.0).train(
        data, find_unit("mlp", "gelu"), 8, "frozen", 0
    )
    steep = frozen.network.G.abs().detach()
    assert float(steep.min()) >= 1
    assert float(steep.max()) > 2
    solver = VariableProjection(max_iterations=3, sharpest=4.0)
    hinged = solver.train(data, find_unit("mlp"), 4, "trained", 0).network
    assert float(hinged.G.abs().max().detach()) <= 1 + 1e-14


@bent_record
def test_frozen_gates_stay(unit: Unit) -> None:
    x, y = problem(2, 25)
    start = InnerWeights(5 * rows(unit, x, 3, 26).gate, rows(unit, x, 3, 27).factors)
    fit = run(unit, x, y, start, train_gates=False, max_iterations=20)
    assert torch.equal(fit.inner.gate, start.gate)
    if len(unit.factors) > 1:
        assert fit.iterations > 0
        assert (
            fit.rmse < run(unit, x, y, start, train_gates=False, max_iterations=0).rmse
        )
    else:
        assert (fit.iterations, fit.status) == (0, "converged")


@hinged_record
def test_dead_and_equal_neurons_do_not_break_a_run(unit: Unit) -> None:
    """A gate closed on all points gives zero columns, equal gates give equal ones."""
    x, y = problem(2, 28)
    start = rows(unit, x, 4, 29)
    start.gate[0] = torch.tensor([0.1, 0.1, -9.0])
    start.gate[2] = start.gate[1]
    fit = run(unit, x, y, start, max_iterations=30)
    assert fit.rmse < run(unit, x, y, start, max_iterations=0).rmse
    assert torch.isfinite(fit.inner.gate).all()
    assert torch.isfinite(fit.outer).all()


@given(
    st.sampled_from(RECORDS),
    st.integers(1, 4),
    st.integers(1, 6),
    st.integers(0, 10**6),
)
def test_hinges_start_between_points(unit: Unit, dim: int, n: int, seed: int) -> None:
    """Some points on either side, none so near that rounding could decide its side."""
    x = np.random.default_rng(seed).standard_normal((11, dim))
    made = draw_inner_weights(unit, x, n, np.random.default_rng(seed))
    for part in (made.gate, *made.factors):
        assert part.shape == (n, dim + 1)
        np.testing.assert_allclose(
            torch.linalg.vector_norm(part[:, :-1], dim=1), 1, rtol=1e-12
        )
        z = np.column_stack([x, np.ones(11)]) @ part.numpy().T
        assert ((z > 1e-12).any(axis=0) & (z < -1e-12).any(axis=0)).all()
    assert len(made.factors) == max(len(unit.factors) - 1, 0)
    again = draw_inner_weights(unit, x, n, np.random.default_rng(seed))
    assert torch.equal(flat(made), flat(again))


def test_a_ridge_shrinks_the_weights_that_the_solver_leaves() -> None:
    data = from_target(target("sin(3*x)*y"), points=100)
    sizes = []
    for ridge in (0.0, 1e-2):
        solver = VariableProjection(max_iterations=10, starts=1, ridge=ridge)
        made = solver.train(data, UNITS["mlp"], 5, "trained", 0)
        sizes.append(float(torch.linalg.vector_norm(made.network.D.detach())))
        assert made.promised == pytest.approx(
            rmse(made.network, data.train.x, data.train.y)
        )
    assert sizes[1] < sizes[0]
