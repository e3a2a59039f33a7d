"""What the rows of the study ``map`` say: what each change of one thing gains, and each
step of each triple. All take such rows as there are.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

from xsquared.studies.map import STEPS as TRAINED_STEPS
from xsquared.studies.map import TRIPLES
from xsquared.studies.map_targets import TARGETS, find_target
from xsquared.units import find_unit

#: The least ratio of errors that is called a gain, and its inverse a cost.
PAYS = 1.1
#: What tells one trained case from another, the unit and the seed apart.
_CASE = ("problem", "protocol", "size", "blocks", "steps")


def _full_name(unit: str) -> str:
    """Write a unit of a trial as ``name:gate``, its own gate too."""
    record = find_unit(unit)
    return f"{record.name}:{record.activation}"


#: By gate: alone, with a second number, with a factor, each as ``name:gate``.
_FULL_TRIPLES = {
    gate: tuple(_full_name(unit) for unit in units) for gate, units in TRIPLES.items()
}


def _steps(first: int, last: int, gates: Sequence[str]) -> list[tuple[str, str]]:
    """Pair places of the triples of some gates."""
    return [(_FULL_TRIPLES[gate][first], _FULL_TRIPLES[gate][last]) for gate in gates]


#: Of targets of the study ``trainers`` that are of a kind of the map, their kind.
_DECAY_KINDS: Mapping[str, str] = {
    **{
        f"{profile}, {dim} inputs": "ridges"
        for dim in (2, 5)
        for profile in ("smooth", "oscillating", "kinked")
    },
    "friedman1, 5 inputs": "products of inputs",
    **dict.fromkeys(("airfoil", "housing", "diabetes"), "tables"),
}
#: Of all sizes of that study the one with rows without decay on all targets.
_DECAY_SIZE = 240
#: Of intervals for a median.
_LEAST_COVERAGE = 0.9
_SMOOTH = ("silu", "gelu")
#: Gates as changes name them.
_GATES = ("ReLU", "smooth")
#: Targets that are sums of products of two inputs and nothing else.
SUMS = ("products", "mixtures")
#: Parameters of one layer that is large enough for them: they cost 560 as GLUs.
_ROOM = 1000
#: What is changed, alone: the column and its values before and after.
CHANGES: Mapping[str, tuple[str, Sequence[tuple[Any, Any]]]] = {
    "SOAP for AdamW": ("protocol", [("adamw", "soap")]),
    "Muon for AdamW": ("protocol", [("adamw", "muon")]),
    "last layer solved": ("protocol", [("adamw", "solved")]),
    "four times the steps": ("steps", [(1000, 4000), (4000, 16_000)]),
    "four times the size": ("size", [(1000, 4000)]),
    "two blocks": ("blocks", [(0, 2)]),
    "smooth gate": (
        "unit",
        [("mlp:relu", gate) for gate in ("mlp:silu", "mlp:gelu", "mlp:tanh")],
    ),
    "curvature, ReLU": ("unit", _steps(0, 1, ["relu"])),
    "direction, ReLU": ("unit", _steps(1, 2, ["relu"])),
    "factor, ReLU": ("unit", _steps(0, 2, ["relu"])),
    "curvature, smooth": ("unit", _steps(0, 1, _SMOOTH)),
    "direction, smooth": ("unit", _steps(1, 2, _SMOOTH)),
    "factor, smooth": ("unit", _steps(0, 2, _SMOOTH)),
    "second factor": ("unit", [("swiglu:silu", "gqu:silu")]),
    "squared ReLU": ("unit", [("mlp:relu", "relu2_mlp:relu2")]),
    "squared ReLU for GLU": ("unit", [("glu:relu", "relu2_mlp:relu2")]),
    "squared ReLU for SwiGLU": ("unit", [("swiglu:silu", "relu2_mlp:relu2")]),
}

#: Changes of the unit; those that set two units with more than a gate alone against
#: each other are none.
UNIT_CHANGES = tuple(
    change
    for change, (column, _) in CHANGES.items()
    if column == "unit" and " for " not in change
)


def gains(rows: pd.DataFrame, change: str, steps: int = TRAINED_STEPS) -> pd.DataFrame:
    """Take the log of the error before a change over that after, all else equal.

    Args:
        rows: of the study, one a network.
        change: of :data:`CHANGES`.
        steps: of training, the usual number; others are left out, unless these are
            changed.

    Returns:
        A row a pair of networks: ``log``, the change, ``before`` and ``after``, the
        target's kind, and what the two have in common. Networks that diverged are left
        out.
    """
    column, pairs = CHANGES[change]
    rows = rows.assign(unit=rows["unit"] + ":" + rows["gate"])
    if column != "steps":
        rows = rows[rows["steps"] == steps]
    common = [name for name in (*_CASE, "unit", "seed") if name != column]
    errors = rows.pivot_table("test_rmse", common, column).replace(np.inf, np.nan)
    parts = []
    for before, after in pairs:
        both = errors.reindex(columns=[before, after]).to_numpy()
        log = np.log(both[:, 0] / both[:, 1])
        part = errors.index.to_frame(index=False)
        part = part.assign(change=change, before=before, after=after, log=log)
        parts.append(part[np.isfinite(log)])
    found = pd.concat(parts, ignore_index=True)
    kinds = [find_target(problem).kind for problem in found["problem"]]
    return found.assign(kind=kinds)


def all_gains(rows: pd.DataFrame) -> pd.DataFrame:
    """Take :func:`gains` of every change."""
    return pd.concat([gains(rows, change) for change in CHANGES])


def decay_gains(trainers: pd.DataFrame) -> pd.DataFrame:
    """Take what AdamW gains without its decay of 0.01, in the form of :func:`gains`.

    Args:
        trainers: rows of the study ``trainers``; of about 240 parameters in one layer
            are taken, on those of its targets that are of a kind of the map.
    """
    case = ["problem", "unit", "gate", "seed"]
    rows = trainers[trainers["size"] == _DECAY_SIZE]
    errors = rows.pivot_table("test_rmse", case, "protocol")
    found = errors.index.to_frame(index=False).assign(
        change="no decay",
        log=np.log(errors["adamw"] / errors["undecayed"]).to_numpy(),
        kind=[_DECAY_KINDS.get(problem) for problem, *_ in errors.index],
    )
    return found.dropna(subset=["kind", "log"])


def target_means(found: pd.DataFrame) -> pd.Series:
    """Average logs by change, kind and target, each target over what it has."""
    return found.groupby(["change", "kind", "problem"], sort=False)["log"].mean()


def typical_gains(found: pd.DataFrame) -> pd.DataFrame:
    """Take the median over targets of what each change gains.

    A target counts once, by its mean over cases and seeds. Some changes gain a
    thousandfold on one target and nothing on others, so no distribution is assumed:
    the k-th least and k-th largest of n values enclose the median of what they are
    drawn from with the chance 1 - 2 P(B < k), B binomial (n, 1/2).

    Args:
        found: from :func:`gains`, of one change or more.

    Returns:
        A row a change: the median ``gain``; ``low`` and ``high``, the narrowest such
        interval of at least 90%, and its ``coverage``, missing for fewer than five
        targets; the number of ``targets``, and in how many it ``pays`` and ``costs``.
    """
    table = {}
    for change, logs in target_means(found).groupby(level="change", sort=False):
        values = np.exp(np.sort(logs))
        chances = 1 - 2 * binom.cdf(np.arange(len(values) // 2), len(values), 0.5)
        row = {"gain": float(np.median(values))}
        if len(chances) and chances[0] >= _LEAST_COVERAGE:
            k = int(np.flatnonzero(chances >= _LEAST_COVERAGE)[-1])
            row |= {"low": values[k], "high": values[-1 - k], "coverage": chances[k]}
        words = [in_words(value) for value in values]
        table[change] = row | {
            "targets": len(values),
            "pays": words.count("pays"),
            "costs": words.count("costs"),
        }
    columns = ["gain", "low", "high", "coverage", "targets", "pays", "costs"]
    return pd.DataFrame.from_dict(table, orient="index").reindex(columns=columns)


def in_words(gain: float) -> str:
    """Say whether a ratio of errors pays, costs or is neither."""
    if gain >= PAYS:
        return "pays"
    return "costs" if gain <= 1 / PAYS else "changes little"


def triple_steps(rows: pd.DataFrame, steps: int = TRAINED_STEPS) -> pd.DataFrame:
    """Take each step of each triple in each case: the log of the error before over that
    after.

    Args:
        rows: of the study, one a network.
        steps: of training; others are left out.

    Returns:
        A row a case, seed, gate and step, as of :func:`gains`.
    """
    parts = [
        gains(rows, f"{step}, {gates}", steps).assign(step=step)
        for step in ("curvature", "direction")
        for gates in _GATES
    ]
    found = pd.concat(parts, ignore_index=True)
    return found.assign(gate=found["before"].str.partition(":")[2])


def layer_factors(rows: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Take what a factor gains over its gate alone in one layer that is large enough.

    Returns:
        Geometric means over sizes and seeds on :data:`SUMS`, by target, change (which
        gate) and trainer; and on all other targets, by target, over gates and trainers.
    """
    layers = rows[(rows["blocks"] == 0) & (rows["size"] >= _ROOM)]
    factors = pd.concat([gains(layers, f"factor, {gate}") for gate in _GATES])
    cases = factors.groupby(["problem", "change", "protocol"])["log"].mean()
    sums = cases[cases.index.isin(SUMS, level="problem")]
    means = target_means(factors).groupby("problem").mean()
    return np.exp(sums), np.exp(means.drop([*SUMS], errors="ignore"))


def layer_directions(rows: pd.DataFrame) -> pd.Series:
    """Take what a direction gains beside the ReLU and its square on :data:`SUMS`.

    Returns:
        Geometric means over seeds and sizes of one layer that is large enough, as of
        :func:`layer_factors`, by target and trainer.
    """
    layers = rows[(rows["blocks"] == 0) & (rows["size"] >= _ROOM)]
    found = gains(layers[layers["problem"].isin(SUMS)], "direction, ReLU")
    return np.exp(found.groupby(["problem", "protocol"])["log"].mean())


def square_over_glu(rows: pd.DataFrame, protocol: str) -> pd.DataFrame:
    """Take GLU's error over the squared ReLU's in one layer.

    Args:
        rows: of the study, one a network.
        protocol: the trainer.

    Returns:
        Geometric means over seeds, a row a target, all there are, and a column a size;
        missing where there are no rows.
    """
    layers = rows[(rows["blocks"] == 0) & (rows["protocol"] == protocol)]
    found = gains(layers, "squared ReLU for GLU")
    logs = found.groupby(["problem", "size"])["log"].mean().unstack()
    return np.exp(logs).reindex(TARGETS)


def cell_effects(steps: pd.DataFrame) -> pd.DataFrame:
    """Average the steps of each case over its seeds: the gain, and whether the step
    pays (+).

    It costs (-) where the inverse would pay; else the sign is 0.
    """
    logs = steps.groupby(["kind", *_CASE, "gate", "step"], sort=False)["log"]
    table = logs.agg(["mean", "min", "max", "size"]).rename(columns={"size": "seeds"})
    pays = (table["mean"] >= np.log(PAYS)) & (table["min"] > 0)
    costs = (table["mean"] <= -np.log(PAYS)) & (table["max"] < 0)
    sign = np.select([pays, costs], ["+", "-"], "0")
    return table.assign(gain=np.exp(table["mean"]), sign=sign)[
        ["gain", "sign", "seeds"]
    ]
