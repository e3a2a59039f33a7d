"""Newton's method: exact derivatives, steps, and minima of linear least squares."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from xsquared.geometry import spline_gates
from xsquared.training.newton import (
    _gradient_and_hessian,
    _newton_direction,
    newton,
)
from xsquared.training.result import Fit
from xsquared.training.start import layers
from xsquared.units import GATES, UNITS, Gate, GatedNetwork, build, set_parameters

X = torch.linspace(-1, 1, 80, dtype=torch.float64)[:, None]
Y = torch.sin(3 * X[:, 0])


Layers = Sequence[tuple[str, ...]]


def sweeps(network: GatedNetwork, y: Tensor, stage: Layers, limit: int) -> Fit:
    return newton(network, X, y, [stage], limit)


def losses(run: Fit) -> np.ndarray:
    return run.history[:, 1] ** 2


def network_of(unit: str, n: int = 4, seed: int = 0) -> GatedNetwork:
    """Gates on equidistant knots, all else random."""
    draw = np.random.default_rng(seed)
    network = build(unit, 1, n)
    gates = dict(zip("Gg", spline_gates(n, (-1.0, 1.0), "alternating"), strict=True))
    rest = {
        name: draw.standard_normal(tuple(p.shape))
        for name, p in network.named_parameters()
        if name not in gates
    }
    set_parameters(network, **gates, **rest)
    return network


def loss_of(network: GatedNetwork) -> float:
    with torch.no_grad():
        return float(torch.mean((network(X)[:, 0] - Y) ** 2))


@pytest.mark.parametrize("unit", list(UNITS))
# Some hinges lie on points, where the second derivative of relu2 jumps.
@pytest.mark.parametrize("activation", sorted(set(GATES) - {"relu", "relu2"}))
def test_derivatives_of_a_network_by_differences(unit: str, activation: str) -> None:
    network = build(unit, 1, 3, 1, activation)
    network.load_state_dict(network_of(unit, 3).state_dict())
    names, shapes = zip(
        *((k, p.shape) for k, p in network.named_parameters()), strict=True
    )
    sizes = [shape.numel() for shape in shapes]

    def loss(theta: Tensor) -> Tensor:
        pieces = torch.split(theta, sizes)
        given_parameters = {
            k: v.reshape(s) for k, v, s in zip(names, pieces, shapes, strict=True)
        }
        return torch.mean(
            (torch.func.functional_call(network, given_parameters, X)[:, 0] - Y) ** 2
        )

    theta = torch.cat([p.detach().reshape(-1) for p in network.parameters()])
    gradient, hessian = _gradient_and_hessian(loss, theta, None)
    slopes, curvatures = [], []
    for shift in 1e-5 * torch.eye(len(theta), dtype=torch.float64):
        slopes.append(float(loss(theta + shift) - loss(theta - shift)) / 2e-5)
        up, down = (torch.func.grad(loss)(theta + s) for s in (shift, -shift))
        curvatures.append(((up - down) / 2e-5).numpy())
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(hessian, curvatures, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-10)


@given(st.integers(1, 10), st.integers(0, 10**6))
def test_a_definite_system_is_solved(size: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    root, gradient = draw.standard_normal((size + 2, size)), draw.standard_normal(size)
    hessian = root.T @ root + 0.1 * np.eye(size)
    scale = 10.0 ** draw.uniform(-2, 2, size)
    direction = _newton_direction(scale * gradient, hessian * np.outer(scale, scale))
    np.testing.assert_allclose(
        scale * direction, -np.linalg.solve(hessian, gradient), rtol=1e-8, atol=1e-8
    )


@given(st.integers(2, 10), st.integers(0, 10**6))
def test_the_direction_descends_for_an_indefinite_system(size: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    root, gradient = draw.standard_normal((size, size)), draw.standard_normal(size)
    hessian = root + root.T
    direction = _newton_direction(gradient, hessian)
    assert gradient @ direction < 0
    # On the scale of the preconditioner: eigenvalues by their sizes.
    scale = 1 / np.sqrt(np.abs(np.diag(hessian)))
    values, vectors = np.linalg.eigh(hessian * np.outer(scale, scale))
    positive = vectors * np.abs(values) @ vectors.T
    expected = -scale * np.linalg.solve(positive, scale * gradient)
    np.testing.assert_allclose(direction, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("gradient", "hessian", "expected", "rtol", "atol"),
    [
        (
            [2, 0, 2, 1],
            np.diag([2.0, 0.0, 4.0, 1e-20]),
            [-1, 0, -0.5, 0],
            0,
            0,
        ),  # dead rows stay
        ([1, 1, 1], np.zeros((3, 3)), [0, 0, 0], 0, 0),
        (
            [3, 3],
            np.ones((2, 2)),
            [-1.5, -1.5],
            1e-7,
            0,
        ),  # two acting as their sum share the step
        # What is singular is a share of the largest, on the scale of the
        # preconditioner.
        ([2, 2, 2], np.diag([2.0, 2e-8, 2e-14]), [-1, -1e8, 0], 1e-7, 0),
        ([1, -1], np.array([[1, 1 - 1e-4], [1 - 1e-4, 1]]), [-1e4, 1e4], 1e-6, 1e-12),
        ([1, -1], np.array([[1, 1 - 1e-14], [1 - 1e-14, 1]]), [0, 0], 1e-6, 1e-12),
    ],
)
def test_directions_without_curvature_are_left_out(
    gradient: list[int],
    hessian: np.ndarray,
    expected: list[float],
    rtol: float,
    atol: float,
) -> None:
    direction = _newton_direction(np.array(gradient, float), hessian)
    np.testing.assert_allclose(direction, expected, rtol=rtol, atol=atol)


def test_an_mlp_with_frozen_gates_reaches_its_least_squares_minimum() -> None:
    """Its loss is quadratic in (D, d): one step is enough."""
    network = network_of("mlp")
    hidden = network.hidden(X).detach().numpy()
    matrix = np.column_stack([hidden, np.ones(len(X))])
    c, *_ = np.linalg.lstsq(matrix, Y.numpy(), rcond=None)
    expected = np.mean((matrix @ c - Y.numpy()) ** 2)
    run = sweeps(network, Y, layers(network, train_gates=False), 10)
    assert math.isclose(losses(run)[1], expected, rel_tol=1e-9)
    assert math.isclose(loss_of(network), expected, rel_tol=1e-9)
    assert run.status == "converged"
    np.testing.assert_allclose(network(X).detach()[:, 0], matrix @ c, atol=1e-9)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (0.5, -(0.5**3)),  # the whole step is taken
        (1 - 1e-5, (1 - 1e-5) * (1 - (1 - 1e-5) ** 2) / 2),  # half of it
        (2.0, 2 - 2 * (1 + 2**2) / 4),  # a quarter
    ],
)
def test_a_step_must_lower_the_loss_by_a_share_of_what_it_promises(
    start: float, end: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From z Newton's step on sqrt(1 + z^2) leads to -z^3, by z (1 + z^2).

    Just below one the whole step lowers the loss by less than 1e-4 of the slope along
    it, and above one it raises it.
    """
    monkeypatch.setitem(GATES, "root", Gate("root", lambda z: (1 + z**2) ** 0.25))
    network = build("mlp", 1, 1, activation="root")
    set_parameters(network, G=[[0.0]], g=[start], D=[[1.0]], d=[0.0])
    point = torch.zeros(1, 1, dtype=torch.float64)
    newton(network, point, point[:, 0], [[("g",)]], 1)
    assert float(network.g.detach()) == pytest.approx(end, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("start", "sweeps"), [(0.01, 3), (0.0187, 3), (0.02, 4), (0.1, 8)]
)
def test_three_idle_sweeps_in_a_row_end_a_stage(
    start: float, sweeps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On 1 + z^4 a step leads to 2/3 z: a sweep gains (1 - 16/81) z^4.

    From 0.0187 each sweep gains less than 1e-7, but three together more.
    """
    monkeypatch.setitem(GATES, "flat", Gate("flat", lambda z: (1 + z**4) ** 0.5))
    gains = (1 - 16 / 81) * (start * (2 / 3) ** np.arange(sweeps)) ** 4
    assert (gains < 1e-7).tolist() == [False] * (sweeps - 3) + [True] * 3
    network = build("mlp", 1, 1, activation="flat")
    set_parameters(network, G=[[0.0]], g=[start], D=[[1.0]], d=[0.0])
    point = torch.zeros(1, 1, dtype=torch.float64)
    run = newton(network, point, point[:, 0], [[("g",)]], 99)
    assert (run.iterations, run.status) == (sweeps, "converged")
    end = start * (2 / 3) ** sweeps
    assert float(network.g.detach()) == pytest.approx(end, rel=1e-6)


@pytest.mark.parametrize("unit", list(UNITS))
@pytest.mark.parametrize("train_gates", [True, False])
def test_losses_never_rise_and_are_those_of_the_network(
    unit: str, train_gates: bool
) -> None:
    network = network_of(unit)
    before, gates = loss_of(network), network.G.detach().clone()
    run = sweeps(network, Y, layers(network, train_gates), 8)
    assert math.isclose(losses(run)[0], before, rel_tol=1e-15)
    assert math.isclose(losses(run)[-1], loss_of(network), rel_tol=1e-15)
    assert (np.diff(losses(run)) <= 0).all()
    assert losses(run)[-1] < 0.5 * before
    seconds = run.history[:, 0]
    assert seconds[0] == 0
    assert (np.diff(seconds) > 0).all()
    assert (run.network is network, run.iterations) == (True, len(seconds) - 1)
    moved = float((network.G.detach() - gates).abs().max())
    # A bilinear layer of this width is a quadratic whatever its gates: they are minimal
    # already, and only rounding, which is another on other machines, can say that a
    # step would help.
    assert (moved > 1e-9) is (train_gates and unit != "bilinear")
    assert train_gates or moved == 0


@pytest.mark.parametrize(
    "unit", [name for name, unit in UNITS.items() if unit.gate.hinged]
)
def test_a_dead_neuron_does_not_break_a_run(unit: str) -> None:
    network = network_of(unit)
    gates, biases = network.G.detach().numpy().copy(), network.g.detach().numpy().copy()
    gates[1], biases[1] = 1.0, -9.0
    set_parameters(network, G=gates, g=biases)
    row = [getattr(network, letter).detach()[1].clone() for letter in ("G", "g")]
    weight = float(network.D.detach()[0, 1])
    run = sweeps(network, Y, layers(network, True), 5)
    assert losses(run)[-1] < losses(run)[0]
    assert torch.equal(network.G[1], row[0])
    assert torch.equal(network.g[1], row[1])
    assert float(network.D.detach()[0, 1]) == weight
