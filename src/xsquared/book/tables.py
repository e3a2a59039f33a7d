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


def with_powers(text: str) -> str:
    """Write powers of ten for readers: 2.6·10⁻⁵ for 2.6e-05."""
    raised = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    found = r"(?<=\d)e(?=[+-])\+?(-?)0*(\d+)"
    return re.sub(
        found, lambda power: "·10" + (power[1] + power[2]).translate(raised), text
    )


@dataclass(frozen=True, eq=False)
class Table:
    """A table that a cell shows; its captions, headers and text cells may hold
    formulas.

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
        """Name, caption, headers, cells, how many row headers lead, which columns hold
        numbers.
        """
        frame = self.frame
        if isinstance(frame.index, pd.RangeIndex) and frame.index.name is None:
            frame = frame.set_index(frame.columns[0])
        stubs = frame.index.nlevels
        heads = [str(head or "") for head in (*frame.index.names, *frame.columns)]
        cells = frame.astype(object).itertuples(index=False, name=None)
        body = [
            (*(label if stubs > 1 else (label,)), *row)
            for label, row in zip(frame.index, cells, strict=True)
        ]
        return {
            "name": self.name,
            "caption": self.caption,
            "columns": heads,
            "rows": [
                [
                    self._shown(
                        cell, row[:stubs] if place >= stubs else (), head, place < stubs
                    )
                    for place, (head, cell) in enumerate(zip(heads, row, strict=True))
                ]
                for row in body
            ],
            "stubs": stubs,
            "numeric": [
                all(
                    c is None or (isinstance(c, Real) and not isinstance(c, bool))
                    for c in column
                )
                for column in zip(*body, strict=True)
            ],
        }

    def _shown(
        self, cell: object, labels: tuple[object, ...], head: str, stub: bool
    ) -> str:
        """The string of one cell: the only place where a number is formatted."""
        if pd.api.types.is_scalar(cell) and pd.isna(cell):
            return "–"
        if isinstance(cell, bool | np.bool_):
            return "yes" if cell else "no"
        if not isinstance(cell, Real):
            return with_powers(str(cell))
        if isinstance(self.formats, str):
            spec = "" if stub else self.formats
        else:
            formats = self.formats or {}
            spec = next(
                (formats[key] for key in (*map(str, labels), head) if key in formats),
                "",
            )
        whole = isinstance(cell, Integral)
        text = format(
            int(float(cell)) if whole else float(cell), spec or ("" if whole else "g")
        )
        return with_powers(
            re.sub(r"^-(?=[0.]+$)", "", text)
        )  # what rounds to zero has no sign

    def html(self) -> str:
        """The table as HTML, without styles of its own."""
        made = self.content

        def line(cells: list[str], heads: int, scope: str) -> str:
            parts = []
            for place, (cell, number) in enumerate(
                zip(cells, made["numeric"], strict=True)
            ):
                tag, shown = (
                    ("th", f' scope="{scope}"') if place < heads else ("td", "")
                )
                kind = ' class="number"' if number else ""
                parts.append(f"<{tag}{shown}{kind}>{escape(cell, quote=False)}</{tag}>")
            return f"<tr>{''.join(parts)}</tr>"

        head = line(made["columns"], len(made["columns"]), "col")
        body = "\n".join(line(row, made["stubs"], "row") for row in made["rows"])
        return (
            f'<table class="xs-table">\n<caption>{escape(self.caption, quote=False)}</caption>\n'
            f"<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"
        )

    def __str__(self) -> str:
        lines = [self.content["columns"], *self.content["rows"]]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = [
            "  ".join(
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(
                    line, widths, self.content["numeric"], strict=True
                )
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self.caption, "", *shown])

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {
            "text/plain": str(self),
            "text/html": self.html(),
            TABLE_MIME: self.content,
        }


def glue_numbers(
    numbers: Mapping[str, float | int | str], digits: int | Mapping[str, int] = 3
) -> None:
    """Make numbers known to the prose, where ``{glue:text}`key:.3f``` prints them.

    Args:
        numbers: by the key that the prose uses; whole numbers and text stay as they
            are, others are rounded, because the replay compares what is glued.
        digits: decimals, for all or by key.
    """
    try:
        from myst_nb import glue
    except ImportError:  # a downloaded notebook
        return
    for key, value in numbers.items():
        if isinstance(value, str):
            value = with_powers(value)
        elif not isinstance(value, Integral):
            value = round(
                float(value), digits[key] if isinstance(digits, Mapping) else digits
            )
        glue(key, int(value) if isinstance(value, Integral) else value, display=False)
