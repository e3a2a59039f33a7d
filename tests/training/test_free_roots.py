"""Drawn rows against the least squares of the networks that they make, and descents from them."""

import numpy as np
import pytest
import torch

from xsquared.errors import measured_rmse
from xsquared.functions import target
from xsquared.training.free_roots import best_descent, drawn_rows
from xsquared.training.variable_projection import Rows, to_network
from xsquared.units import find_unit

F = target("sin(4*x) + 0.3*abs(x - 0.2)")


def drawn(count: int, seed: int = 0) -> list[Rows]:
    return drawn_rows(F, np.array([-0.5, 0.2]), count, np.random.default_rng(seed))


def least(rows: Rows) -> float:
    """RMSE of the best network with these rows, on points of our own."""
    x = np.linspace(-1, 1, 4001)
    line = np.column_stack([x, np.ones_like(x)])
    neurons = np.maximum(line @ rows.gate.numpy().T, 0) * (line @ rows.factors[0].numpy().T)
    columns = np.column_stack([np.ones_like(x), neurons, neurons * x[:, None]])
    missed = F(x) - columns @ np.linalg.lstsq(columns, F(x), rcond=None)[0]
    return float(np.sqrt(np.mean(missed**2)))


def test_a_quarter_of_the_rows_are_the_best_of_all_and_the_rest_is_as_it_comes() -> None:
    errors = [least(rows) for rows in drawn(80)]
    assert np.all(np.diff(errors[:20]) > -1e-4), "the best first"
    assert max(errors[:20]) < min(np.sort(errors[20:])[5:])
    assert np.median(errors[20:]) > 1.5 * max(errors[:20])


def test_half_of_the_candidates_have_hinges_near_the_given() -> None:
    """Of the best ones: one hinge is at the kink, which two places drawn from all do not meet."""
    hinges = np.array([-rows.gate[:, 1] / rows.gate[:, 0] for rows in drawn(40)[:10]])
    assert (np.abs(hinges[:, 1] - 0.2) < 0.05).sum() >= 5


def test_rows_are_the_generators() -> None:
    one, same, other = (drawn(4, seed)[-1].gate for seed in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


@pytest.mark.slow
def test_the_best_descent_is_no_worse_than_any_start() -> None:
    unit, starts = find_unit("gqu"), drawn(24)
    best, spent = best_descent(F, unit, starts, 100)
    assert spent >= 24
    reached = measured_rmse(to_network(best, unit), F)
    assert reached < 0.7 * min(least(rows) for rows in starts)
    alone = best_descent(F, unit, starts[:1], 100)[0]
    assert best.rmse <= alone.rmse * (1 + 1e-9)


def test_a_network_that_is_exact_stays() -> None:
    """x^2 for x > 0: gate and factor meet at zero, of the two outer weights one is not needed."""
    rows = Rows(torch.tensor([[1.0, 0.0]]).double(), (torch.tensor([[0.0, 1.0]]).double(),))
    f = target("(x + abs(x))*x/2")
    best, _ = best_descent(f, find_unit("gqu"), [rows], 20)
    assert best.rmse < 1e-12
