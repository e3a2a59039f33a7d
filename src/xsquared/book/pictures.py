"""Figures as notebooks hold them: SVG, the same bytes each time, or pixels."""

from __future__ import annotations

import io
import re
import sys
from base64 import b64encode
from hashlib import sha256
from typing import Any, cast

import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure

#: The types of pictures.
SVG = "image/svg+xml"
PNG = "image/png"
#: What matplotlib would note of itself, and of the day.
_METADATA = ("Creator", "Date", "Format", "Type")
#: Attributes of SVG whose numbers are lengths.
_LENGTHS = r' (?:d|x|y|width|height|viewBox)="[^"]*"|translate\([^)]*\)'
#: Names that matplotlib makes: a letter, and a digest of lengths before rounding.
_NAMES = r' id="([a-z][0-9a-f]{10})"'


def _as_svg(fig: Figure) -> str:
    """Draw a figure as one line of SVG, letters as outlines, alike on all processors.

    Lengths are rounded to hundredths of a point. Names get a number each, after a
    digest of the picture that keeps two of them apart on a page.
    """
    drawn = io.StringIO()
    fig.savefig(
        drawn,
        format="svg",
        dpi=2 * fig.dpi,
        bbox_inches="tight",
        metadata=dict.fromkeys(_METADATA),
    )
    _, opening, rest = drawn.getvalue().partition("<svg ")
    text = re.sub(r"<!--.*?-->", "", opening + rest, flags=re.DOTALL)
    text = re.sub(_LENGTHS, _rounded, text)
    text = " ".join(re.sub(r">\s+<", "><", text).split())
    for k, name in enumerate(dict.fromkeys(re.findall(_NAMES, text))):
        text = text.replace(name, f"@{k}")
    return text.replace("@", f"i{sha256(text.encode()).hexdigest()[:9]}-")


def _rounded(attribute: re.Match[str]) -> str:
    """Round the numbers of an attribute to hundredths."""

    def hundredths(number: re.Match[str]) -> str:
        # Plus zero: whether a zero has a sign differs between processors.
        return f"{round(float(number[0]), 2) + 0.0:g}"

    return re.sub(r"-?\d+(?:\.\d+)?", hundredths, attribute[0])


def bundle(fig: Figure) -> dict[str, str]:
    """Make a figure's output: SVG, or pixels after ``fig.set_rasterized(True)``."""
    if not fig.get_rasterized():
        return {SVG: _as_svg(fig)}
    drawn = io.BytesIO()
    fig.savefig(drawn, format="png", dpi=2 * fig.dpi, bbox_inches="tight")
    return {PNG: b64encode(drawn.getvalue()).decode()}


def show_in_notebook() -> None:
    """In a notebook, show figures by :func:`bundle`, and not what drawing returns.

    A cell's last line may be ``ax.plot(...)``, ``ax.legend()`` or ``ax.set_ylim(...)``.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        return
    from matplotlib_inline.backend_inline import set_matplotlib_formats

    cast(Any, set_matplotlib_formats)()  # none of its own
    formatter = shell.display_formatter
    formatter.mimebundle_formatter.for_type(Figure, bundle)
    shown_as_display = formatter.ipython_display_formatter.for_type
    shown_as_display(Figure, _by_its_bundle)
    for drawn in (Artist, Colorbar):
        shown_as_display(drawn, _nothing)
    for several in (list, tuple, dict):
        shown_as_display(several, _nothing_beside_a_figure)


# IPython asks the next formatter where one raises NotImplementedError.
def _nothing(_: object) -> None:
    """Show nothing of an object."""


def _by_its_bundle(_: object) -> None:
    raise NotImplementedError


def _nothing_beside_a_figure(_: object) -> None:
    if not plt.get_fignums():
        raise NotImplementedError
