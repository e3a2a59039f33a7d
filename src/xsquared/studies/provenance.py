"""Which sources made a result: a sum over the modules that a function reaches by its imports.

Followed are imports of this package and of the function's own, at the top of a module or inside a
function. Changing plotting or the book changes no fingerprint; changing a trainer, the data or a
comment in them does. Left out are the versions of other packages, which every row records, and this
package's modules that store and run trials, which carry results but does not compute them.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec, resolve_name
from pathlib import Path

#: What this process runs was read before or soon after this moment.
_LOADED = time.time()
_CARRIERS = tuple(
    f"xsquared.studies.{name}" for name in ("trial", "store", "executors", "provenance", "sweep")
)


@cache
def fingerprint(function: Callable[..., object]) -> str:
    """The sum of the sources that a function can reach; kept for the life of the process.

    Raises:
        ValueError: a function that other processes could not import.
        RuntimeError: a source that changed after this process had started, so that what runs may
            not be what is read.
    """
    digest = hashlib.sha256()
    for name, path in sorted(sources(function).items()):
        if path.stat().st_mtime > _LOADED:
            raise RuntimeError(
                f"{path.name} changed after this process had loaded xsquared: start a new one, so "
                "that results are not filed under sources that did not make them"
            )
        # Read as text, so that line ends make no difference.
        digest.update(f"{name}\0{path.read_text(encoding='utf-8')}\0".encode())
    return digest.hexdigest()[:16]


def sources(function: Callable[..., object]) -> dict[str, Path]:
    """The modules that a function reaches, by name, and their files.

    Raises:
        ValueError: a function that is not found, under its name, in an importable module.
    """
    root, name = function.__module__, function.__qualname__
    if root == "__main__" or getattr(importlib.import_module(root), name, None) is not function:
        raise ValueError(
            f"expected a function at the top of an importable module, got {root}.{name}: worker "
            "processes import it by that name"
        )
    packages = {"xsquared", root.partition(".")[0]}
    found: dict[str, Path] = {}
    waiting = [root]
    while waiting:
        module = waiting.pop()
        if module in found or module in ("xsquared", "xsquared.studies", *_CARRIERS):
            continue
        if module.partition(".")[0] not in packages or (path := _source(module)) is None:
            continue
        found[module] = path
        waiting += _imports(module, path)
        waiting += [module.rpartition(".")[0]] if "." in module else []
    return found


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
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
