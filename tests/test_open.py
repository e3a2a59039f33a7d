"""A unit, a gate and a solver of a reader's own go through the package's door."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch

from xsquared import (
    FreeKnots,
    Gate,
    Growth,
    Unit,
    VariableProjection,
    fit,
    register,
    target,
)
from xsquared.data import Dataset, from_target, sampled
from xsquared.training import Fit, Gates
from xsquared.units import build, find_unit

SPACE = from_target(target("exp(x)*y + z**2"), points=200)


@pytest.fixture(autouse=True)
def readers_own() -> None:
    """Three lines of a notebook, forgotten after the test."""
    register(Gate("squared", lambda z: torch.relu(z) ** 2, degree=2))
    register(Unit("squared_mlp", activation="squared"))
    register(Unit("ungated", factors=(("U", "u"),), activation="identity"))


@pytest.mark.parametrize(
    "solver", [VariableProjection(), Growth()], ids=lambda one: one.name
)
def test_solvers_of_points_train_it(solver: VariableProjection | Growth) -> None:
    result = fit(SPACE, find_unit("ungated", "squared"), 4, solver=solver)
    assert result.status in ("converged", "iterations", "stalled")
    assert result.network.unit == Unit("ungated", (("U", "u"),), "squared")


def test_free_knots_refuse_it_by_name() -> None:
    with pytest.raises(ValueError, match=r"free_knots .*'squared'"):
        fit(sampled(target("exp(2*x)*x"), 400), "squared_mlp", 4, solver=FreeKnots())


def test_a_quadratic_is_reached_exactly_by_one_ungated_neuron() -> None:
    # (x - a)(x + a) + const: no gate, two factors.
    result = fit(sampled(target("x**2 - x/3"), 50), "ungated", 1)
    assert result.train_rmse < 1e-10
    assert result.status == "converged"


@dataclass(frozen=True)
class Mean:
    """A solver of one's own: the mean of the values."""

    name: ClassVar[str] = "mean"

    def train(
        self, data: Dataset, unit: Unit, n_hidden: int, gates: Gates, seed: int
    ) -> Fit:
        del gates, seed
        network = build(unit, data.dim, n_hidden)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.zero_()
            network.d.add_(float(data.train.y.mean()))
        return Fit(network, "converged", 0)


def test_a_solver_of_ones_own_goes_through_the_same_door() -> None:
    result = fit(SPACE, "glu", 2, solver=Mean())
    assert result.train_rmse == pytest.approx(float(np.std(SPACE.train.y)), rel=1e-12)
