"""The author's runs: digits of his picture, and steps against torch's derivatives."""

from unittest.mock import Mock

import numpy as np
import pytest
import torch
from torch.func import functional_call, jacrev
from torch.nn.utils import parameters_to_vector

from xsquared.book.papers.figures import paper_points
from xsquared.functions import PAPER_TARGET
from xsquared.studies import published_line
from xsquared.studies.published import (
    FEW,
    SWEEPS,
    Driver,
    Layers,
    few_widths,
    least_squares,
    points_of,
    solve_in_turn,
    window,
)
from xsquared.studies.published_line import (
    _run_published_line,
    hessian,
    jacobian,
    newton,
)
from xsquared.studies.speedrun import PRINTED, line_points, speedrun, spline_start


def test_slopes_are_those_of_the_authors_picture() -> None:
    for run in speedrun():
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
    solve_in_turn(network, x, y, "normal")
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


@pytest.mark.parametrize("driver", ["normal", "gelsd", "gelsy"])
def test_two_equal_columns_share_the_step_of_one(driver: Driver) -> None:
    rng = np.random.default_rng(4)
    sound, right = rng.normal(size=(40, 5)), rng.normal(size=40)
    doubled = np.column_stack([sound, sound[:, 0]])
    step, condition = least_squares(doubled, right, driver)
    of_one = np.linalg.lstsq(sound, right)[0]
    assert condition > 1e12
    np.testing.assert_allclose(step[[0, 5]], of_one[0] / 2, rtol=1e-6)
    np.testing.assert_allclose(step[1:5], of_one[1:], rtol=1e-6)


def test_the_worst_condition_is_that_of_any_layer() -> None:
    x = torch.linspace(-1, 1, 9, dtype=torch.float64)[:, None]
    network = Layers(1, "glu", 1)
    with torch.no_grad():
        for layer in (network.gate, *network.factors):
            layer.weight.zero_()
            layer.bias.fill_(1.0)
    # The neuron is one, as the readout's bias is; the factor's columns are x and one.
    assert solve_in_turn(network, x, x[:, 0], "gelsd") == np.inf


def test_the_waves_have_other_points_by_seed_and_one_grid() -> None:
    x, y = points_of("sine", 1)["train"]
    assert not torch.equal(x, points_of("sine", 0)["train"][0])
    assert x.shape == (2000, 2)
    torch.testing.assert_close(y, torch.sin(4 * x[:, 0]) * torch.sin(4 * x[:, 1]))
    grid, values = points_of("sine", 1)["test"]
    sides = [np.unique(grid[:, axis].numpy()) for axis in (0, 1)]
    np.testing.assert_allclose(sides, 2 * [np.arange(-43, 44, 2) / 43])
    assert len(grid) == 44**2
    torch.testing.assert_close(
        values, torch.sin(4 * grid[:, 0]) * torch.sin(4 * grid[:, 1])
    )


def test_few_widths_are_the_nearest_to_equal_ratios() -> None:
    wide = window("friedman1", "mlp")
    few = few_widths("friedman1", "mlp")
    assert (few[0], few[-1], len(few)) == (wide[0], wide[-1], FEW)
    ratio = (wide[-1] / wide[0]) ** (1 / (FEW - 1))
    for k, n in enumerate(few):
        even = wide[0] * ratio**k
        off = max(n / even, even / n)
        assert all(off <= max(m / even, even / m) + 1e-12 for m in wide)


def loss_of(network: Layers, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (network(x) - y).square().mean()


def all_layers(network: Layers) -> list[torch.nn.Module]:
    return [network.gate, *network.factors, network.readout]


def test_where_newtons_step_leads_uphill_the_loss_still_falls() -> None:
    x = torch.linspace(-1, 1, 9, dtype=torch.float64)[:, None]
    y = torch.sin(3 * x[:, 0])
    torch.manual_seed(5)  # of a start with an indefinite Hessian
    network = Layers(1, "glu", 2)
    before = loss_of(network, x, y).item()
    layers = all_layers(network)
    parameters = [p for layer in layers for p in layer.parameters()]
    gradient = parameters_to_vector(
        torch.autograd.grad(loss_of(network, x, y), parameters)
    )
    with torch.no_grad():
        step = torch.linalg.solve(hessian(network, x, y, layers), -gradient)
    assert gradient @ step > 0
    newton(network, x, y, layers, 1)
    assert loss_of(network, x, y).item() < before / 2


def test_newton_steps_end_at_a_minimum_and_leave_a_gate_that_is_off() -> None:
    x, y = (part[:200] for part in line_points(PAPER_TARGET, 0)[0])
    network = Layers(1, "mlp", 4)
    with torch.no_grad():
        network.gate.weight.fill_(1.0)
        network.gate.bias.copy_(torch.tensor([0.8, 0.1, -0.5, -2.0]))  # on beyond x = 2
        network.readout.weight.copy_(torch.tensor([[0.5, -1.0, 1.0, 1.0]]))
    assert newton(network, x, y, [network.gate], 10) == 10
    loss = loss_of(network, x, y)
    gradients = torch.autograd.grad(loss, [*network.gate.parameters()])
    assert max(gradient.abs().max() for gradient in gradients) < 1e-12
    assert network.gate.weight[3] == 1.0
    assert network.gate.bias[3] == -2.0
    assert not (network.gate.weight[:3] == 1.0).any()


def test_a_singular_hessian_ends_the_steps_and_moves_nothing() -> None:
    # Where the gate is on, weight and bias do the same; at half the points it is off. So
    # the Hessian is a matrix of ones, which no rounding makes regular.
    x = torch.tensor(4 * [[1.0]] + 4 * [[-5.0]], dtype=torch.float64)
    network = Layers(1, "mlp", 1)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.fill_(1.0)
    assert newton(network, x, torch.zeros(8), [network.gate], 3) == 0
    assert all(torch.equal(p, torch.ones_like(p)) for p in network.parameters())


def test_after_gates_that_stall_no_other_weights_move(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    newton_of_gates = Mock(return_value=2)  # of three steps
    monkeypatch.setattr(published_line, "newton", newton_of_gates)
    trial = published_line._published_line_trials("all", [4])[0]
    values = _run_published_line(trial)
    newton_of_gates.assert_called_once()
    assert (values["iterations"], values["status"]) == (2, "stalled")


def test_as_many_points_as_unknowns_have_an_infinite_condition() -> None:
    """Every point is fitted then; one point more, and the triangle says it."""
    square, tall = np.eye(3), np.eye(4)[:, :3]
    assert least_squares(square, np.ones(3), "gelsd")[1] == np.inf
    assert least_squares(tall, np.ones(4), "gelsd")[1] == 1
