"""L-BFGS: what it trains, what it records, how it ends."""

import math

import numpy as np
import pytest
import torch

from xsquared.data.dataset import Dataset, sampled
from xsquared.functions import target
from xsquared.training import LBFGS, Fit, Gates, fit
from xsquared.training.start import start
from xsquared.units import UNITS, find_unit

DATA = sampled(target("sin(3*x)"), 80)
X, Y = torch.tensor(DATA.train.x), torch.tensor(DATA.train.y)


def run_of(
    unit: str, steps: int, gates: Gates = "trained", data: Dataset = DATA
) -> Fit:
    return fit(data, unit, 4, solver=LBFGS(max_iterations=steps), gates=gates)


@pytest.mark.parametrize("unit", sorted(UNITS))
def test_the_loss_falls_and_is_that_of_the_network(unit: str) -> None:
    begun = start(DATA, find_unit(unit), 4, seed=0)
    before = float((begun(X)[:, 0] - Y).square().mean().sqrt().detach())
    run = run_of(unit, 100)
    seconds, errors = run.history.T
    assert math.isclose(errors[0], before, rel_tol=1e-12)
    assert math.isclose(errors[-1], run.train_rmse, rel_tol=1e-12)
    assert errors[-1] < 0.7 * before
    assert (np.diff(seconds) > 0).all()
    assert seconds[0] == 0


def test_it_reaches_the_minimum_of_a_linear_problem() -> None:
    run = run_of("mlp", 500, "frozen")
    columns = np.column_stack([run.network.hidden(X).detach(), np.ones(len(X))])
    solution, *_ = np.linalg.lstsq(columns, Y.numpy(), rcond=None)
    expected = np.sqrt(np.mean((columns @ solution - Y.numpy()) ** 2))
    assert run.status == "converged"
    assert math.isclose(run.train_rmse, expected, rel_tol=1e-6)
    assert run.iterations < 500


def test_it_has_converged_where_twenty_iterations_gain_next_to_nothing() -> None:
    run = fit(DATA, "mlp", 3, solver=LBFGS())
    losses = run.history[:, 1] ** 2
    gains = 1 - losses[1:] / losses[:-1]
    assert run.status == "converged"
    assert gains[-1] < 1e-7 <= gains[:-1].min()


@pytest.mark.parametrize("steps", [3, 25, 40])
def test_it_takes_no_more_iterations_than_it_may(steps: int) -> None:
    run, other = run_of("glu", steps), run_of("glu", 20)
    assert (run.iterations, len(run.history)) == (steps, 1 + -(-steps // 20))
    assert (run.train_rmse < other.train_rmse) == (steps > 20)
