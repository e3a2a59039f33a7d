"""The gated-units paper's optimiser (section 4.1): Newton's method, layer by layer.

Reference: Nocedal and Wright, Numerical Optimization, sections 3.1 and 3.4.
"""

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from xsquared.data.dataset import Dataset
from xsquared.training.result import Fit, Gates
from xsquared.training.start import Layers, layers, mean_square, start
from xsquared.units import GatedNetwork, Unit, set_parameters

#: Share of the largest at which diagonals of the Hessian, and its eigenvalues, count as
#: zero.
_RCOND = 1e-13
#: Share of the promised decrease that a step must bring (Nocedal and Wright, 3.4).
_ARMIJO = 1e-4
#: Steps tried, each half as long as the one before.
_HALVINGS = 30
#: A sweep that lowers the loss by less than this share is idle; a layer whose model
#: promises no more is minimal.
_STALL = 1e-7
#: Idle sweeps in a row that end a stage.
_PATIENCE = 3
#: A loss that is rounding: values of about one are met to twelve digits.
_ROUNDING = 1e-24
#: Numbers in the arrays of the Hessian columns computed at a time: a processor's cache
#: holds them.
_ELEMENTS = 400_000


@dataclass(frozen=True)
class Newton:
    """Minimise the mean square error on the training points, in the paper's stages.

    Stages are spline weights; gates as well; all parameters as one layer (where
    ``joint``). Each has at most ``max_iterations`` sweeps, of a step in every layer,
    halved until the loss falls::

        step = -S abs(S H S)^-1 S g,   S = diag(abs(diag(H)))^-1/2

    Zero rows (dead neurons) and eigenvalues of the exact Hessian H are eliminated (our
    choices).
    """

    name: ClassVar[str] = "newton"
    max_iterations: int = 100
    joint: bool = True

    def train(
        self, data: Dataset, unit: Unit, n_hidden: int, gates: Gates, seed: int
    ) -> Fit:
        """Train any unit with any gate, from :mod:`xsquared.training.start`."""
        network = start(data, unit, n_hidden, seed)
        x, y = torch.tensor(data.train.x), torch.tensor(data.train.y)
        stages = [layers(network, train_gates=False)]
        if gates == "trained":
            stages.append(layers(network, train_gates=True))
            if self.joint:
                stages.append((tuple(itertools.chain(*stages[-1])),))
        return newton(network, x, y, stages, self.max_iterations)


def newton(
    network: GatedNetwork,
    x: Tensor,
    y: Tensor,
    stages: Sequence[Layers],
    max_iterations: int,
) -> Fit:
    """Train layers of a network in place, stage after stage, on x (N, d) and y (N,).

    A stage ends where no layer moves, where three sweeps in a row gain next to nothing,
    or after so many sweeps. "stalled" is where no line search found the descent that a
    quadratic model promised.
    """

    def current_loss() -> float:
        return float(mean_square(network, x, y).detach())

    begun = time.perf_counter()
    seconds = [0.0]
    losses = [current_loss()]
    status = "converged"
    if not np.isfinite(losses[0]):
        stages = ()
        status = "diverged"
    for stage in stages:
        status = "iterations"
        idle = 0
        for _ in range(max_iterations):
            outcomes = [_step(network, layer, x, y) for layer in stage]
            losses.append(current_loss())
            seconds.append(time.perf_counter() - begun)
            before, after = losses[-2:]
            if "fell" not in outcomes:
                stuck = "stuck" in outcomes and after > _ROUNDING
                status = "stalled" if stuck else "converged"
                break
            idle = idle + 1 if before - after < _STALL * before else 0
            if idle == _PATIENCE:
                status = "converged"
                break
    history = np.column_stack([seconds, np.sqrt(losses)])
    return Fit(network, status, len(losses) - 1, history=history)


def _gradient_and_hessian(
    loss: Callable[[Tensor], Tensor], theta: Tensor, columns: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Compute exact derivatives (p,) and (p, p) of a scalar function at theta (p,)."""
    gradient, back = torch.func.vjp(torch.func.grad(loss), theta)[:2]
    identity = torch.eye(len(theta), dtype=theta.dtype)
    (hessian,) = torch.func.vmap(back, chunk_size=columns)(identity)
    return gradient.detach().numpy(), hessian.detach().numpy()


def _newton_direction(gradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    """Compute the descent direction -S abs(S H S)^-1 S g (p,), S that of the class.

    It is zero in rows of H whose diagonal is zero, and along eigenvectors of S H S
    whose eigenvalue is.
    """
    direction = np.zeros_like(gradient)
    diagonal = np.abs(np.diag(hessian))
    kept = diagonal > _RCOND * diagonal.max(initial=0.0)
    if not kept.any():
        return direction
    scale = 1 / np.sqrt(diagonal[kept])
    scaled = hessian[np.ix_(kept, kept)] * np.outer(scale, scale)
    values, vectors = np.linalg.eigh((scaled + scaled.T) / 2)
    sizes = np.abs(values)
    regular = sizes > _RCOND * sizes.max()
    inverse = np.where(regular, 1 / np.maximum(sizes, 1e-300), 0.0)
    projected = vectors.T @ (scale * gradient[kept])
    direction[kept] = -scale * (vectors @ (inverse * projected))
    return direction


def _step(
    network: GatedNetwork, layer: tuple[str, ...], x: Tensor, y: Tensor
) -> Literal["fell", "minimal", "stuck"]:
    """Take a Newton step in one layer, in place, halved until the loss falls enough.

    Where it does not, the layer is minimal if the quadratic model, whose least value
    lies half the slope below, promises next to nothing, else stuck.
    """
    shapes = [getattr(network, letter).shape for letter in layer]
    sizes = [shape.numel() for shape in shapes]

    def parameters(theta: Tensor) -> dict[str, Tensor]:
        pieces = torch.split(theta, sizes)
        return {
            letter: piece.reshape(shape)
            for letter, piece, shape in zip(layer, pieces, shapes, strict=True)
        }

    def loss(theta: Tensor) -> Tensor:
        output = torch.func.functional_call(network, parameters(theta), (x,))
        return torch.mean((output[:, 0] - y) ** 2)

    theta = torch.cat(
        [getattr(network, letter).detach().reshape(-1) for letter in layer]
    )
    columns = max(1, _ELEMENTS // (len(x) * network.n_hidden))
    gradient, hessian = _gradient_and_hessian(loss, theta, columns)
    if not (np.isfinite(gradient).all() and np.isfinite(hessian).all()):
        return "stuck"
    direction = _newton_direction(gradient, hessian)
    step = torch.from_numpy(direction)
    slope = float(gradient @ direction)
    with torch.no_grad():
        before = float(loss(theta))
        lengths = 0.5 ** np.arange(_HALVINGS) if slope < 0 else np.empty(0)
        for length in lengths:
            moved = theta + length * step
            if float(loss(moved)) < before + _ARMIJO * length * slope:
                set_parameters(network, **parameters(moved))
                return "fell"
    return "minimal" if -slope / 2 <= _STALL * before else "stuck"
