"""Gated layers as a scikit-learn regressor: the one door for tables of one's own.

scikit-learn checks a table (frames, missing values, names of columns), splits it and
searches settings (``GridSearchCV``). This module standardises, chooses, trains and
predicts.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import takewhile
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.feature_selection import f_regression
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state, validation

from xsquared.training.variable_projection import (
    draw_inner_weights,
    iterates,
    to_network,
)
from xsquared.units import Unit, find_unit, predict

#: Share of the training values' range by which a prediction may leave it, and
#: deviations from its mean to which a network sees a feature: gated units grow like
#: squares beyond the points seen.
_MARGIN, _FARTHEST = 0.1, 5.0
#: Penalties where none is given, in turn, the steps they share, and a smooth gate's
#: greatest slope.
_RIDGES, _STEPS, _SHARPEST = [1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-6, 1e-8], 70, 8.0
#: A larger model has to lower the mean of the squares that are left of rows held out by
#: so many standard errors; networks that leave more than this multiple of the least are
#: not averaged.
_SURE, _WORSE = 1.5, 1.5
#: Of more columns than these, those on which y or its square depends at this level are
#: tried too.
_MANY, _LEVEL = 20, 0.01

Rows = tuple[
    np.ndarray, np.ndarray, np.ndarray
]  # features (m, d), values (m,), weights (m,)


class _Recipe(NamedTuple):
    """Neurons, columns that they see, and the place in the penalties and the step to
    stop at.
    """

    n: int
    columns: np.ndarray
    stop: tuple[int, int] = (0, _STEPS)
    left: np.ndarray = np.array(np.nan)  # squares (m,) on the rows held out

    def values(self, model: Any, x: np.ndarray) -> np.ndarray:
        """Compute a model's values (m,) at standardised features (m, d)."""
        return predict(model, self.seen(x)) if self.n else model.predict(x)

    def squares(
        self, model: Any, x: np.ndarray, y: np.ndarray, w: np.ndarray
    ) -> np.ndarray:
        """Compute squared errors (m,) of rows, times weights of mean 1."""
        return w / w.mean() * (self.values(model, x) - y) ** 2

    def seen(self, x: np.ndarray) -> np.ndarray:
        """Take the columns, as a network sees them."""
        return np.clip(x[:, self.columns], -_FARTHEST, _FARTHEST)


class GatedRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Regress one output on a table by a layer of gated units, or by a line where that
    is enough.

    A fifth of the rows chooses the neurons (none is ridge regression), the penalty and
    when training stops. Some networks are then trained so on all rows, and averaged.
    They see features within five deviations of their mean; predictions leave the
    values' range by at most a tenth.

    Args:
        unit: name or record of the unit.
        n_hidden: number of neurons; ``"auto"``: of 0, 1, 2, 4, ... 32, as far as rows
            are enough.
        ridge: penalty on the squares of linear weights beside the mean squared error,
            all in standardised units; ``"auto"``: from 1 down to 1e-8.
        n_networks: starts, of which those that ended in no worse a minimum are
            averaged.
        random_state: of the fifth and of the starts.
        verbose: whether each candidate prints a line.

    Attributes:
        n_hidden_, ridge_: what was chosen.
        columns_: indices of the columns that networks see; of more than 20 some may be
            left out.
        validation_error_: root mean square error on the fifth over the values'
            deviation, if any.
        models_: the networks, or a :class:`~sklearn.linear_model.Ridge`, in
            standardised units.
    """

    def __init__(
        self,
        unit: str | Unit = "swiglu",
        n_hidden: int | Literal["auto"] = "auto",
        *,
        ridge: float | Literal["auto"] = "auto",
        n_networks: int = 4,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.unit, self.n_hidden, self.ridge = unit, n_hidden, ridge
        self.n_networks, self.random_state, self.verbose = (
            n_networks,
            random_state,
            verbose,
        )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose and train on features X (m, d), values y (m,) and weights (m,) of the
        rows.
        """
        asked = {"dtype": np.float64, "y_numeric": True, "ensure_min_samples": 2}
        X, y = validation.validate_data(self, X, y, **asked)
        w = validation._check_sample_weight(sample_weight, X, dtype=np.float64)
        X, y, w = X[w > 0], y[w > 0], w[w > 0] / w.sum()
        (self.mean_, self.scale_), (self.y_mean_, self.y_scale_) = (
            _moments(X, w),
            _moments(y, w),
        )
        rows = (X - self.mean_) / self.scale_, (y - self.y_mean_) / self.y_scale_, w
        margin = _MARGIN * np.ptp(y)
        self.low_, self.high_ = y.min() - margin, y.max() + margin
        draw = np.random.default_rng(
            check_random_state(self.random_state).randint(2**31)
        )
        self._ridges = _RIDGES if self.ridge == "auto" else [self.ridge]
        if "auto" in (self.n_hidden, self.ridge):
            recipe = self._choose(rows, draw)
        else:
            recipe = _Recipe(int(self.n_hidden), np.arange(X.shape[1]))
        self._recipe, (self.n_hidden_, self.columns_, (place, _), squares) = (
            recipe,
            recipe,
        )
        self.validation_error_, self.ridge_ = (
            float(np.sqrt(squares.mean())),
            self._ridges[place],
        )
        trained = []
        for _ in range(self.n_networks if recipe.n else 1):
            path = self._path(recipe, rows, draw)
            *_, (_, model) = takewhile(lambda reached: reached[0] <= recipe.stop, path)
            trained.append((recipe.squares(model, *rows).mean(), model))
        least = min(squares for squares, _ in trained)
        self.models_ = [
            model for squares, model in trained if squares <= _WORSE * least
        ]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict values (m,) at features X (m, d), in the table's own units."""
        validation.check_is_fitted(self)
        X = validation.validate_data(self, X, dtype=np.float64, reset=False)
        x = (X - self.mean_) / self.scale_
        y = np.mean([self._recipe.values(model, x) for model in self.models_], axis=0)
        return np.clip(y * self.y_scale_ + self.y_mean_, self.low_, self.high_)

    def _path(
        self, recipe: _Recipe, rows: Rows, draw: np.random.Generator
    ) -> Iterator[tuple[tuple[int, int], Any]]:
        """Yield models from the largest penalty on, each with the place and step
        reached.
        """
        x, y, w = rows
        if not recipe.n:
            for place, ridge in enumerate(self._ridges):
                yield (place, 0), Ridge(ridge * w.sum()).fit(x, y, w)
            return
        x, unit, steps = (
            recipe.seen(x),
            find_unit(self.unit),
            _STEPS // len(self._ridges),
        )
        points, values, weights = (torch.tensor(part) for part in (x, y, w / w.sum()))
        run = partial(
            iterates, unit, points, values, weights=weights, sharpest=_SHARPEST
        )
        gates = draw_inner_weights(unit, x, recipe.n, draw)
        for place, ridge in enumerate(self._ridges):
            for fit in run(gates, ridge=ridge, max_iterations=steps):
                yield (place, fit.iterations), to_network(fit, unit)
            gates = fit.inner

    def _choose(self, rows: Rows, draw: np.random.Generator) -> _Recipe:
        """Choose by the error on a fifth; wider networks are tried while they lower it."""
        parts = train_test_split(
            *rows, test_size=0.2, random_state=int(draw.integers(2**31))
        )
        (x, y, w), held = parts[::2], parts[1::2]
        every, nothing = np.arange(x.shape[1]), np.full(len(held[1]), 1e9)
        best, tried = _Recipe(0, every, left=nothing), [every]
        if len(every) > _MANY:
            level = np.minimum(*(f_regression(part, y)[1] for part in (x, x**2)))
            tried.append(np.flatnonzero(level <= max(_LEVEL, level.min())))
        for columns in tried:
            most, useful = len(y) / 3, 0
            widths = [
                0,
                *(
                    n
                    for n in (1, 2, 4, 8, 16, 32)
                    if n * max(n, 1 + len(columns)) < most
                ),
            ]
            for n in widths if self.n_hidden == "auto" else [self.n_hidden]:
                found = _Recipe(n, columns, (0, 0), nothing)
                for stop, model in self._path(found, (x, y, w), draw):
                    if stop[0] > found.stop[0] + 1:  # one penalty lowered nothing
                        break
                    left = found.squares(model, *held)
                    if left.mean() < 0.998 * found.left.mean():
                        found = found._replace(stop=stop, left=left)
                if self.verbose:
                    print(n, "neurons, error", found.left.mean() ** 0.5, flush=True)  # noqa: T201
                gain = best.left - found.left
                if (
                    gain.mean() > _SURE * gain.std() / len(gain) ** 0.5
                ):  # its standard error
                    best, useful = found, n
                elif n > max(2 * useful, 2):
                    break
        return best


def _moments(values: np.ndarray, weights: np.ndarray) -> tuple[Any, Any]:
    """Compute mean and deviation of rows; a deviation of zero becomes one."""
    mean = np.average(values, axis=0, weights=weights)
    scale = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weights))
    return mean, np.where(scale > 0, scale, 1.0)
