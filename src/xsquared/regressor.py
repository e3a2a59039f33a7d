"""Gated layers as a scikit-learn regressor: the one door for tables of one's own.

scikit-learn checks a table (frames, missing values, names of columns), splits it and
searches settings (``GridSearchCV``). This module standardises, chooses, trains and
predicts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from itertools import takewhile
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.feature_selection import f_regression
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state, validation

from xsquared.data.dataset import MARGIN
from xsquared.threads import one_thread
from xsquared.training.inner_weights import draw_inner_weights
from xsquared.training.variable_projection import iterates, to_network
from xsquared.units import Unit, find_unit, predict

#: Deviations from its mean to which a network sees a feature: gated units grow like
#: squares beyond the points seen.
_FARTHEST = 5.0
#: Numbers of neurons that are tried where none is given, as far as rows are enough.
_WIDTHS = (1, 2, 4, 8, 16, 32)
#: Tried even where few neurons gain nothing: few learn nothing of many waves.
_WIDE = 16
#: Widths are tried up to so many times the last that gained, two in the list ahead: of
#: eight fits of 250 rows seven were as good with one, MLPs of sin(6x) had an R^2 of .82
#: for .89.
_AHEAD = 4
#: Processor seconds between two lines that say where a fit is; shorter ones are silent.
_PATIENCE = 10.0
#: Penalties that are tried where none is given, in turn.
_RIDGES = (1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-6, 1e-8)
#: Steps of a network's training, which the penalties share.
_STEPS = 70
#: A smooth gate's greatest slope.
_SHARPEST = 8.0
#: A later model of a path counts where it lowers the error below this share.
_LOWER = 0.998
#: A larger model has to lower the mean square by so many of its standard errors.
_SURE = 1.5
#: Networks whose mean square is larger than so many times the least are left out.
_WORSE = 1.5
#: Of more columns than these, those on which y depends are tried too.
_MANY = 20
#: The level of the test by which y or its square depends on a column.
_LEVEL = 0.01


class _Table(NamedTuple):
    """Standardised features x (m, d), values y (m,) and weights w (m,) of rows."""

    x: np.ndarray
    y: np.ndarray
    w: np.ndarray


class _Stage(NamedTuple):
    """How far a path of models goes: the place of a penalty, and the step with it."""

    penalty: int
    step: int


class _Recipe(NamedTuple):
    """Neurons, columns that they see, the stage to stop at, squares (m,) held out."""

    n: int
    columns: np.ndarray
    stop: _Stage = _Stage(0, _STEPS)
    squares: np.ndarray = np.array(np.nan)

    def values(self, model: Any, x: np.ndarray) -> np.ndarray:
        """Compute a model's values (m,) at standardised features (m, d)."""
        return predict(model, self.seen(x)) if self.n else model.predict(x)

    def squared_errors(self, model: Any, table: _Table) -> np.ndarray:
        """Compute squared errors (m,) of rows, times weights of mean 1."""
        x, y, w = table
        return w / w.mean() * (self.values(model, x) - y) ** 2

    def seen(self, x: np.ndarray) -> np.ndarray:
        """Take the columns, as a network sees them."""
        return np.clip(x[:, self.columns], -_FARTHEST, _FARTHEST)


class _Progress:
    """Say on stderr where a fit is, from its tenth second on every ten seconds."""

    def __init__(self) -> None:
        self.start = self.said = time.thread_time()

    def report(self, n: int, ridge: float) -> None:
        """Say what is trained now, if it is time."""
        now = time.thread_time()
        if now > self.said + _PATIENCE:
            self.said = now
            where = f"{now - self.start:.0f} s, now {n} neurons, penalty {ridge:g}"
            sys.stderr.write(f"GatedRegressor: {where}\n")


class GatedRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Regress one output on a table by gated units, or by a line where that is enough.

    It is for regression only, and for small tables: 54,000 rows of 26 columns take a
    minute, trees a second. What takes more than ten seconds says so on stderr.

    A fifth of the rows chooses the neurons (none is ridge regression), the penalty and
    when training stops. Some networks are then trained so on all rows, and averaged.
    They see features within five deviations of their mean; predictions leave the
    values' range by at most a tenth.

    Args:
        unit: name or record of the unit.
        n_hidden: number of neurons; ``"auto"``: of 0, 1, 2, 4, ... 32, as far as rows
            are enough. Wider ones are tried while they gain, and one wide one always.
        ridge: penalty on the squares of linear weights beside the mean squared error,
            all in standardised units; ``"auto"``: from 1 down to 1e-8.
        n_networks: starts, of which those that ended in no worse a minimum are
            averaged.
        random_state: of the fifth and of the starts.

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
    ) -> None:
        self.unit = unit
        self.n_hidden = n_hidden
        self.ridge = ridge
        self.n_networks = n_networks
        self.random_state = random_state

    @one_thread()
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose and train on features X (m, d), values y (m,) and weights (m,)."""
        X, y = validation.validate_data(
            self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2
        )
        w = validation._check_sample_weight(sample_weight, X, dtype=np.float64)
        counted = w > 0
        y = y.astype(np.float64)
        X, y, w = X[counted], y[counted], w[counted] / w.sum()
        self.mean_, self.scale_ = _moments(X, w)
        self.y_mean_, self.y_scale_ = _moments(y, w)
        x = (X - self.mean_) / self.scale_
        table = _Table(x, (y - self.y_mean_) / self.y_scale_, w)
        room = MARGIN * np.ptp(y)
        self.low_, self.high_ = y.min() - room, y.max() + room

        seed = check_random_state(self.random_state).randint(2**31)
        draw = np.random.default_rng(seed)
        progress = _Progress()
        self._ridges = _RIDGES if self.ridge == "auto" else (self.ridge,)
        if "auto" in (self.n_hidden, self.ridge):
            recipe = self._choose(table, draw, progress)
        else:
            recipe = _Recipe(int(self.n_hidden), np.arange(X.shape[1]))
        self._recipe = recipe
        self.n_hidden_, self.columns_ = recipe.n, recipe.columns
        self.ridge_ = self._ridges[recipe.stop.penalty]
        self.validation_error_ = float(np.sqrt(recipe.squares.mean()))
        self.models_ = self._train(recipe, table, draw, progress)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict values (m,) at features X (m, d), in the table's own units."""
        validation.check_is_fitted(self)
        X = validation.validate_data(self, X, dtype=np.float64, reset=False)
        x = (X - self.mean_) / self.scale_
        y = np.mean([self._recipe.values(model, x) for model in self.models_], axis=0)
        return np.clip(y * self.y_scale_ + self.y_mean_, self.low_, self.high_)

    def _train(
        self,
        recipe: _Recipe,
        table: _Table,
        draw: np.random.Generator,
        progress: _Progress,
    ) -> list[Any]:
        """Train models by a recipe; those whose mean square is near the least stay."""
        models, errors = [], []
        for _ in range(self.n_networks if recipe.n else 1):
            path = self._path(recipe, table, draw, progress)
            *_, (_, model) = takewhile(lambda reached: reached[0] <= recipe.stop, path)
            models.append(model)
            errors.append(recipe.squared_errors(model, table).mean())
        most = _WORSE * min(errors)
        return [
            model for model, error in zip(models, errors, strict=True) if error <= most
        ]

    def _path(
        self,
        recipe: _Recipe,
        table: _Table,
        draw: np.random.Generator,
        progress: _Progress,
    ) -> Iterator[tuple[_Stage, Any]]:
        """Yield models from the largest penalty on, each with the stage it reached.

        A line minimises sum_i w_i (y_i - b_0 - x_i b)^2 / sum_i w_i + ridge |b|^2. A
        network does so in its linear weights, by variable projection in the others, and
        starts each penalty from the gates that the one before it left.
        """
        x, y, w = table
        total = w.sum()
        if not recipe.n:
            for place, ridge in enumerate(self._ridges):
                yield _Stage(place, 0), Ridge(ridge * total).fit(x, y, w)
            return
        x = recipe.seen(x)
        unit = find_unit(self.unit)
        points, values, weights = map(torch.tensor, (x, y, w / total))
        inner = draw_inner_weights(unit, x, recipe.n, draw)
        for place, ridge in enumerate(self._ridges):
            progress.report(recipe.n, ridge)
            steps = iterates(
                unit,
                points,
                values,
                inner,
                weights=weights,
                ridge=ridge,
                max_iterations=_STEPS // len(self._ridges),
                sharpest=_SHARPEST,
            )
            for step in steps:
                yield _Stage(place, step.iterations), to_network(step, unit)
            inner = step.inner

    def _choose(
        self, table: _Table, draw: np.random.Generator, progress: _Progress
    ) -> _Recipe:
        """Choose columns, neurons and stage by the error on a fifth of the rows.

        Wider networks are tried while they lower the mean square by more than chance
        would: the next two after the last width that did, and a wide one in any case.
        """
        seed = int(draw.integers(2**31))
        parts = train_test_split(*table, test_size=0.2, random_state=seed)
        fitted, held_out = _Table(*parts[::2]), _Table(*parts[1::2])
        best = _nothing(0, np.arange(fitted.x.shape[1]), held_out)
        for columns in _column_sets(fitted):
            useful = 0
            widths = self._widths(len(fitted.y), len(columns))
            wide = max((n for n in widths if n <= _WIDE), default=widths[0])
            for n in widths:
                if n > _AHEAD * max(useful, 1) and n != wide:
                    continue
                candidate = _nothing(n, columns, held_out)
                candidate = self._stop_early(
                    candidate, fitted, held_out, draw, progress
                )
                gain = best.squares - candidate.squares
                if gain.mean() > _SURE * gain.std() / len(gain) ** 0.5:
                    best, useful = candidate, n
        return best

    def _widths(self, count: int, dim: int) -> list[int]:
        """List the numbers of neurons to try on so many rows of dim columns.

        Three rows a weight of the gates and a pair of neurons, at least.
        """
        if self.n_hidden != "auto":
            return [self.n_hidden]
        enough = [
            n
            for n in _WIDTHS
            if n * (1 + dim if n == _WIDE else max(n, 1 + dim)) < count / 3
        ]
        return [0, *enough]

    def _stop_early(
        self,
        recipe: _Recipe,
        fitted: _Table,
        held_out: _Table,
        draw: np.random.Generator,
        progress: _Progress,
    ) -> _Recipe:
        """Find the stage of least error on rows held out; end at an idle penalty."""
        for stage, model in self._path(recipe, fitted, draw, progress):
            if stage.penalty > recipe.stop.penalty + 1:
                break
            squares = recipe.squared_errors(model, held_out)
            if squares.mean() < _LOWER * recipe.squares.mean():
                recipe = recipe._replace(stop=stage, squares=squares)
        return recipe


def _nothing(n: int, columns: np.ndarray, held_out: _Table) -> _Recipe:
    """Make a recipe that was not followed yet, and is worse than any that was."""
    return _Recipe(n, columns, _Stage(0, 0), np.full(len(held_out.y), 1e9))


def _column_sets(table: _Table) -> list[np.ndarray]:
    """List the sets of columns to try: all, and of many those on which y depends."""
    dim = table.x.shape[1]
    sets = [np.arange(dim)]
    if dim > _MANY:
        linear = f_regression(table.x, table.y)[1]
        squared = f_regression(table.x**2, table.y)[1]
        level = np.minimum(linear, squared)
        sets.append(np.flatnonzero(level <= max(_LEVEL, level.min())))
    return sets


def _moments(values: np.ndarray, weights: np.ndarray) -> tuple[Any, Any]:
    """Compute mean and deviation of rows; a deviation of zero becomes one."""
    mean = np.average(values, axis=0, weights=weights)
    scale = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weights))
    return mean, np.where(scale > 0, scale, 1.0)
