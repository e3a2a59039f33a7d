"""The falling ridge: both splits' networks, bounded memory."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

from xsquared.data.dataset import Dataset, Points, from_target
from xsquared.data.problems import load
from xsquared.errors import confined_rmse, rmse
from xsquared.functions import target
from xsquared.training import Fit, RidgePath, fit
from xsquared.training import ridge_path as module
from xsquared.training.variable_projection import iterates, rows_on_data
from xsquared.units import UNITS, GatedNetwork, Unit, predict

#: Enough to see every part of the path.
FEW = RidgePath(most_starts=2, rounds=(2,), iterations=3, last_iterations=(3, 5))


@pytest.mark.parametrize("unit", list(UNITS))
def test_ridge_falls_with_the_loss_it_names(unit: str) -> None:
    """Mean square error plus ridge times the weights' squares never rises, and weights shrink."""
    data = load("sine", 0, "held-out", 200)
    x, y = torch.tensor(data.train.x), torch.tensor(data.train.y)
    start = rows_on_data(UNITS[unit], data.train.x, 6, np.random.default_rng(3))
    sizes = []
    for ridge in (1e-2, 1e-6):
        fits = list(iterates(UNITS[unit], x, y, start, max_iterations=8, ridge=ridge))
        losses = [f.rmse**2 + ridge * float(f.linear[:-1] @ f.linear[:-1]) for f in fits]
        assert all(np.diff(losses) <= 1e-14)
        sizes.append(float(torch.linalg.vector_norm(fits[-1].linear[:-1])))
    assert sizes[0] < sizes[1]


@pytest.fixture(scope="module")
def noisy() -> Dataset:
    """Few points of a smooth function under noise: training, validation and test."""
    draw = np.random.default_rng(4)
    parts = []
    for count in (60, 60, 2000):
        x = draw.uniform(-1.5, 1.5, (count, 2))
        noise = 0.5 * draw.standard_normal(count) if count < 1000 else 0.0
        parts.append(Points(x, np.sin(x[:, 0]) + x[:, 1] + noise))
    return Dataset("noisy", "held-out", *parts, np.zeros(2), np.ones(2), 0.0, 1.0)


def judged(made: Fit, points: Points, data: Dataset, margin: float = 0.1) -> float:
    return confined_rmse(made.network, points.x, points.y, data.train.y, margin)


@pytest.mark.parametrize("unit", list(UNITS))
def test_validation_keeps_a_network_from_fitting_noise(unit: str, noisy: Dataset) -> None:
    made = fit(noisy, unit, 12, solver=RidgePath(), seed=5)
    train = noisy.train
    assert made.train_rmse == rmse(made.closest, train.x, train.y)
    assert made.train_rmse < rmse(made.network, train.x, train.y)
    assert made.test_rmse == judged(made, noisy.test, noisy)
    assert made.test_rmse < rmse(made.closest, noisy.test.x, noisy.test.y)
    last = confined_rmse(made.closest, noisy.validation.x, noisy.validation.y, train.y, 0.1)
    assert judged(made, noisy.validation, noisy) <= last


@pytest.mark.parametrize("unit", list(UNITS))
def test_the_network_on_the_way_is_the_best_that_validation_saw(
    unit: str, noisy: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, to_network = [], module.to_network

    def watched(*arguments: Any) -> GatedNetwork:
        network = to_network(*arguments)
        seen.append(network)
        return network

    monkeypatch.setattr(module, "to_network", watched)
    made = fit(noisy, unit, 5, solver=FEW)
    points = noisy.validation
    errors = [confined_rmse(n, points.x, points.y, noisy.train.y, FEW.margin) for n in seen]
    assert judged(made, points, noisy) == min(errors)
    assert made.train_rmse <= min(rmse(n, noisy.train.x, noisy.train.y) for n in seen) + 1e-12


def test_the_papers_split_judges_the_closest_network_where_it_was_trained() -> None:
    data = load("friedman2", 1, "paper", 100)
    made = fit(data, "glu", 3, solver=FEW)
    assert made.network is made.closest or torch.equal(made.network.G, made.closest.G)
    assert made.test_rmse == made.train_rmse


def test_who_wants_the_best_only_stops_sooner(noisy: Dataset) -> None:
    whole = fit(noisy, "glu", 12, solver=RidgePath(), seed=5)
    short = fit(noisy, "glu", 12, solver=RidgePath(to_the_end=False), seed=5)
    assert short.iterations < whole.iterations
    points = noisy.validation
    assert judged(short, points, noisy) >= judged(whole, points, noisy)


def test_seeds_decide_and_repeat(noisy: Dataset) -> None:
    one, again, other = (fit(noisy, "mlp", 30, solver=RidgePath(), seed=s) for s in (6, 6, 7))
    points = noisy.train.x
    np.testing.assert_array_equal(predict(one.closest, points), predict(again.closest, points))
    assert not np.array_equal(predict(one.closest, points), predict(other.closest, points))


def test_the_settings_are_used(noisy: Dataset) -> None:
    """Iterations are those of rounds, ridges and starts, at most."""
    one = RidgePath(ridges=(1e-3,), iterations=9, last_iterations=(2, 2), most_starts=1)
    assert fit(noisy, "glu", 4, solver=one).iterations <= 2
    three = RidgePath(
        ridges=(1e-2, 1e-3, 1e-4), iterations=3, last_iterations=(2, 2), most_starts=1
    )
    assert 2 < fit(noisy, "glu", 4, solver=three).iterations <= 3 + 3 + 2
    starts = RidgePath(ridges=(1e-3,), last_iterations=(2, 2), most_starts=8, rounds=(1,), kept=8)
    assert 8 < fit(noisy, "glu", 4, solver=starts).iterations <= 8 + 2
    long = RidgePath(ridges=(1e-3,), last_iterations=(1, 9), last_work=4 * 29, most_starts=1)
    assert UNITS["glu"].parameter_count(2, 4) == 29
    assert fit(noisy, "glu", 4, solver=long).iterations == 4
    narrow, wide = (
        fit(noisy, "gqu", 12, solver=RidgePath(margin=margin), seed=5) for margin in (0.0, 0.5)
    )
    for made, margin in ((narrow, 0.0), (wide, 0.5)):
        assert made.test_rmse == judged(made, noisy.test, noisy, margin)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ridges": ()}, "ridges: expected at least one, got none"),
        ({"ridges": (1e-3, 0.0)}, "ridges: expected a finite number > 0, got 0"),
        ({"round_ridge": -1.0}, "ridges: expected a finite number > 0, got -1"),
        ({"iterations": 0}, "iterations: expected an integer >= 1, got 0"),
        ({"most_starts": 1.5}, "most_starts: expected an integer >= 1, got 1.5"),
        ({"kept": 0}, "kept: expected an integer >= 1, got 0"),
        ({"rounds": (4, 0)}, "rounds and last_iterations: expected an integer >= 1, got 0"),
        ({"margin": -0.1}, "margin: expected a finite number >= 0, got -0.1"),
        ({"device": "tpu"}, "unknown device 'tpu'; known are cpu, cuda"),
    ],
)
def test_bad_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RidgePath(**settings)


def test_bad_arguments_are_refused(noisy: Dataset) -> None:
    with pytest.raises(ValueError, match="n_hidden: expected an integer >= 1, got 0"):
        fit(noisy, "mlp", 0, solver=RidgePath())
    with pytest.raises(ValueError, match="unknown unit 'rnn'"):
        fit(noisy, "rnn", 3, solver=RidgePath())
    with pytest.raises(ValueError, match="unknown activation 'tanh'"):
        fit(noisy, "mlp", 3, solver=RidgePath(), activation="tanh")


def test_a_synthetic_problem_gives_both_splits() -> None:
    """The paper's points come first in the held-out draw, so its training error is the paper's."""
    held, paper = (
        fit(load("friedman2", 1, split, 300), "glu", 6, solver=RidgePath(), seed=1)
        for split in ("held-out", "paper")
    )
    assert held.train_rmse == pytest.approx(paper.train_rmse, rel=1e-6)
    assert paper.test_rmse == paper.train_rmse
    assert held.test_rmse > held.train_rmse


@pytest.mark.parametrize("dim", [1, 3])
def test_three_factors_follow_the_path(dim: int) -> None:
    quartic = Unit("quartic", (("U", "u"), ("Q", "q"), ("V", "v")))
    f = "exp(x)*sin(2*x)" if dim == 1 else "exp(x)*y + z**2"
    data = from_target(target(f), points=200)
    made = fit(data, quartic, 4, solver=FEW)
    assert made.status.word in ("converged", "iterations")
    assert made.train_rmse == rmse(made.closest, data.train.x, data.train.y)
    assert made.train_rmse < 0.5


@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device")
def test_the_same_code_runs_on_cuda() -> None:
    data = load("friedman1", 0, "paper", 500)
    host, device = (fit(data, "glu", 8, solver=RidgePath(device=d)) for d in ("cpu", "cuda"))
    assert device.train_rmse == pytest.approx(host.train_rmse, rel=0.2)


MEMORY = """
import resource, numpy as np, torch
from xsquared.data.problems import load
from xsquared.training.variable_projection import iterates, last, rows_on_data
from xsquared.units import UNITS
train, glu = load("friedman1", 0, "paper").train, UNITS["glu"]
rows = rows_on_data(glu, train.x, 64, np.random.default_rng(0))
x, y = torch.tensor(train.x), torch.tensor(train.y)
last(iterates(glu, x, y, rows, max_iterations=2, ridge=1e-3))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has another unit elsewhere")
def test_a_wide_glu_on_friedman_1_stays_below_two_gib() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 2 * 1024**2


def test_the_defaults_are_the_books() -> None:
    """What the book's numbers were computed with: another default is another protocol."""
    assert RidgePath() == RidgePath(
        ridges=(1e-3, 1e-6, 1e-10),
        iterations=5,
        last_iterations=(7, 25),
        last_work=8192,
        most_starts=48,
        start_work=40000,
        rounds=(4, 8),
        round_ridge=1e-6,
        kept=4,
        margin=0.1,
        to_the_end=True,
    )
