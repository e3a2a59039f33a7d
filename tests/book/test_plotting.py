"""Figures: style, looks, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.axes import Axes

from xsquared.constructions import CONSTRUCTIONS
from xsquared.geometry import hinge_segments
from xsquared.units import UNITS, build
from xsquared_book.plotting import (
    CONSTRUCTION_LOOK,
    LOOK,
    draw_hinges,
    draw_knots,
    line_look,
    use_style,
)

PACKAGE_UNITS = tuple(UNITS)  # before any test registers its own


@pytest.fixture
def ax() -> Iterator[Axes]:
    with mpl.rc_context({"backend": "agg"}):
        figure, axes = plt.subplots()
        yield axes
        plt.close(figure)


def test_style_is_applied() -> None:
    with mpl.rc_context():
        use_style()
        assert mpl.rcParams["axes.grid"] is True
        assert mpl.rcParams["figure.facecolor"] == "white"


def test_every_unit_and_construction_has_a_look_of_its_own() -> None:
    assert set(LOOK) == {"target", *PACKAGE_UNITS}
    assert set(CONSTRUCTION_LOOK) == set(CONSTRUCTIONS)
    for looks in (LOOK, CONSTRUCTION_LOOK):
        pairs = [(look["color"], look.get("marker")) for look in looks.values()]
        assert len(set(pairs)) == len(pairs)
        assert len({color for color, _ in pairs}) == len(pairs), "told apart by colour"
        assert len({marker for _, marker in pairs}) == len(pairs), "and by marker"


def luminance(color: str) -> float:
    """Relative luminance of WCAG 2."""
    channels = np.array(mpl.colors.to_rgb(color))
    linear = np.where(channels <= 0.03928, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("look", [*LOOK.values(), *CONSTRUCTION_LOOK.values()], ids=str)
def test_lines_stand_out_from_white(look: dict) -> None:
    assert 1.05 / (luminance(look["color"]) + 0.05) >= 3.0


def test_line_look_drops_the_marker() -> None:
    assert "marker" not in line_look("mlp")
    with pytest.raises(ValueError, match="unknown look 'rnn'; known are target, mlp"):
        line_look("rnn")


def test_knots_are_drawn_where_they_are(ax: Axes) -> None:
    draw_knots(ax, np.array([0.0, 0.5]))
    assert [line.get_xdata()[0] for line in ax.lines] == [0.0, 0.5]
    with pytest.raises(ValueError, match=r"knots: expected 1 axes, got shape \(1, 2\)"):
        draw_knots(ax, np.zeros((1, 2)))


def test_hinges_are_drawn_from_end_to_end(ax: Axes) -> None:
    network = build("mlp", 2, 5, generator=torch.Generator().manual_seed(0))
    box = ((-1.0, 1.0), (-2.0, 2.0))
    draw_hinges(ax, network, box)
    hinges = hinge_segments(network, box)
    drawn = [list(zip(*line.get_data(), strict=True)) for line in ax.lines]
    assert drawn == [[hinge.start, hinge.end] for hinge in hinges]
    assert ax.get_xlim() == (-1.0, 1.0)
