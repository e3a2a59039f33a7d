"""The package is layered: imports run one way, as the package's docstring says."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import xsquared

PACKAGE = Path(xsquared.__file__).parent
README = (PACKAGE.parents[1] / "README.md").read_text(encoding="utf-8")
ORDER = re.findall(r"``(\w+)``", xsquared.__doc__ or "")
MODULES = sorted(PACKAGE.rglob("*.py"))
# What the package itself opens: numerics only, as every import of a room passes through it.
DOOR, DOOR_OPENS = "__init__", ORDER[: ORDER.index("tables")]


def layer(path: Path) -> str:
    """The module or subpackage, directly below the package, that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_layers(source: str, inside: str) -> set[str]:
    """Layers that a module imports, wherever in the file and however it is written.

    Args:
        source: the text.
        inside: the package that the module is part of, which relative imports start from.
    """
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parents = inside.split(".")[: len(inside.split(".")) - node.level + 1]
            origin = ".".join([*(parents if node.level else []), *filter(None, [node.module])])
            names += [f"{origin}.{alias.name}" for alias in node.names]
    return {name.split(".")[1] for name in names if name.startswith("xsquared.")}


def test_every_module_has_its_place_in_the_order() -> None:
    assert {layer(path) for path in MODULES} == {*ORDER, DOOR, "__main__"}
    assert len(ORDER) == len(set(ORDER))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_module_imports_only_what_stands_before_it(path: Path) -> None:
    own = layer(path)
    inside = ".".join(["xsquared", *path.relative_to(PACKAGE).parts[:-1]])
    allowed = {
        DOOR: DOOR_OPENS,
        "__main__": ORDER,
    }.get(own) or ORDER[: ORDER.index(own) + 1]
    beyond = imported_layers(path.read_text(encoding="utf-8"), inside) - set(allowed)
    # Nothing but rooms: ``from xsquared import name`` would go through the door, which imports it.
    assert beyond <= ({"__version__"} if own == "cli" else set()), f"{own} imports {beyond}"


@pytest.mark.parametrize(
    "statement",
    [
        "import xsquared.book.render",
        "import numpy, xsquared.book as b",
        "from xsquared.book import render",
        "from xsquared import book",
        "from .. import book",
        "from ..book.render import render",
        "def f():\n    from xsquared.book.render import render",
        "if TYPE_CHECKING:\n    import xsquared.book",
    ],
)
def test_an_import_is_seen_however_it_is_written(statement: str) -> None:
    assert imported_layers(statement, "xsquared.training") == {"book"}


def test_other_packages_are_no_layers() -> None:
    assert imported_layers("from torch.nn import functional\nimport numpy", "xsquared") == set()


def test_verdicts_and_drawings_do_not_wait_for_torch() -> None:
    code = "import sys, xsquared.papers.claims, xsquared.plotting; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_readme_lists_every_room_in_the_order_of_imports() -> None:
    tree = README.partition("## What is where")[2].partition("\n## ")[0]
    rooms = re.findall(r"^  (\w+)\s", tree, re.MULTILINE)
    assert rooms == ORDER


def test_the_readme_lists_every_folder_of_the_checkout() -> None:
    tree = README.partition("## What is where")[2].partition("\n## ")[0]
    listed = {name.split("/")[0] for name in re.findall(r"^([\w/]+)/\s", tree, re.MULTILINE)}
    hidden_or_made = re.compile(r"[._].*|build|dist|.*\.egg-info")
    there = {path.name for path in PACKAGE.parents[1].iterdir() if path.is_dir()}
    assert {name for name in there if not hidden_or_made.fullmatch(name)} == listed
