"""Three packages and their rooms are layered: imports run one way, as the docstrings say."""

import ast
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import xsquared
import xsquared_book
import xsquared_studies

#: From the ground up: each imports those before it.
PACKAGES: tuple[ModuleType, ...] = (xsquared, xsquared_studies, xsquared_book)
NAMES = [package.__name__ for package in PACKAGES]
SRC = Path(xsquared.__file__).parents[1]
README = (SRC.parent / "README.md").read_text(encoding="utf-8")


def rooms_of(package: ModuleType) -> list[str]:
    """The rooms that a package's docstring names in its chain of arrows, in their order."""
    chains = re.findall(r"``\w+``(?:\s+→\s+``\w+``)+", package.__doc__ or "")
    return re.findall(r"\w+", " ".join(chains))


#: Every room with its package, from the ground up.
ORDER = [f"{package.__name__}.{room}" for package in PACKAGES for room in rooms_of(package)]
MODULES = [path for name in NAMES for path in sorted((SRC / name).rglob("*.py"))]


def layer(path: Path) -> str:
    """The room of a file."""
    package, room, *_ = path.relative_to(SRC).parts
    return f"{package}.{room.removesuffix('.py')}"


def imported_rooms(source: str, inside: str) -> set[str]:
    """Rooms that a module inside a package imports, wherever in the file and however written."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parents = inside.split(".")[: len(inside.split(".")) - node.level + 1]
            origin = ".".join([*(parents if node.level else []), *filter(None, [node.module])])
            names += [f"{origin}.{alias.name}" for alias in node.names]
    return {".".join(name.split(".")[:2]) for name in names if name.split(".")[0] in NAMES}


def test_every_module_has_its_place_in_the_order() -> None:
    found = {layer(path) for path in MODULES if path.name not in ("__main__.py",)}
    assert found == {*ORDER, *(f"{name}.__init__" for name in NAMES)}
    assert len(ORDER) == len(set(ORDER))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SRC)))
def test_module_imports_only_what_stands_before_it(path: Path) -> None:
    own = layer(path)
    package = own.partition(".")[0]
    inside = ".".join(path.relative_to(SRC).parts[:-1])
    # A package's own door opens all of its rooms.
    mine = [room for room in ORDER if room.startswith(f"{package}.")]
    upto = ORDER.index(own) if own in ORDER else ORDER.index(mine[-1])
    # What an earlier package opens at its door may be used by a later one.
    doors = set()
    for earlier in PACKAGES[: NAMES.index(package)]:
        doors |= {f"{earlier.__name__}.{name}" for name in getattr(earlier, "__all__", ())}
        doors |= {f"{earlier.__name__}.__version__"}
    text = path.read_text(encoding="utf-8")
    beyond = imported_rooms(text, inside) - set(ORDER[: upto + 1]) - doors - set(NAMES)
    assert not beyond, f"{own} imports {beyond}"


@pytest.mark.parametrize(
    "statement",
    [
        "import xsquared.training.fit",
        "import numpy, xsquared.training as b",
        "from xsquared.training import fit",
        "from xsquared import training",
        "from .. import training",
        "from ..training.fit import fit",
        "def f():\n    from xsquared.training.fit import fit",
        "if TYPE_CHECKING:\n    import xsquared.training",
    ],
)
def test_an_import_is_seen_however_it_is_written(statement: str) -> None:
    others = "from torch.nn import functional\nimport numpy\n"
    assert imported_rooms(others + statement, "xsquared.splines") == {"xsquared.training"}


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        # Verdicts and drawings do not wait for torch, nor the numerics for what makes a book.
        ("xsquared_book.papers.claims, xsquared_book.plotting", "torch"),
        ("xsquared.training, xsquared.feature_maps.learned", "xsquared_studies"),
        ("xsquared_studies", "xsquared_book"),
    ],
)
def test_what_is_not_needed_is_not_loaded(module: str, absent: str) -> None:
    code = f"import sys, {module}; print({absent!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_numerics_need_no_book() -> None:
    """Neither Jupyter, Sphinx nor Dask, nor what draws: import fails if any is asked for."""
    code = (
        "import sys\n"
        "for name in ('jupytext', 'papermill', 'nbformat', 'nbclient', 'sphinx', 'myst_nb',\n"
        "             'jupyter_book', 'dask', 'distributed', 'matplotlib', 'IPython', 'yaml'):\n"
        "    sys.modules[name] = None\n"
        "import importlib, pkgutil, xsquared\n"
        "for module in pkgutil.walk_packages(xsquared.__path__, 'xsquared.'):\n"
        "    importlib.import_module(module.name)\n"
        "import xsquared_studies\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_readme_lists_every_folder_and_every_room_in_the_order_of_imports() -> None:
    tree = README.partition("## What is where")[2].partition("\n## ")[0]
    assert re.findall(r"^  (\w+)\s", tree, re.MULTILINE) == rooms_of(xsquared)
    listed = {name.split("/")[0] for name in re.findall(r"^([\w/]+)/\s", tree, re.MULTILINE)}
    hidden_or_made = re.compile(r"[._].*|build|dist|.*\.egg-info")
    there = {path.name for path in SRC.parent.iterdir() if path.is_dir()}
    assert {name for name in there if not hidden_or_made.fullmatch(name)} == listed
