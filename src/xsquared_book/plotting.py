"""Figures: one house style, one look per unit, and the drawings that several chapters share."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from xsquared.checks import check_choice, check_finite_array
from xsquared_book.pictures import show_in_notebook

if TYPE_CHECKING:
    # Not at run time: who only draws need not wait for torch, or for a speedrun's progress bar.
    from xsquared.units import GatedNetwork
    from xsquared_studies.speedrun import UnitRun

#: Look of each unit's lines in every figure; colour, marker and dashes say the same. A unit of
#: one's own gets its look by an entry of its own.
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
}

#: Look of the four closed-form constructions, their unit's colour and a marker each.
CONSTRUCTION_LOOK: dict[str, dict[str, Any]] = {
    "interpolating_mlp": LOOK["mlp"],
    "left_curvature_glu": LOOK["glu"],
    "midpoint_curvature_glu": {"color": "#8a5cb8", "marker": "D"},
    "hermite_gqu": LOOK["gqu"],
}


def use_style() -> None:
    """Apply the house style to every figure that follows; in a notebook they are shown as SVG."""
    with as_file(files("xsquared_book") / "xsquared.mplstyle") as path:
        plt.style.use(path)
    show_in_notebook()


def line_look(name: str) -> dict[str, Any]:
    """The look of a unit or target as a continuous line, without markers.

    Raises:
        ValueError: an unknown name.
    """
    look = LOOK[check_choice("look", name, LOOK)]
    return {key: value for key, value in look.items() if key != "marker"}


def draw_knots(ax: Axes, knots: np.ndarray) -> None:
    """Thin vertical lines at the knots (n,), where cells meet.

    Raises:
        ValueError: knots that are no vector of finite numbers.
    """
    for place in check_finite_array("knots", knots, ndim=1):
        ax.axvline(place, color="0.7", linewidth=0.8, linestyle=":", zorder=0, label="_knots")


def draw_hinges(
    ax: Axes, network: GatedNetwork, box: tuple[tuple[float, float], tuple[float, float]]
) -> None:
    """The hinge lines of a network on the plane, exact to the edge of the box.

    Raises:
        ValueError: as for :func:`xsquared.geometry.hinge_segments`.
    """
    from xsquared.geometry import hinge_segments  # with torch, which no other drawing needs

    for hinge in hinge_segments(network, box):
        (x0, y0), (x1, y1) = hinge.start, hinge.end
        label = f"_hinge {hinge.neuron + 1}"
        ax.plot([x0, x1], [y0, y1], color="black", linewidth=1.4, label=label)
    ax.set_xlim(*box[0])
    ax.set_ylim(*box[1])
    ax.set_aspect("equal")


def speedrun_figure(runs: list[UnitRun]) -> Figure:
    """Errors of a speedrun against width, with the fitted lines."""
    use_style()
    # Fixed margins and plain tick labels: working margins out, and reading the language of formulas
    # for the powers of ten, took a sixth of a speedrun's time.
    fig, ax = plt.subplots(figsize=(7, 4), layout="none")
    fig.subplots_adjust(left=0.12, right=0.98, bottom=0.13, top=0.97)
    for run in runs:
        fitted = run.widths[-run.slope.used :]
        label = f"{run.unit.upper()}, slope {run.slope.value:.2f}"
        ax.loglog(run.widths, run.errors, linestyle="none", label=label, **LOOK[run.unit])
        line = run.slope.coefficient * fitted**run.slope.value
        ax.loglog(fitted, line, color=LOOK[run.unit]["color"], linewidth=1, label=f"_{label}")
    for axis, label, form in ((ax.xaxis, "neurons", "{x:g}"), (ax.yaxis, "RMSE", "{x:.0e}")):
        axis.set_label_text(label)
        axis.set_major_formatter(form)
        axis.set_minor_formatter(NullFormatter())
    ax.legend()
    return fig
