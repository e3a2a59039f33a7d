"""Does multiplying pay? One gate with a factor and without, at equal parameters.

A setting is a target and a gate: its effect is the error without the factor over the
error with it, a geometric mean over seeds with a 95% interval. Settings are counted,
nothing is pooled over them.
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


@dataclass(frozen=True)
class Answer:
    """In how many settings a factor surely pays or costs, and the range of effects."""

    settings: int
    pays: int
    costs: int
    median: float
    least: float
    most: float


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


def answer(by_setting: Mapping[tuple[str, str], Effect]) -> Answer:
    """Count the settings in which a factor pays or costs for sure.

    Sure is what Holm's test over all settings rejects at 5% (Scandinavian Journal of
    Statistics 6, 1979): of m p-values in ascending order the k-th is held against
    0.05 / (m - k + 1), and the first that is larger ends the list.

    Args:
        by_setting: one effect or more, from :func:`effects`.
    """
    ranked = sorted(by_setting.values(), key=lambda setting: setting.p)
    sure: list[Effect] = []
    for k, setting in enumerate(ranked):
        if setting.p > _LEVEL / (len(ranked) - k):
            break
        sure.append(setting)
    means = [setting.mean for setting in ranked]
    return Answer(
        settings=len(ranked),
        pays=sum(setting.mean > 1 for setting in sure),
        costs=sum(setting.mean < 1 for setting in sure),
        median=float(np.median(means)),
        least=min(means),
        most=max(means),
    )
