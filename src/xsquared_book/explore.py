"""The page on which a reader moves knots: its data, and its figure without JavaScript.

The optima are rows of the study ``optimal_knots``. The page gets them, targets and units in one
block of JSON, as a page opened from a disk may not fetch. ``book/_extra/explore.js`` fits splines
to any knots, reads formulas and trains.
"""

from __future__ import annotations

import base64
import json
import re
from functools import cache
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from xsquared.functions import PAPER_TARGET, interval_of
from xsquared.splines.bounds import sign_intervals
from xsquared.splines.constants import equal_cells_constant
from xsquared.splines.free_knots import FreeKnotSpline
from xsquared.units import PAPER_UNITS, find_unit
from xsquared_book.pictures import as_svg
from xsquared_book.plotting import LOOK, draw_knots, line_look, use_style
from xsquared_book.project import Project
from xsquared_studies import rows
from xsquared_studies.optimal_knots import STEP, TARGETS, WIDEST, spline

#: What the page shows first, and its figure always.
FIRST = (PAPER_TARGET.name, "glu", 6)
#: What the page offers: units of which n neurons are the splines of n cells.
UNITS = {unit: unit.upper() for unit in PAPER_UNITS} | {"relu2_mlp": "ReLU² MLP"}


def read_optima() -> pd.DataFrame:
    """The study's rows: by target, unit and cells, the places of knots and the RMSE."""
    frame, names = rows("optimal_knots"), {str(t.expression): name for name, t in TARGETS.items()}
    frame["target"] = frame["problem"].map(names)
    frame["rmse"], frame["cells"] = frame["train_rmse"], frame["n"]
    frame["places"] = [[int(k) for k in knots.split()] for knots in frame["knots"].fillna("")]
    return frame.set_index(["target", "unit", "cells"]).sort_index()[["places", "rmse"]]


@cache
def law(name: str, unit: str) -> tuple[int, float]:
    """Order k, and C of the errors C n^-k that the best splines of many cells tend to."""
    made, record = TARGETS[name], find_unit(unit)
    a, b = interval_of(made)
    constant = float(equal_cells_constant(record.order, record.continuity))
    mass = float(sign_intervals(made, record.order).masses.sum())
    return record.order, constant * mass ** (record.order + 0.5) / (b - a) ** 0.5


def page_data() -> dict[str, Any]:
    """All that the page's script works with."""
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


def best_spline(name: str, unit: str, cells: int) -> FreeKnotSpline:
    """The spline of the best knots found for so many cells."""
    return spline(TARGETS[name], unit, read_optima().loc[(name, unit, cells), "places"])


def still_figure() -> str:
    """What the page shows first as a picture, SVG: a fit to the optimum's knots, and all optima."""
    name, unit, cells = FIRST
    made, rows = TARGETS[name], read_optima().loc[name, unit]
    best, (order, constant) = best_spline(*FIRST), law(name, unit)
    with plt.rc_context():
        use_style()
        fig, (left, right) = plt.subplots(1, 2, figsize=(7, 3.4))
        x = np.linspace(*interval_of(made), 400)
        left.plot(x, made(x), label=name, **line_look("target"))
        left.plot(x, best(x), label=f"{unit.upper()}, {cells} neurons", **line_look(unit))
        draw_knots(left, best.knots)
        left.set_xlabel("$x$")
        look = LOOK[unit] | {"markersize": 3}
        right.loglog(rows.index, rows["rmse"], linestyle="none", label="best found", **look)
        right.loglog(
            rows.index,
            constant * rows.index.to_numpy(float) ** -order,
            "k:",
            label=f"order {order}",
        )
        right.set_xlabel("neurons")
        right.set_ylabel("RMSE")
        for ax in (left, right):
            ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize="small")
        drawn = as_svg(fig)
        plt.close(fig)
    return drawn


def shown(drawn: str, kind: str, alt: str, caption: str) -> str:
    """A figure of HTML that holds an SVG, its classes, words for it and its caption."""
    width, height = re.findall(r'\b(?:width|height)="(\d+)"', drawn)[:2]
    coded = base64.b64encode(drawn.encode()).decode()
    return (
        f'<figure class="{kind}">\n<img alt="{alt}" width="{width}" height="{height}" '
        f'src="data:image/svg+xml;base64,{coded}">\n<figcaption>{caption}</figcaption>\n</figure>'
    )


def write_explorable(_project: Project) -> str:
    """Raw HTML: the still figure, and the data for the script."""
    data = json.dumps(page_data(), separators=(",", ":"), ensure_ascii=False)
    name, unit, cells = FIRST
    alt = (
        "Left a curve with two humps and a spline upon it, whose knots are dense at the humps; "
        "right dots that fall with the number of neurons and come close to a dotted line."
    )
    caption = (
        f"{name} and the {unit.upper()} of {cells} neurons with the best knots found; errors of "
        f"such networks of 1 to {WIDEST} neurons. Where scripts run, these knots can be moved."
    )
    return (
        f"```{{raw}} html\n{shown(still_figure(), 'explore-still', alt, caption)}\n"
        f'<script type="application/json" id="explore-data">{data}</script>\n```'
    )
