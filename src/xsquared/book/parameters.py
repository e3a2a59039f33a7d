"""What a chapter lets its readers set, and whether a value is of the kind it expects.

A chapter's ``parameters`` cell assigns each parameter its default, and the default says what kind
of value will do. The cell is read as Python: papermill's own reader goes line by line and loses a
parameter whose comment holds an equals sign.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import jupytext

from xsquared.book.project import BookError

_KINDS = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "text",
}


def parameter_defaults(source: Path) -> dict[str, str]:
    """The parameters that a notebook declares and their defaults, as source text."""
    defaults = {}
    for cell in jupytext.read(source).cells:
        if "parameters" not in cell.metadata.get("tags", []):
            continue
        for node in ast.parse(cell.source).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                defaults[node.targets[0].id] = ast.unparse(node.value)
    return defaults


def fitting_value(name: str, value: Any, default: str) -> Any:
    """A value for a parameter, as papermill can pass it on: tuples become lists.

    Args:
        name: of the parameter.
        value: what a reader gave.
        default: the expression that the chapter assigns. Where it is None, an empty list or no
            literal (a call of ``range``), nothing says which kind is expected, and all will do.

    Raises:
        BookError: another kind than the default's, or an empty list in place of one with entries.
    """
    plain = _as_lists(value)
    try:
        expected = _as_lists(ast.literal_eval(default))
    except ValueError:
        return plain
    if expected in (None, []):
        return plain
    if not _fits(plain, expected):
        raise BookError(
            f"parameter {name}: expected {_words(expected)}, such as {default}, got {value!r}"
        )
    return plain


def _as_lists(value: Any) -> Any:
    return [_as_lists(entry) for entry in value] if isinstance(value, list | tuple) else value


def _fits(value: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        entries = isinstance(value, list) and len(value) > 0
        return entries and all(_fits(entry, expected[0]) for entry in value)
    if isinstance(expected, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is type(expected)


def _words(expected: Any) -> str:
    if isinstance(expected, list):
        return f"a list, each entry {_words(expected[0])}"
    return _KINDS[type(expected)]
