"""Each heading of the derivations: its cells end in zeros, but for forms that a paper misprints."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupytext
import pytest
import sympy as sp

#: A cell's source, and whether it shows a printed form that fails.
Cell = tuple[str, bool]


def read_headings(path: Path) -> dict[str, list[Cell]]:
    """Read the code cells below each label; those that all headings share stand below none."""
    found: dict[str, list[Cell]] = {(label := ""): []}
    for cell in jupytext.read(path).cells:
        if cell.cell_type == "code":
            found[label].append((cell.source, "printed" in cell.metadata.get("tags", [])))
        for label in re.findall(r"^\(([\w-]+)\)=\n## ", cell.source, re.MULTILINE):
            found[label] = []
    return found


FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = [read_headings(path) for path in sorted(FOLDER.glob("A_derivations_*.md"))]
#: The shared cells and its own, by label.
HEADINGS = {label: (book[""], own) for book in NOTEBOOKS for label, own in book.items() if label}


def run(shared: list[Cell], own: list[Cell]) -> Iterator[tuple[list[Any], bool]]:
    """Execute cells in one namespace and yield the residuals at the end of each of its own."""
    names: dict[str, Any] = {}
    for source, _ in shared:
        exec(source, names)
    for source, printed in own:
        *body, last = ast.parse(source).body
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        yield sp.flatten([eval(ast.unparse(last), names)]), printed


@pytest.mark.parametrize("label", HEADINGS)
def test_every_cell_ends_in_zeros(label: str) -> None:
    ends = list(run(*HEADINGS[label]))
    assert not all(printed for _, printed in ends)
    for residuals, printed in ends:
        assert residuals
        zero = [(sp.simplify(residual) if printed else residual) == 0 for residual in residuals]
        assert zero == [not printed] * len(residuals), residuals


def test_a_changed_coefficient_is_noticed() -> None:
    shared, own = HEADINGS["gu-eq9"]
    changed = [(source.replace("120", "121"), printed) for source, printed in own]
    assert any(residual != 0 for residuals, _ in run(shared, changed) for residual in residuals)
