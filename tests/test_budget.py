"""How many lines each room may have: a figure goes down with what is removed, never up in passing.

Raising one is a commit of its own that says what was bought.
"""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: The most lines of Python below these folders; those named behind them count by themselves.
BUDGETS = {
    "src/xsquared": (5040, ("src/xsquared/studies", "src/xsquared/book")),
    "src/xsquared/studies": (3143, ()),
    "src/xsquared/book": (1850, ()),
    "tests": (5628, ("tests/book", "tests/papers")),
    "tests/book": (790, ()),
    "tests/papers": (378, ()),
}


def count_lines(folder: str, without: tuple[str, ...]) -> int:
    """Lines of a folder's Python, but for those of some folders below it."""
    left_out = [ROOT / name for name in without]
    files = [
        path
        for path in (ROOT / folder).rglob("*.py")
        if not any(path.is_relative_to(one) for one in left_out)
    ]
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)


@pytest.mark.parametrize("folder", BUDGETS)
def test_a_room_keeps_its_budget(folder: str) -> None:
    most, without = BUDGETS[folder]
    assert count_lines(folder, without) <= most
