"""Each heading of the derivations: its cells end in zeros, but for forms that a paper misprints.

Ends are read where the chapters show them: the replay computes them anew.
"""

import ast
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
import sympy as sp


def read_headings(path: Path) -> dict[str, list[Any]]:
    """Read the code cells below each label; those that all headings share stand below none."""
    found: dict[str, list[Any]] = {(label := ""): []}
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            found[label].append(cell)
        for label in re.findall(r"^\(([\w-]+)\)=\n## ", cell.source, re.MULTILINE):
            found[label] = []
    return found


FOLDER = Path(__file__).parents[2] / "book" / "chapters"
NOTEBOOKS = [read_headings(path) for path in sorted(FOLDER.glob("A_derivations_*.ipynb"))]
HEADINGS = {label: own for book in NOTEBOOKS for label, own in book.items() if label}


@pytest.mark.parametrize("label", HEADINGS)
def test_every_cell_ends_in_zeros(label: str) -> None:
    printed = ["printed" in cell.metadata.get("tags", []) for cell in HEADINGS[label]]
    assert not all(printed)
    for cell, misprint in zip(HEADINGS[label], printed, strict=True):
        (shown,) = cell.outputs
        residuals = sp.flatten([sp.sympify(shown.data["text/plain"])])
        zero = [sp.simplify(residual) == 0 for residual in residuals]
        assert zero == [not misprint] * max(1, len(residuals)), residuals


def test_a_changed_coefficient_is_noticed() -> None:
    names: dict[str, Any] = {}
    for cell in NOTEBOOKS[0][""]:
        exec(cell.source, names)
    ends = []
    for cell in HEADINGS["gu-eq9"]:
        *body, last = ast.parse(cell.source.replace("120", "121")).body
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        ends.append(eval(ast.unparse(last), names))
    assert any(residual != 0 for residual in sp.flatten(ends))
