"""The data of the figures that move: rows of the studies ``curves`` and ``optimal_knots``.

They are written as scripts, as a page opened from a disk may not fetch. ``book/_extra`` holds what
works with them: ``figure.js`` compares three units on a curve, ``explore.js`` fits and trains.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from xsquared.functions import PAPER_TARGET, interval_of
from xsquared.units import PAPER_UNITS, find_unit
from xsquared_studies import curves, rows
from xsquared_studies.optimal_knots import STEP, TARGETS

#: What the page shows first: target, unit, neurons.
FIRST = (PAPER_TARGET.name, "glu", 6)
#: What the page offers: units of which n neurons are the splines of n cells.
UNITS = {unit: unit.upper() for unit in PAPER_UNITS} | {"relu2_mlp": "ReLU² MLP"}
#: Curves of the study ``curves``, as the figure offers them.
CURVES = {
    "smooth": "a bump: 1/(1 + 9x²)",
    "oscillating": "a wave: sin 6x",
    "kinked": "a kink: |x − 0.3| + sin 3x",
    **{f"later {k}": f"waves and a bump, {k}" for k in (1, 2, 3)},
}


def read_optima() -> pd.DataFrame:
    """Read the study's rows: by target, unit and cells, the places of knots and the RMSE."""
    frame, names = rows("optimal_knots"), {str(t.expression): name for name, t in TARGETS.items()}
    frame["target"] = frame["problem"].map(names)
    frame["rmse"], frame["cells"] = frame["train_rmse"], frame["n"]
    frame["places"] = [[int(k) for k in knots.split()] for knots in frame["knots"].fillna("")]
    return frame.set_index(["target", "unit", "cells"]).sort_index()[["places", "rmse"]]


def page_data() -> dict[str, Any]:
    """Collect all that the page's script works with."""
    optima = read_optima()
    units = {
        unit: {
            "title": f"{title}, degree {find_unit(unit).degree}",
            "degree": find_unit(unit).degree,
            "continuity": find_unit(unit).continuity,
            "factors": len(find_unit(unit).factors),
            "power": find_unit(unit).gate.degree,
        }
        for unit, title in UNITS.items()
    }
    found = {
        name: {
            unit: [[row.rmse, row.places] for row in optima.loc[name, unit].itertuples()]
            for unit in PAPER_UNITS
        }
        for name in TARGETS
    }
    targets = {
        name: {"text": str(made.expression), "domain": interval_of(made)}
        for name, made in TARGETS.items()
    }
    return {"targets": targets, "units": units, "optima": found, "step": STEP, "first": FIRST}


def curve_data() -> dict[str, Any]:
    """Collect curves and, by way and unit, errors and weights of the middle seed by size."""
    seeds = rows("curves").sort_values("test_rmse").groupby(["problem", "protocol", "unit", "n"])
    middle = seeds[["test_rmse", "weights"]].apply(lambda own: own.iloc[len(own) // 2].to_list())
    return {
        name: {
            "title": title,
            "values": curves.TARGETS[name](np.linspace(-1, 1, 241)).round(6).tolist(),
            "rows": {
                way: {unit: middle[name, way, unit].to_list() for unit in ("mlp", "glu", "swiglu")}
                for way in ("best", "adamw")
            },
        }
        for name, title in CURVES.items()
    }


def write_scripts(folder: Path) -> None:
    """Write the data below a site's root."""
    for name, data in {"OPTIMA": page_data(), "CURVES": curve_data()}.items():
        text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
        (folder / f"{name.lower()}.js").write_text(f"const {name} = {text};\n", encoding="utf-8")
