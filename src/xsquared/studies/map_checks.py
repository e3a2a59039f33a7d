"""Three attacks on what the map says, each with one thing moved: targets, batch, depth.

Protocol of 2026-11-29, fixed before the first row; 344 of the map's 1,663 trials were
known. All is as in the study ``map`` (its docstring) but what is named here: the
triples of ReLU and SiLU, AdamW and SOAP, rates, three seeds, judgement.

*Targets* that the map does not have, one layer of 1,000 parameters, 4,000 steps: the
wing's weight and the circuit's voltage, which others use as tests, and a determinant,
chosen to embarrass: a sum of products, but of three inputs, which no sum of GLUs is.

*Batch*: 32, 256 and 2,048 points a step, one layer of 1,000 parameters, on products,
where a factor gains most, and ridges16, where it costs.

*Depth*: one, two and six residual blocks on streams of 21, 15 and 9 numbers, of about
4,000 parameters, on borehole, where a factor pays, and on ridges16, by AdamW alone.

Batch and depth are moved in trainings of 1,000 steps, as 4,000 would not fit into the
budget, 20 minutes of one processor; so the map's own batch and depth are trained here
again. What a thing moved does is its row against theirs.

*Predicted* on the same day, before the first row: the signs of the four steps of the
triples (:data:`PREDICTED`), and of the map's sentences:

1. With the three targets among the map's, medians over targets of one layer of 1,000
   parameters keep their order: no change of the unit gains more than SOAP, and beside
   the ReLU curvature more than a direction.
2. On the determinant a factor gains a tenth and more, by each trainer and gate, but
   nowhere tenfold: "ten and more" is of products of two.
3. On products a factor gains tenfold and more by each trainer and gate with 256 and
   2,048 points, but not with 32.
4. On ridges16 it costs with each batch.
5. In blocks it gains less than a fifth beside SiLU, but for one block on borehole; and
   SiLU gains a tenth and more over the ReLU at each depth.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from xsquared.studies.map import FEW, PROTOCOLS, STEPS, map_trial, run_map
from xsquared.studies.map_effects import PAYS, gains, triple_steps
from xsquared.studies.map_targets import CHECK_TARGETS
from xsquared.studies.map_words import PREDICTED_STEPS
from xsquared.studies.sweep import Study, Trial

#: Steps where batch or depth is moved.
SHORT = 1000
#: Points of a step and residual blocks; the map's own are among them.
_BATCHES = (256, 32, 2048)
_DEPTHS = (2, 1, 6)
_BOTH = ("adamw", "soap")


def _points(batch: int) -> str:
    return f"{batch:,} points"


def _blocks(depth: int) -> str:
    return f"{depth} block{'s' if depth > 1 else ''}"


#: What is moved and the target, in the order of tables.
CHECKS = (
    *(("target", problem) for problem in CHECK_TARGETS),
    *(
        (_points(batch), problem)
        for problem in ("products", "ridges16")
        for batch in sorted(_BATCHES)
    ),
    *(
        (_blocks(depth), problem)
        for problem in ("borehole", "ridges16")
        for depth in sorted(_DEPTHS)
    ),
)
#: What is compared, as :data:`xsquared.studies.map_effects.CHANGES` names it.
COMPARED = (
    "SOAP for AdamW",
    "smooth gate",
    "curvature, ReLU",
    "direction, ReLU",
    "factor, ReLU",
    "curvature, smooth",
    "direction, smooth",
    "factor, smooth",
)
#: By what is moved, target and trainer: the signs of the triples' steps, as in
#: :data:`xsquared.studies.map_words.PREDICTED`.
PREDICTED: Mapping[tuple[str, str, str], str] = {
    ("target", "wing", "adamw"): "++++",
    ("target", "wing", "soap"): "+-++",
    ("target", "circuit", "adamw"): "+-++",
    ("target", "circuit", "soap"): "+-+0",
    ("target", "determinant", "adamw"): "++++",
    ("target", "determinant", "soap"): "++++",
    ("32 points", "products", "adamw"): "++++",
    ("32 points", "products", "soap"): "++++",
    ("2,048 points", "products", "adamw"): "++++",
    ("2,048 points", "products", "soap"): "+-++",
    ("32 points", "ridges16", "adamw"): "+---",
    ("32 points", "ridges16", "soap"): "+-0-",
    ("2,048 points", "ridges16", "adamw"): "+---",
    ("2,048 points", "ridges16", "soap"): "+-0-",
    ("1 block", "borehole", "adamw"): "++++",
    ("1 block", "borehole", "soap"): "+-+0",
    ("6 blocks", "borehole", "adamw"): "+000",
    ("6 blocks", "borehole", "soap"): "+-00",
    ("1 block", "ridges16", "adamw"): "0---",
    ("6 blocks", "ridges16", "adamw"): "0--0",
}


def check_effects(rows: pd.DataFrame) -> pd.DataFrame:
    """Take what each change gains in each check, a geometric mean over what it has.

    Args:
        rows: of the study, one a network.

    Returns:
        A row a check (what is moved, target), a column a change of :data:`COMPARED`.
    """
    logs = {
        check: {
            change: gains(part, change, _steps(part))["log"].mean()
            for change in COMPARED
        }
        for check, part in _by_check(rows)
    }
    table = np.exp(pd.DataFrame.from_dict(logs, orient="index", columns=COMPARED))
    return table.rename_axis(["moved", "target"])


def predicted_signs(rows: pd.DataFrame) -> pd.DataFrame:
    """Set each predicted sign beside the gain found: a row a prediction that has rows.

    Returns:
        ``moved``, ``target``, ``protocol``, ``gate`` and ``step``; the ``predicted``
        sign, the ``gain``, a geometric mean over seeds, its ``sign``, and whether the
        prediction ``held``.
    """
    found = []
    for (moved, problem), part in _by_check(rows):
        steps = triple_steps(part, _steps(part))
        for protocol, trained in steps.groupby("protocol", sort=False):
            signs = PREDICTED.get((moved, problem, str(protocol)), "")
            for (gate, step), predicted in zip(PREDICTED_STEPS, signs, strict=False):
                beside = (trained["gate"] == "relu") == (gate == "relu")
                log = trained[beside & (trained["step"] == step)]["log"].mean()
                gain = float(np.exp(log))
                sign = "+" if gain >= PAYS else "-" if gain <= 1 / PAYS else "0"
                row: dict[str, Any] = {"moved": moved, "target": problem}
                row |= {"protocol": protocol, "gate": gate, "step": step}
                row |= {"predicted": predicted, "gain": gain, "sign": sign}
                found.append(row | {"held": sign == predicted})
    return pd.DataFrame(found)


def _by_check(rows: pd.DataFrame) -> list[tuple[tuple[str, str], pd.DataFrame]]:
    """Part rows by what is moved and target, in the order of :data:`CHECKS`.

    The sample that tests run is left out.
    """
    rows = rows[rows["steps"] >= SHORT]
    moved = [
        _moved(row.problem, row.blocks, json.loads(str(row.settings)))
        for row in rows.itertuples()
    ]
    parts = dict([*rows.assign(moved=moved).groupby(["moved", "problem"])])
    return [(check, parts[check]) for check in CHECKS if check in parts]


def _moved(problem: Any, blocks: Any, settings: Mapping[str, int]) -> str:
    """Name what a network has other than the map's, or the map's own beside it."""
    if problem in CHECK_TARGETS:
        return "target"
    return _blocks(blocks) if blocks else _points(settings["batch"])


def _steps(rows: pd.DataFrame) -> int:
    """Give the number of steps that all rows have."""
    (steps,) = rows["steps"].unique()
    return int(steps)


def check_trials() -> list[Trial]:
    """List the trials: targets first, then batches, then depths."""
    trials = [
        map_trial(problem, unit, protocol, 1000, steps=STEPS)
        for problem in CHECK_TARGETS
        for protocol in _BOTH
        for unit in FEW
    ]
    trials += [
        map_trial(problem, unit, protocol, 1000, steps=SHORT, batch=batch)
        for batch in _BATCHES
        for problem in ("products", "ridges16")
        for protocol in _BOTH
        for unit in FEW
    ]
    trials += [
        map_trial(problem, unit, protocol, 4000, blocks, SHORT)
        for problem, protocols in (("borehole", _BOTH), ("ridges16", ("adamw",)))
        for protocol in protocols
        for blocks in _DEPTHS
        for unit in FEW
    ]
    return [*_sample(), *trials]


def _sample() -> list[Trial]:
    settings: Any = {"seeds": 2, "rates": [-5, -4, -3], "batch": 32}
    return [map_trial("wing", "pair:silu", "adamw", 1000, steps=100, **settings)]


MAP_CHECKS = Study(
    "Three attacks on the map: other targets, batches and depths",
    {name: PROTOCOLS[name] for name in _BOTH},
    run_map,
    check_trials,
    _sample,
)
