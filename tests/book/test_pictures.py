"""Figures as notebooks hold them: always the same SVG, in looks that all can see."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from xsquared.book.pictures import PNG, SVG, bundle
from xsquared.book.plotting import CONSTRUCTION_LOOK, LOOK, error_plot, use_style
from xsquared.constructions import CONSTRUCTIONS
from xsquared.studies import rows
from xsquared.studies.curves import curve_data
from xsquared.units import UNITS

PACKAGE_UNITS = tuple(UNITS)  # before any test registers its own


@pytest.fixture(autouse=True)
def house_style() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}):
        use_style()
        yield
        plt.close("all")


def test_a_figure_is_one_line_of_svg_and_the_same_every_time() -> None:
    drawings = []
    for factor in (1, 1 + 1e-13):  # last digits do not show
        fig, ax = plt.subplots(figsize=(7, 3))
        x = np.linspace(0, 1, 5)
        ax.semilogy(x, factor * 10.0 ** (x / 3), "o-", label="$10^{x/3}$")
        ax.legend()
        drawings.append(bundle(fig)[SVG])
    assert drawings[0] == drawings[1]
    assert re.fullmatch("<svg .*</svg>", drawings[0]), "one line"
    kinds = {
        element.tag.rpartition("}")[2] for element in ET.fromstring(drawings[0]).iter()
    }
    assert not kinds & {"text", "metadata", "image"}, (
        "letters of a font that a reader may lack"
    )
    fig.set_rasterized(True)
    assert list(bundle(fig)) == [PNG]


def test_the_figure_that_moves_shows_the_median_of_ten_seeds() -> None:
    errors = rows("curves").query("protocol == 'undecayed' and unit == 'glu'")
    upper_medians = errors.groupby(["problem", "n"])["test_rmse"].quantile(
        0.5, interpolation="higher"
    )
    for name, curve in curve_data(rows("curves")).items():
        shown = [entry[1] for entry in curve["adamw"]["glu:relu"]]
        assert shown == upper_medians[name].to_list()


def luminance(color: str) -> float:
    """Relative luminance of WCAG 2."""
    channels = np.array(mpl.colors.to_rgb(color))
    linear = np.where(
        channels <= 0.03928, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4
    )
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("look", [*LOOK.values(), *CONSTRUCTION_LOOK.values()], ids=str)
def test_lines_stand_out_from_white(look: dict[str, Any]) -> None:
    assert 1.05 / (luminance(look["color"]) + 0.05) >= 3.0


def test_every_unit_and_construction_has_a_look_of_its_own() -> None:
    assert set(LOOK) == {"target", *PACKAGE_UNITS}
    assert set(CONSTRUCTION_LOOK) == set(CONSTRUCTIONS)
    for looks in (LOOK, CONSTRUCTION_LOOK):
        for property_ in ("color", "marker"):
            assert len({look.get(property_) for look in looks.values()}) == len(
                looks
            ), property_


def test_an_error_plot_shows_medians_and_bands() -> None:
    sizes = (10, 20, 40, 80)
    every = [
        (p, s, seed)
        for p in ("sine", "kink")
        for s in sizes
        for seed in (1.0, 2.0, 6.0)
    ]
    frame = pd.DataFrame(every, columns=["problem", "parameters", "seed"]).assign(
        unit="glu"
    )
    frame["train_rmse"] = frame["seed"] * frame["parameters"] ** -3.0
    panels = dict(zip(("sine", "kink"), plt.subplots(2)[1], strict=True))
    error_plot(frame, panels)
    (curve,) = panels["kink"].lines
    assert curve.get_color() == LOOK["glu"]["color"]
    assert np.asarray(curve.get_ydata())[0] == pytest.approx(2e-3)
    band = np.asarray(panels["kink"].collections[0].get_paths()[0].vertices)[:, 1]
    assert (band.min(), band.max()) == pytest.approx((80**-3.0, 6e-3))
    error_plot(frame[frame["problem"] == "sine"], panels, note="again")
    assert (len(panels["sine"].lines), len(panels["kink"].lines)) == (2, 1)
    assert panels["sine"].get_legend_handles_labels()[1] == ["GLU"]
