"""Does multiplying pay? One gate with a factor and without, at equal parameters.

A setting is a target and a gate: its effect is the error without the factor over the
error with it, a geometric mean over seeds with a 95% interval. Settings are counted,
nothing is pooled over them.

In small language models a step from one unit to another is worth a difference of
losses. All units of a seed see the same passages in the same order. A unit's loss is
taken as a mean over seeds, a seed's deviation, which all units share, and what is left:
*scatter*, whose size is pooled over all units, as three seeds of one pair tell little
of it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from xsquared.units import find_unit

#: The unit without a factor and the one with it, by gate, as columns of
#: :func:`log_errors`.
PAIRS = {
    "ReLU": ("mlp", "glu"),
    "ReLU²": ("relu2_mlp", "glu:relu2"),
    "GELU": ("mlp:gelu", "geglu"),
    "SiLU": ("mlp:silu", "swiglu"),
}
#: Targets whose seeds are splits of one table.
TABLES = ("airfoil", "housing", "diabetes", "elevation, 2 inputs")
#: Test rows over training rows of such a split: a fifth of a table tests, a fifth of
#: the rest validates.
_TEST_OVER_TRAINING = 0.2 / 0.64
#: The comparisons of language models' protocol ``longest``, by step: the units before
#: and after it.
_STEPS: Mapping[str, tuple[str, str]] = {
    "factor beside ReLU": ("mlp:relu", "glu:relu"),
    "factor beside SiLU": ("mlp:silu", "swiglu:silu"),
    "factor beside GELU": ("mlp:gelu", "geglu:gelu"),
    "GELU: curvature": ("mlp:gelu", "pair:gelu"),
    "GELU: direction": ("pair:gelu", "geglu:gelu"),
}
#: The chance that Holm's test allows for one wrong answer or more among all settings.
_LEVEL = 0.05


@dataclass(frozen=True)
class Effect:
    """A geometric mean over seeds, its 95% interval, and the p-value of a mean of 1."""

    mean: float
    low: float
    high: float
    p: float

    def __str__(self) -> str:
        mean = float(f"{self.mean:.2g}")
        low = float(f"{self.low:.2g}")
        high = float(f"{self.high:.2g}")
        return f"{mean:g} [{low:g}, {high:g}]"


def effect(logs: Collection[float], shared: bool = False) -> Effect:
    """Take a geometric mean with Student's interval and test.

    Splits of one table share rows, so that their errors are no independent draws: the
    variance of a mean over k of them is s^2 (1/k + test rows / training rows), where
    s^2 is their sample variance (Nadeau and Bengio, Machine Learning 52, 2003, eq. 9).

    Args:
        logs: logarithms of ratios of errors, one a seed, two or more.
        shared: whether the seeds are splits of one table.
    """
    values = np.asarray(list(logs))
    mean = values.mean()
    overlap = _TEST_OVER_TRAINING if shared else 0.0
    error_of_mean = values.std(ddof=1) * np.sqrt(1 / len(values) + overlap)
    freedom = len(values) - 1
    half_width = stdtrit(freedom, 0.975) * error_of_mean
    middle, low, high = np.exp([mean, mean - half_width, mean + half_width])
    p = 2 * stdtr(freedom, -abs(mean) / error_of_mean)
    return Effect(middle, low, high, p)


def validated(networks: pd.DataFrame) -> pd.DataFrame:
    """Choose the width of least validation error by problem, unit, gate and seed."""
    case = ["problem", "unit", "gate", "seed"]
    return networks.loc[networks.groupby(case)["validation_rmse"].idxmin()]


def log_errors(networks: pd.DataFrame, error: str = "test_rmse") -> pd.DataFrame:
    """Arrange logarithms of errors by problem and seed, a column a unit.

    Args:
        networks: rows of a study, one a network.
        error: the column that is taken.

    Returns:
        A frame whose columns are a unit's name, or ``name:gate`` with another gate
        than the unit's own.
    """
    names = [
        unit if find_unit(unit).activation == gate else f"{unit}:{gate}"
        for unit, gate in zip(networks["unit"], networks["gate"], strict=True)
    ]
    table = networks.assign(name=names).pivot_table(
        error, ["problem", "seed"], "name", sort=False
    )
    return np.log(table)


def effects(logs: pd.DataFrame) -> dict[tuple[str, str], Effect]:
    """Compute the effect of a factor by problem and gate, from :func:`log_errors`."""
    by_setting = {}
    for problem, errors in logs.dropna().groupby(level="problem", sort=False):
        for gate, (plain, factored) in PAIRS.items():
            if {plain, factored} <= {*errors}:
                ratios = errors[plain] - errors[factored]
                by_setting[str(problem), gate] = effect(ratios, problem in TABLES)
    return by_setting


def count_gains(by_setting: Mapping[tuple[str, str], Effect]) -> int:
    """Count the settings in which a factor pays: :func:`holm` rejects 1 at 5%.

    Args:
        by_setting: one effect or more, from :func:`effects`.
    """
    p = pd.Series([setting.p for setting in by_setting.values()])
    means = np.array([setting.mean for setting in by_setting.values()])
    return int(((holm(p) <= _LEVEL) & (means > 1)).sum())


def holm(p: pd.Series) -> pd.Series:
    """Correct p-values after Holm: the least level at which each is rejected.

    Of m p-values in ascending order the k-th is held against the level over m - k + 1,
    and the first that is larger ends the list (Scandinavian Journal of Statistics 6,
    1979).
    """
    ascending = p.sort_values()
    factors = np.arange(len(p), 0, -1)
    return (ascending * factors).cummax().clip(upper=1).reindex(p.index)


def scatter(loss: pd.DataFrame) -> tuple[float, int]:
    """Estimate the deviation of one run's loss, once unit and seed are taken out.

    Args:
        loss: rows are seeds (s), columns units (u), each with a row in every seed.

    Returns:
        The deviation and its degrees of freedom, (s - 1) (u - 1).
    """
    by_unit = loss - loss.mean()
    residual = by_unit.sub(by_unit.mean(axis=1), axis=0)
    seeds, units = loss.shape
    freedom = (seeds - 1) * (units - 1)
    return float(np.sqrt((residual**2).to_numpy().sum() / freedom)), freedom


def compare_steps(loss: pd.DataFrame) -> pd.DataFrame:
    """Measure what each step saves, with Student's 95% interval and Holm's p.

    Args:
        loss: as for :func:`scatter`, columns named ``unit:gate``.

    Returns:
        A row a step: ``worth``, ``low``, ``high`` in nats a byte, and ``p``.
    """
    deviation, freedom = scatter(loss)
    error_of_mean = deviation * np.sqrt(2 / len(loss))
    half_width = stdtrit(freedom, 0.975) * error_of_mean
    worth = pd.Series(
        {step: (loss[old] - loss[new]).mean() for step, (old, new) in _STEPS.items()}
    )
    p = pd.Series(2 * stdtr(freedom, -abs(worth) / error_of_mean), worth.index)
    return pd.DataFrame(
        {
            "worth": worth,
            "low": worth - half_width,
            "high": worth + half_width,
            "p": holm(p),
        }
    )


def visible_difference(loss: pd.DataFrame) -> float:
    """Estimate the difference of two units that so many seeds see four times in five.

    It is the one whose test at 5%, from a normal mean with the scatter of ``loss``,
    rejects zero with the chance 0.8.
    """
    deviation, freedom = scatter(loss)
    quantiles = stdtrit(freedom, 0.975) + stdtrit(freedom, 0.8)
    return float(quantiles * deviation * np.sqrt(2 / len(loss)))
