"""A unit, a gate and a solver of a reader's own: what works for one works, the rest refuses."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch

import xsquared
from xsquared import Gate, Unit, fit, from_target, register, sampled, target
from xsquared.data import Dataset
from xsquared.errors import rmse
from xsquared.training import SOLVERS, Gates, Trained, solver_from
from xsquared.units import build, parameter_count

FEW = {
    "varpro": {"max_iterations": 20, "starts": 2, "trial_iterations": 5},
    "growth": {"candidates": 20, "exchanges": 2, "max_iterations": 15},
    "free_knots": {},
    "newton": {"max_iterations": 3},
    "adamw": {"max_iterations": 40},
    "lbfgs": {"max_iterations": 20},
}


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


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_every_solver_trains_it_or_refuses_it_by_name(solver: str) -> None:
    data, made = data_in(3), solver_from(solver, FEW[solver])
    if solver == "free_knots":
        with pytest.raises(ValueError, match=r"free_knots .*one variable"):
            fit(data, "ungated", 4, solver=made)
        with pytest.raises(ValueError, match=r"free_knots .*'squared'"):
            fit(data_in(1), "squared_mlp", 4, solver=made)
        return
    result = fit(data, "ungated", 4, solver=made, activation="squared")
    assert result.status.word in ("converged", "iterations", "stalled")
    assert result.network is not None
    assert result.network.unit == Unit("ungated", (("U", "u"),), "squared")
    assert result.closest is not None
    assert result.train_rmse == rmse(result.closest, data.train.x, data.train.y)
    constant = float(np.std(data.train.y))
    assert solver == "adamw" or result.train_rmse < constant
    counted = sum(p.numel() for p in result.network.parameters())
    assert counted == parameter_count("ungated", 3, 4)


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
