"""The package is layered: imports run one way, as the package's docstring says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import xsquared

PACKAGE = Path(xsquared.__file__).parent
ORDER = re.findall(r"``(\w+)``", xsquared.__doc__ or "")
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if not path.name.startswith("__"))


def layer(path: Path) -> str:
    """The module or subpackage, directly below the package, that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_layers(path: Path) -> set[str]:
    """Layers that a file imports at its top level."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("xsquared."):
            found.add((node.module or "").split(".")[1])
    return found


def test_every_module_has_its_place_in_the_order() -> None:
    assert {layer(path) for path in MODULES} == set(ORDER)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_module_imports_only_what_stands_before_it(path: Path) -> None:
    own = ORDER.index(layer(path))
    for name in imported_layers(path):
        assert ORDER.index(name) <= own, f"{layer(path)} imports {name}"
