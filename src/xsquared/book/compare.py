"""What a run changed: its parameters, numbers and verdicts beside the committed
chapter's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd

from xsquared.book.project import BookError, Project, records
from xsquared.book.tables import TABLE_MIME, Table

_GLUED = "application/papermill.record/text/plain"


def compare(project: Project, only: Sequence[str] = ()) -> list[Table]:
    """List what runs with parameters changed of the committed chapters.

    Args:
        project: the checkout.
        only: names of chapters; all in ``_build/runs`` where empty.

    Returns:
        At most one table: a row for each parameter, number, table and verdict that
        differs.

    Raises:
        BookError: no such run.
    """
    names = only or sorted(path.stem for path in project.runs.glob("*.ipynb"))
    missing = [name for name in names if not (project.runs / f"{name}.ipynb").is_file()]
    if missing or not names:
        raise BookError(
            f"no run of {', '.join(missing) or 'a chapter'} in {project.runs}"
        )
    changed: list[dict[str, Any]] = []
    for name in names:
        then, now = (
            _told(folder / f"{name}.ipynb")
            for folder in (project.chapters, project.runs)
        )
        for what in dict.fromkeys([*then, *now]):
            before, after = then.get(what, "–"), now.get(what, "–")
            if before != after:
                changed.append(
                    {"chapter": name, "what": what, "recorded": before, "yours": after}
                )
    if not changed:
        return []
    frame = pd.DataFrame(changed).set_index(["chapter", "what"])
    return [Table(frame, "What differs from the committed chapters.", "tab-compare")]


def _told(path: Path) -> dict[str, str]:
    """Parameters, glued numbers, tables' sizes and verdicts of an executed chapter, by
    name.
    """
    notebook = nbformat.read(path, as_version=4)
    found: dict[str, str] = {}
    for cell in notebook.cells:
        if {"parameters", "injected-parameters"} & {*cell.metadata.get("tags", [])}:
            for line in cell.source.splitlines():
                name, sign, value = line.partition("#")[0].partition("=")
                if sign and name.strip().isidentifier():
                    found[f"parameter {name.strip()}"] = value.strip()
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if (text := data.get(_GLUED)) is not None:
                found[f"number {output.metadata.scrapbook.name}"] = text
            if table := data.get(TABLE_MIME):
                cells = [
                    text for row in table["rows"] for text in row[table["stubs"] :]
                ]
                found[f"table {table['name']}"] = "; ".join(cells)[:60]
    for row in records(notebook):
        found[f"claim {row['claim']}"] = f"{row['verdict']} {row['measured']}"
    return found
