"""The speedrun against the digits of its picture, and its steps against torch's
derivatives.
"""

import numpy as np
import pytest
import torch
from torch.func import functional_call, jacrev
from torch.nn.utils import parameters_to_vector

from xsquared.book.papers.figures import paper_points
from xsquared.functions import PAPER_TARGET
from xsquared.studies.published import (
    SWEEPS,
    Layers,
    least_squares,
    points_of,
    solve_in_turn,
)
from xsquared.studies.published_line import hessian, jacobian
from xsquared.studies.speedrun import PRINTED, line_points, speedrun, spline_start


def test_slopes_are_those_of_the_authors_picture() -> None:
    for run in speedrun(progress=False):
        assert run.slope.value == pytest.approx(PRINTED[run.unit], abs=5e-4)


@pytest.mark.parametrize("cell", SWEEPS)
def test_a_sweep_has_every_width_that_the_paper_plots(cell: tuple[str, str]) -> None:
    assert {*paper_points(*cell).index} <= {*SWEEPS[cell]}


@pytest.mark.parametrize("unit", ["mlp", "glu", "gqu"])
def test_jacobians_are_torchs(unit: str) -> None:
    x = points_of("friedman1", 0)["train"][0][:30]
    torch.manual_seed(3)
    network = Layers(5, unit, 4)
    for layer in (network.readout, *network.factors):
        named = {
            name: p
            for name, p in network.named_parameters()
            if p in {*layer.parameters()}
        }
        torchs = jacrev(lambda chosen: functional_call(network, chosen, (x,)))(named)
        ours = network.jacobian(layer, x)
        torch.testing.assert_close(
            ours, torch.hstack([p.flatten(1) for p in torchs.values()])
        )


def test_the_last_layer_solved_is_at_its_minimum() -> None:
    x, y = points_of("friedman2", 0)["train"]
    torch.manual_seed(0)
    network = Layers(4, "glu", 12)
    solve_in_turn(network, x, y)
    loss = (network(x) - y).square().mean()
    gradient = torch.autograd.grad(loss, [*network.factors[0].parameters()])
    assert max(part.abs().max() for part in gradient) < 1e-12


def test_drivers_agree_where_the_system_is_sound_and_differ_where_it_is_not() -> None:
    rng = np.random.default_rng(1)
    sound, right = rng.normal(size=(40, 5)), rng.normal(size=40)
    nearly = np.column_stack([sound, sound[:, 0] + 1e-9 * rng.normal(size=40)])
    for matrix, agree in ((sound, True), (nearly, False)):
        steps = [
            least_squares(matrix, right, driver)[0] for driver in ("gelsd", "normal")
        ]
        residuals = [np.linalg.norm(matrix @ step - right) for step in steps]
        oracle = np.linalg.norm(matrix @ np.linalg.lstsq(matrix, right)[0] - right)
        assert residuals[0] == pytest.approx(oracle, rel=1e-9)
        assert bool(residuals[1] == pytest.approx(oracle, rel=1e-6)) is agree


def test_an_unknown_problem_or_unit_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        ValueError, match="unknown problem 'sin'; known are sine, friedman1"
    ):
        points_of("sin", 0)
    with pytest.raises(ValueError, match="unknown unit 'gru'; known are mlp, glu, gqu"):
        Layers(2, "gru", 3)


@pytest.mark.parametrize("unit", ["mlp", "glu", "gqu"])
def test_the_assembled_hessian_is_torchs(unit: str) -> None:
    x, y = (part[:40] for part in line_points(PAPER_TARGET, 0)[0])
    network = spline_start(unit, 5, 0)
    layers = [network.gate, *network.factors, network.readout]
    parameters = [parameter for layer in layers for parameter in layer.parameters()]
    names = [
        next(name for name, found in network.named_parameters() if found is parameter)
        for parameter in parameters
    ]
    sizes = [parameter.numel() for parameter in parameters]

    def outputs(vector: torch.Tensor) -> torch.Tensor:
        parts = zip(names, parameters, vector.split(sizes), strict=True)
        chosen = {
            name: part.reshape(parameter.shape) for name, parameter, part in parts
        }
        result: torch.Tensor = functional_call(network, chosen, (x,))
        return result

    start = parameters_to_vector(parameters).detach()
    loss = torch.func.hessian(lambda vector: (outputs(vector) - y).square().mean())
    with torch.no_grad():
        torch.testing.assert_close(hessian(network, x, y, layers), loss(start))
        torch.testing.assert_close(jacobian(network, x, layers), jacrev(outputs)(start))
