"""What has rows of the study ``map``, and which predictions held: in numbers and words.

All follow from such rows as there are, so that no sentence is older than its rows.

Predictions were made on 2026-11-28, before the first row, from a few hundred networks
trained before, of about 2,400 parameters in one layer and 25,000 in three blocks, with
two seeds. Of each kind of target, trainer and network, the effect of a step is a
geometric mean over the targets of that kind, the seeds, the sizes (one layer: 1,000 and
4,000 parameters, by ``solved`` 240 and 1,000; blocks: 4,000) and, of smooth gates, GELU
and SiLU. It is predicted to be at least :data:`~xsquared.studies.map_effects.PAYS` (+),
at most 1 / PAYS (-), or between (0).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from xsquared.studies.map import BLOCKS, MAP
from xsquared.studies.map_effects import PAYS, in_words
from xsquared.studies.sweep import trial_key

#: Trainers as sentences name them.
TRAINERS: Mapping[str, str] = {
    "adamw": "AdamW",
    "soap": "SOAP",
    "muon": "Muon",
    "solved": "AdamW with the last layer solved",
}
#: Sizes over which a prediction means its effect, by network and trainer.
_SIZES = {
    "layer": (1000, 4000),
    "solved": (240, 1000),
    "blocks": (4000,),
}
#: Gate and step of each sign in a word of :data:`PREDICTED`.
PREDICTED_STEPS = (
    ("relu", "curvature"),
    ("relu", "direction"),
    ("smooth", "curvature"),
    ("smooth", "direction"),
)
#: By kind, trainer and network: the signs of the four steps.
PREDICTED: Mapping[tuple[str, str, str], str] = {
    ("ridges", "adamw", "layer"): "+---",
    ("ridges", "soap", "layer"): "+---",
    ("ridges", "solved", "layer"): "+-0-",
    ("ridges", "adamw", "blocks"): "+-0-",
    ("ridges", "soap", "blocks"): "+-0-",
    ("ridges", "muon", "blocks"): "+-0-",
    ("engineering", "adamw", "layer"): "+0++",
    ("engineering", "soap", "layer"): "+-++",
    ("engineering", "solved", "layer"): "+0++",
    ("engineering", "adamw", "blocks"): "+000",
    ("engineering", "soap", "blocks"): "+000",
    ("engineering", "muon", "blocks"): "++0+",
    ("products of inputs", "adamw", "layer"): "++++",
    ("products of inputs", "soap", "layer"): "++++",
    ("products of inputs", "solved", "layer"): "++++",
    ("products of inputs", "adamw", "blocks"): "+++0",
    ("products of inputs", "soap", "blocks"): "+0++",
    ("products of inputs", "muon", "blocks"): "++++",
    ("products of functions", "adamw", "layer"): "--0-",
    ("products of functions", "soap", "layer"): "0-0-",
    ("products of functions", "solved", "layer"): "0-0-",
    ("products of functions", "adamw", "blocks"): "000-",
    ("products of functions", "soap", "blocks"): "0-0-",
    ("products of functions", "muon", "blocks"): "0-0-",
    ("tables", "adamw", "layer"): "0000",
    ("tables", "soap", "layer"): "0000",
    ("tables", "solved", "layer"): "0000",
    ("tables", "adamw", "blocks"): "0000",
    ("tables", "soap", "blocks"): "0000",
    ("tables", "muon", "blocks"): "0000",
}


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
        for (gate, step), predicted in zip(PREDICTED_STEPS, signs, strict=True):
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


def foreseen_steps(counts: pd.DataFrame) -> list[str]:
    """Name the steps of the triples by the share of predictions that held, the least
    first.

    Args:
        counts: from :func:`count_predictions`.
    """
    shares = (counts["held"] / counts["counted"]).sort_values()
    beside = {"relu": "the ReLU", "smooth": "smooth gates"}
    return [f"{step} beside {beside[gate]}" for gate, step in shares.index]


def judge_claim(gain: float) -> str:
    """Say whether a gain agrees with somebody's claim that the change pays."""
    verdicts = {"pays": "agree in kind", "costs": "conflict"}
    return verdicts.get(in_words(gain), "not seen")
