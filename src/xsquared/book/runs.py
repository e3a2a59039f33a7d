"""Runs with other parameters: the chapter as committed, with what changed marked."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import nbformat
import numpy as np
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from xsquared.book.pictures import PNG, SVG
from xsquared.book.project import GLUED, Project, code_cells, glued, shows_outputs
from xsquared.book.tables import TABLE_MIME

#: Lengths in a figure, and names that are digests of it.
_LENGTH = re.compile(r"-?\d+(?:\.\d+)?")
_DIGEST = re.compile(r"i[0-9a-f]{9}-")
#: Points that another processor's rounding may move a line: nobody sees them.
_NUDGE = 0.1


def mark_run(project: Project, name: str) -> tuple[NotebookNode, str]:
    """Mark in a run of a chapter what is not as committed.

    A changed cell of a table gets the committed one beside it, a changed figure or text
    is followed by the committed one. Cells of the notebooks are matched by their ids,
    digests of their sources.

    Returns:
        The notebook for the page, and a list in Markdown of what changed: parameters
        and glued numbers by name, all else by its count.
    """
    committed, run = (
        nbformat.read(folder / f"{name}.ipynb", as_version=4)
        for folder in (project.chapters, project.runs)
    )
    twins = {cell.id: cell for cell in committed.cells}
    counts: Counter[str] = Counter()
    cells = []
    for cell in run.cells:
        cells.append(cell)
        if cell.cell_type == "code" and cell.id in twins:
            replaced = _mark_cell(cell, twins[cell.id], counts)
            if replaced:
                cells.append(_as_committed(twins[cell.id], replaced))
    lines = ["What this run changed, in brackets as committed:", ""]
    lines += _changed_values(committed, run)
    lines += [f"- {what}: {count}, marked" for what, count in counts.items() if count]
    changes = "\n".join(lines)
    cells.insert(2, new_markdown_cell(f"```{{note}}\n{changes}\n```"))
    run.cells = cells
    return run, changes


def _mark_cell(
    cell: NotebookNode, twin: NotebookNode, counts: Counter[str]
) -> list[NotebookNode]:
    """Mark a cell's tables, count what changed, return the twin's other outputs."""
    replaced = []
    for new, old in zip_longest(_shown(cell), _shown(twin)):
        if old is None:  # all of it is new
            continue
        table = new.data.get(TABLE_MIME) if new else None
        committed = old.data.get(TABLE_MIME)
        if table and committed:
            counts["cells of tables"] += _mark_table(table, committed)
        elif new is None or not _alike(new.data, old.data):
            counts["figures" if {SVG, PNG} & {*old.data} else "other outputs"] += 1
            replaced.append(old)
    return replaced


def _shown(cell: NotebookNode) -> list[NotebookNode]:
    """List what a page shows of a cell's outputs, the text of a stream as data."""
    if not shows_outputs(cell):
        return []
    outputs = []
    for output in cell.outputs:
        if output.output_type == "stream":
            text = {"text/plain": output.text}
            outputs.append(new_output("display_data", data=text))
        elif GLUED not in output.data:
            outputs.append(output)
    return outputs


def _mark_table(table: dict[str, Any], committed: dict[str, Any]) -> int:
    """Put committed cells that differ into a table's ``committed``; count them.

    Cells are matched by row headers and column. ``committed`` has a list a row, empty
    text where a cell is as it was, a dash where the committed table has none. Rows that
    the run lacks are named in the caption.
    """
    before = dict(zip(_labels(committed), committed["rows"], strict=True))
    labels = list(_labels(table))
    table["committed"] = []
    for label, row in zip(labels, table["rows"], strict=True):
        cells = dict(zip(committed["columns"], before.get(label, []), strict=False))
        marks = [""] * len(row)
        for k in range(table["stubs"], len(row)):
            text = cells.get(table["columns"][k], "–")
            if text != row[k]:
                marks[k] = text
        table["committed"].append(marks)
    lacking = [
        ", ".join(map(str, label[:-1])) for label in before if label not in labels
    ]
    if lacking:
        table["caption"] += f" As committed also: {'; '.join(lacking)}."
    return sum(mark != "" for marks in table["committed"] for mark in marks)


def _labels(table: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    """Name each row by its headers, and by how many before it have the same."""
    seen: Counter[tuple[str, ...]] = Counter()
    for row in table["rows"]:
        headers = tuple(row[: table["stubs"]])
        yield (*headers, seen[headers])
        seen[headers] += 1


def _alike(new: dict[str, Any], old: dict[str, Any]) -> bool:
    """Whether two outputs look alike: figures, up to another processor's rounding."""
    if new == old or not (SVG in new and SVG in old):
        return new == old
    drawings = [_DIGEST.sub("", data[SVG]) for data in (new, old)]
    if len({_LENGTH.sub("", drawing) for drawing in drawings}) > 1:
        return False
    lengths = [np.array(_LENGTH.findall(drawing), float) for drawing in drawings]
    return bool(np.abs(lengths[0] - lengths[1]).max() <= _NUDGE)


def _as_committed(cell: NotebookNode, outputs: list[NotebookNode]) -> NotebookNode:
    """Make a cell that shows outputs of a committed one, without its figure's name."""
    label = new_output("display_data", data={"text/markdown": "As committed:"})
    metadata: dict[str, Any] = {"tags": ["remove-input", "as-committed"]}
    metadata["mystnb"] = {"image": cell.metadata.get("mystnb", {}).get("image", {})}
    # Of a cell without source a page shows no output.
    return new_code_cell("# committed", outputs=[label, *outputs], metadata=metadata)


def _changed_values(committed: NotebookNode, run: NotebookNode) -> list[str]:
    """List the parameters and glued numbers that differ, a line each."""
    before, now = _values(committed), _values(run)
    return [
        f"- {name}: `{value}` (`{before.get(name, '–')}`)"
        for name, value in now.items()
        if before.get(name) != value
    ]


def _values(notebook: NotebookNode) -> dict[str, str]:
    """Read the parameters of a notebook and the numbers that it glues, by name."""
    values: dict[str, str] = {}
    for cell in code_cells(notebook):
        if {"parameters", "injected-parameters"} & {*cell.metadata.get("tags", [])}:
            for line in ast.parse(cell.source).body:
                if isinstance(line, ast.Assign):
                    values[ast.unparse(line.targets[0])] = ast.unparse(line.value)
    return values | glued(notebook)
