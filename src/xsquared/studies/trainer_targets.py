"""Targets of the studies of trainers: profiles of one variable, and tables.

A target is a profile phi of one variable: for x in [-1, 1]^d it is phi(x), for d > 1 a
sum of three ridges phi(w x), or radial; besides Friedman's functions, one of them with
a twin, and tables. Noise is in training and validation values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from xsquared.data import Dataset, load
from xsquared.data.dataset import Points, from_arrays, from_generator
from xsquared.functions import target

#: By a target's kind: its profile and the noise of its training and validation values.
KINDS = {
    "smooth": ("1/(1 + 9*x**2)", 0.0),
    "oscillating": ("sin(6*x)", 0.0),
    "kinked": ("abs(x - 0.3) + sin(3*x)", 0.0),
    "jump": ("(x - pi/20)/abs(x - pi/20) + sin(3*x)", 0.0),
    "noisy": ("1/(1 + 9*x**2)", 0.1),
}
#: Drawn after what AdamW loses was predicted from the kernel at the start.
LATER = {
    "later 1": "-0.93*sin(2.83*x + 1.81) + 0.68*sin(2.17*x + 2.36)"
    " + 0.91*sin(2.88*x + 0.52) + 1/(1 + 4.9*(x + 0.75)**2)",
    "later 2": "0.83*sin(6.22*x + 0.24) + 0.99*sin(5.55*x + 0.90)"
    " + 0.43*sin(6.94*x + 0.33) + 1/(1 + 17.6*(x - 0.03)**2)",
    "later 3": "0.15*sin(5.52*x + 4.07) + 0.50*sin(4.32*x + 0.21)"
    " - 0.94*sin(6.50*x + 4.72) + 1/(1 + 5.0*(x - 0.70)**2)",
}
_PROFILES = KINDS | {name: (text, 0.0) for name, text in LATER.items()}
#: What is stacked: targets of as many inputs and training points.
GROUPS: Mapping[str, Sequence[str]] = {
    "1 input": tuple(KINDS),
    "2 inputs": (*KINDS, "radial", "elevation"),
    "4 inputs": ("friedman2", "friedman3"),
    "5 inputs": (*KINDS, "radial", "friedman1"),
    **{table: (table,) for table in ("airfoil", "housing", "diabetes")},
}


@cache
def draw_points(name: str, group: str, seed: int) -> Dataset:
    """Draw a target's points or split a table by the seed."""
    if name == "twin":
        return from_generator(_twin, seed)
    if name == "airfoil":
        return load(name, seed)
    if name == "housing" or name.startswith("friedman"):
        return load(name, seed, points=2000)
    if name in ("diabetes", "elevation"):
        return from_arrays(*_table(name), seed, points=2000)
    return _draw_profile(name, int(group[0]), seed)


def _draw_profile(name: str, dim: int, seed: int) -> Dataset:
    """Draw points of sum_k phi(w_k x), three w_k of length one, or of phi(|x|).

    Of one input it is phi(x). Noise is added to standardised values.
    """
    text, noise = _PROFILES["smooth" if name == "radial" else name]
    profile = target(text, (-3.0, 3.0))

    def generate(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        draw = np.random.default_rng(seed)
        directions = draw.normal(size=(3, dim)) if dim > 1 else np.ones((1, 1))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        x = draw.uniform(-1, 1, (count, dim))
        z = x @ directions.T
        if name == "radial":
            z = np.linalg.norm(x, axis=1)[:, None]
        return x, profile(z).sum(axis=1)

    data = from_generator(generate, seed, points=1000 * min(dim, 2))
    train, validation = data.train, data.validation
    errors = np.random.default_rng((seed, 1)).normal(size=len(train) + len(validation))
    train_errors, validation_errors = np.split(noise * errors, [len(train)])
    return replace(
        data,
        train=Points(train.x, train.y + train_errors),
        validation=Points(validation.x, validation.y + validation_errors),
    )


def _twin(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw Friedman's first function, two sines where it has the sine of a product."""
    x = np.random.default_rng(seed).uniform(size=(count, 5))
    curved = 5 * np.sin(np.pi * x[:, :2]).sum(axis=1) + 20 * (x[:, 2] - 0.5) ** 2
    return x, curved + 10 * x[:, 3] + 5 * x[:, 4]


def _table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Read features and values of a table that matplotlib or scikit-learn ships."""
    if name == "elevation":  # the ground near Jacksboro, Tennessee
        from matplotlib.cbook import get_sample_data

        sample: Any = get_sample_data("jacksboro_fault_dem.npz")
        height = sample["elevation"].astype(float)
        return np.argwhere(height == height).astype(float), height.ravel()
    from sklearn import datasets

    return datasets.load_diabetes(return_X_y=True)
