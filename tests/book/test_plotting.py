"""Figures: style, looks, and what is refused."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from xsquared.constructions import CONSTRUCTIONS
from xsquared.geometry import hinge_segments
from xsquared.units import UNITS, build
from xsquared_book.plotting import (
    CONSTRUCTION_LOOK,
    LOOK,
    draw_hinges,
    error_plot,
    line_look,
)

PACKAGE_UNITS = tuple(UNITS)  # before any test registers its own


@pytest.fixture
def ax() -> Iterator[Axes]:
    with mpl.rc_context({"backend": "agg"}):
        figure, axes = plt.subplots()
        yield axes
        plt.close(figure)


def test_every_unit_and_construction_has_a_look_of_its_own() -> None:
    assert set(LOOK) == {"target", *PACKAGE_UNITS}
    assert set(CONSTRUCTION_LOOK) == set(CONSTRUCTIONS)
    for looks in (LOOK, CONSTRUCTION_LOOK):
        for property_ in ("color", "marker"):
            assert len({look.get(property_) for look in looks.values()}) == len(looks), property_


def drawn(line: Line2D) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


def luminance(color: str) -> float:
    """Relative luminance of WCAG 2."""
    channels = np.array(mpl.colors.to_rgb(color))
    linear = np.where(channels <= 0.03928, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("look", [*LOOK.values(), *CONSTRUCTION_LOOK.values()], ids=str)
def test_lines_stand_out_from_white(look: dict[str, Any]) -> None:
    assert 1.05 / (luminance(look["color"]) + 0.05) >= 3.0


def test_hinges_are_drawn_from_end_to_end(ax: Axes) -> None:
    network = build("mlp", 2, 5, generator=torch.Generator().manual_seed(0))
    box = ((-1.0, 1.0), (-2.0, 2.0))
    draw_hinges(ax, network, box)
    hinges = hinge_segments(network, box)
    ends = [list(zip(*drawn(line), strict=True)) for line in ax.lines]
    assert ends == [[hinge.start, hinge.end] for hinge in hinges]
    assert ax.get_xlim() == (-1.0, 1.0)


@pytest.fixture
def errors() -> Iterator[pd.DataFrame]:
    """Errors of known orders, three seeds each, one run of which failed."""
    orders = {"glu": 3.0, "mlp": 2.0}
    every = product(("sine", "kink", "waves"), orders, (10, 20, 40, 80), (1.0, 2.0, 6.0))
    frame = pd.DataFrame(every, columns=["problem", "unit", "parameters", "seed"])
    frame["test_rmse"] = 2 * frame["parameters"] ** -frame["unit"].map(orders)
    frame["train_rmse"] = frame["seed"] * frame["test_rmse"] / 2
    frame.loc[0, "train_rmse"] = np.nan
    with mpl.rc_context({"backend": "agg"}):
        yield frame
        plt.close("all")


def test_an_error_plot_has_a_panel_a_problem_and_a_curve_a_unit(errors: pd.DataFrame) -> None:
    panels = error_plot(errors, titles={"sine": "a wave"})
    assert list(panels) == ["sine", "kink", "waves"]
    assert len(panels["sine"].figure.axes) == 3
    assert [ax.get_title() for ax in panels.values()] == ["a wave", "kink", "waves"]
    assert [ax.get_ylabel() for ax in panels.values()] == ["RMSE", "", "RMSE"]
    assert [ax.get_legend() is None for ax in panels.values()] == [False, True, True]
    lines = panels["kink"].lines
    assert [line.get_label() for line in lines] == ["GLU", "MLP"]
    assert [line.get_color() for line in lines] == [LOOK["glu"]["color"], LOOK["mlp"]["color"]]
    assert panels["kink"].get_xscale() == panels["kink"].get_yscale() == "log"


def test_a_curve_is_the_median_of_the_seeds_in_a_band_of_their_range(errors: pd.DataFrame) -> None:
    panels = error_plot(errors)
    assert drawn(panels["kink"].lines[0])[1][0] == pytest.approx(2e-3)
    assert drawn(panels["sine"].lines[0])[1][0] == pytest.approx(4e-3), "of the two that ran"
    band = panels["kink"].collections[0]
    heights = np.asarray(band.get_paths()[0].vertices)[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((80**-3.0, 6e-3))
    assert not error_plot(errors, y="test_rmse")["kink"].collections, "no range of equal seeds"
    assert not error_plot(errors, spread=False)["kink"].collections


def test_reference_slopes_stand_below_curves_and_say_their_number(errors: pd.DataFrame) -> None:
    ax = error_plot(errors, facet="", slopes={"glu": -3})[""]
    (line,) = (line for line in ax.lines if line.get_label() == "_slope -3")
    x, y = np.log(drawn(line))
    assert np.polyfit(x, y, 1)[0] == pytest.approx(-3)
    assert np.all(drawn(line)[1] < drawn(ax.lines[0])[1][2:])
    assert [text.get_text() for text in ax.texts] == ["slope -3"]


def test_a_second_call_draws_over_the_first_where_there_is_something(errors: pd.DataFrame) -> None:
    panels = error_plot(errors)
    over = errors[errors["problem"] == "sine"]
    again = error_plot(over, y="test_rmse", axes=panels, note="held out", linestyle="--")
    assert again == panels
    added = panels["sine"].lines[2:]
    assert [line.get_label() for line in added] == ["_GLU, held out", "_MLP, held out"]
    assert {line.get_linestyle() for line in added} == {"--"}
    assert len(panels["kink"].lines) == 2


def test_curves_of_anything_else_have_markers_and_names_too(errors: pd.DataFrame) -> None:
    frame = errors.rename(columns={"unit": "gate"}).replace({"glu": "relu", "mlp": "gelu"})
    ax = error_plot(frame, by="gate", facet="", names={"relu": "ReLU"})[""]
    assert [line.get_label() for line in ax.lines] == ["ReLU", "gelu"]
    assert len({(line.get_marker(), line.get_color()) for line in ax.lines}) == 2
    assert "marker" not in line_look("mlp")
