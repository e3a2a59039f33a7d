"""Figures: one house style, one look per unit, drawings that chapters share."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from xsquared.book.pictures import show_in_notebook

if TYPE_CHECKING:
    # Not at run time: who only draws need not wait for torch.
    from xsquared.studies.speedrun import UnitRun
    from xsquared.units import GatedNetwork

#: Look of each unit's lines in every figure; colour, marker and dashes say the same. A
#: unit of one's own gets its look by an entry of its own, one of the package must have
#: it.
LOOK: dict[str, dict[str, Any]] = {
    "target": {"color": "#555555", "linestyle": "--"},
    "mlp": {"color": "#2a78b5", "marker": "o"},
    "glu": {"color": "#c8541b", "marker": "s"},
    "gqu": {"color": "#3c8d40", "marker": "^"},
    "relu2_mlp": {"color": "#17808a", "marker": "v"},
    "relu3_mlp": {"color": "#6b7a1e", "marker": "P"},
    "bilinear": {"color": "#8a5cb8", "marker": "D"},
    "geglu": {"color": "#a83279", "marker": "X"},
    "swiglu": {"color": "#7a5230", "marker": "*"},
    "pair": {"color": "#6b3fa0", "marker": "h"},
}

#: Look of the four closed-form constructions, their unit's colour and a marker each.
CONSTRUCTION_LOOK: dict[str, dict[str, Any]] = {
    "interpolating_mlp": LOOK["mlp"],
    "left_curvature_glu": LOOK["glu"],
    "midpoint_curvature_glu": {"color": "#8a5cb8", "marker": "D"},
    "hermite_gqu": LOOK["gqu"],
}
#: Their names, in figures and tables.
CONSTRUCTION_NAMES = {
    "interpolating_mlp": "interpolating MLP",
    "left_curvature_glu": "GLU, left curvature",
    "midpoint_curvature_glu": "GLU, midpoint curvature",
    "hermite_gqu": "Hermite GQU",
}


def use_style() -> None:
    """Apply the house style to every figure that follows.

    In a notebook figures are shown as SVG, and what matplotlib's calls return is not
    shown.
    """
    with as_file(files("xsquared.book") / "xsquared.mplstyle") as path:
        plt.style.use(path)
    show_in_notebook()


def line_look(name: str) -> dict[str, Any]:
    """Give the look of a unit or target as a continuous line, without markers."""
    return {key: value for key, value in LOOK[name].items() if key != "marker"}


def error_plot(
    frame: pd.DataFrame,
    axes: Mapping[str, Axes],
    y: str = "train_rmse",
    note: str = "",
    spread: bool = True,
    **style: Any,
) -> None:
    """Draw errors against parameters, both by logarithms: a panel a problem.

    A curve a unit is the median over the rows of one size, which are its seeds; a band
    is their range. A second call on the same panels lays other networks over them.

    Args:
        frame: one row per network.
        axes: panels by problem; rows of other problems are left out.
        y: column of errors; rows without one are left out.
        note: what tells these curves from others in the same panels; keeps them out of
            the legend.
        spread: whether to draw the range.
        **style: of every curve, before its look.
    """
    for problem, ax in axes.items():
        rows = frame[frame["problem"] == problem]
        for unit, networks in rows.groupby("unit", sort=False):
            look = {"color": None} | LOOK.get(unit, {}) | style
            name = str(unit).upper()
            # matplotlib's legend leaves out labels that begin with "_".
            label = f"_{name}, {note}" if note else name
            seeds = networks.dropna(subset=[y]).groupby("parameters")[y]
            errors = seeds.agg(["median", "min", "max"])
            (line,) = ax.loglog(errors.index, errors["median"], label=label, **look)
            if spread and not errors["min"].equals(errors["max"]):
                ax.fill_between(
                    errors.index,
                    errors["min"],
                    errors["max"],
                    color=line.get_color(),
                    alpha=0.15,
                    linewidth=0,
                    label=f"_{name}, range of the seeds",
                )


def draw_knots(ax: Axes, knots: np.ndarray) -> None:
    """Draw thin vertical lines at the knots (n,), where cells meet."""
    for knot in knots:
        ax.axvline(
            knot, color="0.7", linewidth=0.8, linestyle=":", zorder=0, label="_knots"
        )


def draw_hinges(
    ax: Axes,
    network: GatedNetwork,
    box: tuple[tuple[float, float], tuple[float, float]],
) -> None:
    """Draw the hinge lines of a network on the plane, exact to the edge of the box."""
    from xsquared.geometry import hinge_segments  # with torch, as no other drawing

    for hinge in hinge_segments(network, box):
        (x0, y0), (x1, y1) = hinge.start, hinge.end
        label = f"_hinge {hinge.neuron + 1}"
        ax.plot([x0, x1], [y0, y1], color="black", linewidth=1.4, label=label)
    ax.set_xlim(*box[0])
    ax.set_ylim(*box[1])
    ax.set_aspect("equal")


def speedrun_figure(runs: list[UnitRun]) -> Figure:
    """Draw errors of a speedrun against width, with the fitted lines."""
    use_style()
    # Fixed margins and plain tick labels: working margins out, and reading the language
    # of formulas for the powers of ten, took a sixth of a speedrun's time.
    fig, ax = plt.subplots(figsize=(7, 4), layout="none")
    fig.subplots_adjust(left=0.12, right=0.98, bottom=0.13, top=0.97)
    for run in runs:
        look = LOOK[run.unit]
        label = f"{run.unit.upper()}, slope {run.slope.value:.2f}"
        ax.loglog(run.widths, run.errors, label=label, linestyle="none", **look)
        line = run.slope.coefficient * run.widths**run.slope.value
        ax.loglog(run.widths, line, color=look["color"], linewidth=1)
    ax.set(xlabel="neurons", ylabel="RMSE")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_major_formatter("{x:.0e}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.legend()
    return fig
