"""Growth: errors that never rise, networks recovered, convergence measured, validation obeyed."""

import itertools
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.data import unscaled
from tests.training.test_variable_projection import bent_record, every_record
from xsquared.data.dataset import Dataset, Points
from xsquared.data.problems import load
from xsquared.errors import rmse
from xsquared.training import Growth, fit, grow, variable_projection
from xsquared.training import growth as module
from xsquared.training.greedy import insertions
from xsquared.units import UNITS, GatedNetwork, Unit, build, predict, set_parameters

#: Enough to see every part of the way.
FEW = Growth(candidates=30, iterations=3, max_iterations=9, exchanges=1)
WAVES = load("sine", 0, "held-out", 150)


@every_record
def test_errors_never_rise_with_the_width(unit: Unit) -> None:
    made = grow(WAVES, unit, [1, 2, 3, 6, 9], solver=FEW, seed=1)
    assert [one.network.n_hidden for one in made] == [1, 2, 3, 6, 9]
    errors = [one.train_rmse for one in made]
    assert all(np.diff(errors) <= 1e-9 * errors[0])
    assert all(np.diff([one.wall_s for one in made]) > 0)
    assert all(np.diff([one.iterations for one in made]) >= 0)
    for one in made:
        assert one.train_rmse == rmse(one.closest, WAVES.train.x, WAVES.train.y)
        assert one.status.word in ("converged", "iterations")


@bent_record
def test_a_width_that_gains_nothing_keeps_its_error(
    unit: Unit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no descent ends well, the network of the width before stays, with idle neurons."""
    made = FEW.grow(WAVES, unit, [3, 5], "trained", 2)
    before = next(made)
    worse = module._Task.refined
    monkeypatch.setattr(
        module._Task, "refined", lambda *args: (replace(worse(*args)[0], rmse=9.0), False)
    )
    after = next(made)
    assert after.closest.n_hidden == 5
    expected = predict(before.closest, WAVES.test.x)
    np.testing.assert_allclose(predict(after.closest, WAVES.test.x), expected, atol=1e-9)
    assert (after.promised, after.status) == (before.promised, "iterations")


@pytest.mark.parametrize(("unit", "n"), [("mlp", 1), ("glu", 2), ("relu2_mlp", 2)])
def test_a_small_network_is_found(unit: str, n: int) -> None:
    """Values of a network are fitted to rounding by as many neurons."""
    x = np.random.default_rng(3).uniform(-1, 1, (300, 2))
    truth = build(unit, 2, n, generator=torch.Generator().manual_seed(4))
    set_parameters(truth, g=np.array([0.3, -0.2])[:n])
    points = Points(x, predict(truth, x))
    made = fit(unscaled(points), unit, n, solver=Growth(ridges=(1e-20,)), seed=5)
    assert made.train_rmse < 1e-8
    assert made.status.word == "converged"


def test_the_same_seed_grows_the_same_network() -> None:
    one, two = (fit(WAVES, "gqu", 4, solver=FEW, seed=3) for _ in range(2))
    assert torch.equal(one.closest.G, two.closest.G)
    assert one.train_rmse == two.train_rmse


def test_converged_means_that_twice_the_budget_changes_little() -> None:
    data = load("friedman1", 0, "paper", 300)
    solver = Growth(candidates=100, exchanges=1)
    made = fit(data, "glu", 6, solver=solver, seed=6)
    assert made.status.word == "converged"
    longer = fit(data, "glu", 6, solver=replace(solver, max_iterations=240), seed=6)
    assert longer.train_rmse > 0.98 * made.train_rmse
    short = fit(
        data, "glu", 6, solver=replace(solver, exchanges=0, iterations=1, max_iterations=2), seed=6
    )
    assert short.status.word == "iterations"


@pytest.fixture(scope="module")
def noisy() -> Dataset:
    """Few points of a smooth function under noise: training, validation and test."""
    draw, parts = np.random.default_rng(4), list[Points]()
    for count in (60, 60, 2000):
        x = draw.uniform(-1.5, 1.5, (count, 2))
        noise = 0.5 * draw.standard_normal(count) if count < 1000 else 0.0
        parts.append(Points(x, np.sin(x[:, 0]) + x[:, 1] + noise))
    return unscaled(*parts)


@pytest.mark.parametrize("unit", list(UNITS))
def test_validation_keeps_a_network_from_fitting_noise(unit: str, noisy: Dataset) -> None:
    narrow, wide = grow(noisy, unit, [2, 12], solver=FEW, seed=5)
    train, held = noisy.train, noisy.validation

    def judged(network: GatedNetwork) -> float:
        return noisy.error(network, held)

    assert judged(wide.network) <= judged(narrow.network) * (1 + 1e-9)
    assert judged(wide.network) <= judged(wide.closest)
    assert wide.network.n_hidden == 12
    assert wide.test_rmse == noisy.error(wide.network, noisy.test)
    assert wide.test_rmse < 0.35  # of noise of 0.5
    if unit != "bilinear":
        assert wide.train_rmse < rmse(wide.network, train.x, train.y)


def test_the_papers_split_uses_the_closest_network() -> None:
    data = load("friedman2", 1, "paper", 100)
    made = fit(data, "glu", 3, solver=FEW)
    assert made.test_rmse == made.train_rmse


@pytest.mark.parametrize("unit", ["mlp", "gqu", "geglu"])
def test_frozen_gates_stay_where_they_were_inserted(unit: str) -> None:
    made = grow(WAVES, unit, [2, 3, 5], solver=FEW, gates="frozen", seed=8)
    for one, other in itertools.pairwise(made):
        n = one.closest.n_hidden
        assert torch.equal(one.closest.G, other.closest.G[:n])
        assert torch.equal(one.closest.g, other.closest.g[:n])
    # With at most one factor each of these fits is one linear problem: there is no iteration.
    assert all(one.iterations == 0 for one in made) == (unit != "gqu")


def test_fit_goes_by_halves() -> None:
    alone, *_ = grow(WAVES, "glu", [1, 2, 3, 5], solver=FEW, seed=9)[-1:]
    assert fit(WAVES, "glu", 5, solver=FEW, seed=9).train_rmse == alone.train_rmse


def test_a_run_that_overflows_ends_the_list() -> None:
    parts = (WAVES.train, WAVES.validation, WAVES.test)
    huge = unscaled(*(Points(part.x, 1e200 * part.y) for part in parts))
    (made,) = grow(huge, "glu", [1, 2])
    assert (made.status.word, made.network) == ("diverged", None)


def test_of_many_points_some_choose_neurons_and_all_are_fitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 120 points there is memory for 30 candidates at 40, for 8 neurons' columns at 33."""
    data, seen = load("sine", 0, "paper", 120), set[int]()
    whole = fit(data, "glu", 5, solver=FEW)

    def watched(unit: Unit, points: torch.Tensor, *rest: Any) -> list[int]:
        seen.add(len(points))
        return insertions(unit, points, *rest)

    monkeypatch.setattr(module, "insertions", watched)
    monkeypatch.setattr(variable_projection, "MOST_NUMBERS", 3 * 30 * 40)
    made = fit(data, "glu", 5, solver=FEW)
    assert seen == {33, 40}
    assert made.status.word in ("converged", "iterations")
    assert made.train_rmse < 2 * whole.train_rmse


#: The least that trains at all, and more points than matrices of which fit into one block.
MEMORY = """
import resource
from xsquared import Growth, VariableProjection, fit, load
points, unit, n, solver = %r
few = {
    "growth": Growth(iterations=1, max_iterations=1, exchanges=0, share=1.0),
    "varpro": VariableProjection(max_iterations=1, starts=1),
}
made = fit(load("friedman1", 0, "paper", points), unit, n, solver=few[solver])
assert made.iterations > 0, made.detail
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has another unit elsewhere")
@pytest.mark.slow
@pytest.mark.parametrize(
    "task",
    [(2000, "glu", 64, "growth"), (400_000, "glu", 32, "varpro"), (200_000, "glu", 4, "growth")],
)
def test_what_is_wide_or_long_stays_below_two_gib(task: tuple[int, str, int, str]) -> None:
    """A matrix of 400,000 rows and 417 columns is 1.2 GiB, one of 200,000 and 1024 is 1.5."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY % (task,)], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 2 * 1024**2
