"""A unit, a gate and a solver of a reader's own: what works for one works, the rest refuses."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch

import xsquared
from tests.training.test_fit import FEW
from xsquared import Gate, Unit, fit, from_target, register, sampled, target
from xsquared.data import Dataset
from xsquared.training import Gates, Trained
from xsquared.units import build, find_unit


@pytest.fixture(autouse=True)
def readers_own() -> None:
    """Five lines of a notebook, forgotten after the test."""
    register(Gate("squared", lambda z: torch.relu(z) ** 2, degree=2))
    register(Unit("squared_mlp", activation="squared"))
    register(Unit("ungated", factors=(("U", "u"),), activation="identity"))


def data_in(dim: int) -> Dataset:
    return (
        sampled(target("exp(2*x)*x"), 400)
        if dim == 1
        else from_target(target("exp(x)*y + z**2"), points=200)
    )


@pytest.mark.parametrize("solver", [name for name in FEW if name != "free_knots"])
def test_every_solver_of_points_trains_it(solver: str) -> None:
    result = fit(data_in(3), find_unit("ungated", "squared"), 4, solver=FEW[solver])
    assert result.status.word in ("converged", "iterations", "stalled")
    assert result.network.unit == Unit("ungated", (("U", "u"),), "squared")


def test_free_knots_refuse_it_by_name() -> None:
    with pytest.raises(ValueError, match=r"free_knots .*'squared'"):
        fit(data_in(1), "squared_mlp", 4, solver=FEW["free_knots"])


def test_a_quadratic_is_reached_exactly_by_one_ungated_neuron() -> None:
    # (x - a)(x + a) + const: no gate, two factors.
    result = fit(sampled(target("x**2 - x/3"), 50), "ungated", 1)
    assert result.train_rmse < 1e-10
    assert result.status.word == "converged"


@dataclass(frozen=True)
class Mean:
    """A solver of one's own: the mean of the values."""

    name: ClassVar[str] = "mean"

    def train(self, data: Dataset, unit: Unit, n_hidden: int, gates: Gates, seed: int) -> Trained:
        del gates, seed
        network = build(unit, data.dim, n_hidden)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.zero_()
            network.d.add_(float(data.train.y.mean()))
        return Trained(network, "converged", 0)


def test_a_solver_of_ones_own_goes_through_the_same_door() -> None:
    data = data_in(3)
    result = fit(data, "glu", 2, solver=Mean())
    assert result.train_rmse == pytest.approx(float(np.std(data.train.y)), rel=1e-12)
    assert result.solver == Mean()


def test_what_the_package_exports_is_there() -> None:
    for name in xsquared.__all__:
        assert getattr(xsquared, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'fitt'"):
        xsquared.fitt
