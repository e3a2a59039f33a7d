"""Does multiplying pay? The same gate with a factor and without, at equal parameters,
by rows.

A setting is a target and a gate: its effect is the error without the factor over that
with it, a geometric mean over seeds with a 95% interval. Settings are counted, nothing
is pooled over them.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from xsquared.units import find_unit

#: The unit without a factor and the one with it, by gate.
PAIRS = {
    "ReLU": ("mlp", "glu"),
    "ReLU²": ("relu2_mlp", "glu:relu2"),
    "GELU": ("mlp:gelu", "geglu"),
    "SiLU": ("mlp:silu", "swiglu"),
}
#: Of splits of a table, which share rows: test rows over training rows (Nadeau and
#: Bengio, Machine Learning 52, 2003).
_SHARED = 0.2 / 0.64
TABLES = ("airfoil", "housing", "diabetes", "elevation, 2 inputs")


@dataclass(frozen=True)
class Effect:
    """A geometric mean over seeds, the ends of its 95% interval, and the p-value of a
    mean of 1.
    """

    mean: float
    low: float
    high: float
    p: float

    def __str__(self) -> str:
        mean, low, high = (
            float(f"{end:.2g}") for end in (self.mean, self.low, self.high)
        )
        return f"{mean:g} [{low:g}, {high:g}]"


def effect(logs: Collection[float], shared: bool = False) -> Effect:
    """Take the mean of logarithms with Student's interval; ``shared``: of splits of one
    table.
    """
    values = np.asarray(list(logs))
    spread = values.std(ddof=1) * np.sqrt(1 / len(values) + shared * _SHARED)
    free, mean = len(values) - 1, values.mean()
    half = stdtrit(free, 0.975) * spread
    middle, low, high = np.exp([mean, mean - half, mean + half])
    return Effect(middle, low, high, 2 * stdtr(free, -abs(mean) / spread))


def validated(runs: pd.DataFrame) -> pd.DataFrame:
    """Choose the width of least validation error for each problem, unit, gate and seed."""
    case = ["problem", "unit", "gate", "seed"]
    return runs.loc[runs.groupby(case)["validation_rmse"].idxmin()]


def log_errors(runs: pd.DataFrame, error: str = "test_rmse") -> pd.DataFrame:
    """Arrange logarithms of errors by problem and seed, a column a unit as its study
    names it.
    """
    pairs = zip(runs["unit"], runs["gate"], strict=True)
    name = [
        u if find_unit(u).activation == gate else f"{u}:{gate}" for u, gate in pairs
    ]
    table = runs.assign(name=name).pivot_table(
        error, ["problem", "seed"], "name", sort=False
    )
    return np.log(table)


def effects(logs: pd.DataFrame) -> dict[tuple[str, str], Effect]:
    """Compute the effect of a factor by problem and gate, from :func:`log_errors`."""
    return {
        (str(problem), gate): effect(part[plain] - part[factored], problem in TABLES)
        for problem, part in logs.dropna().groupby(level="problem", sort=False)
        for gate, (plain, factored) in PAIRS.items()
        if {plain, factored} <= {*part}
    }


def answer(found: Mapping[tuple[str, str], Effect]) -> dict[str, str]:
    """Say in how many settings multiplying pays, by Holm's test over all, and the
    range.
    """
    ranked, n = sorted(found.values(), key=lambda one: one.p), len(found)
    alike = [one.p > 0.05 / (len(ranked) - k) for k, one in enumerate(ranked)]
    sure = ranked[: [*alike, True].index(True)]
    up, down = sum(one.mean > 1 for one in sure), sum(one.mean < 1 for one in sure)
    none = "never" if down else "nothing sure"
    mixed = "at times" if up > 0.25 * n else "rarely" if up else none
    word = (
        "yes"
        if up >= 0.75 * n
        else "rather costs"
        if down > max(up, 0.25 * n)
        else mixed
    )
    means = sorted(one.mean for one in found.values())
    return {
        "answer": f"{word}: pays in {up} of {n} settings, costs in {down}",
        "effect": f"{np.median(means):.2g}, from {means[0]:.2g} to {means[-1]:.2g}",
    }
