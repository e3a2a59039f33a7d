"""Tables of results: formatted once, shown as HTML and text, numbered in the book.

A chapter ends a cell with a :class:`Table`. Its forms hold the same strings, so the
replay compares what readers see. One carries them as data: from it the book makes a
numbered table (``{numref}`tab-name```), whose cells the text cites
(``{cell}`tab-name:row,column```). :func:`glue_numbers` takes other numbers to the
prose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

#: The type under which a table's strings travel in a notebook's output.
TABLE_MIME = "application/vnd.xsquared.table+json"
#: The type under which verdicts travel beside their table.
VERDICT_MIME = "application/vnd.xsquared.verdict+json"


def with_powers(text: str) -> str:
    """Write powers of ten for readers: 2.6·10⁻⁵ for 2.6e-05."""
    superscripts = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

    def power(match: re.Match[str]) -> str:
        sign, digits = match.groups()
        return "·10" + (sign + digits).translate(superscripts)

    return re.sub(r"(?<=\d)e(?=[+-])\+?(-?)0*(\d+)", power, text)


@dataclass(frozen=True, eq=False)
class Table:
    """A table that a cell shows; its captions, headers and text cells may hold TeX.

    Attributes:
        frame: one row per row; its index holds the row headers, one level a column. An
            unnamed default index stands for none: the first column then holds them.
        caption: one sentence or two, ending with a full stop.
        name: ``"tab-..."``, unique in the book, by which the text cites the table.
        formats: format specifications (such as ``".3f"``) by column, index level or row
            label, a row's before its column's; or one for all numbers of the columns.
    """

    frame: pd.DataFrame
    caption: str
    name: str
    formats: Mapping[str, str] | str | None = None

    @cached_property
    def content(self) -> dict[str, Any]:
        """The strings of the table, as they travel in a notebook's output.

        Keys are ``name``, ``caption``, ``columns`` (headers), ``rows`` (a list of cells
        a row), ``stubs`` (how many row headers lead) and ``numeric`` (by column,
        whether it holds numbers).
        """
        frame = self.frame
        if isinstance(frame.index, pd.RangeIndex) and frame.index.name is None:
            frame = frame.set_index(frame.columns[0])
        stubs = frame.index.nlevels
        columns = [str(name or "") for name in (*frame.index.names, *frame.columns)]
        cells = frame.astype(object).itertuples(index=False, name=None)
        values: list[tuple[object, ...]] = []
        for label, row in zip(frame.index, cells, strict=True):
            labels = label if stubs > 1 else (label,)
            values.append((*labels, *row))
        formats = self.formats if isinstance(self.formats, Mapping) else {}
        every = self.formats if isinstance(self.formats, str) else ""
        rows = []
        for row in values:
            labels = row[:stubs]
            of_row = [formats[text] for text in map(str, labels) if text in formats]
            headers = [
                self._text(value, formats.get(name, ""))
                for name, value in zip(columns, labels, strict=False)
            ]
            numbers = [
                self._text(value, (*of_row, formats.get(name, every))[0])
                for name, value in zip(columns[stubs:], row[stubs:], strict=True)
            ]
            rows.append(headers + numbers)
        return {
            "name": self.name,
            "caption": self.caption,
            "columns": columns,
            "rows": rows,
            "stubs": stubs,
            "numeric": [
                all(_is_number(value) for value in column)
                for column in zip(*values, strict=True)
            ],
        }

    @staticmethod
    def _text(value: object, spec: str) -> str:
        """Write one value: the only place where a number is formatted."""
        if pd.api.types.is_scalar(value) and pd.isna(value):
            return "–"
        if isinstance(value, bool | np.bool_):
            return "yes" if value else "no"
        if not isinstance(value, Real):
            return with_powers(str(value))
        if isinstance(value, Integral):
            text = format(int(float(value)), spec)
        else:
            text = format(float(value), spec or "g")
        without_sign = re.sub(r"^-(?=[0.]+$)", "", text)  # what rounds to zero has none
        return with_powers(without_sign)

    def html(self) -> str:
        """Write the table as HTML, without styles of its own."""
        content = self.content
        every = len(content["columns"])
        head = self._html_row(content["columns"], every, "col")
        body = "\n".join(
            self._html_row(row, content["stubs"], "row") for row in content["rows"]
        )
        caption = escape(self.caption, quote=False)
        return (
            f'<table class="xs-table">\n<caption>{caption}</caption>\n'
            f"<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"
        )

    def _html_row(self, cells: list[str], headers: int, scope: str) -> str:
        """Write a row of which so many cells, from the left, are headers."""
        row = ""
        for k, (cell, numeric) in enumerate(
            zip(cells, self.content["numeric"], strict=True)
        ):
            kind = ' class="number"' if numeric else ""
            text = escape(cell, quote=False)
            if k < headers:
                row += f'<th scope="{scope}"{kind}>{text}</th>'
            else:
                row += f"<td{kind}>{text}</td>"
        return f"<tr>{row}</tr>"

    def __str__(self) -> str:
        lines = [self.content["columns"], *self.content["rows"]]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = [self.caption, ""]
        for line in lines:
            cells = [
                cell.rjust(width) if numeric else cell.ljust(width)
                for cell, width, numeric in zip(
                    line, widths, self.content["numeric"], strict=True
                )
            ]
            text.append("  ".join(cells).rstrip())
        return "\n".join(text)

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {
            "text/plain": str(self),
            "text/html": self.html(),
            TABLE_MIME: self.content,
        }


def _is_number(value: object) -> bool:
    """Whether a column of such values is one of numbers."""
    return value is None or (isinstance(value, Real) and not isinstance(value, bool))


def glue_numbers(numbers: Mapping[str, float | int | str], digits: int = 3) -> None:
    """Make numbers known to the prose, where ``{glue:text}`key:.3f``` prints them.

    Args:
        numbers: by the key that the prose uses; whole numbers and text stay as they
            are, others are rounded, because the replay compares what is glued.
        digits: significant digits of a number below one, decimals of a larger one.
    """
    try:
        from myst_nb import glue
    except ImportError:  # a downloaded notebook
        return
    for key, value in numbers.items():
        if isinstance(value, str):
            glue(key, with_powers(value), display=False)
        elif isinstance(value, Integral):
            glue(key, int(value), display=False)
        else:
            if abs(value) >= 1:
                rounded = round(float(value), digits)
            else:
                rounded = float(f"{value:.{max(digits - 1, 0)}e}")
            glue(key, rounded, display=False)
