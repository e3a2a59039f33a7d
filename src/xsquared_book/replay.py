"""A plugin of pytest: nbval's replay of a chapter compares the numbers that figures show, too.

nbval compares printed output strictly and of a figure only that it is there, as its lines may
differ by rounding. What was plotted is in the output's metadata, and is compared but for rounding.
"""

from __future__ import annotations

from typing import Any

from nbval.plugin import IPyNbCell

_compare_printed = IPyNbCell.compare_outputs


def _compare_outputs(cell: Any, found: Any, committed: Any, skip_compare: Any = None) -> bool:
    """In place of nbval's method of this name; says what differs as that does."""
    from xsquared_book.pictures import picture_of, same_numbers

    if not _compare_printed(cell, found, committed, skip_compare):
        return False
    before, after = (list(filter(picture_of, outputs)) for outputs in (committed, found))
    if all(map(same_numbers, before, after)):
        return True
    cell.comparison_traceback.append("the figure shows other numbers than the committed one")
    return False


IPyNbCell.compare_outputs = _compare_outputs
