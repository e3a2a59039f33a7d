"""The data of the figures that move: rows of the studies ``curves`` and
``optimal_knots``.

They are written as scripts, as a page opened from a disk may not fetch. ``book/_extra``
holds what works with them: ``figure.js`` compares three units on a curve,
``explore.js`` fits and trains.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from xsquared.functions import interval_of
from xsquared.studies import curves, rows
from xsquared.studies.optimal_knots import STEP, TARGETS
from xsquared.units import PAPER_UNITS, find_unit

#: What the page offers: units of which n neurons are the splines of n cells.
UNITS = {unit: unit.upper() for unit in PAPER_UNITS} | {"relu2_mlp": "ReLU² MLP"}
#: The names of curves in the figure.
_TITLES: tuple[str, ...] = (
    "a bump: 1/(1 + 9x²)",
    "a wave: sin 6x",
    "a kink: |x − 0.3| + sin 3x",
)
_TITLES += ("two waves and a bump", "steeper waves", "falling waves")


def read_optima() -> pd.DataFrame:
    """Read the study's rows: by target, unit and cells, the RMSE and the places of
    knots.
    """
    frame, names = (
        rows("optimal_knots"),
        {str(t.expression): name for name, t in TARGETS.items()},
    )
    frame["target"] = frame["problem"].map(names)
    frame["rmse"], frame["cells"] = frame["train_rmse"], frame["n"]
    frame["places"] = [
        [int(k) for k in knots.split()] for knots in frame["knots"].fillna("")
    ]
    return frame.set_index(["target", "unit", "cells"]).sort_index()[["rmse", "places"]]


def page_data() -> dict[str, Any]:
    """Collect targets, units and optima, as ``explore.js`` takes them."""
    optima, units, targets = read_optima(), {}, {}
    for unit, title in UNITS.items():
        own = find_unit(unit)
        named: dict[str, Any] = {
            "title": f"{title}, degree {own.degree}",
            "power": own.gate.degree,
        }
        shape = {
            "degree": own.degree,
            "continuity": own.continuity,
            "factors": len(own.factors),
        }
        units[unit] = named | shape
    for name, made in TARGETS.items():
        found = {
            unit: optima.loc[name, unit].to_numpy().tolist() for unit in PAPER_UNITS
        }
        targets[name] = {
            "text": str(made.expression),
            "domain": interval_of(made),
            "optima": found,
        }
    return {"targets": targets, "units": units, "step": STEP}


def curve_data() -> dict[str, Any]:
    """Collect curves and, by way and unit, errors and weights of the middle seed by
    size.
    """
    seeds = (
        rows("curves")
        .sort_values("test_rmse")
        .groupby(["problem", "protocol", "unit", "n"])
    )
    middle = seeds[["test_rmse", "weights"]].apply(
        lambda own: own.iloc[len(own) // 2].to_list()
    )
    made: dict[str, Any] = {}
    for title, (name, curve) in zip(_TITLES, curves.TARGETS.items(), strict=True):
        values = curve(np.linspace(-1, 1, 241)).round(6).tolist()
        made[name] = {"title": title, "values": values, "best": {}, "adamw": {}}
        for (way, unit), sizes in middle[name].groupby(["protocol", "unit"]):
            made[name][way][unit] = sizes.to_list()
    return made


def write_scripts(folder: Path) -> None:
    """Write the data below a site's root."""
    for name, data in {"OPTIMA": page_data(), "CURVES": curve_data()}.items():
        text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
        (folder / f"{name.lower()}.js").write_text(
            f"const {name} = {text};\n", encoding="utf-8"
        )
