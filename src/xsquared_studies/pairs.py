"""Inputs and outputs of a layer, and what least squares makes of them.

Affine maps and readouts are solved for with products summed over tokens, a few thousand at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

#: Of inputs (tokens, d): features (tokens, n) of a student.
Features = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Pairs:
    """What students learn, by part, and linear regression on what trains.

    Attributes:
        x, y: (tokens, d) inputs and outputs, centred, with root mean square 1 where they train.
        moments: (d + 1, d + 1) products of inputs and 1, summed.
        skip: (d + 1, d) the affine map of least squares.
    """

    x: dict[str, Tensor]
    y: dict[str, Tensor]
    moments: Tensor
    skip: Tensor


def pairs_of(x: dict[str, Tensor], y: dict[str, Tensor]) -> Pairs:
    """Pairs, from inputs and outputs as they come."""
    x, y = ({part: _scaled(of[part], of["train"]) for part in of} for of in (x, y))
    moments, right = _sums(
        (affine(a), b) for a, b in zip(split(x["train"]), split(y["train"]), strict=True)
    )
    moments += torch.diag(1e-6 * moments.diagonal())
    return Pairs(x, y, moments, torch.linalg.solve(moments, right))


def _scaled(of: Tensor, train: Tensor) -> Tensor:
    mean = train.mean(0)
    return (of - mean) / (train - mean).square().mean().sqrt()


def affine(x: Tensor) -> Tensor:
    """The inputs and a column of ones."""
    return pad(x, (0, 1), value=1.0)


def split(x: Tensor) -> tuple[Tensor, ...]:
    """Parts that memory has room for."""
    return x.split(4096)


def _sums(parts: Iterable[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Sums over the tokens of all parts: products of a with itself, and of a with b."""
    own, both = (
        torch.stack(sums).sum(0)
        for sums in zip(*(((a.T @ a).double(), (a.T @ b).double()) for a, b in parts), strict=True)
    )
    return own, both


@torch.no_grad()
def solved(of: Pairs, features: Features) -> tuple[Tensor, Tensor]:
    """(d + 1, d) Affine map and (n, d) readout of least squares on the tokens that train.

    Pairs' moments are used again: eliminating the map leaves n equations.
    """
    tokens = zip(split(of.x["train"]), split(of.y["train"]), strict=True)
    skip = of.skip.float()
    made = ((features(x), affine(x), y) for x, y in tokens)
    gram, both = _sums((h, torch.cat([wide, y - wide @ skip], dim=1)) for h, wide, y in made)
    beside, right = both.split([len(of.skip), of.skip.shape[1]], dim=1)
    inside = torch.linalg.solve(of.moments, beside.T)
    gram += torch.diag(1e-6 * gram.diagonal() + 1e-12)  # also where a gate never opens
    readout = torch.linalg.solve(gram - beside @ inside, right)
    return (of.skip - inside @ readout).float(), readout.float()


@torch.no_grad()
def error(
    of: Pairs, part: str, skip: Tensor, features: Features | None = None, readout: Any = None
) -> float:
    """Root mean square of what is left, as a share of the outputs' deviation."""
    left, y = 0.0, of.y[part]
    for x, wanted in zip(split(of.x[part]), split(y), strict=True):
        made = affine(x) @ skip
        if features:
            made += features(x) @ readout
        left += float((wanted - made).square().sum())
    return sqrt(left / float((y - y.mean(0)).square().sum()))


@torch.no_grad()
def unreachable(of: Pairs, part: str, n: int) -> float:
    """What every affine map with n features of any kind leaves on these very tokens, at least.

    The outputs beside their regression, here, lie in d directions, and n features reach n of them.
    """
    x, y = affine(of.x[part]).double(), of.y[part].double()
    moments = x.T @ x
    moments += torch.diag(1e-9 * moments.diagonal())
    beside = y - x @ torch.linalg.solve(moments, x.T @ y)
    values = torch.linalg.eigvalsh(beside.T @ beside)  # rising
    left = values[: max(len(values) - n, 0)].clamp(min=0).sum()
    return sqrt(float(left / (y - y.mean(0)).square().sum()))


def products(of: Pairs, n: int) -> Features:
    """The products of the inputs' first principal components, as many as come to n or just more."""
    k = round((sqrt(8 * n + 1) - 1) / 2)
    x = of.x["train"]
    first = torch.linalg.eigh(torch.cov(x.double().T))[1][:, -k:].float()
    size = (x @ first).std(0)
    rows, columns = torch.triu_indices(k, k)

    def features(x: Tensor) -> Tensor:
        z = x @ first / size
        return z[:, rows] * z[:, columns]

    return features


def reduced(of: Pairs, rank: int) -> Tensor:
    """(d + 1, d) The affine map of this rank of least squares."""
    covariance = of.skip.T @ of.moments @ of.skip
    first = torch.linalg.eigh(covariance)[1][:, -rank:]
    return (of.skip @ first @ first.T).float()
