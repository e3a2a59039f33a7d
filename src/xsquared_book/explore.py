"""The page on which a reader moves knots: its data, and its figure without JavaScript.

The optima are computed once, kept in ``results/optimal_knots.csv`` and checked by a test. The page
gets them, and the targets as JavaScript made from their expressions, in one block of JSON, as a
page opened from a disk may not fetch. ``book/_extra/explore.js`` fits splines to any knots.
"""

from __future__ import annotations

import base64
import json
import re
from datetime import UTC, datetime
from functools import cache
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import sympy as sp

from xsquared.functions import PAPER_TARGET, Target, interval_of, target
from xsquared.splines.bounds import segments
from xsquared.splines.constants import equal_cells_constant
from xsquared.splines.free_knots import FreeKnotSpline, fit_free_knots
from xsquared.training import FreeKnots
from xsquared.units import PAPER_UNITS, find_unit, space
from xsquared_book.pictures import as_svg
from xsquared_book.plotting import LOOK, draw_knots, line_look, use_style
from xsquared_book.project import Project, git
from xsquared_studies.provenance import versions, write_origin

#: What a reader can choose to fit, by name.
TARGETS: dict[str, Target] = {
    PAPER_TARGET.name: PAPER_TARGET,
    "1/(1+9x²)": target("1/(1 + 9*x**2)", (-1.0, 1.0)),
    "exp(2x)": target("exp(2*x)", (-1.0, 1.0)),
}
#: The most neurons: with one gate open everywhere, n neurons make n cells.
WIDEST = 50
#: Knots are kept in this share of the interval: an error moves by less than 1e-6 of itself.
STEP = 1e-6
#: What the page shows first, and its figure always.
FIRST = (PAPER_TARGET.name, "glu", 6)


def spline(made: Target, unit: str, places: list[int]) -> FreeKnotSpline:
    """The best spline for knots inside at so many steps from the left end of the interval."""
    a, b = interval_of(made)
    knots = np.array([a, *(a + (b - a) * STEP * np.array(places)), b])
    return fit_free_knots(made, space(unit), knots, max_iterations=0)


def optimum(name: str, unit: str, cells: int) -> tuple[list[int], float]:
    """The places of the knots inside of the best spline found, in steps, and its RMSE there."""
    made = TARGETS[name]
    a, b = interval_of(made)
    found = FreeKnots().spline(made, unit, cells)
    places = np.rint((found.knots[1:-1] - a) / (b - a) / STEP).astype(int).tolist()
    return places, spline(made, unit, places).rmse


def write_optima(project: Project) -> None:
    """Compute every optimum, a minute in all, and write the table with what made it."""
    cases = [(t, u, n) for t in TARGETS for u in PAPER_UNITS for n in range(1, WIDEST + 1)]
    rows = [(*case, *optimum(*case)) for case in cases]
    frame = pd.DataFrame(rows, columns=["target", "unit", "cells", "places", "rmse"])
    frame["places"] = [" ".join(map(str, places)) for places in frame["places"]]
    frame.to_csv(project.optima, index=False, lineterminator="\n")
    origin = {
        "title": "Knots of the best splines found, in millionths of the interval, and their RMSE",
        "made_by": "xsquared_book.explore.write_optima",
        "commit": git(project.root, "rev-parse", "--short=12", "HEAD"),
        "versions": versions(),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
    }
    write_origin(project.optima.with_suffix(".toml"), origin)


def read_optima(project: Project) -> pd.DataFrame:
    """The table: by target, unit and cells, the places of knots and the RMSE."""
    frame = pd.read_csv(project.optima, keep_default_na=False)
    frame["places"] = [[int(place) for place in places.split()] for places in frame["places"]]
    return frame.set_index(["target", "unit", "cells"]).sort_index()


@cache
def law(name: str, unit: str) -> tuple[int, float]:
    """Order k, and C of the errors C n^-k that the best splines of many cells tend to."""
    made, record = TARGETS[name], find_unit(unit)
    a, b = interval_of(made)
    constant = float(equal_cells_constant(record.order, record.continuity))
    mass = float(segments(made, record.order).masses.sum())
    return record.order, constant * mass ** (record.order + 0.5) / (b - a) ** 0.5


def page_data(project: Project) -> dict[str, Any]:
    """All that the page's script works with."""
    optima = read_optima(project)
    splines = {
        name: {
            unit: {
                "law": law(name, unit),
                "optima": [[row.rmse, row.places] for row in optima.loc[name, unit].itertuples()],
            }
            for unit in PAPER_UNITS
        }
        for name in TARGETS
    }
    targets = {
        name: {"value": sp.jscode(made.expression), "domain": interval_of(made)}
        for name, made in TARGETS.items()
    }
    degrees = {unit: find_unit(unit).degree for unit in PAPER_UNITS}
    return {"targets": targets, "units": degrees, "splines": splines, "step": STEP, "first": FIRST}


def still_figure(project: Project) -> str:
    """What the page shows first as a picture, SVG: a fit to the optimum's knots, and all optima."""
    name, unit, cells = FIRST
    made, rows = TARGETS[name], read_optima(project).loc[name, unit]
    best, (order, constant) = spline(made, unit, rows["places"][cells]), law(name, unit)
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


def write_explorable(project: Project) -> str:
    """Raw HTML: the still figure, and the data for the script."""
    data = json.dumps(page_data(project), separators=(",", ":"), ensure_ascii=False)
    figure = still_figure(project)
    coded = base64.b64encode(figure.encode()).decode()
    width, height = re.findall(r'\b(?:width|height)="(\d+)"', figure)[:2]
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
        f'```{{raw}} html\n<figure class="explore-still">\n<img alt="{alt}" width="{width}" '
        f'height="{height}" src="data:image/svg+xml;base64,{coded}">\n'
        f"<figcaption>{caption}</figcaption>\n</figure>\n"
        f'<script type="application/json" id="explore-data">{data}</script>\n```'
    )
