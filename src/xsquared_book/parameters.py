"""What a chapter lets its readers set, and whether a value fits.

A chapter's ``parameters`` cell assigns each parameter its default, and the default says what kind
of value will do and how large. The cell is read as Python: papermill's own reader goes line by line
and loses a parameter whose comment holds an equals sign.
"""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import Any

import nbformat

from xsquared.checks import quoted
from xsquared_book.project import BookError, read_source

_KINDS = {bool: "True or False", int: "a whole number", float: "a finite number", str: "text"}
#: A whole number is a size of something: it may be this many times its default, or a thousand.
_LARGER, _LARGE = 20, 1000
#: Entries of a range that is read.
_LONGEST = 10**5


def parameter_defaults(source: Path) -> dict[str, str]:
    """The parameters that a notebook declares and their defaults, as source text."""
    return assignments(read_source(source), "parameters", source.name)


def assignments(notebook: nbformat.NotebookNode, tag: str, name: str) -> dict[str, str]:
    """What a notebook's cells with a tag assign, as source text.

    Args:
        notebook: of a chapter or of a run.
        tag: ``"parameters"``, or papermill's ``"injected-parameters"`` of a run with other values.
        name: of the file, for the error.
    """
    assigned = {}
    for cell in notebook.cells:
        if tag not in cell.metadata.get("tags", []):
            continue
        try:
            statements = ast.parse(cell.source).body
        except SyntaxError as error:
            raise BookError(
                f"{name}: its parameters cell is no Python, line {error.lineno}: {error.msg}"
            ) from error
        for node in statements:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                assigned[node.targets[0].id] = ast.unparse(node.value)
    return assigned


def parameter_value(text: str) -> Any:
    """What a chapter assigns: a literal, or a list of a range; tuples become lists.

    Nothing is executed, as the text may stem from another revision.
    """
    try:
        match ast.parse(text, mode="eval").body:
            case ast.Call(ast.Name("list"), [ast.Call(ast.Name("range"), ends, [])], []):
                span = range(*map(ast.literal_eval, ends))
                if len(span) > _LONGEST:
                    raise ValueError("too long")
                return list(span)
            case value:
                return _as_lists(ast.literal_eval(value))
    except (SyntaxError, TypeError, ValueError, OverflowError, RecursionError, MemoryError):
        raise BookError(f"expected a literal or list(range(...)), got {quoted(text)}") from None


def fitting_value(name: str, value: Any, default: str) -> Any:
    """A reader's value for a parameter, as papermill can pass it on: tuples become lists.

    The default is what the chapter assigns, a literal or a list of a range. Whole numbers are
    sizes, but for a parameter named ``seed``.
    """
    expected = parameter_value(default)
    plain = _as_lists(value)
    most = max(_LARGE, *(_LARGER * size for size in _sizes(expected, expected)), 0)
    if not _fits(plain, expected):
        wanted = _words(expected)
    elif name != "seed" and max(_sizes(plain, expected), default=0) > most:
        wanted = f"whole numbers up to {most}"
    else:
        return plain
    raise BookError(f"parameter {name}: expected {wanted}, such as {default}, got {quoted(value)}")


def _as_lists(value: Any) -> Any:
    return [_as_lists(entry) for entry in value] if isinstance(value, list | tuple) else value


def _sizes(value: Any, expected: Any) -> list[int]:
    """Every whole number where one is expected, and the length of every list."""
    if isinstance(value, list):
        return [len(value), *(size for entry in value for size in _sizes(entry, expected[0]))]
    return [abs(value)] if type(expected) is int else []


def _fits(value: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        entries = isinstance(value, list) and len(value) > 0
        return entries and all(_fits(entry, expected[0]) for entry in value)
    if isinstance(expected, float):
        return type(value) in (int, float) and math.isfinite(value)
    return type(value) is type(expected)


def _words(expected: Any) -> str:
    if isinstance(expected, list):
        return f"a list, each entry {_words(expected[0])}"
    return _KINDS[type(expected)]
