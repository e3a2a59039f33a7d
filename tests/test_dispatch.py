"""What a unit is, its record says: no other code asks for its name."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import xsquared
from xsquared.units import PAPER_UNITS

PACKAGE = Path(xsquared.__file__).parents[1]
#: Where the names are given: the records, and what the papers, figures and studies are about.
NAMING = (
    "xsquared/units.py",
    "xsquared_book/",
    "xsquared_studies/declared",
    "xsquared_studies/speedrun",
)
MODULES = [
    path
    for path in sorted(PACKAGE.glob("xsquared*/**/*.py"))
    if not path.relative_to(PACKAGE).as_posix().startswith(NAMING)
]


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


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_code_asks_for_a_units_name(path: Path) -> None:
    lines = sorted(set(dispatches(path.read_text(encoding="utf-8"))))
    assert not lines, f"{path.name} asks for a unit's name in lines {lines}"


def test_such_code_is_noticed() -> None:
    for source in (
        'unit == "mlp"',
        '"gqu" != unit',
        'unit in ("glu", "gqu")',
        'order = {"mlp": 2}[unit]',
        'space = SPACES["glu"]',
        'match unit:\n    case "mlp" | "glu":\n        pass',
    ):
        assert list(dispatches(source)), source
    for source in ('build("mlp", 1, 2)', "unit.name == record.name", 'x = "mlp"'):
        assert not list(dispatches(source)), source
