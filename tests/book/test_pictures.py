"""Figures as notebooks hold them: of which type, how large, always the same, with their numbers."""

import csv
import io
import re
import xml.etree.ElementTree as ET
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from matplotlib.figure import Figure
from PIL import Image

from xsquared_book import pictures
from xsquared_book.plotting import draw_knots, use_style

X = np.linspace(0, 1, 5)


@pytest.fixture(autouse=True)
def house_style() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}):
        use_style()
        yield
        plt.close("all")


def curve(factor: float = 1, colour: str = "#2a78b5", pixels: bool = False) -> Figure:
    fig, ax = plt.subplots(figsize=(7, 3))
    ax.semilogy(X, factor * 10.0 ** (X / 3), "o-", color=colour, label="$10^{x/3}$")
    fig.set_rasterized(pixels)
    ax.set_xlabel("$x$")
    ax.legend()
    return fig


def shown(fig: Figure) -> dict[str, Any]:
    data, metadata = pictures.bundle(fig)
    return {"data": data, "metadata": metadata}


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_figure_is_one_line_of_svg_and_the_same_every_time() -> None:
    drawn = pictures.as_svg(curve())
    assert re.fullmatch("<svg .*</svg>", drawn), "one line"
    for factor in (1, 1 + 1e-13):  # last digits do not show
        assert pictures.as_svg(curve(factor)) == drawn
    kinds = {element.tag.rpartition("}")[2] for element in ET.fromstring(drawn).iter()}
    assert "path" in kinds
    assert not kinds & {"text", "metadata", "image"}, "letters of a font that a reader may lack"


def test_a_figure_is_as_large_on_the_page_as_in_pixels() -> None:
    svg = ET.fromstring(pictures.as_svg(curve()))
    wide, high = int(svg.attrib["width"]), int(svg.attrib["height"])
    in_pixels = pictures.bundle(curve(pixels=True))[1][pictures.PNG]
    assert wide == pytest.approx(in_pixels["width"], abs=1)
    left, top, width, height = map(float, svg.attrib["viewBox"].split())
    assert (left, top) == (0, 0)
    assert width / height == pytest.approx(wide / high, rel=0.01)


def test_lengths_are_rounded_to_less_than_is_seen() -> None:
    fig = curve()
    (line,) = fig.axes[0].lines
    line.set(marker="", color="#123456")
    fig.axes[0].legend().remove()
    paths = ET.fromstring(pictures.as_svg(fig)).findall(".//{*}path")
    (path,) = (path for path in paths if "#123456" in path.get("style", ""))
    numbers = path.attrib["d"].replace("M", "").replace("L", " ").split()
    assert all(len(number.partition(".")[2]) <= 2 for number in numbers)
    drawn = np.reshape(np.array(numbers, dtype=float), (-1, 2))
    steps = np.diff(drawn, axis=0)
    assert np.allclose(steps, steps[0], atol=0.02), "a power is straight on a logarithmic axis"


def test_a_figure_that_asks_for_pixels_gets_twice_as_many() -> None:
    fig = curve(pixels=True)
    kind, file = pictures.picture_of(shown(fig))
    image = Image.open(io.BytesIO(file))
    assert kind == pictures.PNG
    assert image.size[0] // 2 == pictures.bundle(fig)[1][pictures.PNG]["width"]
    assert image.convert("RGB").getpixel((0, 0)) == (255, 255, 255)


def test_two_colour_maps_stay_smooth_in_256_colours() -> None:
    fig, axes = plt.subplots(1, 2, width_ratios=[6, 1])
    ramp = np.linspace(-1, 1, 200)
    axes[0].imshow(np.outer(ramp, ramp), aspect="auto")
    axes[1].imshow(ramp[:, None], cmap="RdBu", aspect="auto")
    whole = io.BytesIO()
    fig.savefig(whole, format="png", dpi=2 * fig.dpi, bbox_inches="tight")

    def seen(file: bytes) -> np.ndarray:
        """As the eye does, which takes some pixels together."""
        image = Image.open(io.BytesIO(file)).convert("RGB")
        return np.asarray(image.reduce(8), dtype=int)

    apart = np.abs(seen(pictures.as_png(fig)) - seen(whole.getvalue())).max(axis=-1)
    assert np.percentile(apart, 95) < 2, "undithered it is 3"


def plane(factor: float = 1) -> Figure:
    fig, (left, right) = plt.subplots(1, 2)
    left.imshow(factor * np.add.outer(X, X), interpolation="none", vmin=0, vmax=2)
    right.contourf(np.add.outer(X, X)).set_rasterized(True)
    return fig


def test_of_a_drawing_in_lines_a_colour_map_alone_is_pixels() -> None:
    svg = ET.fromstring(pictures.as_svg(fig := plane()))
    held = [
        next(v for k, v in image.items() if k.endswith("href"))
        for image in svg.findall(".//{*}image")
    ]
    small, filled = (Image.open(io.BytesIO(b64decode(one.partition(",")[2]))) for one in held)
    shades = np.asarray(mpl.colormaps["viridis"](np.add.outer(X, X) / 2, bytes=True))[..., :3]
    assert small.mode == filled.mode == "P"
    assert (np.asarray(small.convert("RGB")) == shades).all(), "every pixel of it, as it was"
    fig.draw_without_rendering()
    wide = fig.axes[1].get_window_extent().width
    assert filled.width == pytest.approx(2 * wide, rel=0.01), "two for each of the page"
    assert len(svg.findall(".//{*}path")) > 20, "axes and letters are lines"


def test_a_colour_map_in_a_drawing_is_the_same_but_for_rounding() -> None:
    first = shown(plane())
    assert pictures.SVG in first["data"]
    assert pictures.same_figure(first, shown(plane(1 + 1e-4)))
    assert not pictures.same_figure(first, shown(plane(1.1)))


def test_what_would_be_too_heavy_as_svg_is_shown_in_pixels() -> None:
    fig, ax = plt.subplots()
    ax.plot(*np.random.default_rng(0).normal(size=(2, 5000)), "o")
    assert len(pictures.as_svg(fig)) > pictures.MOST_BYTES
    assert list(pictures.bundle(fig)[0]) == [pictures.PNG]
    assert list(pictures.bundle(curve())[0]) == [pictures.SVG]


def test_the_numbers_are_those_that_were_plotted() -> None:
    fig, (left, right) = plt.subplots(1, 2)
    left.plot(X, X / 3, label="a third")
    left.set_title("one")
    left.legend()
    right.plot(X, X**2)
    right.plot(X, X / 7, "s:k")
    right.plot(X, X / 9, label="_a ninth")
    rows = read(pictures.plotted_in(shown(fig)))
    assert rows[0].keys() == {"panel", "line", "x", "y"}
    lines: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in rows:
        lines.setdefault((row["panel"], row["line"]), []).append((float(row["x"]), float(row["y"])))
    names = [("2", name) for name in ("a third", "2, #000000", "a ninth")]
    assert list(lines) == [("1 one", "a third"), *names]
    for found, y in zip(lines.values(), (X / 3, X**2, X / 7, X / 9), strict=True):
        assert np.allclose(found, np.column_stack([X, y]), rtol=5e-6)
    assert rows[1]["y"] == "0.0833333", "six significant digits"


def test_entries_of_a_legend_made_by_hand_name_lines_in_every_panel() -> None:
    fig, axes = plt.subplots(1, 2)
    for ax in axes:
        ax.plot(X, X, "r--")
    fig.legend([axes[0].lines[0]], ["straight"])
    named = {(row["panel"], row["line"]) for row in read(pictures.plotted(fig))}
    assert named == {("1", "straight"), ("2", "straight")}


def test_a_coordinate_that_is_none_of_the_axis_is_empty() -> None:
    fig, ax = plt.subplots()
    draw_knots(ax, np.array([0.25]))
    ax.axhline(3.0, label="level")
    rows = [(row["x"], row["y"]) for row in read(pictures.plotted(fig))]
    assert rows == [("0.25", ""), ("", "3")]


def test_of_regions_and_bars_the_outline_is_told_and_of_a_line_in_space_the_height() -> None:
    fig = plt.figure()
    flat, deep = fig.add_subplot(1, 2, 1), fig.add_subplot(1, 2, 2, projection="3d")
    flat.fill_between([0, 1], [2, 3], [4, 5], label="region")
    flat.bar([3], [7], width=1, label="bar")
    flat.legend()
    flat.imshow(np.eye(3))
    deep.plot(X, X, 2 * X, label="line")
    rows = read(pictures.plotted(fig))
    told: dict[str, set[tuple[str, str, str]]] = {}
    for row in rows:
        told.setdefault(row["line"], set()).add((row["x"], row["y"], row["z"]))
    assert told["region"] == {("0", "2", ""), ("0", "4", ""), ("1", "3", ""), ("1", "5", "")}
    assert {("2.5", "7", ""), ("3.5", "7", "")} < told["bar"]
    assert ("0.25", "0.25", "0.5") in told["line"]
    assert len(told) == 3, "an image is no line"


@pytest.mark.parametrize("pixels", [False, True])
def test_a_figure_is_the_same_but_for_rounding(pixels: bool) -> None:
    first = shown(curve(pixels=pixels))
    assert pictures.same_figure(first, shown(curve(1 + 2e-5, pixels=pixels)))
    assert not pictures.same_figure(first, shown(curve(1.001, pixels=pixels)))
    assert not pictures.same_figure(first, shown(curve(colour="#c8541b", pixels=pixels)))
    assert not pictures.same_figure(first, shown(curve(pixels=not pixels)))
    assert not pictures.same_figure({}, first)


def test_a_gap_in_a_line_is_the_same_gap() -> None:
    gaps = [{"metadata": {"plotted": pictures.packed(f"panel,line,x,y\n1,a,1,{y}\n1,a,2,5\n")}}
            for y in ("nan", "1e-14", "4")]  # fmt: skip
    assert pictures.same_numbers(gaps[0], gaps[0])
    assert pictures.same_numbers(gaps[0], gaps[1])
    assert not pictures.same_numbers(gaps[0], gaps[2])


def test_outputs_without_a_figure_have_neither_picture_nor_numbers() -> None:
    assert pictures.picture_of({"name": "stdout"}) is None
    assert pictures.picture_of({"data": {"text/plain": "1"}}) is None
    assert pictures.plotted_in({"data": {}, "metadata": {}}) == ""
    assert pictures.PLOTTED in pictures.bundle(curve())[1]


def test_a_notebook_does_not_show_what_drawing_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    shell: Any = InteractiveShell()  # type: ignore[no-untyped-call]
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    pictures.show_in_notebook()

    def told(value: object) -> str:
        return str(shell.display_formatter.format(value)[0].get("text/plain", ""))

    assert told([1, 2]) == "[1, 2]"
    fig, ax = plt.subplots()
    bar = fig.colorbar(ax.scatter(X, X, c=X))
    for value in (ax.plot(X, X, label="a"), ax.legend(), ax.set_ylim(0, 1), ax.set_title("t"), bar):
        assert told(value) == ""
    assert shell.display_formatter.format(fig)[0].keys() == {"text/plain", pictures.SVG}
    assert told(3) == "3"
    plt.close(fig)
    assert told((0, 1)) == "(0, 1)"
