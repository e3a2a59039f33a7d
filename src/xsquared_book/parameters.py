"""What a chapter lets its readers set, and whether a value fits.

A chapter's ``parameters`` cell assigns each parameter its default, which says what kind of value
will do. The comment behind it ends with the bounds of a number, or of each number of a list:
``seeds = 20  # of data [2, 100]``. The cell is read as Python: papermill's own reader goes line by
line and loses a parameter whose comment holds an equals sign.
"""

from __future__ import annotations

import ast
import math
import re
import sys
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat

from xsquared.checks import quoted
from xsquared_book.project import BookError, read_source

_KINDS = {bool: "True or False", int: "a whole number", float: "a finite number", str: "text"}
#: Entries of a list.
_LONGEST = 1000
#: In the narrow and as wide as chapters' domains, where an expression is compared with a cubic.
_PLACES = tuple(
    tuple(Fraction(place) for place in places.split())
    for places in ("0.1711 0.4839 0.7947 1.1313 1.4243", "-99.7717 -41.3911 7.3137 38.7731 99.9397")
)
_BOUNDED = re.compile(r"^(\w+) = .*#.*\[(\S+), (\S+)\]$", re.MULTILINE)


@dataclass(frozen=True)
class Parameter:
    """What a reader may set: its name, its default as source text, and the bounds of its numbers.

    The default is a literal or a list of a range.
    """

    name: str
    default: str
    low: float = -math.inf
    high: float = math.inf

    def fitting(self, value: Any) -> Any:
        """A reader's value, as papermill can pass it on: tuples become lists.

        Whole numbers become floats where the default is one. A tuple keeps its length, and numbers
        of a list ascend, as chapters name its ends; so do those of a pair, an interval. An
        ``expression`` is no polynomial of degree 3 or less, as units contain those.
        """
        expected = parameter_value(self.default)
        plain, fixed = _as_lists(value), self.default.startswith("(")
        if not _fits(plain, expected):
            wanted = _words(expected)
        elif not all(self.low <= number <= self.high for number in _numbers(plain)):
            wanted = f"{_words(expected)} from {self.low:g} to {self.high:g}"
        elif fixed and len(plain) != len(expected):
            wanted = f"{len(expected)} entries"
        elif not (fixed and len(plain) > 2) and _descends(_numbers(plain)):
            wanted = "ascending numbers"
        elif self.name.endswith("expression") and not _bends(plain):
            wanted = "an expression in x that is no polynomial of degree 3 or less"
        else:
            return _of_kind(plain, expected)
        raise BookError(
            f"parameter {self.name}: expected {wanted}, such as {self.default}, got {quoted(value)}"
        )


def declared(source: Path) -> dict[str, Parameter]:
    """The parameters that a notebook declares, by name."""
    notebook = read_source(source)
    text = "\n".join(cell.source for cell in _tagged(notebook, "parameters"))
    bounds = {name: (float(low), float(high)) for name, low, high in _BOUNDED.findall(text)}
    return {
        name: Parameter(name, default, *bounds.get(name, ()))
        for name, default in assignments(notebook, "parameters", source.name).items()
    }


def _tagged(notebook: nbformat.NotebookNode, tag: str) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if tag in cell.metadata.get("tags", [])]


def assignments(notebook: nbformat.NotebookNode, tag: str, name: str) -> dict[str, str]:
    """What a notebook's cells with a tag assign, as source text.

    Args:
        notebook: of a chapter or of a run.
        tag: ``"parameters"``, or papermill's ``"injected-parameters"`` of a run with other values.
        name: of the file, for the error.
    """
    assigned = {}
    for cell in _tagged(notebook, tag):
        try:
            statements = ast.parse(cell.source).body
        except SyntaxError as error:
            found = f"line {error.lineno}: {error.msg}"
            raise BookError(f"{name}: its parameters cell is no Python, {found}") from error
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


def _as_lists(value: Any) -> Any:
    return [_as_lists(entry) for entry in value] if isinstance(value, list | tuple) else value


def _numbers(value: Any) -> list[float]:
    """Every number in a value."""
    if isinstance(value, list):
        return [number for entry in value for number in _numbers(entry)]
    return [value] if type(value) in (int, float) else []


def _descends(numbers: list[float]) -> bool:
    """Whether some number is no larger than the one before it."""
    return any(a >= b for a, b in pairwise(numbers))


def _bends(text: str) -> bool:
    """Whether an expression in x is no polynomial of degree 3 or less."""
    # Here, as a chapter's process starts without sympy.
    from xsquared.functions import parse

    try:
        expression = parse(text)
    except ValueError as error:
        raise BookError(f"parameter expression: {error}") from error
    if [one.name for one in expression.free_symbols] != ["x"]:
        return False
    (x,) = expression.free_symbols
    # Differences first: the derivatives of what is nested may take minutes.
    if any(_difference(x, expression, places) for places in _PLACES):
        return True
    # What is cubic but for a narrow pulse or a tiny term; of precision 1 is no known digit.
    value = expression.diff(x, 4).evalf(15, subs={x: _PLACES[0][0]})
    return any(part.is_Float and part._prec > 1 for part in value.as_real_imag())


def _difference(x: Any, expression: Any, places: tuple[Any, ...]) -> bool:
    """Whether a fourth divided difference is not zero, of values to 100 digits."""
    parts = [
        expression.evalf(100, subs={x: place}) / math.prod(place - z for z in places if z != place)
        for place in places
    ]
    return bool(abs(sum(parts)) > 1e-80 * max(map(abs, parts)))


def _fits(value: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        entries = isinstance(value, list) and 0 < len(value) <= _LONGEST
        return entries and all(_fits(entry, expected[0]) for entry in value)
    if isinstance(expected, float):
        # Not isfinite, which has no answer to an integer beyond float64.
        return type(value) in (int, float) and abs(value) <= sys.float_info.max
    return type(value) is type(expected)


def _of_kind(value: Any, expected: Any) -> Any:
    """What fits, with floats where a float is expected: powers of integers would wrap."""
    if isinstance(expected, list):
        return [_of_kind(entry, expected[0]) for entry in value]
    return type(expected)(value)


def _words(expected: Any) -> str:
    if isinstance(expected, list):
        return f"a list, each entry {_words(expected[0])}"
    return _KINDS[type(expected)]
