"""Each heading of the derivations, run anew: what its cells state is what they find.

A cell ends in ``derived``, which fails where the two differ; one with a form that a
paper misprints ends in what is left of it.
"""

import ast
import re
from pathlib import Path
from typing import Any

import pytest
import sympy as sp

from xsquared.book.project import read_source


def read_headings(path: Path) -> dict[str, list[Any]]:
    """Read the code cells below each label; those that headings share stand below a
    heading without one.
    """
    headings: dict[str, list[Any]] = {(label := ""): []}
    for cell in read_source(path).cells:
        if cell.cell_type == "code" and "remove-output" not in cell.metadata.get(
            "tags", []
        ):  # the last cell settles claims
            headings[label].append(cell)
        for label in re.findall(
            r"^(?:\(([\w-]+)\)=\n)?###? ", cell.source, re.MULTILINE
        ):
            headings.setdefault(label, [])
    return headings


FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = [read_headings(path) for path in sorted(FOLDER.glob("A_derivations_*.md"))]
#: The cells to run for a label: those that its notebook shares, and its own.
CELLS = {
    label: (notebook[""], cells)
    for notebook in NOTEBOOKS
    for label, cells in notebook.items()
}
LABELS = [label for label in CELLS if label]


def run(label: str, old: str = "", new: str = "") -> list[tuple[Any, ast.stmt, Any]]:
    """Run a heading's cells, with one text in them changed: each cell, its last line
    and value.
    """
    names: dict[str, Any] = {}
    shared, cells = CELLS[label]
    for cell in shared:
        exec(cell.source, names)
    ends = []
    for cell in cells:
        *body, last = ast.parse(
            cell.source.replace(old, new) if old else cell.source
        ).body
        exec(compile(ast.Module(body, []), label, "exec"), names)
        ends.append((cell, last, eval(ast.unparse(last), names)))
    return ends


@pytest.mark.parametrize("label", LABELS)
def test_every_heading_derives_what_it_states(label: str) -> None:
    ends = run(label)
    misprints = ["printed" in cell.metadata.get("tags", []) for cell, _, _ in ends]
    assert not all(misprints)
    for (_, last, value), misprint in zip(ends, misprints, strict=True):
        if misprint:
            assert any(sp.simplify(rest) != 0 for rest in sp.flatten([value]))
        else:
            assert ast.unparse(last).startswith("derived(")


@pytest.mark.parametrize(
    ("label", "right", "wrong"),
    [
        ("gu-eq7", "f3/6", "f3/5"),
        ("gu-eq9", "120", "121"),
        ("gu-eq14", "945", "946"),
        ("gl-eq3", "336", "337"),
        ("xs-midpoint-glu", "30240", "30241"),
        ("xs-equal-cells", "1209600", "1209601"),
        ("xs-free-cells", "30240", "30000"),
        ("xs-next-term", "512", "511"),
    ],
)
def test_a_changed_coefficient_is_noticed(label: str, right: str, wrong: str) -> None:
    with pytest.raises(ValueError, match="expected zeros"):
        run(label, right, wrong)
