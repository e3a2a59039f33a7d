"""The data of the figure that moves: rows of the study ``curves``.

They are written as a script, as a page opened from a disk may not fetch;
``book/_extra/figure.js`` draws them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from xsquared.studies import curves, rows

#: What the figure calls the study's curves.
TITLES = {
    "smooth": "a bump: 1/(1 + 9x²)",
    "oscillating": "a wave: sin 6x",
    "kinked": "a kink: |x − 0.3| + sin 3x",
    "later 1": "two waves and a bump",
    "later 2": "steeper waves",
    "later 3": "falling waves",
}


def curve_data() -> dict[str, Any]:
    """Collect each curve's values, and networks by protocol and unit.

    Of the seeds of one size the one with the median error stands for all.

    Returns:
        By curve: ``title``, ``values`` at equidistant points, and by protocol and unit
        a list of ``[error, weights]``, by size.
    """
    seeds = ["problem", "protocol", "unit", "n"]
    data: dict[str, Any] = {}
    for name, title in TITLES.items():
        values = curves.TARGETS[name](np.linspace(-1, 1, 241)).round(6)
        data[name] = {
            "title": title,
            "values": values.tolist(),
            "best": {},
            "adamw": {},
        }
    for (name, protocol, unit, _), group in rows("curves").groupby(seeds):
        median = group.sort_values("test_rmse").iloc[len(group) // 2]
        sizes = data[name][protocol].setdefault(unit, [])
        sizes.append([float(median["test_rmse"]), median["weights"]])
    return data


def write_script(folder: Path) -> None:
    """Write the data as ``curves.js`` below a site's root."""
    text = json.dumps(curve_data(), separators=(",", ":"), ensure_ascii=False)
    (folder / "curves.js").write_text(f"const CURVES = {text};\n", encoding="utf-8")
