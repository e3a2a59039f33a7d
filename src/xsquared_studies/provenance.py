"""What made a result: the sources that a function reaches, and the packages.

Followed are imports of this package and of the function's own, or of modules beside it where it is
in no package and not installed, at the top of a module or inside a function. Changing plotting or
the book changes no fingerprint, nor does a comment or a docstring; changing a trainer, the data, or
the version of a package that computes does. Left out are this package's modules that store and run
trials, which carry results but do not compute them.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import platform
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec, resolve_name
from pathlib import Path


def _clock() -> float:
    """Seconds on a clock that nobody sets, which goes on while the machine sleeps."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


#: What this process runs was read before or soon after this moment.
_LOADED = _clock()
_CARRIERS = tuple(
    f"xsquared_studies.{name}"
    for name in ("trial", "store", "executors", "provenance", "sweep", "committed", "declared")
)
_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch")


@cache
def fingerprint(function: Callable[..., object]) -> str:
    """The sum of what computes when a function runs; kept for the life of the process.

    Raises:
        ValueError: a function that other processes could not import.
        RuntimeError: a source that changed after this process had started, so that what runs may
            not be what is read.
    """
    found = sources(function)
    digest = hashlib.sha256(f"{versions()}\0{function.__module__}.{function.__name__}\0".encode())
    for name, path in sorted(found.items()):
        # Ages, as the date may be set meanwhile. One in the future says nothing about a change; of
        # a file copied with its date, the other time tells.
        changes = path.stat().st_mtime, path.stat().st_ctime
        if any(0 <= time.time() - change < _clock() - _LOADED for change in changes):
            so = "start a new one, so that no result is filed under sources that did not make it"
            raise RuntimeError(f"{path.name} changed after this process had loaded xsquared: {so}")
        digest.update(f"{name}\0{_code(path.read_bytes())}\0".encode())
    return digest.hexdigest()[:16]


@cache
def versions() -> str:
    """Python and the packages that compute, each with its version."""
    python = f"Python {sys.version_info[0]}.{sys.version_info[1]}, {platform.machine()}"
    return ", ".join([python, *(f"{name} {version(name)}" for name in _PACKAGES)])


def _code(text: bytes) -> str:
    """A source, in the encoding that it names, without comments, docstrings and layout."""
    tree = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


def sources(function: Callable[..., object]) -> dict[str, Path]:
    """The modules that a function reaches, by name, and their files."""
    root, name = function.__module__, getattr(function, "__qualname__", "")
    if root == "__main__" or getattr(importlib.import_module(root), name, None) is not function:
        wanted = "expected a function at the top of an importable module, as workers import it"
        raise ValueError(f"{wanted}, got {root}.{name}")
    packages = {"xsquared", "xsquared_studies", root.partition(".")[0]}
    if "." not in root and (own := _source(root)) and own.parent.name != "site-packages":
        packages |= {path.stem for path in own.parent.iterdir()}
    found: dict[str, Path] = {}
    waiting = [root]
    while waiting:
        module = waiting.pop()
        if module in found or module in ("xsquared_studies", *_CARRIERS):
            continue
        if module.partition(".")[0] not in packages or (path := _source(module)) is None:
            continue
        found[module] = path
        waiting += _imports(module, path)
        # A package runs before its modules; this one, which imports everything, counts by name.
        parent = module.rpartition(".")[0]
        waiting += [parent] if parent not in ("", "xsquared") else []
    return dict(sorted(found.items()))


def _source(module: str) -> Path | None:
    """A module's file; None for what is no module, as the ``target`` of ``functions.target``."""
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return Path(spec.origin)


def _imports(module: str, path: Path) -> Iterator[str]:
    """Names that may be modules imported by a module."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            yield from (*names, *(name.partition(".")[0] for name in names))  # both are bound
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
