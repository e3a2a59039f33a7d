"""Figures as notebooks hold them: SVG, the same bytes each time, or pixels where that
is heavy.
"""

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
SVG, PNG = "image/svg+xml", "image/png"


def as_svg(fig: Figure) -> str:
    """Draw a figure as one line of SVG: lengths to hundredths of a point, letters as
    outlines.
    """
    drawn = io.StringIO()
    untold = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    fig.savefig(
        drawn, format="svg", dpi=2 * fig.dpi, bbox_inches="tight", metadata=untold
    )
    _, opening, rest = drawn.getvalue().partition("<svg ")
    text = re.sub(r"<!--.*?-->", "", opening + rest, flags=re.DOTALL)
    lengths = r' (?:d|x|y|width|height|viewBox)="[^"]*"|translate\([^)]*\)'

    def rounded(found: re.Match[str]) -> str:
        # Plus zero: whether a zero has a sign differs between processors.
        return re.sub(
            r"-?\d+(?:\.\d+)?", lambda n: f"{round(float(n[0]), 2) + 0.0:g}", found[0]
        )

    text = " ".join(re.sub(r">\s+<", "><", re.sub(lengths, rounded, text)).split())
    # Names are digests of unrounded lengths; one of the picture keeps them apart on a
    # page.
    for k, name in enumerate(
        dict.fromkeys(re.findall(r' id="([a-z][0-9a-f]{10})"', text))
    ):
        text = text.replace(name, f"@{k}")
    return text.replace("@", f"i{sha256(text.encode()).hexdigest()[:9]}-")


def bundle(fig: Figure) -> dict[str, str]:
    """Make a figure's data in a notebook's output: pixels where
    ``fig.set_rasterized(True)``.
    """
    if not fig.get_rasterized():
        return {SVG: as_svg(fig)}
    drawn = io.BytesIO()
    fig.savefig(drawn, format="png", dpi=2 * fig.dpi, bbox_inches="tight")
    return {PNG: b64encode(drawn.getvalue()).decode()}


def show_in_notebook() -> None:
    """In a notebook, show figures as :func:`bundle` makes them, and not what drawing
    returns.

    A cell's last line may be ``ax.plot(...)``, ``ax.legend()`` or ``ax.set_ylim(...)``.
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
    if not plt.get_fignums():
        raise NotImplementedError
