"""Who imports whom: three layers in one direction, and the rooms of the numerics in theirs."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import xsquared

SRC = Path(xsquared.__file__).parents[1]
#: From the ground up: each imports those before it.
PACKAGES = ["xsquared", "xsquared.studies", "xsquared.book"]
#: The numerics' rooms, from the ground up, as the package's docstring names them.
ROOMS = re.findall(
    r"\w+", " ".join(re.findall(r"``\w+``", xsquared.__doc__.partition("before it:")[2]))
)
MODULES = sorted((SRC / "xsquared").rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Packages and rooms that a module imports, wherever in the file."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return {".".join(name.split(".")[:count]) for name in names for count in (1, 2)}


def room_of(path: Path) -> str:
    return path.relative_to(SRC).parts[1].removesuffix(".py")


def package_of(path: Path) -> str:
    name = f"xsquared.{room_of(path)}"
    return name if name in PACKAGES else "xsquared"


def test_every_module_of_the_numerics_has_its_place_in_the_order() -> None:
    places = {room_of(path) for path in MODULES if package_of(path) == "xsquared"}
    assert sorted(places - {"__init__"}) == sorted(ROOMS)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SRC)))
def test_a_module_imports_only_what_stands_before_it(path: Path) -> None:
    package, room = package_of(path), room_of(path)
    later = PACKAGES[PACKAGES.index(package) + 1 :]
    if package == "xsquared" and room in ROOMS:
        later += [f"xsquared.{name}" for name in ROOMS[ROOMS.index(room) + 1 :]]
    assert imported(path) & {*later} == set()


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("xsquared", ["dask", "IPython", "sklearn", "jupytext", "sphinx", "xsquared.studies"]),
        ("xsquared.studies", ["torch", "dask", "xsquared.book"]),
    ],
)
def test_what_is_not_needed_is_not_loaded(module: str, absent: list[str]) -> None:
    code = f"import sys, {module}; print(*{{*sys.modules}} & {{*{absent!r}}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
