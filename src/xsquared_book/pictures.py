"""Figures as notebooks hold them: lines as SVG, too much of it as pixels, and the numbers drawn.

A chapter calls :func:`xsquared_book.plotting.use_style`; from then on each figure that a cell
leaves open is shown as :func:`bundle` makes it. Figures reach the book in no other way.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
import struct
import sys
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, cast

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.colorbar import Colorbar
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from PIL import Image

#: The key of an output's metadata under which the numbers drawn stand, as CSV.
PLOTTED = "plotted"
#: The types of pictures.
SVG, PNG = "image/svg+xml", "image/png"
#: The most bytes that a figure may have as SVG; a heavier one is shown in pixels.
MOST_BYTES = 170_000
#: Pixels of a PNG for each of the page.
_SHARPNESS = 2
#: Attributes of an SVG that hold lengths in points, and the numbers in them.
_LENGTHS = re.compile(r' (?:d|x|y|width|height|viewBox)="[^"]*"|translate\([^)]*\)')
_NUMBER = re.compile(r"-?\d+\.\d+")
#: Clips and markers, whose names depend on digits that are rounded away.
_NAMED = re.compile(r'<(?:clipPath|path) id="([mp][0-9a-f]{10})"(.*?>)')
#: What an SVG holds in pixels.
_PIXELS = re.compile(r'(?<=data:image/png;base64,)[^"]*')
#: How far apart the lengths of one figure may be on two processors, in points; and its numbers.
_APART, _PARTED = 0.05, 1e-4
#: A line's markers, each with the same style.
_MARKERS = re.compile(
    r'<g((?: (?!style)[\w:-]+="[^"]*")*)>'
    r'(<use [^>]* style="([^"]*)"/>(?:<use [^>]* style="\3"/>)*)</g>'
)


def as_svg(fig: Figure) -> str:
    """The figure as SVG in one line: the same bytes each time, its letters drawn as outlines.

    Lengths are rounded to hundredths of a point, and clips and markers named by what they are then,
    so that last digits, which differ between processors, do not show. On the page it is as large as
    a PNG with the figure's dots per inch. Images, and artists that ask for it by matplotlib's own
    ``set_rasterized(True)``, are pixels in it.
    """
    drawn = io.StringIO()
    untold = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    sharp = _SHARPNESS * fig.dpi
    fig.savefig(drawn, format="svg", dpi=sharp, bbox_inches="tight", metadata=untold)
    _, opening, rest = drawn.getvalue().partition("<svg ")
    text = re.sub(r"<!--.*?-->", "", opening + rest, flags=re.DOTALL)

    def rounded(found: re.Match[str]) -> str:
        short = _NUMBER.sub(lambda number: f"{round(float(number[0]), 2):g}", found[0])
        return re.sub(r"\s*([A-Za-z])\s+", r"\1", short) if short.startswith(" d=") else short

    def sized(found: re.Match[str]) -> str:
        return f'{found[1]}="{float(found[2]) * fig.dpi / 72:.0f}"'

    def shared(found: re.Match[str]) -> str:
        style = f' style="{found[3]}"'
        return f"<g{found[1]}{style}>{found[2].replace(style, '')}</g>"

    text = _PIXELS.sub(lambda pixels: b64encode(_smallest(b64decode(pixels[0]))).decode(), text)
    head, _, body = text.partition(">")
    head = re.sub(r'\b(width|height)="([\d.]+)pt"', sized, head)
    line = " ".join(re.sub(r">\s+<", "><", _LENGTHS.sub(rounded, f"{head}>{body}")).split())
    line = re.sub(r'(?<=<g) id="[^"]*"| id="image[^"]*"', "", line)  # nothing refers to them
    for name, what in _NAMED.findall(line):
        shape = what if name[0] == "m" else line.partition(f'"{name}"{what}')[2].partition("/>")[0]
        line = line.replace(name, name[0] + hashlib.sha256(shape.encode()).hexdigest()[:10])
    return _MARKERS.sub(shared, line.replace(" xlink:href=", " href="))


def _smallest(png: bytes) -> bytes:
    """The same pixels in fewer bytes: up to 256 colours, as colour maps have, are numbered."""
    image: Image.Image = Image.open(io.BytesIO(png))
    if image.getchannel("A").getextrema() == (255, 255) and image.getcolors(256):
        image = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    small = io.BytesIO()
    image.save(small, "PNG", optimize=True)
    return small.getvalue()


def as_png(fig: Figure) -> bytes:
    """The figure in pixels, twice as many a side as it takes on the page, of 256 colours."""
    drawn, small = io.BytesIO(), io.BytesIO()
    fig.savefig(drawn, format="png", dpi=_SHARPNESS * fig.dpi, bbox_inches="tight")
    image = Image.open(drawn).convert("RGB")
    # Dithered, as colour maps have more colours: undithered they show bands.
    image = image.quantize(palette=image.quantize(256))
    colours, ground = image.getpalette() or [], 3 * cast(int, image.getpixel((0, 0)))
    image.putpalette([*colours[:ground], 255, 255, 255, *colours[ground + 3 :]])
    image.save(small, "PNG", optimize=True)
    return small.getvalue()


#: What is drawn of numbers; colour maps and surfaces hold too many for a table.
_Drawn = Line2D | Patch | FillBetweenPolyCollection


def _points(artist: _Drawn) -> np.ndarray:
    """What is drawn, (points, 2), or 3 in space: a line's points, of anything else the outline."""
    if hasattr(artist, "get_data_3d"):
        return np.transpose(artist.get_data_3d())
    if isinstance(artist, Line2D):
        return np.asarray(artist.get_xydata())
    if isinstance(artist, Patch):
        return artist.get_patch_transform().transform(artist.get_path().vertices)
    return np.concatenate([np.asarray(path.vertices) for path in artist.get_paths()])


def _look(artist: Any) -> tuple[Any, ...]:
    """By what a reader finds an artist in the legend, its colour first."""
    if isinstance(artist, Line2D):
        return to_hex(artist.get_color()), artist.get_marker(), artist.get_linestyle()
    if isinstance(artist, Patch | FillBetweenPolyCollection):
        red, green, blue = np.ravel(artist.get_facecolor())[:3]
        return (to_hex((red, green, blue)),)
    return ("",)


def _drawn(ax: Axes) -> list[_Drawn]:
    """The lines, bars and regions of a panel."""
    regions = [one for one in ax.collections if isinstance(one, FillBetweenPolyCollection)]
    return [*ax.lines, *ax.patches, *regions]


def plotted(fig: Figure) -> str:
    """The numbers that a figure's lines, bars and regions are drawn from, as CSV.

    Returns:
        Columns ``panel`` (its number, and its title), ``line``, ``x``, ``y`` and in space ``z``, at
        six significant digits. A line is named by its label, less the underscore that keeps it
        out of the legend; or by that of a line of the same look in any panel's legend; or by its
        number in the panel and its colour. A coordinate that is none of the axis, as the height of
        a vertical line across the panel, is empty.
    """
    labels = {
        _look(one): str(one.get_label())
        for ax in fig.axes
        for one in _drawn(ax)
        if not str(one.get_label()).startswith("_")
    }
    for legend in filter(None, [*fig.legends, *(ax.get_legend() for ax in fig.axes)]):
        texts = [text.get_text() for text in legend.get_texts()]
        labels = dict(zip(map(_look, legend.legend_handles), texts, strict=True)) | labels
    rows, wide = [], 2
    for panel, ax in enumerate(fig.axes, start=1):
        title = f"{panel} {ax.get_title()}".strip()
        for number, one in enumerate(_drawn(ax), start=1):
            name = str(one.get_label()).removeprefix("_")
            if re.fullmatch(r"child\d+|nolegend_|", name):  # matplotlib's own, of what has none
                name = labels.get(_look(one), f"{number}, {_look(one)[0]}")
            points = _points(one)
            wide = max(wide, points.shape[1])
            known = [*one.get_transform().contains_branch_seperately(ax.transData), True]
            known = known[: points.shape[1]]
            cells = [
                tuple(f"{value:.6g}" if of else "" for value, of in zip(point, known, strict=True))
                for point in points
            ]
            rows += [(title, name, *row) for row in (cells if all(known) else dict.fromkeys(cells))]
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(("panel", "line", *"xyz"[:wide]))
    writer.writerows((*row, *[""] * (2 + wide - len(row))) for row in rows)
    return lines.getvalue()


def bundle(fig: Figure) -> tuple[dict[str, str], dict[str, Any]]:
    """A figure's data and metadata in a notebook's output.

    SVG, unless that would be heavier than :data:`MOST_BYTES` or the figure asks for pixels by
    matplotlib's own ``fig.set_rasterized(True)``. What was plotted is in the metadata: packed,
    as it has many times the bytes of the picture.
    """
    metadata: dict[str, Any] = {PLOTTED: packed(plotted(fig))}
    if not fig.get_rasterized() and len(drawn := as_svg(fig)) <= MOST_BYTES:
        return {SVG: drawn}, metadata
    png = as_png(fig)
    (pixels,) = struct.unpack_from(">I", png, 16)
    return {PNG: b64encode(png).decode()}, metadata | {PNG: {"width": pixels // _SHARPNESS}}


def show_in_notebook() -> None:
    """In a notebook, show figures as :func:`bundle` makes them, and not what drawing returns.

    A cell's last line may be ``ax.plot(...)``, ``ax.legend()`` or ``ax.set_ylim(...)``: artists are
    never shown, plain sequences not in a cell that draws. Elsewhere nothing happens.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        return
    from matplotlib_inline.backend_inline import set_matplotlib_formats

    cast(Any, set_matplotlib_formats)()  # none of its own
    formatter = shell.display_formatter
    formatter.mimebundle_formatter.for_type(Figure, bundle)
    for drawn in (Artist, Colorbar):
        formatter.ipython_display_formatter.for_type(drawn, lambda _: None)
    formatter.ipython_display_formatter.for_type(Figure, _as_usual)
    for kind in (list, tuple, dict):
        formatter.ipython_display_formatter.for_type(kind, _silent_beside_a_figure)


def _as_usual(_: object) -> None:
    raise NotImplementedError  # IPython then asks its other formatters


def _silent_beside_a_figure(_: object) -> None:
    """Show nothing where the cell has a figure."""
    if not plt.get_fignums():
        raise NotImplementedError


def picture_of(output: Mapping[str, Any]) -> tuple[str, bytes] | None:
    """The type and the file of the picture that a notebook's output holds, if any."""
    data = output.get("data", {})
    if SVG in data:
        return SVG, data[SVG].encode()
    return (PNG, b64decode(data[PNG])) if PNG in data else None


def packed(table: str) -> str:
    """What an output's metadata hold of a table of plotted numbers."""
    return b64encode(zlib.compress(table.encode(), 9)).decode()


def plotted_in(output: Mapping[str, Any]) -> str:
    """What :func:`plotted` said of the figure that a notebook's output holds; else empty."""
    held = output.get("metadata", {}).get(PLOTTED, "")
    return zlib.decompress(b64decode(held)).decode() if held else ""


def same_figure(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether two outputs show one figure, but for what rounding does on another processor."""
    (kind, old), (other, new) = (picture_of(one) or ("", b"") for one in (before, after))
    if not kind or kind != other or not same_numbers(before, after):
        return False
    if kind == PNG:
        return _same_pixels(old, new)
    files = [old.decode(), new.decode()]
    texts = [re.split(r"(-?\d+\.?\d*)", _PIXELS.sub("", file)) for file in files]
    if texts[0][::2] != texts[1][::2]:
        return False
    maps = zip(*([b64decode(png) for png in _PIXELS.findall(file)] for file in files), strict=True)
    if not all(_same_pixels(*pair) for pair in maps):
        return False
    lengths = [np.array(text[1::2], dtype=float) for text in texts]
    return bool(np.all(np.abs(lengths[1] - lengths[0]) <= _APART))


def _same_pixels(old: bytes, new: bytes) -> bool:
    """Whether two PNGs have the same size and colours, but for rounding."""
    pixels = [
        np.asarray(Image.open(io.BytesIO(file)).convert("RGBA"), float) for file in (old, new)
    ]
    return pixels[0].shape == pixels[1].shape and np.abs(pixels[1] - pixels[0]).mean() < 0.2


def same_numbers(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether two outputs' figures were drawn from the same numbers, but for rounding."""
    tables = [list(csv.reader(io.StringIO(plotted_in(one)))) for one in (before, after)]
    shapes = {(len(table), *set(map(len, table))) for table in tables}
    if len(shapes) > 1 or any(a[:2] != b[:2] for a, b in zip(*tables, strict=True)):
        return False
    drawn = [np.array([row[2:] for row in table[1:]], dtype=object) for table in tables]
    if np.any((drawn[0] == "") != (drawn[1] == "")):
        return False
    numbers = [np.where(cells == "", "0", cells).astype(float) for cells in drawn]
    numbers = [np.where(np.isfinite(part), part, 0.0) for part in numbers]  # nan is no line
    near = 1e-9 * np.max(np.abs(numbers[0]), axis=0, initial=0)
    return bool(np.all(np.abs(numbers[1] - numbers[0]) <= _PARTED * np.abs(numbers[0]) + near))
