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
from xsquared.units import find_unit

#: What the figure calls the study's curves.
_TITLES = {
    "smooth": "a bump: 1/(1 + 9x²)",
    "oscillating": "a wave: sin 6x",
    "kinked": "a kink: |x − 0.3| + sin 3x",
    "later 1": "two waves and a bump",
    "later 2": "steeper waves",
    "later 3": "falling waves",
}


def curve_data() -> dict[str, Any]:
    """Collect each curve's values, and networks by way of training and unit.

    By AdamW the seed of median error stands for all; of the others the range is kept.

    Returns:
        By curve: ``title``, ``values`` at equidistant points, and by ``best`` or
        ``adamw`` and unit, as ``glu:relu``, a list of ``[parameters, error, weights,
        least error, greatest error]``, by size.
    """
    units = [find_unit(unit) for unit in curves.UNITS]
    widths = {(unit, curves.neurons(unit, k)) for unit in units for k in curves.SIZES}
    data: dict[str, Any] = {}
    for name, title in _TITLES.items():
        values = curves.TARGETS[name](np.linspace(-1, 1, 241)).round(6)
        data[name] = {"title": title, "values": values.tolist()}
        for way in ("best", "adamw"):
            data[name][way] = {f"{unit.name}:{unit.activation}": [] for unit in units}
    networks = rows("curves").groupby(["problem", "protocol", "unit", "gate", "n"])
    for (name, protocol, unit, gate, n), seeds in networks:
        if (find_unit(unit, gate), n) not in widths:  # the sample that tests repeat
            continue
        errors = seeds["test_rmse"]
        shown = seeds[seeds["weights"].notna()].iloc[0]
        entry = [
            int(shown["parameters"]),
            float(shown["test_rmse"]),
            shown["weights"],
            float(errors.min()),
            float(errors.max()),
        ]
        way = "best" if protocol == "best" else "adamw"
        data[name][way][f"{unit}:{gate}"].append(entry)
    return data


def write_script(folder: Path) -> None:
    """Write the data as ``curves.js`` below a site's root."""
    text = json.dumps(curve_data(), separators=(",", ":"), ensure_ascii=False)
    (folder / "curves.js").write_text(f"const CURVES = {text};\n", encoding="utf-8")
