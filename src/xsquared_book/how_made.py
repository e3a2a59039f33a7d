"""How each figure and table of a chapter was made, in a note below it, and whence its numbers.

The note names the cell, the parameters and the committed rows that the cell rests on, versions and
commit, and links the numbers shown, as CSV in the folder ``data``. What a cell rests on is read off
the code: the names that it uses, followed back to the lines that set or change them.
"""

from __future__ import annotations

import ast
import dis
import html
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import CodeType
from typing import Any

import nbformat
from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from xsquared_book.downloads import glued
from xsquared_book.page_tables import numbered
from xsquared_book.pictures import plotted_in
from xsquared_book.project import BookError, Project, git

#: Packages whose versions decide the digits of a result.
_DECIDING = "numpy|scipy|scikit-learn|sympy|torch|matplotlib"


def _needed(code: CodeType, made: set[str]) -> set[str]:
    """The names that code uses before it sets them; those that it sets are added to ``made``."""
    needed = set()
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
            needed |= {step.argval} - made
        elif step.opname == "STORE_NAME":
            made.add(step.argval)
        elif isinstance(step.argval, CodeType):
            needed |= _needed(step.argval, set(made))
    return needed


def _changed(line: ast.stmt) -> set[str]:
    """Names of objects that a statement changes: sets an item of, or calls a method of."""
    found = [
        node.value
        for node in ast.walk(line)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    ]
    calls = [n.value for n in ast.walk(line) if isinstance(n, ast.Expr)]
    found += [c.func.value for c in calls if isinstance(c, ast.Call) and hasattr(c.func, "value")]
    return {node.id for node in found if isinstance(node, ast.Name)}


def rests_on(codes: Sequence[str], place: int, first: int) -> tuple[dict[str, str], list[str]]:
    """What a cell rests on.

    Args:
        codes: the code of every cell, empty for text.
        place: of the cell.
        first: the place of the cell with the parameters.

    Returns:
        Those parameters with their values, and the names of studies whose committed rows are read.
    """
    used, met = _needed(compile(codes[place], "", "exec"), set()), [ast.parse(codes[place])]
    lines = (line for code in codes[first + 1 : place] for line in ast.parse(code).body)
    for line in reversed(list(lines)):
        made: set[str] = set()
        tree = ast.Module([line], [])
        needed = _needed(compile(tree, "", "exec"), made)
        if (made | _changed(line)) & used:
            used = (used - made) | needed
            met.append(tree)
    parameters = {
        name.id: ast.unparse(line.value)
        for line in ast.parse(codes[first]).body
        if isinstance(line, ast.Assign)
        for name in line.targets
        if isinstance(name, ast.Name) and name.id in used
    }
    called = (node for tree in met for node in ast.walk(tree) if isinstance(node, ast.Call))
    studies = {
        str(call.args[0].value)
        for call in called
        if isinstance(call.func, ast.Name)
        and call.func.id == "rows"
        and isinstance(call.args[0], ast.Constant)
    }
    return parameters, sorted(studies)


def write_study(project: Project, name: str) -> str:
    """HTML: how many committed rows a study has, and what made them."""
    text = (project.results / f"{name}.toml").read_text(encoding="utf-8")
    made = tomllib.loads(text)
    return html.escape(
        f"{name}, {made['rows']:,} rows of {made['date']}, commit {made['commit']}, "
        f"{made['versions']} (results/{name}.csv)"
    )


def write_environment(project: Project) -> str:
    """The pinned versions that the chapters' digits are replayed with; empty where none are."""
    lock = project.root / "requirements.lock"
    text = lock.read_text(encoding="utf-8") if lock.is_file() else ""
    found = re.findall(rf"^({_DECIDING})==([^ ;\n]+)", text, re.M)
    return ", ".join(f"{name} {version}" for name, version in found)


def write_commit(project: Project, path: Path) -> str:
    """The last commit that changed a file, with its date; empty outside a git checkout."""
    try:
        return git(project.root, "log", "-1", "--format=%h of %cs", "--", str(path))
    except BookError:
        return ""


class HowMade(SphinxPostTransform):
    """Put the notes below the figures and tables that a chapter's cells show."""

    default_priority = 140  # while code and outputs still stand together

    def link_numbers(
        self, boxes: Mapping[int, nodes.container], cells: Sequence[nbformat.NotebookNode]
    ) -> None:
        """Let the numbers in sentences lead to the cells that glued them."""
        made = {name: place for place, cell in enumerate(cells) for name in glued([cell])}
        for number in list(self.document.findall(nodes.inline)):
            if (place := made.get(number.get("glued"), -1)) in boxes:
                link = nodes.reference(
                    refuri=f"#cell-{place + 1}", internal=True, classes=["xs-from"]
                )
                link += number.children
                number.children = []
                number += link
                boxes[place]["ids"] = [f"cell-{place + 1}"]

    def run(self, **_: Any) -> None:
        """Write this page's notes."""
        page, path = self.env.docname, Path(self.env.doc2path(self.env.docname))
        if path.suffix != ".ipynb":
            return
        project = Project(Path(self.env.srcdir).parent)
        cells = nbformat.read(path, as_version=4).cells
        codes = [cell.source if cell.cell_type == "code" else "" for cell in cells]
        tagged = ("parameters" in cell.metadata.get("tags", ()) for cell in cells)
        first = next((place for place, found in enumerate(tagged) if found), 0)
        commit = write_commit(project, path)
        chapter = {
            "Executed chapter": commit and f"commit {commit}",
            "Pinned versions": write_environment(project),
        }
        up = "../" * page.count("/")
        notebook = f"{up}_sources/{page}.ipynb"
        found = self.document.findall(
            lambda n: isinstance(n, nodes.container) and "cell_index" in n
        )
        boxes = {box["cell_index"]: box for box in found}
        self.link_numbers(boxes, cells)
        for place, cell in boxes.items():
            name = f"cell-{place + 1}"
            for shown in list(cell.findall(lambda n: isinstance(n, nodes.figure | nodes.table))):
                if not (title := numbered(self.env, page, shown)):
                    continue
                if name not in cell["ids"]:
                    cell["ids"].append(name)
                parameters, studies = rests_on(codes, place, first)
                values = (html.escape(f"{key} = {value}") for key, value in parameters.items())
                told = {
                    "Code": f'<a href="#{name}">cell {place + 1}</a> of this chapter, '
                    f'also <a href="{notebook}">a notebook</a>',
                    "Parameters": ", ".join(f"<code>{value}</code>" for value in values),
                    "Rows read": "; ".join(write_study(project, study) for study in studies),
                } | chapter
                outputs = cells[place].outputs
                data = shown.get("csv") or next(filter(None, map(plotted_in, outputs)), "")
                if data:
                    file = Path(self.app.outdir) / "data" / f"{shown['ids'][0]}.csv"
                    file.parent.mkdir(exist_ok=True)
                    file.write_text(data, encoding="utf-8")
                    told["Data"] = f'<a download href="{up}data/{file.name}">as CSV</a>'
                lines = "".join(f"<li><em>{k}:</em> {v}</li>" for k, v in told.items() if v)
                note = f"<summary>How {title} was made</summary><ul>{lines}</ul>"
                raw = nodes.raw("", f'<details class="xs-made">{note}</details>', format="html")
                shown.parent.insert(shown.parent.index(shown) + 1, raw)
