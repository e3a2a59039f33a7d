"""What the rows of the study ``map`` say: what each change of one thing gains, each
step of each triple, and which predictions held. All take such rows as there are.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

from xsquared.studies.map import BLOCKS, MAP, TRIPLES
from xsquared.studies.map import STEPS as TRAINED_STEPS
from xsquared.studies.map_predictions import PAYS, PREDICTED, STEPS
from xsquared.studies.map_targets import find_target
from xsquared.studies.sweep import trial_key
from xsquared.units import find_unit

#: What tells one trained case from another, the unit and the seed apart.
CASE = ("problem", "protocol", "size", "blocks", "steps")
#: Sizes over which a prediction means its effect, by network and trainer.
_SIZES = {
    "layer": (1000, 4000),
    "solved": (240, 1000),
    "blocks": (4000,),
}


def _full_name(unit: str) -> str:
    """Write a unit of a trial as ``name:gate``, its own gate too."""
    record = find_unit(unit)
    return f"{record.name}:{record.activation}"


#: By gate: alone, with a second number, with a factor, each as ``name:gate``.
FULL_TRIPLES = {
    gate: tuple(_full_name(unit) for unit in units) for gate, units in TRIPLES.items()
}


def _steps(first: int, last: int, gates: Sequence[str]) -> list[tuple[str, str]]:
    """Pair places of the triples of some gates."""
    return [(FULL_TRIPLES[gate][first], FULL_TRIPLES[gate][last]) for gate in gates]


#: Of targets of the study ``trainers`` that are of a kind of the map, their kind.
DECAY_KINDS: Mapping[str, str] = {
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
#: Trainers as sentences name them.
TRAINERS: Mapping[str, str] = {
    "adamw": "AdamW",
    "soap": "SOAP",
    "muon": "Muon",
    "solved": "a solved readout",
}
#: Of intervals for a median.
_LEAST_COVERAGE = 0.9
_SMOOTH = ("silu", "gelu")
#: What is changed, alone: the column and its values before and after.
CHANGES: Mapping[str, tuple[str, Sequence[tuple[Any, Any]]]] = {
    "SOAP for AdamW": ("protocol", [("adamw", "soap")]),
    "Muon for AdamW": ("protocol", [("adamw", "muon")]),
    "solved readout": ("protocol", [("adamw", "solved")]),
    "four times the steps": ("steps", [(TRAINED_STEPS, 4 * TRAINED_STEPS)]),
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
    common = [name for name in (*CASE, "unit", "seed") if name != column]
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
        kind=[DECAY_KINDS.get(problem) for problem, *_ in errors.index],
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


def trained_parts(rows: pd.DataFrame) -> pd.DataFrame:
    """Count the trials that have rows and all of them, by trainer, blocks and size.

    The sample that tests run, of a hundred steps, is left out.
    """
    sample = {trial_key(trial) for trial in MAP.sample()}
    trials = pd.DataFrame(MAP.trials())
    keys = [trial_key(trial) for trial in MAP.trials()]
    parts = trials.assign(key=keys)[["protocol", "blocks", "size", "key"]]
    parts = parts[~parts["key"].isin(sample)]
    parts["trained"] = parts["key"].isin(rows["key"])
    counts = parts.groupby(["protocol", "blocks", "size"])["trained"]
    return counts.agg(trained="sum", trials="size")


def parts_in_words(parts: pd.DataFrame) -> tuple[str, str]:
    """Name what has rows, and what has none: sizes, depths and trainers.

    Args:
        parts: from :func:`trained_parts`.
    """
    counts = parts["trained"]
    trained = counts[counts > 0].reset_index()
    scope = []
    for blocks, network in enumerate(("one hidden layer", f"{BLOCKS} residual blocks")):
        sizes = trained[(trained["blocks"] > 0) == blocks]["size"].unique()
        if len(sizes):
            scope.append(f"{_listed([f'{n:,}' for n in sorted(sizes)])} in {network}")
    by = [name for name in TRAINERS if name in set(trained["protocol"])]
    absent = [name for name in TRAINERS if name not in by]
    places = counts[counts.index.isin(by, level="protocol")]
    empty = places.groupby(level=["blocks", "size"]).sum().eq(0)
    missing = [TRAINERS[name] for name in absent]
    for blocks, size in empty[empty].index:
        missing.append(f"{size:,} parameters in {'blocks' if blocks else 'one layer'}")
    trainers = _listed([TRAINERS[name] for name in by])
    return f"{', '.join(scope)}, by {trainers}", _listed(missing) or "none"


def _listed(words: Sequence[str]) -> str:
    """Join words by commas and an and."""
    *others, last = words or [""]
    return f"{', '.join(others)} and {last}" if others else last


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
        for gates in ("ReLU", "smooth")
    ]
    found = pd.concat(parts, ignore_index=True)
    return found.assign(gate=found["before"].str.partition(":")[2])


def cell_effects(steps: pd.DataFrame) -> pd.DataFrame:
    """Average the steps of each case over its seeds: the gain, and whether the step
    pays (+).

    It costs (-) where the inverse would pay; else the sign is 0.
    """
    logs = steps.groupby(["kind", *CASE, "gate", "step"], sort=False)["log"]
    table = logs.agg(["mean", "min", "max", "size"]).rename(columns={"size": "seeds"})
    pays = (table["mean"] >= np.log(PAYS)) & (table["min"] > 0)
    costs = (table["mean"] <= -np.log(PAYS)) & (table["max"] < 0)
    sign = np.select([pays, costs], ["+", "-"], "0")
    return table.assign(gain=np.exp(table["mean"]), sign=sign)[
        ["gain", "sign", "seeds"]
    ]


def predicted_effects(steps: pd.DataFrame) -> pd.DataFrame:
    """Set each prediction beside its effect, as far as there are rows: a row a
    prediction.

    ``targets`` counts those of the kind that have rows; ``sign`` and ``held`` are
    missing where there are none.
    """
    smooth = steps.assign(gate=np.where(steps["gate"] == "relu", "relu", "smooth"))
    table = []
    for (kind, protocol, network), signs in PREDICTED.items():
        sizes = _SIZES["solved" if protocol == "solved" else network]
        case = smooth[
            (smooth["kind"] == kind)
            & (smooth["protocol"] == protocol)
            & (smooth["blocks"] > 0).eq(network == "blocks")
            & smooth["size"].isin(sizes)
        ]
        for (gate, step), predicted in zip(STEPS, signs, strict=True):
            chosen = case[(case["gate"] == gate) & (case["step"] == step)]
            # A mean over targets of means over what each has: none weighs more for its
            # rows.
            means = chosen.groupby("problem")["log"].mean()
            row: dict[str, Any] = {
                "kind": kind,
                "protocol": protocol,
                "network": network,
            }
            row |= {
                "gate": gate,
                "step": step,
                "predicted": predicted,
                "targets": len(means),
            }
            if len(means):
                gain = float(np.exp(means.mean()))
                sign = "+" if gain >= PAYS else "-" if gain <= 1 / PAYS else "0"
                row |= {"gain": gain, "sign": sign, "held": sign == predicted}
            table.append(row)
    return pd.DataFrame(table)


def count_predictions(predicted: pd.DataFrame) -> pd.DataFrame:
    """Count the predictions that have rows, held, and have the opposite sign.

    Args:
        predicted: from :func:`predicted_effects`.

    Returns:
        A row a gate and step, with ``counted``, ``held``, ``opposite`` and all there
        are, ``made``.
    """
    known = predicted["sign"].notna()
    opposite = (predicted["predicted"] + predicted["sign"].fillna("")).isin(
        ["+-", "-+"]
    )
    table = predicted[["gate", "step"]].assign(
        made=1,
        counted=known,
        held=known & (predicted["predicted"] == predicted["sign"]),
        opposite=opposite,
    )
    return table.groupby(["gate", "step"], sort=False).sum()
