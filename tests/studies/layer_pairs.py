"""Pairs of a small layer."""

import torch
from torch import Tensor

from xsquared_studies.language_models import FeedForward
from xsquared_studies.pairs import Pairs, pairs_of

D = 6


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def teacher() -> FeedForward:
    return FeedForward(normal(40, D), normal(D, 40, seed=1), normal(40, D, seed=2))


def learnt(made: FeedForward | None = None, gate: str = "silu") -> Pairs:
    """Pairs of a small layer, on inputs that are correlated and not centred."""
    feed, turn = made or teacher(), torch.eye(D) + 0.3 * normal(D, D, seed=3)
    x = {
        part: 2 + normal(count, D, seed=4 + k) @ turn
        for k, (part, count) in enumerate((("train", 9000), ("valid", 900), ("test", 900)))
    }
    take = getattr(torch.nn.functional, gate)
    return pairs_of(x, {part: feed(of, take) for part, of in x.items()})
