"""What a unit is, its record says: no other code of the numerics asks for its name."""

import ast
from collections.abc import Iterator
from pathlib import Path

import xsquared
from xsquared.units import PAPER_UNITS

FOLDER = Path(xsquared.__file__).parent
#: What asks for a value, and its fields that hold the value asked for.
ASKING = {
    ast.Compare: ("left", "comparators"),
    ast.MatchValue: ("value",),
    ast.Dict: ("keys",),
    ast.Subscript: ("slice",),
}


def named(part: object) -> bool:
    """Whether a part of the syntax is a unit's name, or a display of some."""
    if isinstance(part, ast.Tuple | ast.List | ast.Set | list):
        return any(map(named, part if isinstance(part, list) else part.elts))
    return isinstance(part, ast.Constant) and part.value in PAPER_UNITS


def dispatches(source: str) -> Iterator[int]:
    """Lines that compare with a unit's name, match it, or look something up under it."""
    for node in ast.walk(ast.parse(source)):
        if any(named(getattr(node, field)) for field in ASKING.get(type(node), ())):
            yield vars(node)["lineno"]


def test_no_code_asks_for_a_units_name() -> None:
    assert list(dispatches('order = {"mlp": 2}[unit]')) == [1]
    others = {FOLDER / "studies", FOLDER / "book"}  # they may: their trials name units
    numerics = [path for path in FOLDER.rglob("*.py") if not others & {*path.parents}]
    found = {path: [*dispatches(path.read_text("utf-8"))] for path in numerics}
    assert not [path for path, lines in found.items() if lines]
