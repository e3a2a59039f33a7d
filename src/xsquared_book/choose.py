"""Where a reader chooses target, inputs and parameters, and sees what each unit reached.

The errors are rows of the study ``which_unit``. The page gets them in one block of JSON, as a page
opened from a disk may not fetch; ``book/_extra/choose.js`` makes a table of those asked for.
"""

from __future__ import annotations

import json

from xsquared_book.project import Project
from xsquared_studies import rows
from xsquared_studies.which_unit import KINDS, SIZES, TITLES, told, which_trials


def errors() -> dict[str, dict[str, list[float]]]:
    """By target, inputs and size, such as ``smooth/1/211``: each unit's held-out error by seed."""
    made = told(rows("which_unit", which_trials())).sort_values("seed")
    target = made["kind"].where(made["shape"] == "ridges", made["kind"] + ", radial")
    keys = target + "/" + made["inputs"].astype(str) + "/" + made["size"].astype(str)
    given = made["test_rmse"].map("{:.3g}".format).astype(float).groupby([keys, made["name"]])
    found: dict[str, dict[str, list[float]]] = {}
    for (key, name), values in given:
        found.setdefault(str(key), {})[str(name)] = values.tolist()
    return found


def write_chooser(_project: Project) -> str:
    """Raw HTML: what to choose by, the table to fill, and the errors."""
    first, *others = KINDS
    choices = {
        "target": [first, f"{first}, radial", *others],
        "inputs": [str(d) for d in SIZES],
        "size": [str(size) for size in SIZES[1]],
    }
    selects = "".join(
        f'<label>{"parameters" if name == "size" else name} <select name="{name}">'
        + "".join(f"<option>{one}</option>" for one in options)
        + "</select></label>\n"
        for name, options in choices.items()
    )
    data = json.dumps({"titles": TITLES, "sizes": SIZES, "errors": errors()}, separators=(",", ":"))
    heads = "".join(
        f'<th scope="col" class="number">{head}</th>'
        for head in ("error", "least", "largest", "times the ReLU MLP's")
    )
    return f"""```{{raw}} html
<div id="choose">
<form class="xs-controls" aria-label="What to compare">
{selects}</form>
<div class="pst-scrollable-table-container">
<table class="xs-table table"><caption aria-live="polite"></caption>
<thead><tr><th scope="col">unit</th>{heads}</tr></thead>
<tbody></tbody>
</table>
</div>
</div>
<script type="application/json" id="choose-data">{data}</script>
<script defer src="../choose.js"></script>
```"""
