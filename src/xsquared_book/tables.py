"""Tables of results: formatted once, shown as HTML and text, numbered in the book.

A chapter ends a cell with a :class:`Table`. Its forms hold the same strings, so the replay compares
what readers see. One carries them as data: from it the book makes a table that is numbered and
cited as figures are (``{numref}`tab-name```), with cells that the text cites
(``{cell}`tab-name:row,column```). :func:`glue_numbers` takes other numbers to the prose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from xsquared.checks import check_integer, quoted

#: The type under which a table's strings travel in a notebook's output.
TABLE_MIME = "application/vnd.xsquared.table+json"
#: What stands in a cell without a value.
MISSING = "–"


@dataclass(frozen=True, eq=False)
class Table:
    """A table that a cell shows.

    Captions, headers and text cells may hold formulas between dollar signs.

    Attributes:
        frame: one row per row; its index holds the row headers, one level a column. An unnamed
            default index stands for none: the first column then holds them.
        caption: one sentence or two, ending with a full stop.
        name: ``"tab-..."``, unique in the book, by which the text cites the table.
        formats: format specifications (such as ``".3f"``) by column, index level or row label, a
            row's before its column's; or one for all numbers of the columns. Text stays as it is,
            whole numbers need none, truth values read yes and no, and what is missing is a dash.
        columns: the headers, as shown.
        rows: the cells, as shown.
        stubs: how many leading columns are row headers.
        numeric: per column, whether it holds numbers and is set flush right.

    Raises:
        ValueError: no rows, a name of another form, several levels of columns, one name twice, a
            format for something that is not there, or a float without a format.
    """

    frame: pd.DataFrame
    caption: str
    name: str
    formats: Mapping[str, str] | str | None = None
    columns: tuple[str, ...] = field(init=False)
    rows: tuple[tuple[str, ...], ...] = field(init=False)
    stubs: int = field(init=False)
    numeric: tuple[bool, ...] = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not re.fullmatch(r"tab-[a-z0-9-]{1,80}", self.name):
            raise ValueError(f"expected a table's name as tab-something, got {quoted(self.name)}")
        frame = self.frame
        if not isinstance(frame, pd.DataFrame) or not isinstance(self.caption, str):
            raise TypeError(
                f"{self.name}: expected a frame and a caption, got {quoted(frame)}, "
                f"{quoted(self.caption)}"
            )
        if not isinstance(self.formats, Mapping | str | None):
            raise TypeError(f"{self.name}: expected formats by name, got {quoted(self.formats)}")
        if len(frame) == 0 or frame.columns.nlevels > 1 or not frame.columns.is_unique:
            wanted = "expected rows, and columns of one level and different names"
            raise ValueError(f"{self.name}: {wanted}, got {quoted(frame)}")
        if isinstance(frame.index, pd.RangeIndex) and frame.index.name is None:
            frame = frame.set_index(frame.columns[0])
        stubs = frame.index.nlevels
        heads = [*(name or "" for name in frame.index.names), *frame.columns]
        body = [
            [*(label if stubs > 1 else (label,)), *cells]
            for label, cells in zip(
                frame.index, frame.astype(object).itertuples(index=False, name=None), strict=True
            )
        ]
        rows = tuple(
            tuple(
                self._shown(cell, row[:stubs] if place >= stubs else [], str(head), place < stubs)
                for place, (head, cell) in enumerate(zip(heads, row, strict=True))
            )
            for row in body
        )
        if isinstance(self.formats, Mapping):
            known = {*map(str, heads), *(str(label) for row in body for label in row[:stubs])}
            if unknown := sorted(set(self.formats) - known):
                raise ValueError(
                    f"{self.name}: formats for {', '.join(unknown)}, which are neither columns "
                    f"nor rows; those are {', '.join(sorted(known))}"
                )
        numeric = tuple(
            all(c is None or (isinstance(c, Real) and not isinstance(c, bool)) for c in column)
            for column in zip(*body, strict=True)
        )
        made = {"columns": (*map(str, heads),), "rows": rows, "stubs": stubs, "numeric": numeric}
        for name, value in made.items():
            object.__setattr__(self, name, value)

    def _shown(self, cell: object, labels: list[object], head: str, stub: bool) -> str:
        """The string of one cell: the only place where a number is formatted."""
        if pd.api.types.is_scalar(cell) and pd.isna(cell):
            return MISSING
        if isinstance(cell, bool | np.bool_):
            return "yes" if cell else "no"
        if not isinstance(cell, Real):
            return str(cell)
        if isinstance(self.formats, str):
            spec = "" if stub else self.formats
        else:
            formats = self.formats or {}
            found = (formats[key] for key in (*map(str, labels), head) if key in formats)
            spec = next(found, "")
        if isinstance(cell, Integral):
            return self._formatted(int(cell), spec)
        if not spec and not stub:
            raise ValueError(
                f"{self.name}: expected formats, the numbers of {head!r} have no format, got {cell}"
            )
        return self._formatted(float(cell), spec or "g")

    def _formatted(self, number: float, spec: str) -> str:
        try:
            # What rounds to zero has no sign.
            return re.sub(r"^-(?=[0.]+$)", "", format(number, spec))
        except (TypeError, ValueError):
            raise ValueError(f"{self.name}: expected a number's format, got {spec!r}") from None

    def html(self) -> str:
        """The table as HTML, without styles of its own."""

        def line(cells: tuple[str, ...], heads: int, scope: str) -> str:
            made = []
            for place, (cell, number) in enumerate(zip(cells, self.numeric, strict=True)):
                tag, shown = ("th", f' scope="{scope}"') if place < heads else ("td", "")
                kind = ' class="number"' if number else ""
                made.append(f"<{tag}{shown}{kind}>{escape(cell, quote=False)}</{tag}>")
            return f"<tr>{''.join(made)}</tr>"

        head = line(self.columns, len(self.columns), "col")
        body = "\n".join(line(row, self.stubs, "row") for row in self.rows)
        return (
            f'<table class="xs-table">\n<caption>{escape(self.caption, quote=False)}</caption>\n'
            f"<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"
        )

    def __str__(self) -> str:
        lines = (self.columns, *self.rows)
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = [
            "  ".join(
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(line, widths, self.numeric, strict=True)
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self.caption, "", *shown])

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {
            "text/plain": str(self),
            "text/html": self.html(),
            TABLE_MIME: {
                "name": self.name,
                "caption": self.caption,
                "columns": list(self.columns),
                "rows": [list(row) for row in self.rows],
                "stubs": self.stubs,
                "numeric": list(self.numeric),
            },
        }


def glue_numbers(
    numbers: Mapping[str, float | int | str], digits: int | Mapping[str, int] = 3
) -> None:
    """Make numbers known to the prose, where ``{glue:text}`key:.3f``` prints them.

    Args:
        numbers: by the key that the prose uses; whole numbers and text stay as they are, others are
            rounded, because the replay compares what is glued.
        digits: decimals, for all or by key.

    Raises:
        ValueError: neither number nor text, or no digits for a number that is not whole.
    """
    if not isinstance(numbers, Mapping) or not all(isinstance(key, str) for key in numbers):
        raise TypeError(f"expected numbers by name, got {quoted(numbers)}")
    plain: dict[str, float | int | str] = {}
    for key, value in numbers.items():
        if isinstance(value, str):
            plain[key] = value
        elif isinstance(value, bool) or not isinstance(value, Real):
            raise ValueError(f"{key}: expected a number or text to glue, got {quoted(value)}")
        elif isinstance(value, Integral):
            plain[key] = int(value)
        elif isinstance(digits, Mapping) and key not in digits:
            raise ValueError(f"{key}: {value} has no digits; those of {', '.join(digits)} are set")
        else:
            decimals = digits[key] if isinstance(digits, Mapping) else digits
            plain[key] = round(float(value), check_integer("digits", decimals, 0, 17))
    try:
        from myst_nb import glue
    except ImportError:  # a downloaded notebook, whose prose has the numbers as words
        return
    for key, number in plain.items():
        glue(key, number, display=False)
