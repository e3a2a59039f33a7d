"""Three packages and their rooms are layered: imports run one way, as the docstrings say."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import xsquared
import xsquared_book
import xsquared_studies

#: From the ground up: each imports those before it.
PACKAGES = {package.__name__: package for package in (xsquared, xsquared_studies, xsquared_book)}
SRC = Path(xsquared.__file__).parents[1]
#: Every room with its package, from the ground up, as the packages' docstrings name them.
ORDER = [
    f"{name}.{room}"
    for name, package in PACKAGES.items()
    for chain in re.findall(r"``\w+``(?:\s+→\s+``\w+``)+", package.__doc__ or "")
    for room in re.findall(r"\w+", chain)
]
MODULES = [path for name in PACKAGES for path in sorted((SRC / name).rglob("*.py"))]


def room_of(path: Path) -> str:
    package, room, *_ = path.relative_to(SRC).parts
    return f"{package}.{room.removesuffix('.py')}"


def imported_rooms(source: str) -> set[str]:
    """Rooms that a module imports, wherever in the file."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return {".".join(name.split(".")[:2]) for name in names}


def test_every_module_has_its_place_in_the_order() -> None:
    places = {place for path in MODULES if "__" not in (place := room_of(path))}
    assert sorted(places) == sorted(ORDER)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SRC)))
def test_module_imports_only_what_stands_before_it(path: Path) -> None:
    own = room_of(path)
    after = ORDER[ORDER.index(own) + 1 :] if own in ORDER else []
    later = list(PACKAGES)[list(PACKAGES).index(own.partition(".")[0]) + 1 :]
    found = imported_rooms(path.read_text(encoding="utf-8"))
    assert not [room for room in found if room in after or room.partition(".")[0] in later]


def test_the_numerics_need_no_book() -> None:
    """Neither Jupyter, Sphinx nor Dask, nor what draws: import fails if any is asked for."""
    code = (
        "import sys\n"
        "for name in ('jupytext', 'papermill', 'nbformat', 'nbclient', 'sphinx', 'myst_nb',\n"
        "             'jupyter_book', 'dask', 'distributed', 'matplotlib', 'IPython', 'yaml',\n"
        "             'xsquared_book'):\n"
        "    sys.modules[name] = None\n"
        "import importlib, pkgutil, xsquared\n"
        "for module in pkgutil.walk_packages(xsquared.__path__, 'xsquared.'):\n"
        "    importlib.import_module(module.name)\n"
        "assert 'xsquared_studies' not in sys.modules\n"
        "import xsquared_studies\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
