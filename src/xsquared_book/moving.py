"""Small figures of chapters that move with sliders: their HTML, for ``book/_extra/moving.js``."""

from __future__ import annotations

from html import escape

from xsquared.checks import check_choice
from xsquared_book.project import Project

#: By figure: its caption, and the sliders by name: label, least, largest, step, first value.
FIGURES: dict[str, tuple[str, dict[str, tuple[str, float, float, float, float]]]] = {
    "spline": (
        "Four neurons on the line (thin; the one that the sliders set, thicker) and their sum.",
        {
            "neuron": ("Neuron", 1, 4, 1, 1),
            "hinge": ("Hinge", -1, 1, 0.05, -1),
            "bend": ("Bend", -6, 6, 0.5, 1.5),
            "curve": ("Curve", -3, 3, 0.25, 0),
        },
    ),
    "series": (
        "GELU (dashed) and its series (solid), accurate between the dotted lines.",
        {
            "terms": ("Even terms", 1, 40, 1, 5),
            "digits": ("Accuracy in decimals", 1, 4, 1, 2),
        },
    ),
    "offset": (
        "The law (n + κ)⁻ᵏ (solid), the order n⁻ᵏ (dotted), and the line through the window.",
        {
            "order": ("Order k", 2, 4, 1, 4),
            "kappa": ("Offset κ", -0.5, 6, 0.1, 4),
            "from": ("from n =", 1, 20, 1, 3),
            "to": ("to n =", 21, 200, 1, 50),
        },
    ),
}


def write_moving(_project: Project, name: str) -> str:
    """Raw HTML of a figure of :data:`FIGURES`, with the scripts that draw it."""
    caption, sliders = FIGURES[check_choice("figure", name, sorted(FIGURES))]
    labels = "".join(
        f'<label>{label} <input type="range" name="{key}" min="{low:g}" max="{high:g}" '
        f'step="{step:g}" value="{first:g}"> <span aria-hidden="true">{first:g}</span></label>\n'
        for key, (label, low, high, step, first) in sliders.items()
    )
    return f"""```{{raw}} html
<div class="xs-moving explore-plots" id="moving-{name}"><figure>
<div class="xs-controls explore-set" role="group" aria-label="What is drawn">
{labels}</div>
<svg role="img" aria-label="{escape(caption)}"></svg>
<figcaption>{escape(caption)} <output></output></figcaption>
</figure></div>
<script defer src="../draw.js"></script>
<script defer src="../moving.js"></script>
```"""
