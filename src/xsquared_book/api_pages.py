"""The reference: a page for each module, and the short indices that lead to them.

What autodoc writes on these pages is mended: :func:`keep_whole` and :func:`hide_long_values`.
"""

from __future__ import annotations

import ast
import importlib.util
import itertools
import pkgutil
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes

import xsquared
import xsquared_book
import xsquared_studies
from xsquared_book.project import Project


def rooms() -> dict[str, list[str]]:
    """The modules by room, in the order that the packages' docstrings give."""
    found: dict[str, list[str]] = {}
    for package in (xsquared, xsquared_studies, xsquared_book):
        start = f"{package.__name__}."
        chains = re.findall(r"``\w+``(?:\s+→\s+``\w+``)+", package.__doc__ or "")
        found |= {start + room: [] for room in re.findall(r"\w+", " ".join(chains))}
        for module in sorted(m.name for m in pkgutil.walk_packages(package.__path__, start)):
            if not module.endswith("__main__"):
                found.setdefault(".".join(module.split(".")[:2]), []).append(module)
    return found


def write_rooms(_project: Project, package: str) -> str:
    """A list of a package's modules, each with what it is."""
    return "\n".join(
        f"- {{doc}}`{module} </api/{module}>`: {_purpose(module)}"
        for module in itertools.chain(*rooms().values())
        if module.startswith(f"{package}.")
    )


def _purpose(module: str) -> str:
    """The first sentence of a module's docstring."""
    spec = importlib.util.find_spec(module)
    text = Path(spec.origin or "").read_text(encoding="utf-8") if spec else ""
    told = " ".join((ast.get_docstring(ast.parse(text)) or "").partition("\n\n")[0].split())
    return re.sub(r"``|:\w+:", "`", told).replace("``", "`")


def write_pages(project: Project) -> None:
    """A page of ``book/api`` for each module; those of modules that are gone, go."""
    pages = {
        f"{module}.md": f"# {module}\n\n"
        f"```{{eval-rst}}\n.. automodule:: {module}\n"
        # A package's own functions, not those that it only passes on.
        "   :members:\n   :ignore-module-all:\n```\n"
        for module in itertools.chain(*rooms().values())
    }
    project.api.mkdir(exist_ok=True)
    for path in project.api.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = project.api / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def keep_whole(
    _app: object, what: str, _name: str, _obj: object, _options: object, lines: list[str]
) -> None:
    """Let a constant's text be text to napoleon, to which a first colon ends a type."""
    if what in ("attribute", "data", "property") and lines:
        lines[0] = f": {lines[0]}"


def hide_long_values(_app: object, doctree: nodes.document) -> None:
    """Show a constant's value where it says something at a glance, and no table or function."""

    def long(node: Any) -> bool:
        return isinstance(node, addnodes.desc_annotation) and (
            len(text := node.astext()) > 60 and text.lstrip().startswith("=")
        )

    for value in list(doctree.findall(long)):
        value.parent.remove(value)
