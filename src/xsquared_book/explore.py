"""The data of the page on which a reader moves knots.

The optima are rows of the study ``optimal_knots``. The page gets them, targets and units in one
block of JSON, as a page opened from a disk may not fetch. ``book/_extra/explore.js`` fits splines
to any knots, reads formulas and trains.
"""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from xsquared.functions import PAPER_TARGET, interval_of
from xsquared.units import PAPER_UNITS, find_unit
from xsquared_book.project import Project
from xsquared_studies import rows
from xsquared_studies.optimal_knots import STEP, TARGETS

#: What the page shows first: target, unit, neurons.
FIRST = (PAPER_TARGET.name, "glu", 6)
#: What the page offers: units of which n neurons are the splines of n cells.
UNITS = {unit: unit.upper() for unit in PAPER_UNITS} | {"relu2_mlp": "ReLU² MLP"}


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


def write_explorable(_project: Project) -> str:
    """Write the data for the script as raw HTML."""
    data = json.dumps(page_data(), separators=(",", ":"), ensure_ascii=False)
    script = f'<script type="application/json" id="explore-data">{data}</script>'
    return f"```{{raw}} html\n<noscript>This page needs JavaScript.</noscript>\n{script}\n```"
