"""The front page's picture: a gate that bends, the same times x that curves, a layer of each."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

from xsquared.functions import PAPER_TARGET, interval_of
from xsquared.units import parameter_count
from xsquared_book.explore import best_spline, read_optima, shown
from xsquared_book.pictures import as_svg
from xsquared_book.plotting import draw_knots, line_look, use_style
from xsquared_book.project import Project

#: Neurons of the layers drawn, and of wider ones: each time as many parameters for both units.
NEURONS, WIDER = {"mlp": 5, "glu": 3}, {"mlp": 10, "glu": 6}


def draw_idea() -> str:
    """The picture as SVG: one neuron above, the best layer found below, MLP left and GLU right."""
    with plt.rc_context():
        use_style()
        fig, grid = plt.subplots(2, 2, figsize=(4.7, 4.4), sharey="row")
        z, x = np.linspace(-1, 1, 201), np.linspace(*interval_of(PAPER_TARGET), 400)
        gate = np.maximum(z, 0)
        neurons = {"mlp": ("a ReLU gate bends", gate), "glu": ("times $x$ it curves", gate * z)}
        for (top, bottom), (unit, (says, values)) in zip(grid.T, neurons.items(), strict=True):
            top.plot(z, values, **line_look(unit))
            top.set_title(says)
            draw_knots(top, np.zeros(1))
            n = NEURONS[unit]
            best = best_spline(PAPER_TARGET.name, unit, n)
            bottom.plot(x, PAPER_TARGET(x), **line_look("target"))
            bottom.plot(x, best(x), **line_look(unit))
            draw_knots(bottom, best.knots)
            bottom.set_title(f"{unit.upper()}, {n} neurons")
            for ax in (top, bottom):
                ax.grid(False)
                ax.tick_params(labelbottom=False, labelleft=False, length=0)
        drawn = as_svg(fig)
        plt.close(fig)
    return drawn


def write_idea(_project: Project) -> str:
    """Raw HTML: the picture with its caption."""
    optima = read_optima().loc[PAPER_TARGET.name]
    few, many = (
        {
            unit: (parameter_count(unit, 1, n), optima.loc[(unit, n), "rmse"])
            for unit, n in width.items()
        }
        for width in (NEURONS, WIDER)
    )
    alt = (
        "Above, a line that is flat up to a point and then rises, and one that is flat and then "
        "curves upward. Below, a dashed curve of two humps with straight pieces upon it, and the "
        "same curve with fewer, curved pieces."
    )
    caption = (
        "Above: one neuron. Below: the best layers found for a curve of two humps (dashed), "
        f"{few['mlp'][0]} parameters each. Dotted verticals mark where a gate opens or shuts. "
        f"The root mean square error is {few['mlp'][1]:.3f} with straight pieces (MLP) and "
        f"{few['glu'][1]:.3f} with curved ones (GLU); with {many['mlp'][0]} parameters each it is "
        f"{many['mlp'][1]:.4f} and {many['glu'][1]:.4f}."
    )
    return f"```{{raw}} html\n{shown(draw_idea(), 'drawn xs-idea', alt, caption)}\n```"
