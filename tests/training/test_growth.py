"""Growth: errors that never rise, networks recovered, validation obeyed."""

import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tests.data import unscaled
from tests.training.test_variable_projection import records
from xsquared.data.dataset import Dataset, Points
from xsquared.data.problems import load
from xsquared.errors import rmse
from xsquared.training import Growth, fit, grow
from xsquared.training import growth as module
from xsquared.training.variable_projection import ProjectedFit
from xsquared.units import UNITS, GatedNetwork, Unit, build, predict, set_parameters

WAVES = load("sine", 0, "held-out", 150)


@pytest.fixture(autouse=True)
def few_exchanges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough to see every part of the way."""
    monkeypatch.setattr(module, "_EXCHANGES", 1)


@records(lambda unit: not unit.paired)
def test_errors_never_rise_with_the_width(unit: Unit) -> None:
    made = grow(WAVES, unit, [1, 2, 4], seed=1)
    assert [one.network.n_hidden for one in made] == [1, 2, 4]
    x, y = WAVES.train.x, WAVES.train.y
    errors = [rmse(one.training_minimiser, x, y) for one in made]
    assert all(np.diff(errors) <= 1e-9 * errors[0])
    assert all(np.diff([one.seconds for one in made]) > 0)
    assert all(np.diff([one.iterations for one in made]) >= 0)
    for one in made:
        assert one.status in ("converged", "iterations", "stalled")


@pytest.mark.parametrize("unit", ["mlp", "gqu", "swiglu"])
def test_a_width_that_gains_nothing_keeps_its_error(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no descent ends well, the network before stays, with idle neurons."""
    made = Growth().grow(WAVES, UNITS[unit], [3, 5], "trained", 2)
    before = next(made)
    worse = module._Task.refine
    monkeypatch.setattr(
        module._Task,
        "refine",
        lambda *args: (replace(worse(*args)[0], rmse=9.0), "iterations"),
    )
    after = next(made)
    assert after.training_minimiser.n_hidden == 5
    expected = predict(before.training_minimiser, WAVES.test.x)
    np.testing.assert_allclose(
        predict(after.training_minimiser, WAVES.test.x), expected, atol=1e-9
    )
    assert (after.promised, after.status) == (before.promised, "iterations")


@pytest.mark.parametrize(("unit", "n"), [("mlp", 1), ("glu", 2), ("relu2_mlp", 2)])
def test_a_small_network_is_found(unit: str, n: int) -> None:
    """Values of a network are fitted to rounding by as many neurons."""
    x = np.random.default_rng(3).uniform(-1, 1, (300, 2))
    truth = build(unit, 2, n, generator=torch.Generator().manual_seed(4))
    set_parameters(truth, g=np.array([0.3, -0.2])[:n])
    points = Points(x, predict(truth, x))
    made = fit(unscaled(points), unit, n, solver=Growth(), seed=5)
    assert made.train_rmse < 1e-6  # the ridge leaves so much
    assert made.status == "converged"


def test_converged_means_that_twice_the_budget_changes_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = load("friedman1", 0, "paper", 300)
    made = fit(data, "glu", 6, seed=6)
    assert made.status == "converged"
    monkeypatch.setattr(module, "_MOST_ITERATIONS", 240)
    longer = fit(data, "glu", 6, seed=6)
    assert longer.train_rmse > 0.98 * made.train_rmse
    monkeypatch.setattr(module, "_MOST_ITERATIONS", 2)
    assert fit(data, "glu", 6, seed=6).status == "iterations"


@pytest.mark.parametrize(
    ("errors", "iterations", "status"),
    [
        (0.99 ** np.arange(121), 120, "iterations"),
        (0.99 ** np.minimum(np.arange(121), 30), 60, "converged"),
    ],
)
def test_a_refinement_ends_where_twice_the_steps_gain_less_than_two_per_cent(
    errors: np.ndarray, iterations: int, status: str
) -> None:
    """After 15, 30, 60 and 120 steps, so that slow steps may add up."""
    fits = [
        ProjectedFit(None, None, error, k, "iterations")
        for k, error in enumerate(errors.tolist())
    ]
    task: Any = SimpleNamespace(descend=lambda *_: iter(fits))
    end, word = module._Task.refine(task, None, 120)
    assert (end.iterations, word) == (iterations, status)


@pytest.fixture(scope="module")
def noisy() -> Dataset:
    """Few points of a smooth function under noise: training, validation and test."""
    draw, parts = np.random.default_rng(4), list[Points]()
    for count in (60, 60, 2000):
        x = draw.uniform(-1.5, 1.5, (count, 2))
        noise = 0.5 * draw.standard_normal(count) if count < 1000 else 0.0
        parts.append(Points(x, np.sin(x[:, 0]) + x[:, 1] + noise))
    return unscaled(*parts)


@pytest.mark.parametrize("unit", [name for name in UNITS if not UNITS[name].paired])
def test_validation_keeps_a_network_from_fitting_noise(
    unit: str, noisy: Dataset
) -> None:
    narrow, wide = grow(noisy, unit, [2, 12], seed=5)
    train, held = noisy.train, noisy.validation

    def judged(network: GatedNetwork) -> float:
        return noisy.error(network, held)

    assert judged(wide.network) <= judged(narrow.network) * (1 + 1e-9)
    assert judged(wide.network) <= judged(wide.training_minimiser)
    assert wide.network.n_hidden == 12
    assert wide.test_rmse == noisy.error(wide.network, noisy.test)
    assert wide.test_rmse < 0.4  # of noise of 0.5
    if unit != "bilinear":
        assert wide.train_rmse > rmse(wide.training_minimiser, train.x, train.y)


@pytest.mark.parametrize("unit", ["mlp", "gqu", "geglu"])
def test_frozen_gates_stay_where_they_were_inserted(unit: str) -> None:
    made = [*Growth().grow(WAVES, UNITS[unit], [2, 3, 5], "frozen", 8)]
    for one, other in itertools.pairwise(made):
        n = one.training_minimiser.n_hidden
        assert torch.equal(one.training_minimiser.G, other.training_minimiser.G[:n])
        assert torch.equal(one.training_minimiser.g, other.training_minimiser.g[:n])
    # With at most one factor each of these fits is one linear problem: there is no
    # iteration.
    assert all(one.iterations == 0 for one in made) == (unit != "gqu")
