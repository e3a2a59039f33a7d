"""A transformer's feed-forward layer as a regression problem: ``smollm2/15``, ``minilm/0``."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from xsquared.checks import check_choice, check_integer
from xsquared.data.dataset import DEFAULT_POINTS, Dataset, Split, from_arrays
from xsquared_studies.gates_replaced import contexts, through
from xsquared_studies.language_models import LAYER_PROBLEMS, Model, missing, model

#: Contexts, four of each play for fitting, of the other play and of the encyclopaedia, as texts.
_TEXTS = np.repeat(range(6), [4, 4, 4, 4, 8, 8])


def load_layer(
    name: str, seed: int = 0, split: Split = "held-out", points: int | None = None
) -> Dataset:
    """What goes into a layer at each token, and the output along its direction of largest variance.

    The tokens are those of :mod:`xsquared_studies.gates_replaced`, without each context's first.
    Held out are whole texts: of six one is judged and one chosen on.

    Args:
        name: the model's name and the layer's place, from 0, joined by a slash.
        seed: says which texts are held out, and which tokens train.
        split: one of :data:`xsquared.data.dataset.SPLITS`.
        points: training points; 2,000 where None.

    Raises:
        OSError: a package that holds weights or text is missing; the message names all of them.
        ValueError: an unknown name, a bad seed or split, or too many or too few points.
    """
    check_choice("problem", name, LAYER_PROBLEMS)
    seed = check_integer("seed", seed, 0)
    if line := missing():
        raise OSError(line)
    x, y = _pairs(name)
    shuffled = np.random.default_rng(seed).permutation(len(y))  # for the split that keeps the order
    text = np.repeat(_TEXTS, len(y) // len(_TEXTS))[shuffled]
    count = DEFAULT_POINTS if points is None else points
    return from_arrays(x[shuffled], y[shuffled], seed, split, count, name, text)


@lru_cache(2)
@torch.no_grad()
def _pairs(name: str) -> tuple[np.ndarray, np.ndarray]:
    """(tokens, d) Inputs, and (tokens,) the outputs' first principal component."""
    named, place = name.split("/")
    of: Model = model(named)
    layer, seen = int(place), list[Tensor]()

    def feed(k: int, x: Tensor) -> Tensor:
        if k == layer:
            seen.append(x[:, 1:].flatten(0, 1))
        return of.feed[k](x, of.gate)

    for part in ("train", "test"):
        through(of, contexts(named, part), feed, layer + 1)
    x = torch.cat(seen)
    y = of.feed[layer](x, of.gate).double()
    y = y - y.mean(0)
    direction = torch.linalg.eigh(y.T @ y)[1][:, -1]
    turn = torch.sign(direction[direction.abs().argmax()])  # either is an eigenvector
    return x.double().numpy(), (y @ (turn * direction)).numpy()
