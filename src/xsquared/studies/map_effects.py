"""What the rows of the study ``map`` say: each step of each triple, and which
predictions held.
"""

from typing import Any

import numpy as np
import pandas as pd

from xsquared.studies.map import STEPS as TRAINED_STEPS
from xsquared.studies.map import TRIPLES
from xsquared.studies.map_predictions import PAYS, PREDICTED, STEPS
from xsquared.studies.map_targets import TARGETS
from xsquared.units import find_unit

#: What tells one trained case from another, the unit and the seed apart.
CASE = ("problem", "protocol", "size", "blocks", "steps")
#: Sizes over which a prediction means its effect, by network and trainer.
_SIZES = {
    "layer": (1000, 4000),
    "solved": (240, 1000),
    "blocks": (4000,),
}


def triple_steps(rows: pd.DataFrame) -> pd.DataFrame:
    """Take each step of each triple in each case: the log of the error before over that
    after.

    Args:
        rows: of the study, one a network.

    Returns:
        A row a case, seed, gate and step, with the target's kind; cases that lack one
        of the two units are left out, and those of a network that diverged.
    """
    errors = rows.assign(log=np.log(rows["test_rmse"])).pivot_table(
        "log", [*CASE, "seed"], ["unit", "gate"]
    )
    parts = []
    for gate, units in TRIPLES.items():
        columns = [find_unit(*unit.split(":")) for unit in units]
        triple = errors.reindex(
            columns=[(unit.name, unit.activation) for unit in columns]
        )
        alone, second, factor = triple.to_numpy().T
        for step, log in (
            ("curvature", alone - second),
            ("direction", second - factor),
        ):
            part = errors.index.to_frame(index=False).assign(
                gate=gate, step=step, log=log
            )
            parts.append(part[np.isfinite(part["log"])])
    steps = pd.concat(parts, ignore_index=True)
    return steps.assign(kind=[TARGETS[problem].kind for problem in steps["problem"]])


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
            & (smooth["steps"] == TRAINED_STEPS)
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
