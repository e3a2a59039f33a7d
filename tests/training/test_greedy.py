"""The greedy choice and a neuron's worth, each against dense least squares."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.training.test_variable_projection import RECORDS, problem, records, rows
from xsquared.training.greedy import candidates, insertions, removal_losses
from xsquared.training.inner_weights import InnerWeights
from xsquared.units import UNITS, Unit

#: Those that grow: neurons of two numbers are not inserted.
GROWN = [unit for unit in RECORDS if not unit.paired]
grown_record = records(lambda unit: unit in GROWN and unit.activation != "identity")
#: Too weak to matter: the criterion penalises what is inserted, not what is there
#: already.
RIDGE = 1e-13


def homogeneous(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, torch.ones_like(x[:, :1])], dim=1)


def least_loss(
    unit: Unit, x: torch.Tensor, y: torch.Tensor, neurons: InnerWeights
) -> float:
    """Mean square error plus penalty of the best outer weights, by numpy."""
    points = homogeneous(x).numpy()
    hidden = unit.gate.value(torch.from_numpy(points @ neurons.gate.numpy().T)).numpy()
    for factor in neurons.factors:
        hidden = hidden * (points @ factor.numpy().T)
    if unit.factors:
        hidden = np.hstack(
            [column[:, None] * points for column in hidden.T] or [hidden]
        )
    m = hidden.shape[1]
    scaled = np.column_stack([hidden, np.ones(len(x))]) / math.sqrt(len(x))
    matrix = np.vstack([scaled, np.eye(m, m + 1) * math.sqrt(RIDGE)])
    right = np.concatenate([y.numpy() / math.sqrt(len(x)), np.zeros(m)])
    weights = np.linalg.lstsq(matrix, right, rcond=None)[0]
    return float(np.sum((matrix @ weights - right) ** 2))


@pytest.mark.parametrize("used", [0, 3])
@grown_record
def test_each_insertion_lowers_the_loss_as_much_as_the_best_candidate(
    unit: Unit, used: int
) -> None:
    x, y = problem(2, 1)
    network, pool = rows(unit, x, 3, 2).taken(slice(used)), rows(unit, x, 12, 3)
    chosen = insertions(unit, homogeneous(x), y, network, pool, 3, RIDGE)
    assert len({*chosen}) == 3
    for place in chosen:
        reached = [
            least_loss(unit, x, y, network.joined(pool.taken(slice(i, i + 1))))
            for i in range(12)
        ]
        assert reached[place] <= min(reached) * (1 + 1e-3) + 1e-12
        network = network.joined(pool.taken(slice(place, place + 1)))


@records(lambda unit: unit in GROWN and unit.activation not in ("identity", "tanh"))
def test_a_candidate_in_use_or_without_effect_comes_last(unit: Unit) -> None:
    """Its columns are explained already, or zero."""
    x, y = problem(2, 7)
    used, other = rows(unit, x, 1, 8), rows(unit, x, 1, 9)
    dead = InnerWeights(0 * other.gate, other.factors)
    dead.gate[:, -1] = -1e3
    pool = used.joined(dead).joined(other)
    assert insertions(unit, homogeneous(x), y, used, pool, 1, RIDGE) == [2]


@pytest.mark.parametrize("name", ["mlp", "glu", "gqu"])
def test_the_size_of_a_candidate_does_not_matter(name: str) -> None:
    """Without a ridge a neuron explains what its columns span, of any size."""
    x, y = problem(2, 12)
    unit, pool = UNITS[name], rows(UNITS[name], x, 12, 13)
    sizes = torch.logspace(-6, 6, 12, dtype=torch.float64)[:, None]
    scaled = InnerWeights(pool.gate * sizes, pool.factors)
    task = unit, homogeneous(x), y, rows(unit, x, 2, 14)
    assert insertions(*task, scaled, 4, 0.0) == insertions(*task, pool, 4, 0.0)


@grown_record
def test_what_a_neuron_is_worth_is_the_loss_without_it(unit: Unit) -> None:
    x, y = problem(2, 10)
    network = rows(unit, x, 4, 11)
    whole = least_loss(unit, x, y, network)
    losses = removal_losses(unit, homogeneous(x), y, network, RIDGE) / len(y)
    for i in range(4):
        others = network.taken(torch.tensor([j for j in range(4) if j != i]))
        expected = least_loss(unit, x, y, others) - whole
        assert float(losses[i]) == pytest.approx(expected, rel=1e-3, abs=1e-9)


@given(st.sampled_from(GROWN), st.integers(1, 4), st.integers(0, 10**6))
@settings(max_examples=40)
def test_candidates_cut_the_data(unit: Unit, dim: int, seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal((11, dim))
    draw = np.random.default_rng(seed)
    pool = candidates(unit, x, 90, torch.zeros(0, dim + 1), draw)
    z = np.column_stack([x, np.ones(11)]) @ pool.gate.numpy().T
    assert ((z > 0).any(axis=0) & (z < 0).any(axis=0)).all()
    lengths = torch.linalg.vector_norm(pool.gate[:, :-1], dim=1)
    if unit.gate.degree is None:
        assert lengths.max() / lengths.min() > 4
        assert lengths.min() > 0.49
    else:
        torch.testing.assert_close(lengths, torch.ones(90, dtype=torch.float64))
    constant = torch.eye(dim + 1, dtype=torch.float64)[-1]
    assert len(pool.factors) == max(len(unit.factors) - 1, 0)
    for factor in pool.factors:
        assert (factor == constant).all(dim=1).any()
        along = (factor == pool.gate).all(dim=1)
        assert unit.gate.degree is None or along.any()
        assert not (along | (factor == constant).all(dim=1)).all()


@grown_record
def test_half_of_the_candidates_are_parallel_to_gates_in_use(unit: Unit) -> None:
    """Each of them cuts the data elsewhere."""
    x = np.random.default_rng(1).standard_normal((50, 3))
    used = 3 * rows(unit, torch.from_numpy(x), 1, 2).gate
    along = torch.nn.functional.normalize(used[:, :-1])
    pool = candidates(unit, x, 400, used, np.random.default_rng(3))
    z = np.column_stack([x, np.ones(50)]) @ pool.gate.numpy().T
    assert ((z > 0).any(axis=0) & (z < 0).any(axis=0)).all()
    cosines = (torch.nn.functional.normalize(pool.gate[:, :-1]) @ along.T)[:, 0]
    parallel = cosines > 1 - 1e-12
    assert parallel.sum() == 200
    assert len(pool.gate[parallel, -1].unique()) > 90
