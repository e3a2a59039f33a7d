"""The gated-units paper's optimiser (section 4.1): Newton's method, layer by layer, full batch.

A layer is a weight and its bias: (D, d), (U, u), (Q, q) or (G, g). One sweep takes one Newton step
in every trained layer in turn; all parameters together can be a layer as well. A step uses the
layer's exact Hessian by torch.func, scaled by its diagonal (Jacobi preconditioning) after rows that
are zero have been eliminated (dead neurons), and is followed by a line search: strong Wolfe, and
backtracking where that finds nothing.

Two choices are ours, as the paper leaves them open: a Hessian that is not positive definite has its
eigenvalues replaced by their sizes, so that the step descends, and eigenvalues below a fraction of
the largest are treated as eliminated rows are.

Reference:
    A. F. Queiruga (2026), section 4.1; Nocedal and Wright, Numerical Optimization, sections 3.4
    and 3.5.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from scipy.optimize import line_search
from torch import Tensor

from xsquared.units import GatedNetwork

#: Hessian rows whose diagonal is below this fraction of the largest are eliminated.
_SINGULAR = 1e-13
#: Eigenvalues of the scaled Hessian below this fraction of the largest are eliminated.
_RCOND = 1e-13
#: A sweep that lowers the loss by less than this fraction counts as no progress.
_STALL = 1e-7
#: Sweeps without progress before the run stops.
_PATIENCE = 3
#: Numbers in the arrays of the Hessian columns computed at a time: bounds the memory.
_ELEMENTS = 4_000_000
_ARMIJO = 1e-4
_HALVINGS = 30


@dataclass(frozen=True)
class NewtonRun:
    """How a run ended.

    Attributes:
        losses: (sweeps + 1,) mean square error, the start's first.
        seconds: (sweeps + 1,) time since the start, as counted by ``clock``.
        status: ``"converged"``, ``"stalled"`` (no line search found the descent that a layer's
            quadratic model promised), ``"iterations"`` or ``"diverged"``.
    """

    losses: np.ndarray
    seconds: np.ndarray
    status: Literal["converged", "stalled", "iterations", "diverged"]


def layers(network: GatedNetwork, train_gates: bool) -> tuple[tuple[str, ...], ...]:
    """The trained layers in the order of a sweep, each a weight's and a bias's letter."""
    gates = (("G", "g"),) if train_gates else ()
    return (("D", "d"), *network.factors, *gates)


def newton(
    network: GatedNetwork,
    x: Tensor,
    y: Tensor,
    trained: Sequence[tuple[str, ...]],
    max_sweeps: int,
    clock: Callable[[], float],
) -> NewtonRun:
    """Train some layers of a network in place.

    Args:
        network: a network of one output.
        x: (N, d) points.
        y: (N,) values.
        trained: layers, each the letters of its parameters, as :func:`layers` gives them.
        max_sweeps: at least 1.
        clock: a time in seconds, such as ``time.perf_counter``.

    Raises:
        ValueError: no layer, or no sweep.
    """
    if not trained:
        raise ValueError("expected at least one layer to train, got none")
    if max_sweeps < 1:
        raise ValueError(f"max_sweeps must be at least 1, got {max_sweeps}")
    start = clock()
    losses, seconds, idle = [_loss_of(network, x, y)], [0.0], 0
    if not np.isfinite(losses[0]):
        return NewtonRun(np.array(losses), np.array(seconds), "diverged")
    status: Literal["converged", "stalled", "iterations", "diverged"] = "iterations"
    for _ in range(max_sweeps):
        outcomes = [_step(network, layer, x, y) for layer in trained]
        losses.append(_loss_of(network, x, y))
        seconds.append(clock() - start)
        if not np.isfinite(losses[-1]):
            status = "diverged"
            break
        if "fell" not in outcomes:
            status = "stalled" if "stuck" in outcomes and losses[-1] > 1e-24 else "converged"
            break
        idle = idle + 1 if losses[-2] - losses[-1] < _STALL * losses[-2] else 0
        if idle == _PATIENCE:
            status = "converged"
            break
    return NewtonRun(np.array(losses), np.array(seconds), status)


def gradient_and_hessian(
    loss: Callable[[Tensor], Tensor], theta: Tensor, columns: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Exact derivatives of a scalar function at theta (p,): (p,) and (p, p).

    Args:
        loss: the function.
        theta: (p,) where.
        columns: of the Hessian, computed at a time; all where None.
    """
    gradient = torch.func.grad(loss)

    def column(direction: Tensor) -> Tensor:
        return torch.func.jvp(gradient, (theta,), (direction,))[1]

    identity = torch.eye(len(theta), dtype=theta.dtype)
    hessian = torch.func.vmap(column, chunk_size=columns)(identity)
    return gradient(theta).detach().numpy(), hessian.detach().numpy()


def newton_direction(gradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    """The descent direction: Jacobi preconditioning, singular rows eliminated.

    Args:
        gradient: (p,).
        hessian: (p, p), symmetric.

    Returns:
        (p,); zero in the eliminated rows.
    """
    direction = np.zeros_like(gradient)
    diagonal = np.abs(np.diag(hessian))
    kept = diagonal > _SINGULAR * diagonal.max(initial=0.0)
    if not kept.any():
        return direction
    scale = 1 / np.sqrt(diagonal[kept])
    scaled = hessian[np.ix_(kept, kept)] * np.outer(scale, scale)
    values, vectors = np.linalg.eigh((scaled + scaled.T) / 2)
    sizes = np.abs(values)
    inverse = np.zeros_like(sizes)
    sound = sizes > _RCOND * sizes.max()
    inverse[sound] = 1 / sizes[sound]
    projected = vectors.T @ (scale * gradient[kept])
    direction[kept] = -scale * (vectors @ (inverse * projected))
    return direction


def _step(
    network: GatedNetwork, layer: tuple[str, ...], x: Tensor, y: Tensor
) -> Literal["fell", "minimal", "stuck"]:
    """One Newton step in one layer, in place.

    Returns:
        Whether the loss fell; where it did not, whether that is because the quadratic model
        promises no progress either, or although it does.
    """
    parameters = [getattr(network, letter) for letter in layer]
    shapes = [p.shape for p in parameters]
    sizes = [p.numel() for p in parameters]

    def loss(theta: Tensor) -> Tensor:
        pieces = dict(zip(layer, torch.split(theta, sizes), strict=True))
        replaced = {k: v.reshape(s) for (k, v), s in zip(pieces.items(), shapes, strict=True)}
        output = torch.func.functional_call(network, replaced, (x,))
        return torch.mean((output[:, 0] - y) ** 2)

    theta = torch.cat([p.detach().reshape(-1) for p in parameters])
    columns = max(1, _ELEMENTS // (len(x) * network.n_hidden))
    gradient, hessian = gradient_and_hessian(loss, theta, columns)
    if not (np.isfinite(gradient).all() and np.isfinite(hessian).all()):
        return "stuck"
    direction = newton_direction(gradient, hessian)
    origin = theta.numpy()
    length = _line_search(loss, origin, gradient, direction)
    if length == 0.0:
        promised = -float(gradient @ direction) / 2
        return "minimal" if promised <= _STALL * _loss_of(network, x, y) else "stuck"
    with torch.no_grad():
        moved = torch.from_numpy(origin + length * direction)
        for parameter, piece, shape in zip(
            parameters, torch.split(moved, sizes), shapes, strict=True
        ):
            parameter.copy_(piece.reshape(shape))
    return "fell"


def _line_search(
    loss: Callable[[Tensor], Tensor],
    origin: np.ndarray,
    gradient: np.ndarray,
    direction: np.ndarray,
) -> float:
    """Step length by strong Wolfe, else by backtracking; 0 where neither lowers the loss."""
    derivative = torch.func.grad(loss)

    def value_at(theta: np.ndarray) -> float:
        with torch.no_grad():
            return float(loss(torch.from_numpy(theta)))

    def gradient_at(theta: np.ndarray) -> np.ndarray:
        return derivative(torch.from_numpy(theta)).detach().numpy()

    before = value_at(origin)
    slope = float(gradient @ direction)
    if not slope < 0:
        return 0.0
    with warnings.catch_warnings():
        # scipy warns where no step satisfies both conditions; backtracking then takes over.
        warnings.simplefilter("ignore")
        found = line_search(value_at, gradient_at, origin, direction, gradient, before)[0]
    if found is not None and value_at(origin + found * direction) < before:
        return float(found)
    length = 1.0
    for _ in range(_HALVINGS):
        if value_at(origin + length * direction) < before + _ARMIJO * length * slope:
            return length
        length /= 2
    return 0.0


def _loss_of(network: GatedNetwork, x: Tensor, y: Tensor) -> float:
    with torch.no_grad():
        return float(torch.mean((network(x)[:, 0] - y) ** 2))
