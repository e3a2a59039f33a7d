"""The falling ridge: least squares with a ridge, both protocols' networks, bounded memory."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from xsquared.data.problems import load
from xsquared.errors import confined_rmse, rmse
from xsquared.studies import Trial
from xsquared.studies.experiment import run_trial
from xsquared.training.least_squares import gram_matrix, solve, solve_ridge
from xsquared.training.ridge_path import RIDGES, fit_path
from xsquared.training.variable_projection import fit_rows, iterates, rows_on_data
from xsquared.units import UNITS, build, predict, set_parameters


def augmented(matrix: np.ndarray, right: np.ndarray, ridge: float) -> np.ndarray:
    """The same minimum by numpy, from rows below the matrix; of one right side or of several."""
    m = matrix.shape[1]
    penalty = np.diag([ridge**0.5] * (m - 1) + [0.0])
    whole = np.vstack([matrix, penalty])
    zeros = np.zeros((m, *right.shape[1:]))
    return np.linalg.lstsq(whole, np.concatenate([right, zeros]), rcond=None)[0]


@given(st.integers(1, 6), st.integers(0, 10**6), st.sampled_from([1e-6, 1e-2, 1.0]))
def test_ridge_is_least_squares_on_more_rows(m: int, seed: int, ridge: float) -> None:
    draw = np.random.default_rng(seed)
    matrix = np.column_stack([draw.standard_normal((20, m)), np.ones(20)])
    right, others = draw.standard_normal(20), draw.standard_normal((20, 3))
    made = solve_ridge(torch.from_numpy(matrix), torch.from_numpy(right), ridge)
    np.testing.assert_allclose(made.coefficients, augmented(matrix, right, ridge), atol=1e-9)
    left = others - matrix @ augmented(matrix, others, ridge)
    np.testing.assert_allclose(
        made.reduced_gram(torch.from_numpy(others)), others.T @ left, atol=1e-11
    )


@pytest.mark.parametrize("gap", [0.0, 1e-9])
def test_ridge_survives_columns_that_are_nearly_equal(gap: float) -> None:
    """Here the Cholesky factor has too few digits, and the factorisation by rows takes over."""
    draw = np.random.default_rng(1)
    column = draw.standard_normal(50)
    matrix = np.column_stack([column, column + gap * draw.standard_normal(50), np.ones(50)])
    right = 3 * column + 1
    made = solve_ridge(torch.from_numpy(matrix), torch.from_numpy(right), 1e-18)
    np.testing.assert_allclose(matrix @ made.coefficients.numpy(), right, atol=1e-6)
    left = made.reduced_gram(torch.from_numpy(matrix))
    np.testing.assert_allclose(left, np.zeros((3, 3)), atol=1e-11)


def test_a_zero_column_gets_no_weight() -> None:
    matrix = torch.tensor([[0.0, 1.0], [0.0, 1.0]], dtype=torch.float64)
    made = solve_ridge(matrix, torch.tensor([1.0, 3.0], dtype=torch.float64), 1e-3)
    np.testing.assert_allclose(made.coefficients, [0, 2])


def test_ridge_refuses_what_makes_no_sense() -> None:
    matrix, right = torch.ones((3, 2), dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    with pytest.raises(ValueError, match="expected a positive ridge, got 0"):
        solve_ridge(matrix, right, 0)
    with pytest.raises(ValueError, match=r"got \(3, 2\) and \(2,\)"):
        solve_ridge(matrix, right[:2], 1.0)
    with pytest.raises(FloatingPointError, match="not finite"):
        solve_ridge(matrix * math.nan, right, 1.0)


def test_without_a_ridge_the_reduced_gram_matrix_is_that_of_what_is_left() -> None:
    draw = np.random.default_rng(2)
    matrix, others = draw.standard_normal((20, 4)), draw.standard_normal((20, 3))
    made = solve(torch.from_numpy(matrix), torch.from_numpy(others[:, 0]))
    left = others - matrix @ np.linalg.lstsq(matrix, others, rcond=None)[0]
    np.testing.assert_allclose(
        made.reduced_gram(torch.from_numpy(others)), left.T @ left, atol=1e-12
    )


@pytest.mark.parametrize("m", [1, 47, 48, 49, 100, 300, 301])
def test_gram_matrix_in_blocks_is_the_product(m: int) -> None:
    matrix = torch.from_numpy(np.random.default_rng(m).standard_normal((7, m)))
    np.testing.assert_allclose(gram_matrix(matrix), matrix.T @ matrix, atol=1e-13)


@pytest.mark.parametrize("unit", list(UNITS))
def test_ridge_falls_with_the_loss_it_names(unit: str) -> None:
    """Mean square error plus ridge times the weights' squares never rises, and weights shrink."""
    data = load("sine", 0, "held-out", 200)
    x, y = torch.tensor(data.train.x), torch.tensor(data.train.y)
    start = rows_on_data(unit, data.train.x, 6, np.random.default_rng(3))
    sizes = []
    for ridge in (1e-2, 1e-6):
        fits = list(iterates(unit, x, y, start, max_iterations=8, ridge=ridge))
        losses = [f.rmse**2 + ridge * float(f.linear[:-1] @ f.linear[:-1]) for f in fits]
        assert all(np.diff(losses) <= 1e-14)
        sizes.append(float(torch.linalg.vector_norm(fits[-1].linear[:-1])))
    assert sizes[0] < sizes[1]
    with pytest.raises(ValueError, match="ridge must be at least 0, got -1"):
        fit_rows(unit, x, y, start, ridge=-1)


@pytest.fixture(scope="module")
def noisy() -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Few points of a smooth function under noise: training, validation and test."""
    draw = np.random.default_rng(4)
    parts = []
    for count in (60, 60, 2000):
        x = draw.uniform(-1.5, 1.5, (count, 2))
        noise = 0.5 * draw.standard_normal(count) if count < 1000 else 0.0
        parts.append((x, np.sin(x[:, 0]) + x[:, 1] + noise))
    return tuple(parts)


@pytest.mark.parametrize("unit", list(UNITS))
def test_validation_keeps_a_network_from_fitting_noise(unit: str, noisy) -> None:
    train, validation, test = noisy
    made = fit_path(train, validation, unit, 12, seed=5)
    assert rmse(made.last, *train) < rmse(made.best, *train)
    assert confined_rmse(made.best, *test, train[1]) < rmse(made.last, *test)
    assert made.validation_rmse == confined_rmse(made.best, *validation, train[1])
    assert made.ridge in RIDGES


def test_who_wants_the_best_only_stops_sooner(noisy) -> None:
    train, validation, _ = noisy
    whole = fit_path(train, validation, "glu", 12, seed=5)
    short = fit_path(train, validation, "glu", 12, seed=5, to_the_end=False)
    assert short.iterations < whole.iterations
    assert short.validation_rmse >= whole.validation_rmse


def test_seeds_decide_and_repeat(noisy) -> None:
    train, validation, _ = noisy
    one, again, other = (fit_path(train, validation, "mlp", 30, seed=s) for s in (6, 6, 7))
    points = train[0]
    np.testing.assert_array_equal(predict(one.last, points), predict(again.last, points))
    assert not np.array_equal(predict(one.last, points), predict(other.last, points))


def test_predictions_are_confined_to_the_widened_range() -> None:
    network = build("mlp", 1, 1)
    set_parameters(network, G=[[1.0]], g=[0.0], D=[[1.0]], d=[0.0])
    seen = np.array([0.0, 10.0])
    assert confined_rmse(network, np.array([[500.0]]), np.array([11.0]), seen) == 0
    assert confined_rmse(network, np.array([[10.5]]), np.array([10.5]), seen) == 0


def test_bad_arguments_are_refused(noisy) -> None:
    train, validation, _ = noisy
    with pytest.raises(ValueError, match="n_hidden must be an integer of at least 1, got 0"):
        fit_path(train, validation, "mlp", 0)
    with pytest.raises(ValueError, match="unknown unit 'rnn'"):
        fit_path(train, validation, "rnn", 3)
    with pytest.raises(ValueError, match="unknown activation 'tanh'"):
        fit_path(train, validation, "mlp", 3, activation="tanh")
    with pytest.raises(ValueError, match=r"expected validation points \(M, 2\), got \(60, 1\)"):
        fit_path(train, (validation[0][:, :1], validation[1]), "mlp", 3)


def test_a_synthetic_trial_gives_both_protocols() -> None:
    """The paper's points come first in the held-out draw, so its training error is the paper's."""
    held, paper = (
        run_trial(Trial("glu", 6, "varpro", p, 300, 1, "friedman2")) for p in ("held-out", "paper")
    )
    assert held["train_rmse"] == pytest.approx(paper["train_rmse"], rel=1e-6)
    assert paper["test_rmse"] == paper["train_rmse"]
    assert held["test_rmse"] > held["train_rmse"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device")
def test_the_same_code_runs_on_cuda() -> None:
    data = load("friedman1", 0, "paper", 500)
    train = (data.train.x, data.train.y)
    host, device = (fit_path(train, train, "glu", 8, device=d) for d in ("cpu", "cuda"))
    assert rmse(device.last, *train) == pytest.approx(rmse(host.last, *train), rel=0.2)


MEMORY = """
import resource, numpy as np, torch
from xsquared.data.problems import load
from xsquared.training.variable_projection import fit_rows, rows_on_data
train = load("friedman1", 0, "paper").train
rows = rows_on_data("glu", train.x, 64, np.random.default_rng(0))
fit_rows("glu", torch.tensor(train.x), torch.tensor(train.y), rows, max_iterations=2, ridge=1e-3)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has another unit elsewhere")
def test_a_wide_glu_on_friedman_1_stays_below_two_gib() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 2 * 1024**2
