"""The speedrun of the gated-units author's README: two slopes, digit for digit.

Gates stay on a spline start, as his program has it with ``apply_maso_init``, and
readout and factors are solved in turn. The picture in the README is of three Newton
steps a layer on 1/(1 + x^2); a second step of a linear layer changes nothing, so that
one exact solve is the same.
"""

from dataclasses import dataclass

import numpy as np
import torch
from tqdm import tqdm

from xsquared.functions import Target, target
from xsquared.slopes import Slope, fit_slope
from xsquared.studies.published import POINTS, Layers, rmse_at, solve_in_turn

#: What the README's picture approximates.
_SPEEDRUN_TARGET = target("1/(1 + x**2)", (-1, 1))
#: Numbers of neurons of the picture.
_WIDTHS = np.arange(1, 101, 3)
#: The slopes that it prints.
PRINTED = {"mlp": -2.098, "glu": -3.093}
#: Hinges of the spline start reach a little beyond the interval.
_LAST_HINGE = 1.001


@dataclass(frozen=True)
class UnitRun:
    """One unit's widths and errors, (m,), and their slope."""

    unit: str
    widths: np.ndarray
    errors: np.ndarray
    slope: Slope


def speedrun() -> list[UnitRun]:
    """Solve MLP and GLU at every width from seed 0, the README's; judge on a grid."""
    (x, y), (grid_x, grid_y) = line_points(_SPEEDRUN_TARGET, 0)
    runs = []
    for unit in PRINTED:
        errors = []
        for n in tqdm(_WIDTHS.tolist(), unit, disable=None):  # None: on a terminal
            network = spline_start(unit, n, 0)
            solve_in_turn(network, x, y, driver="gelsd")
            errors.append(rmse_at(network, grid_x, grid_y))
        slope = fit_slope(_WIDTHS, errors)
        runs.append(UnitRun(unit, _WIDTHS, np.array(errors), slope))
    return runs


def spline_start(unit: str, n: int, seed: int) -> Layers:
    """Start a network of one input on equidistant hinges, every other gate turned."""
    torch.manual_seed(seed)
    network = Layers(1, unit, n)
    sign = 1.0 - 2.0 * (torch.arange(n) % 2)  # (n,): 1, -1, 1, ...
    hinges = torch.linspace(-_LAST_HINGE, _LAST_HINGE, n)  # float32, as his are
    with torch.no_grad():
        network.gate.weight.copy_(sign[:, None])
        network.gate.bias.copy_(-sign * hinges)
    return network


def line_points(f: Target, seed: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Draw x (N, 1) in [-1, 1] to train on, and as many equidistant ones, with f(x)."""
    random = 2 * np.random.RandomState(seed).rand(POINTS, 1) - 1
    grid = np.linspace(-1, 1, POINTS)[:, None]
    return [(torch.from_numpy(x), torch.from_numpy(f(x[:, 0]))) for x in (random, grid)]
